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
from bursar.files import replace_file
from bursar.formatting import pluralize
from bursar.paper.analysis.coverage import measure_coverage
from bursar.paper.analysis.nonstationary import find_sweeps
from bursar.paper.figures import comparison, intervals, regret
from bursar.paper.figures.style import STYLE
from bursar.paper.labels import OWN, RECOMMENDED
from bursar.problems import Problem
from bursar.settings import facebook
from bursar.settings.base import Data
from bursar.settings.facebook import AdCampaign, Ads
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
    progress: Callable[[str, str], None] | None = None,
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
            title, caption = CAPTIONS[name]
            caption = caption.format(run=_describe_run(result))
            drawn.append(DrawnFigure(name, title, caption, *save_figure(figure, folder, name)))
        if progress is not None:
            progress(name, reason)
    return drawn


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


def _find_campaign(data: Data) -> AdCampaign:
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


# the text below each figure: what it shows, what to look at, and how it differs from the paper

_REGRET = """
Regret is the reward lost against always playing the best arm; lower is better. Each panel is a
setting, with a logarithmic axis of the budget. Coloured lines are the ω family (warm ω*-UCB, cool
ω-UCB), grey lines all other policies. Policies that are far worse leave a panel at its top and are
named there.
"""
_LEAST = """
The dashed line, where arms are Bernoulli, is the asymptotic lower bound of mean regret (Lai and
Robbins), averaged over the problems that were played. It bounds the slope in the long run, not the
regret at any one budget, so a policy may lie below it here.
"""

# A line of name and title, then the caption. ``{run}`` is replaced by a sentence on the size of the
# run, ``{regret}`` and ``{least}`` by the texts above.
_TEXTS = """
[headline] How much of the possible reward each policy lost
A player who knew the best arm from the start would lose nothing. Each bar is what a policy lost
while it had to find that arm: its regret as a share of what the best arm earns with the same
budget, averaged over games and then over settings. Shorter is better. The hatched bar, if shown, is
random choice, either played or calculated from the true means. {run}
[changing] What policies lose over the speed of change
From left to right, means change more and more often while one budget is spent. A point is the
regret of a policy, against the best arm at each moment, as a share of what that arm would have
earned; bars are 95% intervals. Orange never forgets, blue remembers only the last plays (a window),
green gives older plays less weight. {run}
[ratios] What is left of the regret of the paper's best policy
Each row is a setting: the regret of bursar's own policy over that of the paper's recommendation;
left of the line it loses less. The left panel shows the mean over repetitions, the right panel what
one game in twenty exceeds. Bars are 95% intervals from resampled repetitions; blue is significantly
lower, orange significantly higher, grey is inconclusive. {run}
[regret] Fig. 3: regret over the budget
{regret} {least} Lines are means over repetitions. {run} Look at which lines stay flat to the right.
Two errors are corrected: the published code takes the means of generalised Bernoulli arms as 0.8 of
their true values, and it shares streams of random numbers.
[regret-intervals] Fig. 3 with 95% intervals
{regret} {least} Shaded areas are 95% intervals of the mean over repetitions; the ad campaigns of a
repetition are averaged first. {run} Where bands are wide, a few games dominate the mean.
[regret-medians] Fig. 3 with medians: the typical game
{regret} Lines are medians over repetitions, shaded areas their 95% intervals. {run} Compare with
the means: a policy that looks good here and bad there usually does well but sometimes stays on a
wrong arm. The paper shows means only.
[dominance] Fig. 2: who beat whom
Read a row: a triangle up means that its policy lost significantly less than that of the column, a
triangle down the opposite, a circle that no clear difference was found, a dash that the two were
not compared. Left: the paper's compilation of the literature, as its script draws it (it swaps
m-UCB and b-greedy while their labels stay). Right: our own runs, paired by setting and repetition
on the logarithm of regret, every setting with the same weight; sign-flip test at 5%, corrected for
all pairs (Holm). It describes the typical game. {run}
[coverage] Fig. 1: are 99% bounds right, and are they tight?
For random pairs of Bernoulli rewards and costs, the figure shows the bound on reward per cost that
a policy would use. Left: how often the truth lies above it; right of the dashed line the bound
promises too much. Right: how far a typical bound lies above the truth; less is better. Larger marks
are larger samples. A good bound is left of the line in the left panel and far left in the right
one. Corrected against the published script (hollow marks): Budget-UCB used the reward in place of
the cost; UCB-SC had the same radius for every sample size; ω-UCB was computed for half the allowed
level; costs were drawn again until their mean was above 0, whereas here such bounds are infinite
and never violated.
[sensitivity] Fig. 4: how much depends on ρ
Final regret for each ρ: dots are means with 95% intervals (bootstrap), dashes medians, and rings
mark the lowest mean. A small ρ explores little: there mean and median differ most, because a few
games that stay on a wrong arm dominate the mean. A large ρ is safe but expensive. {run} The paper
shows means only.
[curvature] Straight or bent: ρ = 1 against ρ = 1/4
Over a logarithmic budget, logarithmic regret is a straight line. The dashed line is fitted to the
last decade (shaded) and extended backwards. The bend compares the last two decades: 0 is straight,
above 0 convex; brackets hold its 95% interval. {run} The paper describes ρ = 1 as linear and ρ =
1/4 as convex.
[bounds] Theorem 5's bound is far above what was measured
Dashed lines are the proven bound of expected regret, averaged over the problems that were played;
solid lines are the measured mean regret. Both axes are logarithmic. The bound holds but says little
about the size of regret; it is about growth: logarithmic for ρ = 1, a power of the budget for ρ =
1/4. The paper gives only the order of its term X(B); bursar derives it. {run}
[failures] How often a policy fails badly
Each dot is a game. A cross is a game that failed: over the last half of its budget it lost more
than a tenth of what the best arm earns, so it stayed on a wrong arm. The thick bar is the middle
half of the games, the line in it the median, the diamond the mean. The share of failed games stands
at the right, bold from 5%. Where the diamond lies far right of the median, a few games dominate the
mean. {run} Not in the paper.
[density] Where the ads of a campaign lie
Each dot is an ad: what a click costs and earns on average, scaled to the campaign's largest. Dark
areas have many ads. The best arm earns most per cost. The paper shows a campaign with 33 ads; the
dots are new.
[asymmetry] How asymmetric the interval is
Distance of the sample mean from the centre of its interval, in half widths, for z = 3. Near 0 and 1
the interval leans inwards; with more samples it becomes symmetric. Left: the published curve, which
is the square of the paper's definition. Right: the definition, with its sign; it lies in [−1, 1],
not in [0, 1] as the paper says.
[speed] Seconds per million plays
Large dots are all seconds over all plays, small dots one setting each. Drawing outcomes is shared
by all policies and shown separately. Not in the paper.
"""


def _parse_captions(texts: str) -> dict[str, tuple[str, str]]:
    found = {}
    for entry in texts.split("\n[")[1:]:
        head, _, caption = entry.partition("\n")
        name, _, title = head.partition("] ")
        caption = caption.replace("{regret}", _REGRET).replace("{least}", _LEAST)
        found[name] = (title, " ".join(caption.split()))
    return found


CAPTIONS = _parse_captions(_TEXTS)
