"""The page as text, from a template that escapes whatever it is given."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bursar.errors import MissingData
from bursar.formatting import format_elapsed
from bursar.paper.analysis.games import FAILED
from bursar.paper.figures.style import colours, is_ours
from bursar.paper.report.facts import (
    Drawing,
    ReportData,
    amount,
    name,
    number,
    percent,
    setups,
)
from bursar.paper.report.summary import write_text
from bursar.paper.report.tables import counts, finals, matrix, sections, speeds

__all__ = ["Picture", "ReportLink", "links", "page", "pictures"]

# ==== report.pictures
# Figures for the page: put into it as data, so that one file is all there is.

_BOX = re.compile(r'<svg\b[^>]*?\bviewBox="\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+([\d.e]+)[\s,]+([\d.e]+)')
_BESIDE = {
    "results.parquet": "every game as a table",
    "summary.csv": "what each policy came to in each setting",
    "claims.json": "the claims with their numbers",
    "experiment.toml": "what was asked for; bursar run plays it again",
    "run.json": "how it was made",
}


@dataclass(frozen=True)
class Picture:
    """A figure as the page shows it."""

    anchor: str
    name: str
    title: str
    caption: str
    data: str  # a data URI
    width: int
    height: int
    png: str  # a link, or empty
    svg: str


@dataclass(frozen=True)
class ReportLink:
    """A file beside the page."""

    address: str
    text: str
    about: str


def pictures(figures: Sequence[Drawing], folder: Path | None) -> list[Picture]:
    """Return the figures with their content; files are linked if they lie under ``folder``."""
    return [_picture(place, one, folder) for place, one in enumerate(figures, start=1)]


def _picture(place: int, figure: Drawing, folder: Path | None) -> Picture:
    try:
        content = figure.svg.read_bytes()
    except OSError as error:
        raise MissingData(
            f"figure {figure.name!r} has no file {str(figure.svg)!r}; draw the figures again"
        ) from error
    width, height = _size(content)
    return Picture(
        f"figure-{place}",
        figure.name,
        figure.title,
        figure.caption,
        f"data:image/svg+xml;base64,{b64encode(content).decode()}",
        width,
        height,
        _address(figure.png, folder),
        _address(figure.svg, folder),
    )


def links(folder: Path | None) -> list[ReportLink]:
    """Return the tables that lie beside the page."""
    found = [(folder / name, about) for name, about in _BESIDE.items()] if folder else []
    return [
        ReportLink(_address(path, folder), path.name, about)
        for path, about in found
        if path.exists()
    ]


def _address(path: Path, folder: Path | None) -> str:
    """Return a link from the page to a file, or nothing if it does not lie beside it."""
    if folder is None or not path.is_file():
        return ""
    here, there = folder.resolve(), path.resolve()
    return quote(there.relative_to(here).as_posix()) if there.is_relative_to(here) else ""


def _size(content: bytes) -> tuple[int, int]:
    """Return width and height, so that nothing jumps while the page loads."""
    found = _BOX.search(content[:4000].decode("utf-8", "replace"))
    if found is None:
        return 960, 600
    # matplotlib counts in points, a page in pixels
    return round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)


def page(facts: ReportData, folder: Path | None = None) -> str:
    """Return the whole report as one HTML document.

    Parameters
    ----------
    facts : Facts
        What the page tells.
    folder : Path, optional
        Where it will lie; files in that folder are linked.
    """
    tables = finals(facts.result)
    return _template().render(
        facts=facts,
        words=write_text(facts),
        colours=colours(facts.result.policies),
        figures=pictures(facts.figures, folder),
        counts=counts(facts.claims),
        sections=sections(facts.claims),
        setups=setups(facts),
        tables=tables,
        matrix=matrix(facts.result, tables),
        speeds=speeds(facts.timings),
        made=_made(facts),
        links=links(folder),
        totals=_totals(facts),
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
    environment.filters |= {"number": number, "percent": percent, "policy": name}
    environment.tests["ours"] = is_ours
    return environment.get_template("page.html.jinja")


def _totals(facts: ReportData) -> dict[str, str]:
    result = facts.result
    return {
        "games": amount(len(result.setting)),
        "plays": amount(float(result.values[:, -1, 0].sum())),
        "policies": amount(len(result.policies)),
    }


def _made(facts: ReportData) -> list[tuple[str, str]]:
    """Return what is needed to judge and repeat the run, as pairs; the unknown is left out."""
    run, asked = facts.run, facts.experiment
    units = [f"{run[key]:,} {key}" for key in ("done", "cached", "failed") if key in run]
    rows = [
        ("Experiment", asked.get("name")),
        ("Repetitions", asked.get("repetitions")),
        ("Seed", asked.get("seed")),
        ("Budget", _budget(asked)),
        ("Last pull", _OVERSPEND.get(str(asked.get("overspend")), asked.get("overspend"))),
        ("Data", asked.get("data")),
        ("Started", _moment(run.get("started"))),
        ("Took", _duration(run.get("seconds"))),
        ("Time of all cores, playing", _duration(run.get("core_seconds"))),
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


_OVERSPEND = {
    "last": "may cost more than is left in the purse",
    "never": "is not made if it could cost more than is left in the purse",
}


def _budget(asked: Mapping[str, Any]) -> str | None:
    if asked.get("budget") is not None:
        return f"{number(asked['budget'])} for each problem"
    if asked.get("budget_plays") is None:
        return None
    return f"{number(asked['budget_plays'])} × the mean cost of the cheapest arm"


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else format_elapsed(seconds, 1)


def _moment(started: Any) -> str | None:
    """Return an ISO time as people write it; anything else stays as it is."""
    try:
        return datetime.fromisoformat(str(started)).strftime("%d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return None if started is None else str(started)
