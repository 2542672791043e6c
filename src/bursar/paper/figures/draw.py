"""Draw every figure that a result has the data for, as PNG and SVG files."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar.errors import BursarError, MissingData
from bursar.files import replace_file
from bursar.formatting import pluralize
from bursar.paper.analysis.coverage import measure_coverage
from bursar.paper.analysis.nonstationary import find_sweeps
from bursar.paper.figures import comparison, intervals, regret
from bursar.paper.figures.style import STYLE
from bursar.paper.labels import OWN, RECOMMENDED
from bursar.problems import Bernoulli, Problem
from bursar.settings import facebook
from bursar.settings.base import Data
from bursar.settings.facebook import Ads
from bursar.simulation.result import AnySetting, Result

Settings = Sequence[AnySetting | Problem]
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
    progress: Callable[[str, str], None] = lambda name, reason: None,
    about_paper: bool = True,
    settings: Settings = (),
) -> list[DrawnFigure]:
    """Draw each figure that the result has data for, as PNG and SVG.

    ``data`` are the Facebook ads, ``timings`` rows of ``policy``, ``setting``, ``plays`` and
    ``seconds``, ``coverage_rows`` by default those of `measure_coverage`. ``settings`` are what was
    played, for a user's own settings, of which the result has only the names. ``progress`` is
    called with the name of each figure, and the reason if it was left out, else "". Figures about
    the paper and its theory are left out unless ``about_paper``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[DrawnFigure] = []
    for name, make in _figures(result, data, timings, coverage_rows, settings):
        if name in _PAPER and not about_paper:
            continue
        reason = ""
        try:
            figure = make()
        except BursarError as error:  # the result lacks the data
            reason = str(error)
        else:
            text, shared = load_captions()[name], load_captions()["shared"]
            caption = text["caption"].format(run=_describe_run(result), **shared)
            paths = save_figure(figure, folder, name)
            drawn.append(DrawnFigure(name, text["title"], " ".join(caption.split()), *paths))
        progress(name, reason)
    return drawn


@cache
def load_captions() -> dict[str, dict[str, str]]:
    """Return title and caption of each figure, and the texts that captions share."""
    return tomllib.loads(files(__package__).joinpath("captions.toml").read_text(encoding="utf-8"))


def save_figure(figure: Figure, folder: Path, name: str) -> tuple[Path, Path]:
    """Write a figure as PNG and SVG, under temporary names until they are complete."""
    png, svg = (folder / f"{name}.{kind}" for kind in ("png", "svg"))
    with mpl.rc_context(STYLE):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, not for each file
    for path in (png, svg):
        # without a date the same figure gives the same bytes
        metadata = {"Date": None} if path is svg else {}
        with mpl.rc_context(STYLE), replace_file(path) as partial:
            figure.savefig(partial, dpi=_DPI, metadata=metadata)
    return png, svg


def _figures(
    result: Result, data: Data, timings: Rows, rows: Rows | None, settings: Settings
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Yield the name of each figure and a function that draws it, in the order of a report."""
    random = comparison.random_regret_share
    played: Any = {"settings": settings, "data": data}
    yield "headline", lambda: comparison.draw_headline(result, random=random(result, data))
    if find_sweeps(result):  # the paper's figures assume that nothing changes
        yield "changing", lambda: regret.draw_nonstationary(result)
        yield "speed", lambda: comparison.draw_speed(timings)
        return
    if {OWN, RECOMMENDED} <= set(result.policies):
        yield "ratios", lambda: comparison.draw_ratios(result, OWN, RECOMMENDED)
    yield "regret", lambda: regret.draw_regret(result, intervals=False, **played)
    yield "regret-intervals", lambda: regret.draw_regret(result, **played)
    yield "regret-medians", lambda: regret.draw_regret(result, statistic="median")
    yield "failures", lambda: comparison.draw_failures(result)
    yield "dominance", lambda: comparison.draw_dominance(result)
    yield "sensitivity", lambda: regret.draw_sensitivity(result)
    yield "curvature", lambda: regret.draw_curvature(result)
    yield "bounds", lambda: regret.draw_bounds(result)
    yield "coverage", lambda: intervals.draw_coverage(measure_coverage() if rows is None else rows)
    yield "asymmetry", intervals.draw_asymmetry
    yield "density", lambda: intervals.draw_density(_find_campaign(data))
    yield "speed", lambda: comparison.draw_speed(timings)


def _find_campaign(data: Data) -> Bernoulli:
    try:
        ads = data if isinstance(data, Ads) else facebook.load(facebook.find_file(data))
        return intervals.find_paper_campaign(ads.campaigns())
    except MissingData:
        if data is not None:
            raise
        raise MissingData(
            "it shows a campaign of the Facebook ads; pass the file with --data"
        ) from None


def _describe_run(result: Result) -> str:
    """Return a sentence on how much was played."""
    settings, repetitions = (np.unique(of).size for of in (result.setting, result.repetition))
    words = [pluralize(settings, "setting"), pluralize(repetitions, "repetition")]
    return f"This run: {' × '.join(words)}, {result.values.shape[0]:,} games."
