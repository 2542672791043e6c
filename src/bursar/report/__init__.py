"""The report: one HTML file that holds all it shows and opens without a network."""

from bursar.report.facts import Drawing, Facts
from bursar.report.page import page
from bursar.report.write import write

__all__ = ["Drawing", "Facts", "page", "write"]
