"""The report as one HTML document, from a template that escapes everything it is given.

Figures are embedded as data, so the page is a single file that opens without a network.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from functools import cache
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
from bursar.paper.labels import format_label, is_omega, line_styles
from bursar.paper.report import data
from bursar.paper.report.summary import summarize

_BOX = re.compile(r'<svg\b[^>]*?\bviewBox="\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+([\d.e]+)[\s,]+([\d.e]+)')
_FILES = {
    "results.parquet": "every game as a table",
    "summary.csv": "the final regret of each policy in each setting",
    "claims.json": "the claims with their numbers",
    "experiment.toml": "the experiment; repeat it with bursar run",
    "run.json": "how it was made",
}
_OVERSPEND = {
    "last": "may cost more than what is left of the budget",
    "never": "is not made if it could cost more than what is left of the budget",
}


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
        summary=summarize(report),
        colours={slug: colour for slug, (colour, _) in line_styles(result.policies).items()},
        figures=[_embed(i, figure, folder) for i, figure in enumerate(report.figures, start=1)],
        verdicts=data.count_verdicts(report.claims),
        sections=data.group_claims(report.claims),
        badges={verdict: badge for verdict, (_, _, badge) in data.VERDICTS.items()},
        settings=data.list_setting_rows(report),
        tables=final,
        matrix=data.make_matrix(result, final),
        speeds=seconds_per_million(report.timings),
        origin=_describe_origin(report),
        files=_list_files(folder),
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
        "policy": format_label,
        "number_table": data.make_number_table,
    }
    environment.tests["omega"] = is_omega
    return environment.get_template("page.html.jinja")


def _embed(number: int, figure: DrawnFigure, folder: Path | None) -> dict[str, Any]:
    """Return a figure as the page shows it; links are empty if the files are elsewhere."""
    try:
        content = figure.svg.read_bytes()
    except OSError as error:
        raise MissingData(
            f"figure {figure.name!r} has no file {str(figure.svg)!r}; draw the figures again"
        ) from error
    return {
        "anchor": f"figure-{number}",
        "title": figure.title,
        "caption": figure.caption,
        "data": f"data:image/svg+xml;base64,{b64encode(content).decode()}",
        "size": _size(content),
        "png": _link(figure.png, folder),
        "svg": _link(figure.svg, folder),
    }


def _size(content: bytes) -> tuple[int, int]:
    """Return width and height, so that nothing moves while the page loads."""
    found = _BOX.search(content[:4000].decode("utf-8", "replace"))
    if found is None:
        return 960, 600
    # matplotlib counts in points, a page in pixels
    return round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)


def _list_files(folder: Path | None) -> list[tuple[str, str, str]]:
    """Return link, name and description of the tables in the folder of the page."""
    links = [(_link(folder / name, folder), name) for name in _FILES] if folder else []
    return [(link, name, _FILES[name]) for link, name in links if link]


def _link(path: Path, folder: Path | None) -> str:
    """Return a link from the page to a file, or nothing if it is not in the page's folder."""
    if folder is None or not path.is_file():
        return ""
    here, there = folder.resolve(), path.resolve()
    return quote(there.relative_to(here).as_posix()) if there.is_relative_to(here) else ""


def _describe_origin(report: data.ReportData) -> list[tuple[str, str]]:
    """Return what is needed to judge and repeat the run; what is unknown is left out."""
    run, asked = report.run, report.experiment
    units = [f"{run[key]:,} {key}" for key in ("done", "cached", "failed") if key in run]
    rows = [
        ("Experiment", asked.get("name")),
        ("Repetitions", asked.get("repetitions")),
        ("Seed", asked.get("seed")),
        ("Budget", _format_budget(asked)),
        ("Last pull", _OVERSPEND.get(str(asked.get("overspend")), asked.get("overspend"))),
        ("Data", asked.get("data")),
        ("Started", _format_start(run.get("started"))),
        ("Duration", _format_seconds(run.get("seconds"))),
        ("Core time of all plays", _format_seconds(run.get("core_seconds"))),
        ("Units of work", ", ".join(units)),
        ("Machine", run.get("machine")),
        ("Cores", run.get("cores")),
        ("Engine", run.get("engine")),
        ("bursar", run.get("bursar")),
        ("Digest of the code", run.get("digest")),
        ("Python", run.get("python")),
        ("Libraries", ", ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())),
    ]
    return [(what, str(value)) for what, value in rows if value not in (None, "")]


def _format_budget(asked: Mapping[str, Any]) -> str | None:
    if asked.get("budget") is not None:
        return f"{data.format_value(asked['budget'])} for each problem"
    if asked.get("budget_plays") is None:
        return None
    return f"{data.format_value(asked['budget_plays'])} × the mean cost of the cheapest arm"


def _format_seconds(seconds: float | None) -> str | None:
    return None if seconds is None else format_elapsed(seconds, 1)


def _format_start(started: Any) -> str | None:
    """Return an ISO time in words; anything else stays as it is."""
    try:
        return datetime.fromisoformat(str(started)).strftime("%d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return None if started is None else str(started)
