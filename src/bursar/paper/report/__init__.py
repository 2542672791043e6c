"""The report: one HTML file that holds everything it shows and opens without a network."""

from bursar.paper.report.build import render_report, write_report
from bursar.paper.report.data import ReportData

__all__ = ["ReportData", "render_report", "write_report"]
