"""Figures for the page: put into it as data, so that one file is all there is."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bursar.errors import MissingData
from bursar.report.facts import Drawing

__all__ = ["Link", "Picture", "links", "pictures"]

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
class Link:
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


def links(folder: Path | None) -> list[Link]:
    """Return the tables that lie beside the page."""
    found = [(folder / name, about) for name, about in _BESIDE.items()] if folder else []
    return [
        Link(_address(path, folder), path.name, about) for path, about in found if path.exists()
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
