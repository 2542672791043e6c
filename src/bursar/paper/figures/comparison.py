"""Figures that compare policies: shares lost, orders, ratios, failures and speed."""

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
from bursar.paper import labels
from bursar.paper.analysis import games, shares
from bursar.paper.analysis.compare import Dominance, load_published, measure_dominance
from bursar.paper.figures import style
from bursar.problems import Nonstationary
from bursar.settings import setting as setting_of
from bursar.simulation.result import Result

_RANDOM = "uniform"

# what share of the possible reward each policy lost


def rank_policies(result: Result, policies: Sequence[str] | None = None) -> dict[str, float]:
    """Return the mean share of the possible reward that each policy lost, the best first."""
    found = shares.regret_shares(result, games.select_policies(result, policies))
    if found is None:
        raise InvalidInput("no repetition was played by all policies; draw fewer policies")
    return dict(zip(found.policies, found.shares, strict=True))


def random_regret_share(result: Result, data: Any = None) -> float | None:
    """Return the share that random choice of arms loses, calculated from the true means.

    ``None`` if a setting is not one of the paper's, or its data are missing.
    """
    shares = []
    for name in games.played_settings(result):
        played = np.unique(result.repetition[result.setting == result.settings.index(name)])
        try:
            problems = [p for number in played for p in setting_of(name).problems(number, data)]
        except BursarError:
            return None
        if any(isinstance(problem, Nonstationary) for problem in problems):
            return None  # there it depends on the time of a play
        # every arm is played equally often, so costs and rewards simply add up
        ratios = [p.reward.sum() / p.cost.sum() / (p.reward / p.cost).max() for p in problems]
        shares.append(np.mean([1 - ratio for ratio in ratios]))
    return float(np.mean(shares)) if shares else None


@mpl.rc_context(style.STYLE)
def draw_headline(
    result: Result, policies: Sequence[str] | None = None, random: float | None = None
) -> Figure:
    """Draw one bar per policy, the best at the top.

    ``random``, of :func:`random_regret_share`, adds a bar unless the policy ``uniform`` played.
    """
    shares = rank_policies(result, policies)
    if random is not None:
        shares.setdefault(_RANDOM, random)
    bars = sorted(shares.items(), key=lambda bar: bar[1])
    figure = Figure(figsize=(style.WIDTH, 0.32 * len(bars) + 0.9), layout="constrained")
    panel = figure.subplots()
    panel.set_yticks(range(len(bars)), [_name_bar(slug) for slug, _ in bars])
    for row, (tick, (slug, share)) in enumerate(zip(panel.get_yticklabels(), bars, strict=True)):
        recommended = slug == labels.RECOMMENDED
        colour = style.ACCENT if recommended else style.FAINT if slug == _RANDOM else style.INK
        text: Any = {"weight": "bold" if recommended else "normal", "color": colour}
        panel.barh(
            row, share, height=0.68, color=style.ACCENT if recommended else "#9a9a9a",
            hatch="////" if slug == _RANDOM else None, edgecolor="white", linewidth=0,
        )  # fmt: skip
        words = f" {format_percent(share)}"
        if recommended or row == 0:
            words = f" lost{words} of what was possible"
        panel.text(share, row, words, va="center", **text)
        tick.set(**text)
    panel.set(xlim=(0.0, max(1.12 * bars[-1][1], 1e-9)), xticks=[])
    panel.set_ylim(len(bars) - 0.5, -0.5)
    figure.suptitle("How much of the possible reward each policy lost", x=0.01, ha="left")
    style.hide_axis_line(panel, ("left", "bottom"))
    return figure


def _name_bar(slug: str) -> str:
    if slug == _RANDOM:
        return "choosing at random"
    label = labels.format_label(slug)
    return f"{label} (recommended)" if slug == labels.RECOMMENDED else label


# who beat whom (the paper's Fig. 2)

_NAMES, _ABOVE, _BELOW = 1.3, 1.45, 0.5  # inches for names at the left and on top, for the legend

# the shape is enough; colour only helps, and all readers can tell these two apart
_MARKS: dict[int | None, dict[str, Any]] = {
    1: {"marker": "^", "color": style.BLUE, "label": "row lost less than column"},
    -1: {"marker": "v", "color": "#E69F00", "label": "row lost more"},
    0: {
        "marker": "o",
        "color": style.FAINT,
        "markerfacecolor": "none",
        "label": "no clear difference",
    },
    None: {"marker": "_", "color": "#bbbbbb", "label": "not compared"},
}


@mpl.rc_context(style.STYLE)
def draw_dominance(result: Result) -> Figure:
    """Draw the published matrix beside that of a result; alone if the result has one policy."""
    ours = measure_dominance(result)
    tables = [(load_published(), "Published, by other papers")]
    if len(ours.names) > 1:
        where = ours.settings[0] if len(ours.settings) == 1 else f"{len(ours.settings)} settings"
        tables.append((ours, f"Our runs, {where}"))
    cells = sum(len(table.names) for table, _ in tables)
    # laid out by hand: automatic layouts cut what stands above square panels
    cell = min((style.WIDTH - len(tables) * _NAMES - 0.1) / cells, 0.29)
    high = cell * max(len(table.names) for table, _ in tables) + _ABOVE + _BELOW
    figure = Figure(figsize=(style.WIDTH, high))
    left = 0.0
    for table, title in tables:
        side = cell * len(table.names)
        left += _NAMES
        box = (left / style.WIDTH, (high - _ABOVE - side) / high, side / style.WIDTH, side / high)
        _draw_matrix(figure.add_axes(box), table, 22.0 * cell)
        figure.text(box[0], 1.0 - 0.1 / high, title, va="top", weight="bold", fontsize=10.5)
        left += side
    handles = [Line2D([], [], linestyle="", markersize=7, **mark) for mark in _MARKS.values()]
    figure.legend(handles=handles, loc="lower center", ncols=4, fontsize=9)
    return figure


def _draw_matrix(panel: Any, table: Dominance, size: float) -> None:
    count = len(table.names)
    for verdict, mark in _MARKS.items():
        cells = [
            (column, row)
            for row in range(count)
            for column in range(count)
            if row != column and table.matrix[row][column] == verdict
        ]
        if cells:
            panel.plot(*zip(*cells, strict=True), linestyle="", markersize=size, zorder=3, **mark)
    names = [labels.format_short_label(slug) for slug in table.names]
    panel.tick_params(length=0, labeltop=True, labelbottom=False)
    panel.set_xticks(range(count), names, rotation=90, fontsize=9)
    panel.set_yticks(range(count), names, fontsize=9)
    for ticks in (panel.get_xticklabels(), panel.get_yticklabels()):
        for tick, slug in zip(ticks, table.names, strict=True):
            tick.set(weight="bold" if labels.is_omega(slug) else "normal", color=style.INK)
    panel.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    edges = [i - 0.5 for i in range(count + 1)]
    panel.vlines(edges, -0.5, count - 0.5, color=style.PALE, linewidth=0.6)
    panel.hlines(edges, -0.5, count - 0.5, color=style.PALE, linewidth=0.6)
    for spine in panel.spines.values():
        spine.set_visible(False)


# how much of another policy's regret is left, of its mean and of its worst games

_TICKS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0)
_FINE = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5)  # where the panel is narrow
_NARROW = 2.5  # from end to end


@mpl.rc_context(style.STYLE)
def draw_ratios(
    result: Result, one: str, other: str, settings: Sequence[str] | None = None
) -> Figure:
    """Draw the ratios with 95% intervals; blue is surely lower, orange surely higher."""
    found = shares.regret_ratios(result, one, other, settings)
    if not found:
        raise InvalidInput(f"no setting was played by both {one} and {other}")
    figure = Figure(figsize=(style.WIDTH, 1.5 + 0.29 * (len(found) + 1)), layout="constrained")
    means, tails = figure.subplots(1, 2, sharey=True)
    _draw_ratio_panel(means, [row.mean for row in found], "Mean regret")
    _draw_ratio_panel(tails, [row.tail for row in found], "95th percentile of regret")
    whole, last = shares.overall_ratio(found), len(found)
    means.axhline(last - 0.5, color=style.FAINT, linewidth=0.6)
    _draw_estimate(means, last, whole, "D")
    words = f"{whole.value:.2f}"
    means.text(whole.value, last + 0.42, words, ha="center", va="center", color=style.INK,
               fontsize=8.5)  # fmt: skip
    names = [row.setting for row in found]
    means.set_yticks(range(len(names) + 1), [*names, "geometric mean"])
    means.set_ylim(len(names) + 0.6, -0.6)
    figure.supxlabel(
        f"{labels.format_short_label(one)} over {labels.format_short_label(other)}", fontsize=10
    )
    return figure


def _draw_ratio_panel(panel: Any, found: Sequence[Estimate], title: str) -> None:
    panel.axvline(1.0, color=style.FAINT, linewidth=1.0)
    for row, interval in enumerate(found):
        _draw_estimate(panel, row, interval, "o")
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


def _draw_estimate(panel: Any, row: float, interval: Estimate, mark: str) -> None:
    colour = {"lower": style.BLUE, "higher": style.ACCENT, "unclear": style.FAINT}[
        interval.compare_to(1.0)
    ]
    panel.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2.0)
    panel.plot([interval.value], [row], mark, color=colour, markersize=6)


# how final regret spreads over games, and how many fail

_MOST = 500  # dots per row; of more games every n-th by rank is drawn, which keeps the shape


@mpl.rc_context(style.STYLE)
def draw_failures(result: Result, policies: Sequence[str] | None = None) -> Figure:
    """Draw the final regret of each game, its distribution, and the share of failed games."""
    names = games.played_settings(result)
    if not names:
        raise InvalidInput("the result has no game to draw; play at least one repetition")
    shown = games.select_policies(result, policies)
    failed = games.failed_games(result)
    height = 0.19 * len(shown) + 0.75
    figure, panels, free = style.make_grid(len(names), height=max(height, 1.6), sharey=True)
    for panel, name in zip(panels, names, strict=True):
        _draw_games(panel, result, name, shown, failed)
    panels[0].set_yticks(
        range(len(shown)), [labels.format_short_label(slug) for slug in shown], fontsize=8.5
    )
    panels[0].set_ylim(len(shown) - 0.4, -0.6)
    style.add_legend(figure, panels, free, _failure_handles())
    return figure


def _draw_games(panel: Any, result: Result, name: str, shown: Sequence[str], failed: Any) -> None:
    for verdict, mark in ((False, "."), (True, "x")):
        _draw_dots(panel, result, name, shown, failed == verdict, mark)
    for row, slug in enumerate(shown):
        if games.has_games(result, name, slug):
            _draw_spread(
                panel, row, games.describe_spread(result, name, slug), labels.family_colour(slug)
            )
    panel.set(title=name, xscale="log", xlabel="final regret of a game (log)")
    panel.text(
        1.0, 1.02, "failed", transform=panel.transAxes, ha="right", fontsize=8, color=style.FAINT
    )
    panel.margins(x=0.08)
    low, high = style.widen_limits(*panel.get_xlim())
    panel.set_xlim(low, high * (high / low) ** 0.2)  # room for the shares at the right
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="x")
    style.hide_axis_line(panel)


def _draw_dots(
    panel: Any, result: Result, name: str, shown: Sequence[str], which: Any, mark: str
) -> None:
    """Draw the games of a panel as one collection; rasterising them one by one takes long."""
    regret: list[float] = []
    at: list[int] = []
    shades: list[str] = []
    for row, slug in enumerate(shown):
        rows = games.rows_of(result, name, slug)
        ranked = np.sort(result.values[rows[which[rows]], -1, 2])
        some = ranked[:: max(1, ranked.size // _MOST)].tolist()
        regret += some
        at += [row] * len(some)
        shades += [labels.family_colour(slug)] * len(some)
    if regret:
        panel.scatter(np.maximum(regret, style.FLOOR), at, c=shades, marker=mark, s=16, alpha=0.35,
                      linewidths=0.8, rasterized=True, zorder=1.5)  # fmt: skip


def _draw_spread(panel: Any, row: int, facts: dict[str, float], colour: str) -> None:
    p25, median, p75, mean = (max(facts[k], style.FLOOR) for k in ("p25", "median", "p75", "mean"))
    panel.plot([p25, p75], [row, row], color=colour, linewidth=5, alpha=0.55,
               solid_capstyle="butt")  # fmt: skip
    panel.plot(median, row, "|", color=style.INK, markersize=9, markeredgewidth=1.8)
    panel.plot(mean, row, "D", color="white", markeredgecolor=style.INK, markersize=4)
    share = facts["failed"]
    panel.text(1.0, row, format_percent(share, digits=2), transform=panel.get_yaxis_transform(),
               ha="right", va="center", fontsize=8, color=style.INK if share > 0.0 else style.FAINT,
               weight="bold" if share >= 0.05 else "normal")  # fmt: skip


def _failure_handles() -> list[Line2D]:
    marks: list[tuple[dict[str, Any], str]] = [
        ({"marker": ".", "color": style.FAINT, "linestyle": ""}, "a game"),
        ({"marker": "x", "color": style.FAINT, "linestyle": ""}, "a game that failed"),
        ({"color": style.FAINT, "linewidth": 5, "alpha": 0.55}, "the middle half of the games"),
        ({"marker": "|", "color": style.INK, "linestyle": "", "markeredgewidth": 1.8}, "median"),
        ({"marker": "D", "color": "white", "markeredgecolor": style.INK, "linestyle": ""}, "mean"),
    ]
    return [Line2D([], [], label=words, **mark) for mark, words in marks]


# how long a million plays take

OUTCOMES = "outcomes"  # the "policy" of rows that time the drawing of outcomes


class PolicySpeed(NamedTuple):
    """Seconds per million plays, over all settings and by setting, and the number of plays."""

    seconds: float
    by_setting: dict[str, float]
    plays: float


def seconds_per_million(rows: Sequence[Mapping[str, Any]]) -> dict[str, PolicySpeed]:
    """Return the speed of each policy; rows of the same policy and setting add up."""
    totals: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        settings = totals.setdefault(str(row["policy"]), {})
        total = settings.setdefault(str(row["setting"]), [0.0, 0.0])
        total[0] += float(row["seconds"])
        total[1] += float(row["plays"])
    speeds = {}
    for policy, settings in totals.items():
        timed = {name: total for name, total in settings.items() if min(total) > 0.0}
        if timed:
            seconds, plays = (sum(total[i] for total in timed.values()) for i in (0, 1))
            each = {name: 1e6 * total[0] / total[1] for name, total in timed.items()}
            speeds[policy] = PolicySpeed(1e6 * seconds / plays, each, plays)
    return speeds


@mpl.rc_context(style.STYLE)
def draw_speed(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw seconds per million plays: a large dot over all settings, a small one for each.

    Rows have ``policy``, ``setting``, ``plays`` and ``seconds``; those of the policy ``outcomes``
    time the drawing of outcomes, which all policies share, and are set apart at the bottom.
    """
    speeds = seconds_per_million(rows)
    if not speeds:
        raise InvalidInput("no time was measured; give rows with plays and seconds above 0")
    order = sorted(speeds, key=lambda slug: (slug == OUTCOMES, speeds[slug].seconds))
    positions = [row + 0.6 * (slug == OUTCOMES) for row, slug in enumerate(order)]
    figure = Figure(figsize=(style.WIDTH, 0.27 * len(order) + 1.3), layout="constrained")
    panel = figure.subplots()
    panel.set_xscale("log")
    for at, slug in zip(positions, order, strict=True):
        _draw_speed_row(panel, at, speeds[slug], labels.family_colour(slug))
    names = [
        "drawing outcomes (for all)" if s == OUTCOMES else labels.format_label(s) for s in order
    ]
    panel.set_yticks(positions, names)
    panel.invert_yaxis()
    panel.set_title("Seconds that a million plays take")
    panel.set_xlabel("seconds per million plays (one core, log scale)")
    panel.margins(x=0.12)
    panel.set_xlim(style.widen_limits(*panel.get_xlim()))
    panel.grid(axis="x")
    panel.xaxis.set_minor_formatter(NullFormatter())
    style.format_numbers(panel.xaxis)
    style.hide_axis_line(panel)
    return figure


def _draw_speed_row(panel: Any, at: float, speed: PolicySpeed, colour: str) -> None:
    each = list(speed.by_setting.values())
    panel.plot([min(each), max(each)], [at, at], color=colour, linewidth=1, alpha=0.5)
    panel.scatter(each, [at] * len(each), s=12, color=colour, alpha=0.55, linewidths=0)
    panel.scatter(speed.seconds, at, s=55, color=colour, zorder=3, linewidths=0)
    panel.annotate(
        f"{speed.seconds:.2g} s", (max(*each, speed.seconds), at), (7, 0),
        textcoords="offset points", va="center", color=colour,
    )  # fmt: skip
