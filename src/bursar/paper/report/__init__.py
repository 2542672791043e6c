"""The report: one HTML file that holds all it shows and opens without a network."""

from bursar.paper.report.build import write_report_file
from bursar.paper.report.facts import Drawing, ReportData
from bursar.paper.report.page import page

__all__ = ["Drawing", "ReportData", "page", "write_report_file"]
