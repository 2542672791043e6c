"""The report as one HTML document, from a template that escapes everything it is given.

Figures are embedded as data, so the page is a single file that opens without a network.
"""

import re
from base64 import b64encode
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bursar.errors import MissingData
from bursar.files import replace_file
from bursar.formatting import format_elapsed
from bursar.paper.analysis.games import FAILED
from bursar.paper.figures.comparison import seconds_per_million
from bursar.paper.figures.draw import DrawnFigure
from bursar.paper.labels import format_label, format_sentence_label, is_omega, line_styles
from bursar.paper.report import data

_BOX = re.compile(r'<svg\b[^>]*?\bviewBox="\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+([\d.e]+)[\s,]+([\d.e]+)')


def write_report(report: data.ReportData, path: Path) -> Path:
    """Write the report, complete or not at all; files in its folder are linked from it."""
    text = render_report(report, path.parent)
    with replace_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def render_report(report: data.ReportData, folder: Path | None = None) -> str:
    """Return the report as HTML, with links to the files in ``folder``, where it will be."""
    result = report.result
    final = data.make_final_tables(result)
    return _template().render(
        report=report,
        summary=data.summarize(report),
        colours={slug: colour for slug, (colour, _) in line_styles(result.policies).items()},
        verdicts=data.count_verdicts(report.claims),
        sections=data.group_claims(report.claims),
        badges={verdict: badge for verdict, (_, badge) in data.VERDICTS.items()},
        settings=data.list_setting_rows(report),
        tables=final,
        matrix=data.make_matrix(result, final),
        speeds=seconds_per_million(report.timings),
        folder=folder,
        link=partial(_link, folder),
        plays=float(result.values[:, -1, 0].sum()),
        failed=FAILED,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("bursar.paper.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": data.format_value,
        "percent": data.format_share,
        "amount": data.format_amount,
        "points": data.format_points,
        "elapsed": format_elapsed,
        "start": _format_start,
        "policy": format_label,
        "sentence": format_sentence_label,
        "number_table": data.make_number_table,
        "embed": _embed,
    }
    environment.tests["omega"] = is_omega
    return environment.get_template("page.html.jinja")


def _embed(figure: DrawnFigure) -> dict[str, Any]:
    """Return the picture as an address that holds it, with its size."""
    try:
        content = figure.svg.read_bytes()
    except OSError as error:
        raise MissingData(
            f"figure {figure.name!r} has no file {str(figure.svg)!r}; draw the figures again"
        ) from error
    width, height = _size(content)
    address = f"data:image/svg+xml;base64,{b64encode(content).decode()}"
    return {"src": address, "width": width, "height": height}


def _size(content: bytes) -> tuple[int, int]:
    """Return width and height, so that nothing moves while the page loads."""
    found = _BOX.search(content[:4000].decode("utf-8", "replace"))
    if found is None:
        return 960, 600
    # matplotlib counts in points, a page in pixels
    return round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)


def _link(folder: Path | None, path: Path) -> str:
    """Return a link from the page to a file, or nothing if it is not in the page's folder."""
    if folder is None or not path.is_file():
        return ""
    here, there = folder.resolve(), path.resolve()
    return quote(there.relative_to(here).as_posix()) if there.is_relative_to(here) else ""


def _format_start(started: str) -> str:
    """Return an ISO time in words; anything else stays as it is."""
    try:
        return datetime.fromisoformat(started).strftime("%d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return started
