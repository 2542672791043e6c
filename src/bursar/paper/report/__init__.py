"""The report: one HTML file that holds everything it shows and opens without a network."""

from bursar.paper.report.data import ReportData
from bursar.paper.report.page import render_report, write_report

__all__ = ["ReportData", "render_report", "write_report"]
