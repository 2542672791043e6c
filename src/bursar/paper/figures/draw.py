"""Draw every figure that a result has the data for, as PNG and SVG files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar.errors import BursarError, MissingData
from bursar.files import whole_file
from bursar.formatting import pluralize
from bursar.paper.analysis.coverage import coverage as cover
from bursar.paper.analysis.nonstationary import sweeps
from bursar.paper.analysis.shares import NEW
from bursar.paper.figures.captions import CAPTIONS
from bursar.paper.figures.comparison import chance, dominance, failures, headline, ratio_rows, speed
from bursar.paper.figures.intervals import asymmetry, coverage, density, like_the_papers
from bursar.paper.figures.regret import bounds, changing, curvature, curves, sensitivity
from bursar.paper.figures.style import RECOMMENDED, STYLE
from bursar.problems import Problem
from bursar.settings import facebook
from bursar.settings.facebook import Ads
from bursar.simulation.result import Data, Place, Result

__all__ = ["DrawnFigure", "draw_all", "save"]

Places = Sequence[Place | Problem]
Rows = Sequence[Mapping[str, Any]]

_DPI = 150
_PAPER = ("dominance", "sensitivity", "curvature", "bounds", "coverage", "asymmetry", "density")


@dataclass(frozen=True)
class DrawnFigure:
    """A figure that was drawn, and where it is."""

    name: str
    title: str
    caption: str
    png: Path
    svg: Path


def draw_all(
    result: Result,
    folder: Path,
    data: Data = None,
    timings: Rows = (),
    coverage_rows: Rows | None = None,
    progress: Callable[[str, str], None] | None = None,
    about_paper: bool = True,
    places: Places = (),
) -> list[DrawnFigure]:
    """Draw what can be drawn; the rest is left out with a reason.

    Parameters
    ----------
    result : Result
        Of any settings and policies.
    folder : Path
        Where the files go; it is made if it is not there.
    data : path or Ads, optional
        The Facebook ads, for the density of a campaign and for what chance and the best
        policies lose on them.
    timings : sequence of mappings
        Rows of ``policy``, ``setting``, ``plays``, ``seconds``, for the figure of speed.
    coverage_rows : sequence of mappings, optional
        As of :func:`bursar.paper.analysis.coverage.coverage`, which is called without them.
    progress : callable, optional
        Told the name of each figure when it is done, and the reason if it was left out, else "".
    about_paper : bool
        Whether to draw what is about the paper and its theory, too.
    places : sequence of settings and problems
        What was played; of one's own settings the result has the names only.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[DrawnFigure] = []
    for name, make in _figures(result, data, timings, coverage_rows, places):
        if name in _PAPER and not about_paper:
            continue
        reason = ""
        try:
            figure = make()
        except BursarError as error:  # what the result has no data for
            reason = str(error)
        else:
            title, caption = CAPTIONS[name]
            files = save(figure, folder, name)
            drawn.append(DrawnFigure(name, title, caption.format(run=_run(result)), *files))
        if progress is not None:
            progress(name, reason)
    return drawn


def save(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write a figure as PNG and SVG, under temporary names until they are whole."""
    png, svg = (folder / f"{name}.{kind}" for kind in ("png", "svg"))
    with mpl.rc_context(STYLE):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not for each file
    for path in (png, svg):
        # without a date the same figure gives the same bytes
        metadata = {"Date": None} if path is svg else {}
        with mpl.rc_context(STYLE), whole_file(path) as partial:
            figure.savefig(partial, dpi=_DPI, metadata=metadata)
    return png, svg


def _figures(
    result: Result, data: Data, timings: Rows, rows: Rows | None, places: Places
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yield name and maker of each figure, in the order of a report."""
    yield "headline", lambda: headline(result, random=chance(result, data))
    if sweeps(result):  # worlds that change: the paper's figures say nothing of them
        yield "changing", lambda: changing(result)
        yield "speed", lambda: speed(timings)
        return
    if {NEW, RECOMMENDED} <= set(result.policies):
        yield "ratios", lambda: ratio_rows(result, NEW, RECOMMENDED)
    yield "regret", lambda: curves(result, intervals=False, places=places, data=data)
    yield "regret-intervals", lambda: curves(result, places=places, data=data)
    yield "regret-medians", lambda: curves(result, statistic="median")
    yield "failures", lambda: failures(result)
    yield "dominance", lambda: dominance(result)
    yield "sensitivity", lambda: sensitivity(result)
    yield "curvature", lambda: curvature(result)
    yield "bounds", lambda: bounds(result)
    yield "coverage", lambda: coverage(cover() if rows is None else rows)
    yield "asymmetry", asymmetry
    yield "density", lambda: density(like_the_papers(_ads(data).campaigns()))
    yield "speed", lambda: speed(timings)


def _ads(data: Data) -> Ads:
    if isinstance(data, Ads):
        return data
    try:
        return facebook.load(facebook.find_file(data))
    except MissingData:
        if data is not None:
            raise
        raise MissingData(
            "it shows a campaign of the Facebook ads; give them with --data"
        ) from None


def _run(result: Result) -> str:
    """Say how much was played, in a sentence."""
    settings, repetitions = (np.unique(of).size for of in (result.setting, result.repetition))
    words = [pluralize(settings, "setting"), pluralize(repetitions, "repetition")]
    return f"This run: {' × '.join(words)}, {result.values.shape[0]:,} games."
