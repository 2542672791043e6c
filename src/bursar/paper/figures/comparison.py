"""The one picture for everybody: what share of the possible reward each policy lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from bursar.errors import BursarError, InvalidInput
from bursar.estimate import Estimate
from bursar.formatting import format_percent
from bursar.paper.analysis import games
from bursar.paper.analysis.dominance import PUBLISHED, Dominance
from bursar.paper.analysis.dominance import dominance as measure
from bursar.paper.analysis.games import failed, spread
from bursar.paper.analysis.shares import Ratio, overall, ratios, regret_shares
from bursar.paper.figures import style as choice
from bursar.paper.figures.style import (
    ACCENT,
    FAINT,
    FLOOR,
    INK,
    PALE,
    RECOMMENDED,
    STYLE,
    WIDTH,
    bare,
    family_colour,
    grid,
    is_ours,
    label,
    legend,
    roomy,
    short,
    thousands,
)
from bursar.problems import Nonstationary
from bursar.settings import setting as setting_of
from bursar.simulation.result import Result

__all__ = [
    "DRAWING",
    "Loss",
    "chance",
    "dominance",
    "failures",
    "headline",
    "losses",
    "per_million",
    "ratio_rows",
    "speed",
]

_CHANCE = "uniform"


class Loss(NamedTuple):
    """What a policy lost of the reward that was possible, as a mean over settings."""

    policy: str
    share: float


def losses(result: Result, policies: Sequence[str] | None = None) -> list[Loss]:
    """Return the mean share of the possible reward that each policy lost, the best first."""
    found = regret_shares(result, list(choice.main(result, policies)))
    if found is None:
        raise InvalidInput("no repetition was played by all policies; draw fewer policies")
    return [Loss(*pair) for pair in zip(found.policies, found.shares, strict=True)]


def chance(result: Result, data: Any = None) -> float | None:
    """Return the share that choosing arms at random loses: calculated from the true means.

    ``None`` if a setting is not one of the paper's, or its data are not there.
    """
    lost = []
    for name in choice.played(result):
        played = np.unique(result.repetition[result.setting == _at(result, name)])
        try:
            problems = [
                problem for number in played for problem in setting_of(name).problems(number, data)
            ]
        except BursarError:
            return None
        if any(isinstance(problem, Nonstationary) for problem in problems):
            return None  # what is random there depends on when
        # every arm is played equally often, so costs and rewards simply add up
        lost.append(
            np.mean(
                [1 - p.reward.sum() / p.cost.sum() / (p.reward / p.cost).max() for p in problems]
            )
        )
    return float(np.mean(lost)) if lost else None


def headline(
    result: Result, policies: Sequence[str] | None = None, random: float | None = None
) -> Figure:
    """Draw a bar a policy, the best at the top; ``random`` is what :func:`chance` returned."""
    bars = losses(result, policies)
    if random is not None and _CHANCE not in [bar.policy for bar in bars]:
        bars = sorted([*bars, Loss(_CHANCE, random)], key=lambda bar: bar.share)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.32 * len(bars) + 0.9), layout="constrained")
        panel = figure.subplots()
        for row, bar in enumerate(bars):
            _bar(panel, row, bar)
        panel.set_yticks(range(len(bars)), [_name(bar.policy) for bar in bars])
        for tick, bar in zip(panel.get_yticklabels(), bars, strict=True):
            tick.set(color=_colour(bar.policy, INK), weight=_weight(bar.policy))
        panel.set(xlim=(0.0, max(1.12 * bars[-1].share, 1e-9)), xticks=[])
        panel.set_ylim(len(bars) - 0.5, -0.5)
        figure.suptitle("How much of the possible reward each policy lost", x=0.01, ha="left")
        bare(panel, ("left", "bottom"))
    return figure


def _bar(panel: Any, row: int, bar: Loss) -> None:
    panel.barh(
        row, bar.share, height=0.68, color=_colour(bar.policy, "#9a9a9a"),
        hatch="////" if bar.policy == _CHANCE else None, edgecolor="white", linewidth=0,
    )  # fmt: skip
    words = f" lost {format_percent(bar.share)} of what was possible"
    if bar.policy != RECOMMENDED and row > 0:
        words = f" {format_percent(bar.share)}"
    panel.text(
        bar.share, row, words,
        va="center", color=_colour(bar.policy, INK), weight=_weight(bar.policy),
    )  # fmt: skip


def _name(slug: str) -> str:
    if slug == _CHANCE:
        return "choosing at random"
    return f"{label(slug)} (recommended)" if slug == RECOMMENDED else label(slug)


def _weight(slug: str) -> str:
    return "bold" if slug == RECOMMENDED else "normal"


def _colour(slug: str, other: str) -> str:
    if slug == RECOMMENDED:
        return ACCENT
    return FAINT if slug == _CHANCE and other == INK else other


def _at(result: Result, setting: str) -> int:
    return result.settings.index(setting)


# ==== figures.dominance
# Who beat whom: in the literature, and in the games of a result (the paper's Fig. 2).

_NAMES, _ABOVE, _BELOW = 1.3, 1.45, 0.5  # inches for names at the left and on top, for the legend

# shape says it all; colour only helps, and these two are told apart by everybody
_MARKS: dict[int | None, dict[str, Any]] = {
    1: {"marker": "^", "color": "#0072B2", "label": "row lost less than column"},
    -1: {"marker": "v", "color": "#E69F00", "label": "row lost more"},
    0: {"marker": "o", "color": FAINT, "markerfacecolor": "none", "label": "no clear difference"},
    None: {"marker": "_", "color": "#bbbbbb", "label": "not compared"},
}


def dominance(result: Result, published: Dominance = PUBLISHED) -> Figure:
    """Draw the published matrix beside that of a result; alone if the result has one policy."""
    ours = measure(result)
    tables = [(published, "Published, by other papers")]
    if len(ours.names) > 1:
        tables.append((ours, f"Our runs, {_settings(ours)}"))
    cells = sum(len(table.names) for table, _ in tables)
    # laid out by hand: automatic layouts cut what stands above square panels
    cell = min((WIDTH - len(tables) * _NAMES - 0.1) / cells, 0.29)
    high = cell * max(len(table.names) for table, _ in tables) + _ABOVE + _BELOW
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, high))
        left = 0.0
        for table, title in tables:
            side = cell * len(table.names)
            left += _NAMES
            box = (left / WIDTH, (high - _ABOVE - side) / high, side / WIDTH, side / high)
            _matrix(figure.add_axes(box), table, 22.0 * cell)
            figure.text(box[0], 1.0 - 0.1 / high, title, va="top", weight="bold", fontsize=10.5)
            left += side
        handles = [Line2D([], [], linestyle="", markersize=7, **style) for style in _MARKS.values()]
        figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=9)
    return figure


def _matrix(panel: Any, table: Dominance, size: float) -> None:
    count = len(table.names)
    for verdict, style in _MARKS.items():
        cells = [
            (column, row)
            for row in range(count)
            for column in range(count)
            if row != column and table.matrix[row][column] == verdict
        ]
        if cells:
            panel.plot(*zip(*cells, strict=True), linestyle="", markersize=size, zorder=3, **style)
    names = [short(slug) for slug in table.names]
    panel.tick_params(length=0, labeltop=True, labelbottom=False)
    panel.set_xticks(range(count), names, rotation=90, fontsize=9)
    panel.set_yticks(range(count), names, fontsize=9)
    for ticks in (panel.get_xticklabels(), panel.get_yticklabels()):
        for tick, slug in zip(ticks, table.names, strict=True):
            tick.set(weight="bold" if is_ours(slug) else "normal", color=INK)
    panel.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    edges = [i - 0.5 for i in range(count + 1)]
    panel.vlines(edges, -0.5, count - 0.5, color=PALE, linewidth=0.6)
    panel.hlines(edges, -0.5, count - 0.5, color=PALE, linewidth=0.6)
    for spine in panel.spines.values():
        spine.set_visible(False)


def _settings(table: Dominance) -> str:
    return table.settings[0] if len(table.settings) == 1 else f"{len(table.settings)} settings"


# ==== figures.ratios
# What is left of another policy's regret, a row a setting: of its mean and of its worst games.

_LOWER, _HIGHER = "#0072B2", ACCENT
_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_FINE = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)  # where the panel is narrow
_NARROW = 2.5  # from end to end


def ratio_rows(
    result: Result, one: str, other: str, settings: Sequence[str] | None = None
) -> Figure:
    """Draw the ratios with 95% intervals; blue is surely lower, orange surely higher."""
    found = ratios(result, one, other, settings)
    if not found:
        raise InvalidInput(f"no setting was played by both {one} and {other}")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.5 + 0.29 * (len(found) + 1)), layout="constrained")
        means, tails = figure.subplots(1, 2, sharey=True)
        _panel(means, [row.mean for row in found], "Mean regret")
        _panel(tails, [row.tail for row in found], "95th percentile of regret")
        _last(means, found)
        names = [row.setting for row in found]
        means.set_yticks(range(len(names) + 1), [*names, "geometric mean"])
        means.set_ylim(len(names) + 0.6, -0.6)
        figure.supxlabel(f"{short(one)} over {short(other)}", fontsize=10)
    return figure


def _panel(panel: Any, found: Sequence[Estimate], title: str) -> None:
    panel.axvline(1.0, color=FAINT, linewidth=1.0)
    for row, interval in enumerate(found):
        _point(panel, row, interval, "o")
    panel.set(title=title, xscale="log")
    low = min(min(one.low for one in found), 0.7)
    high = max(max(one.high for one in found), 1.15)
    panel.set_xlim(0.93 * low, 1.07 * high)
    ticks = _FINE if high < _NARROW * low else _TICKS
    panel.set_xticks([tick for tick in ticks if 0.93 * low <= tick <= 1.07 * high])
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="x")
    panel.tick_params(axis="y", length=0)


def _point(panel: Any, row: float, interval: Estimate, mark: str) -> None:
    colour = {"lower": _LOWER, "higher": _HIGHER, "unclear": FAINT}[interval.compare_to(1.0)]
    panel.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.0)
    panel.plot([interval.value], [row], mark, color=colour, markersize=6)


def _last(panel: Any, found: Sequence[Ratio]) -> None:
    whole = overall(found)
    row = len(found)
    panel.axhline(row - 0.5, color=FAINT, linewidth=0.6)
    _point(panel, row, whole, "D")
    panel.text(
        whole.value, row + 0.42, f"{whole.value:.2f}", ha="center", va="center", color=INK,
        fontsize=8.5,
    )  # fmt: skip


# ==== figures.failures
# How final regret spreads over games, and how many fail: the mean alone does not tell.

_MOST = 500  # dots a row; of more games every n-th by rank is drawn, which keeps the shape


def failures(result: Result, policies: Sequence[str] | None = None) -> Figure:
    """Draw final regret a game: dots, middle half, median and mean; failed games at the side."""
    names = choice.played(result)
    if not names:
        raise InvalidInput("the result has no game to draw; play at least one repetition")
    shown = choice.main(result, policies)
    bad = failed(result)
    with mpl.rc_context(STYLE):
        height = 0.19 * len(shown) + 0.75
        figure, panels, free = grid(len(names), height=max(height, 1.6), sharey=True)
        for panel, name in zip(panels, names, strict=True):
            _failures_panel(panel, result, name, shown, bad)
        panels[0].set_yticks(range(len(shown)), [short(slug) for slug in shown], fontsize=8.5)
        panels[0].set_ylim(len(shown) - 0.4, -0.6)
        legend(figure, panels, free, _key())
    return figure


def _failures_panel(panel: Any, result: Result, name: str, shown: Sequence[str], bad: Any) -> None:
    for verdict, mark in ((False, "."), (True, "x")):
        _dots(panel, result, name, shown, bad == verdict, mark)
    for row, slug in enumerate(shown):
        if games.has(result, name, slug):
            _strip(panel, row, spread(result, name, slug), family_colour(slug))
    panel.set(title=name, xscale="log", xlabel="final regret of a game (log)")
    panel.text(1.0, 1.02, "failed", transform=panel.transAxes, ha="right", fontsize=8, color=FAINT)
    panel.margins(x=0.08)
    low, high = roomy(*panel.get_xlim())
    panel.set_xlim(low, high * (high / low) ** 0.2)  # room for the shares at the right
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="x")
    bare(panel)


def _dots(
    panel: Any, result: Result, name: str, shown: Sequence[str], which: Any, mark: str
) -> None:
    """Draw games as one collection a panel: rasterising one by one would take long."""
    lost: list[float] = []
    at: list[int] = []
    shades: list[str] = []
    for row, slug in enumerate(shown):
        rows = games.rows_of(result, name, slug)
        ranked = np.sort(result.values[rows[which[rows]], -1, 2])
        some = ranked[:: max(1, ranked.size // _MOST)].tolist()
        lost += some
        at += [row] * len(some)
        shades += [family_colour(slug)] * len(some)
    if lost:
        panel.scatter(np.maximum(lost, FLOOR), at, c=shades, marker=mark, s=16, alpha=0.35,
                      linewidths=0.8, rasterized=True, zorder=1.5)  # fmt: skip


def _strip(panel: Any, row: int, facts: dict[str, float], colour: str) -> None:
    p25, median, p75, mean = (max(facts[k], FLOOR) for k in ("p25", "median", "p75", "mean"))
    panel.plot([p25, p75], [row, row], color=colour, linewidth=5, alpha=0.55,
               solid_capstyle="butt")  # fmt: skip
    panel.plot(median, row, "|", color=INK, markersize=9, markeredgewidth=1.8)
    panel.plot(mean, row, "D", color="white", markeredgecolor=INK, markersize=4)
    share = facts["failed"]
    panel.text(1.0, row, format_percent(share, digits=2), transform=panel.get_yaxis_transform(),
               ha="right", va="center", fontsize=8, color=INK if share > 0.0 else FAINT,
               weight="bold" if share >= 0.05 else "normal")  # fmt: skip


def _key() -> list[Line2D]:
    marks: list[tuple[dict[str, Any], str]] = [
        ({"marker": ".", "color": FAINT, "linestyle": ""}, "a game"),
        ({"marker": "x", "color": FAINT, "linestyle": ""}, "a game that failed"),
        ({"color": FAINT, "linewidth": 5, "alpha": 0.55}, "the middle half of the games"),
        ({"marker": "|", "color": INK, "linestyle": "", "markeredgewidth": 1.8}, "median"),
        ({"marker": "D", "color": "white", "markeredgecolor": INK, "linestyle": ""}, "mean"),
    ]
    return [Line2D([], [], label=words, **style) for style, words in marks]


# ==== figures.speed
# How long a million plays take, by policy.

DRAWING = "outcomes"  # the "policy" of rows that time the drawing of what arms yield

Rates = dict[str, dict[str, float]]


def per_million(rows: Sequence[Mapping[str, Any]]) -> tuple[dict[str, float], Rates]:
    """Return seconds per million plays by policy, and by policy and setting.

    Rows of the same policy and setting add up. The first is all seconds over all plays.
    """
    plays: defaultdict[tuple[str, str], float] = defaultdict(float)
    seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        key = (str(row["policy"]), str(row["setting"]))
        plays[key] += float(row["plays"])
        seconds[key] += float(row["seconds"])
    kept = [key for key in plays if plays[key] > 0.0 and seconds[key] > 0.0]
    each: Rates = defaultdict(dict)
    for policy, setting in kept:
        each[policy][setting] = 1e6 * seconds[policy, setting] / plays[policy, setting]
    whole = {
        policy: 1e6
        * sum(seconds[policy, setting] for setting in each[policy])
        / sum(plays[policy, setting] for setting in each[policy])
        for policy in each
    }
    return whole, dict(each)


def speed(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw seconds per million plays: a large dot over all settings, a small one each setting.

    Rows have ``policy``, ``setting``, ``plays`` and ``seconds``; those of the policy ``outcomes``
    time the drawing of outcomes, which all policies share, and stand apart at the bottom.
    """
    whole, each = per_million(rows)
    if not whole:
        raise InvalidInput("no time was measured; give rows with plays and seconds above 0")
    order = sorted((slug for slug in whole if slug != DRAWING), key=whole.__getitem__)
    order += [DRAWING] * (DRAWING in whole)
    places = [row + 0.6 * (slug == DRAWING) for row, slug in enumerate(order)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.27 * len(order) + 1.3), layout="constrained")
        panel = figure.subplots()
        panel.set_xscale("log")
        for at, slug in zip(places, order, strict=True):
            _row(panel, at, whole[slug], list(each[slug].values()), family_colour(slug))
        panel.set_yticks(places, [_speed_name(slug) for slug in order])
        panel.invert_yaxis()
        panel.set_title("Seconds that a million plays take")
        panel.set_xlabel("seconds per million plays (one core, log scale)")
        panel.margins(x=0.12)
        panel.set_xlim(roomy(*panel.get_xlim()))
        panel.grid(axis="x")
        panel.xaxis.set_minor_formatter(NullFormatter())
        thousands(panel.xaxis)
        bare(panel)
    return figure


def _row(panel: Any, at: float, whole: float, each: list[float], colour: str) -> None:
    panel.plot([min(each), max(each)], [at, at], color=colour, linewidth=1, alpha=0.5)
    panel.scatter(each, [at] * len(each), s=12, color=colour, alpha=0.55, linewidths=0)
    panel.scatter(whole, at, s=55, color=colour, zorder=3, linewidths=0)
    panel.annotate(
        f"{whole:.2g} s", (max(*each, whole), at), (7, 0),
        textcoords="offset points", va="center", color=colour,
    )  # fmt: skip


def _speed_name(slug: str) -> str:
    return "drawing outcomes (for all)" if slug == DRAWING else label(slug)
