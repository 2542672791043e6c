"""Figures of regret over the budget, over ρ, and over the speed of change."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.paper import labels
from bursar.paper.analysis import games, growth, nonstationary
from bursar.paper.figures import style
from bursar.policies import policy as policy_of
from bursar.problems import Problem
from bursar.settings import setting as setting_of
from bursar.settings.base import Data
from bursar.simulation.result import AnySetting, Result

LEAST = "least slope possible in the long\nrun (asymptotic, Bernoulli arms)"
_FAR = 8.0  # times the best policy's final regret: what is above leaves the panel
_STRETCH = 1.3  # how much a panel may grow to show the line of the least regret
_PAIR = ("omega-ucb:rho=1", "omega-ucb:rho=0.25")
_LAST_DECADE = 0.1  # of the budget, where the start no longer shows

# regret over the budget (the paper's Fig. 3)


@mpl.rc_context(style.STYLE)
def draw_regret(
    result: Result,
    intervals: bool = True,
    log: bool = True,
    *,
    statistic: str = "mean",
    policies: Sequence[str] | None = None,
    settings: Sequence[AnySetting | Problem] = (),
    data: Data = None,
) -> Figure:
    """Draw regret over the budget, one panel per setting.

    Policies far worse than the others leave the panel at its top, where they are named. Where arms
    are Bernoulli, a dashed line shows the least mean regret that is possible in the long run.

    Parameters
    ----------
    result : Result
        Settings without a game are left out.
    intervals : bool
        Shade the 95% interval over repetitions; the ads of a repetition count as one.
    log : bool
        A logarithmic axis of the budget, as in the paper.
    statistic : {"mean", "median"}
        Of the repetitions.
    policies : sequence of str, optional
        Which to show; by default all, and of more than 12 those of the paper's figures.
    settings : sequence of settings and problems, optional
        What was played, for the least regret on a user's own problems, which a name does not
        describe.
    data : path or Ads, optional
        The Facebook ads, for the least regret on FB-Br.
    """
    shown = {
        name: games.select_panel_policies(result, name, policies)
        for name in games.played_settings(result)
    }
    shown = {name: slugs for name, slugs in shown.items() if slugs}
    if not shown:
        raise InvalidInput("the result has no game to draw; play at least one repetition")
    figure, panels, free = style.make_grid(len(shown), height=2.75)
    for panel, (name, slugs) in zip(panels, shown.items(), strict=True):
        bands = {s: style.make_band(games.regret_curves(result, name, s), statistic) for s in slugs}
        _draw_bands(panel, result, bands, intervals)
        if statistic == "mean":  # the bound is one of means
            _draw_least(panel, result.shares, growth.least_regret(result, name, settings, data))
        panel.set(title=name, xlabel="share of the budget spent")
        if log:
            panel.set_xscale("log")
            panel.xaxis.set_minor_formatter(NullFormatter())
        style.format_shares(panel.xaxis)
        style.format_numbers(panel.yaxis)
    names = [*map(labels.format_label, games.select_policies(result, policies)), LEAST]
    style.finish_grid(figure, panels, free, f"{statistic} regret (reward lost)", names)
    return figure


def _draw_bands(
    panel: Any, result: Result, bands: Mapping[str, style.Band], intervals: bool
) -> None:
    styles, markers = labels.line_styles(result.policies), labels.line_markers(result.policies)
    for slug, band in bands.items():
        _draw_line(panel, result.shares, band.middle, slug, styles[slug], markers[slug])
        if intervals:
            panel.fill_between(
                result.shares, np.maximum(band.low, 0.0), band.high,
                color=styles[slug][0], alpha=0.2 if labels.is_coloured(slug) else 0.05, linewidth=0,
            )  # fmt: skip
    top = _ceiling([float(band.middle[-1]) for band in bands.values()])
    panel.set_ylim(0.0, top)
    above = [s for s, band in bands.items() if top is not None and band.middle[-1] > top]
    if above:
        names = ", ".join(map(labels.format_short_label, above))
        words = fill(f"above: {names}", 28, break_on_hyphens=False)
        panel.set_title(words, loc="right", fontsize=7.5, color=style.FAINT, weight="normal")


def _draw_line(
    panel: Any, shares: Floats, middle: Floats, slug: str, look: tuple[str, str], marker: str
) -> None:
    # on Bernoulli arms ω* is ω: a thin line on a thick one shows both
    width, order = (1.1, 2) if not labels.is_coloured(slug) else (3.0, 3)
    if slug.startswith("omega-star"):
        width, order = 1.9, 4
    single = shares.size == 1  # a line of one point does not show
    panel.plot(
        shares, middle, color=look[0], linestyle=look[1], label=labels.format_label(slug),
        linewidth=width, zorder=order, marker=marker or ("o" if single else ""), markersize=4,
        markevery=None if single else 0.15, markerfacecolor="white",
    )  # fmt: skip
    if single:
        panel.set_xlim(0.5 * shares[0], 1.1 * shares[0])


def _draw_least(panel: Any, shares: Floats, bound: Floats | None) -> None:
    """Draw the lower bound in a panel whose limits the policies have set.

    Where it is far above all policies it leaves the panel, and a note says where it is.
    """
    if bound is None:
        return
    top = panel.get_ylim()[1]
    panel.plot(
        shares, bound, color=style.FAINT, linestyle=(0, (5, 2)), linewidth=1.5, zorder=1.5,
        label=LEAST, marker="_" if shares.size == 1 else "", markersize=12,
    )  # fmt: skip
    cut = panel.get_title(loc="right")  # names the policies above, which must stay true
    if not cut and top < 1.05 * bound[-1] <= _STRETCH * top:
        panel.set_ylim(0.0, 1.05 * bound[-1])
    elif bound.min() > top:
        style.add_note(panel, f"the dashed line is above: {bound[0]:,.0f} to {bound[-1]:,.0f}")


def _ceiling(finals: Sequence[float]) -> float | None:
    """Return where to cut the axis, if a few policies would press the best to the floor.

    At least half of the policies stay in the panel.
    """
    ranked = sorted(finals)
    limit = max(_FAR * ranked[0], ranked[len(ranked) // 2])
    kept = [final for final in ranked if final <= limit]
    return 1.15 * kept[-1] if 0.0 < kept[-1] < ranked[-1] else None


# straight or bent


@mpl.rc_context(style.STYLE)
def draw_curvature(result: Result, setting: str | None = None) -> Figure:
    """Draw mean regret of ω-UCB with ρ = 1 and 1/4 over log budget, each with a straight line.

    ``setting`` is by default the Bernoulli setting with the most arms.
    """
    name = setting or games.find_bernoulli_setting(result, *_PAIR, largest=True)
    figure, panels, _ = style.make_grid(2, columns=2, height=3.4)
    for panel, slug in zip(panels, _PAIR, strict=True):
        _draw_curvature(panel, result, name, slug)
    panels[0].set_ylabel(f"mean regret on {name} (reward lost)")
    return figure


def fit_line(shares: Floats, regret: Floats) -> Floats:
    """Return the straight line over log(share) that fits the last decade, at every share."""
    if shares.size < 2:
        return regret.copy()
    late = shares >= _LAST_DECADE
    if late.sum() < 2:
        late = np.ones_like(shares, dtype=bool)
    slope, start = np.polyfit(np.log(shares[late]), regret[late], 1)
    return np.asarray(start + slope * np.log(shares))


def _draw_curvature(panel: Any, result: Result, name: str, slug: str) -> None:
    middle, low, high = style.make_band(games.regret_curves(result, name, slug))
    colour = labels.line_styles([slug])[slug][0]
    panel.plot(result.shares, middle, color=colour, linewidth=2.2, marker="o", markersize=3.5,
               label="measured, with 95% interval")  # fmt: skip
    panel.fill_between(result.shares, low, high, color=colour, alpha=0.18, linewidth=0)
    panel.plot(result.shares, fit_line(result.shares, middle), color=style.FAINT, linestyle="--",
               linewidth=1.2, zorder=1, label="straight line through the last decade")  # fmt: skip
    panel.axvspan(_LAST_DECADE, 1.0, color="#f2f2f2", zorder=0, linewidth=0)
    # the interval may leave the panel if a few games widen it, the curve may not
    top = max(min(1.05 * float(high.max()), 2.0 * float(middle.max())), 1e-12)
    panel.set(title=labels.format_label(slug), xscale="log", xlim=(result.shares[0], 1.0),
              xlabel="share of the budget spent (log scale)", ylim=(0.0, top))  # fmt: skip
    panel.legend(loc="upper left", fontsize=9)
    style.add_note(panel, _format_bend(result, name, slug), y=0.78, color=style.INK, fontsize=9)
    style.add_note(panel, "last decade", x=0.99, y=0.02, ha="right", va="bottom")
    panel.xaxis.set_minor_formatter(NullFormatter())
    style.format_shares(panel.xaxis)
    style.format_numbers(panel.yaxis)


def _format_bend(result: Result, name: str, slug: str) -> str:
    """Return how much steeper the last decade is than the one before, with its interval."""
    try:
        found = growth.measure_growth(result, name, slug)
    except InvalidInput:  # regret was recorded at too few shares
        return ""
    numbers = f"{found.curvature:+.2f} [{found.curvature_low:+.2f}, {found.curvature_high:+.2f}]"
    return f"bend {numbers.replace('-', '−')}\n0 straight, above 0 convex"


# regret over ρ (the paper's Fig. 4)

_OFFSETS = {"omega-ucb": -0.11, "omega-star-ucb": 0.11}  # side by side at the same ρ
_MARKS = ("mean, 95% interval", "median", "lowest mean")


@mpl.rc_context(style.STYLE)
def draw_sensitivity(result: Result) -> Figure:
    """Draw mean final regret with its 95% interval over ρ, and the median as a second mark.

    Settings in which fewer than two ρ were played are left out.
    """
    rows = {
        name: growth.measure_sensitivity(result, name) for name in games.played_settings(result)
    }
    rows = {name: mine for name, mine in rows.items() if len({row["rho"] for row in mine}) > 1}
    if not rows:
        raise InvalidInput(
            "no setting was played with two values of rho or more; play more of them"
        )
    values = sorted({row["rho"] for mine in rows.values() for row in mine})
    figure, panels, free = style.make_grid(len(rows), height=2.6)
    for panel, (name, mine) in zip(panels, rows.items(), strict=True):
        for family in growth.FAMILIES:
            _draw_family(panel, [row for row in mine if row["family"] == family], values)
        panel.set(title=name, yscale="log", xlabel="ρ")
        panel.set_xticks(range(len(values)), [labels.format_fraction(value) for value in values])
        panel.set_xlim(-0.5, len(values) - 0.5)
        panel.tick_params(axis="x", labelsize=8.5)
        _set_decades(panel)
    names = [f"{policy_of(family).title}: {mark}" for family in growth.FAMILIES for mark in _MARKS]
    style.finish_grid(figure, panels, free, "final regret (log scale)", names)
    return figure


def _draw_family(panel: Any, rows: list[dict[str, Any]], values: list[float]) -> None:
    if not rows:
        return
    family = rows[0]["family"]
    colour, title = labels.family_colour(family), policy_of(family).title
    at = [values.index(row["rho"]) + _OFFSETS[family] for row in rows]
    mean = [max(row["mean"], style.FLOOR) for row in rows]
    below = [max(row["mean"] - max(row["low"], style.FLOOR), 0.0) for row in rows]
    above = [max(row["high"] - row["mean"], 0.0) for row in rows]
    panel.errorbar(at, mean, [below, above], fmt="o", markersize=5, color=colour, linewidth=1.6,
                   label=f"{title}: {_MARKS[0]}")  # fmt: skip
    panel.plot(at, [max(row["median"], style.FLOOR) for row in rows], "_", color=colour,
               markersize=9, markeredgewidth=1.8, alpha=0.75,
               label=f"{title}: {_MARKS[1]}")  # fmt: skip
    lowest = min(range(len(rows)), key=mean.__getitem__)
    panel.plot(at[lowest], mean[lowest], "o", markersize=10, markerfacecolor="none",
               markeredgecolor=colour, label=f"{title}: {_MARKS[2]}")  # fmt: skip


def _set_decades(panel: Any) -> None:
    """Put ticks at 1, 2 and 5 of each decade where an axis has few decades, else at 1 only."""
    low, high = style.widen_limits(*panel.get_ylim())
    panel.set_ylim(low, high)
    parts = (1.0,) if high / low > 100.0 else (1.0, 2.0, 5.0)
    panel.yaxis.set_major_locator(LogLocator(subs=parts))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.grid(axis="y")
    style.format_numbers(panel.yaxis)


# Theorem 5's bound beside measured regret

_POINTS = 12  # of the bound's line


@mpl.rc_context(style.STYLE)
def draw_bounds(result: Result, setting: str | None = None) -> Figure:
    """Draw the bound and the measured mean regret of ω-UCB with ρ = 1 and 1/4, log by log.

    ``setting`` is by default the Bernoulli setting with the fewest arms; those of the two policies
    that were played are drawn.
    """
    played = [
        slug for slug in _PAIR if any(games.has_games(result, s, slug) for s in result.settings)
    ]
    if not played:
        raise InvalidInput(f"neither {' nor '.join(_PAIR)} was played; add one to the run")
    name = setting or games.find_bernoulli_setting(result, *played, largest=False)
    figure, panels, _ = style.make_grid(len(played), columns=2, height=3.5, sharey=True)
    for panel, slug in zip(panels, played, strict=True):
        _draw_bound(panel, result, name, slug)
    panels[0].margins(y=0.12)  # so that the name of the bound stays below the title
    panels[0].set_ylabel(f"regret on {name} (reward lost, log scale)")
    style.format_numbers(panels[0].yaxis)
    return figure


def _draw_bound(panel: Any, result: Result, name: str, slug: str) -> None:
    measured, shares, bound = _measured_and_bound(result, name, slug)
    colour, title = labels.line_styles([slug])[slug][0], labels.format_label(slug)
    finite = np.isfinite(bound)
    panel.plot(shares[finite], bound[finite], color=style.FAINT, linestyle="--", linewidth=1.6)
    panel.plot(result.shares, measured, color=colour, linewidth=2.2)
    if finite.any():
        panel.annotate("Theorem 5's bound", (shares[finite][0], bound[finite][0]), (0, 7),
                       textcoords="offset points", va="bottom", color=style.FAINT)  # fmt: skip
    if finite[-1] and measured[-1] > 0.0:
        ratio = bound[-1] / measured[-1]
        times = f"{float(f'{ratio:.2g}'):,.0f}" if ratio >= 10.0 else f"{ratio:.2g}"
        title += f": the bound is {times} times as high"
    panel.annotate("measured mean", (1.0, measured[-1]), (0, 8), textcoords="offset points",
                   ha="right", va="bottom", color=colour, weight="bold")  # fmt: skip
    panel.set(title=title, xscale="log", yscale="log", xlabel="share of the budget spent (log)")
    panel.grid(axis="y")
    panel.xaxis.set_minor_formatter(NullFormatter())
    style.format_shares(panel.xaxis)


def _measured_and_bound(result: Result, setting: str, slug: str) -> tuple[Floats, Floats, Floats]:
    """Return mean regret at each share, some of the shares, and the bound at these.

    The bound takes long to compute and is smooth; it is infinite before the theorem begins.
    """
    repetitions, curves = games.regret_by_repetition(result, setting, slug)
    problems = [p for number in repetitions for p in setting_of(setting).problems(int(number))]
    rho = float(getattr(policy_of(slug), "rho", 1.0))
    rows = games.rows_of(result, setting, slug)
    optimum = float(result.optimum[rows[result.repetition[rows] == repetitions[0]][0]])
    first = problems[0]  # its optimum tells the budget, in plays of its cheapest arm
    plays = optimum / float((first.reward / first.cost).max()) / float(first.min_cost)
    last = result.shares.size - 1
    some = result.shares[np.unique(np.linspace(0, last, _POINTS).round().astype(int))]
    return curves.mean(axis=0), some, growth.upper_bounds(problems, rho, some, plays).mean(axis=0)


# regret over the speed of change

_COOL = ("#56B4E9", "#0072B2", "#003f66")  # windows, short to long
_GREEN = ("#7fd6b8", "#009E73", "#00503a")  # discounts, quick to slow
_NEVER_FORGET = {
    labels.RECOMMENDED: "#D55E00",
    "omega-star-ucb:rho=1": "#E69F00",
    "bts": labels.GREYS[1],
}
_TITLES = {
    "abrupt": ("All means are redrawn", "changes in the course of the budget"),
    "season": ("Rewards swing as in seasons", "periods in the course of the budget"),
    "drift": ("All means drift", "turns in the course of the budget"),
    "price": ("The price of the best arm rises at half time", "times its cost before"),
    "fatigue": ("Arms tire of being played", "rate at which they tire"),
}


@mpl.rc_context(style.STYLE)
def draw_nonstationary(result: Result) -> Figure:
    """Draw the regret share with 95% intervals over the speed of change."""
    sweeps = nonstationary.find_sweeps(result)
    if not sweeps:
        raise InvalidInput(
            "no setting was played at three speeds of change; add C-abrupt-10:changes=0, 1, 2"
        )
    figure = Figure(figsize=(style.WIDTH, 5.4), layout="constrained")
    panels = figure.subplots(1, len(sweeps), sharey=True, squeeze=False)[0]
    for panel, (change, speeds) in zip(panels, sweeps.items(), strict=True):
        _draw_sweep(panel, result, [one.name for one in speeds])
        title, words = _TITLES[change]
        panel.set_xticks(range(len(speeds)), [f"{one.amount:g}" for one in speeds])
        panel.set(title=title, xlabel=words, yscale="log")
        style.format_shares(panel.yaxis)
        panel.grid(axis="y")
    panels[0].set_ylabel("share of the possible reward lost")
    handles = {line.get_label(): line for p in panels for line in p.get_lines()}
    figure.legend(handles=list(handles.values()), loc="outside lower center", ncols=3, fontsize=9)
    return figure


def _draw_sweep(panel: Any, result: Result, settings: Sequence[str]) -> None:
    styles = _sweep_styles(result)
    for order, (slug, (colour, dashes, marker, width)) in enumerate(styles.items()):
        there = [i for i, setting in enumerate(settings) if games.has_games(result, setting, slug)]
        if not there:
            continue
        bands = [
            style.make_band(nonstationary.game_regret_shares(result, settings[i], slug))
            for i in there
        ]
        middle, low, high = (np.array([float(b[j]) for b in bands]) for j in range(3))
        at = np.array(there) + 0.045 * (order - 0.5 * (len(styles) - 1))  # side by side
        panel.plot(
            at, middle, color=colour, linestyle=dashes, marker=marker, markersize=5,
            linewidth=width, label=labels.format_label(slug), markerfacecolor="white",
        )  # fmt: skip
        low = np.maximum(low, 0.2 * middle)  # a logarithmic axis has no 0
        panel.vlines(at, low, high, color=colour, linewidth=1.1, alpha=0.6)


def _sweep_styles(result: Result) -> dict[str, tuple[str, str, str, float]]:
    """Return colour, dashes, marker and width of each policy that is shown."""
    played = {s: colour for s, colour in _NEVER_FORGET.items() if s in result.policies}
    styles = {slug: (colour, "-", "o", 2.4) for slug, colour in played.items()}
    for kind, tones, marker in (("sw-", _COOL, "s"), ("d-", _GREEN, "^")):
        family = [
            s for s in nonstationary.forgetting_policies(result.policies) if s.startswith(kind)
        ]
        for i, slug in enumerate(family):
            styles[slug] = (tones[i % len(tones)], ("--", "-", ":")[i % 3], marker, 1.6)
    return styles
