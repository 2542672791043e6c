"""Write the page to a file that is whole or not there."""

from __future__ import annotations

from pathlib import Path

from bursar.files import whole_file
from bursar.report.facts import Facts
from bursar.report.page import page

__all__ = ["write"]


def write(facts: Facts, path: Path) -> Path:
    """Write the report; figures and tables that lie in its folder are linked from it."""
    text = page(facts, path.parent)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path
