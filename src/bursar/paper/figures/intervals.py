"""Figures of intervals and arms: bounds (the paper's Fig. 1), asymmetry, and ad campaigns."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import gaussian_kde

from bursar import theory
from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.paper.figures import style
from bursar.paper.labels import family_colour, format_label
from bursar.problems import Bernoulli

Row = Mapping[str, Any]

_TYPES = {"u": "united", "h": "hybrid", "c": "composite"}
_NAMES = {"ucb-sc": "UCB-SC", "kl-ucb-sc": "KL-UCB-SC"}  # bounds of which the policy is a variant
_BAND = 0.62  # of a row's height: where its sample sizes lie, the smallest at the top


@mpl.rc_context(style.STYLE)
def draw_coverage(rows: Sequence[Row], level: float = 0.01) -> Figure:
    """Draw violations and typical looseness of each bound over sample sizes.

    ``rows`` come from :func:`bursar.paper.analysis.coverage.measure_coverage`. Filled marks are
    correct, hollow ones what the published script computes.
    """
    if not rows:
        raise InvalidInput("there are no rows to draw; give those of measure_coverage()")
    names = list(dict.fromkeys(str(row["bound"]) for row in rows))
    sizes = sorted({int(row["samples"]) for row in rows})
    figure = Figure(figsize=(style.WIDTH, 0.56 * len(names) + 1.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for row in rows:
        # within the row of its bound a sample size lies from -1/2 to 1/2
        offset = sizes.index(row["samples"]) / (len(sizes) - 1) - 0.5 if len(sizes) > 1 else 0.0
        at = names.index(row["bound"]) + _BAND * offset
        _draw_mark(left, row["violations"], at, row, sizes)
        if row["tightness_median"] is not None:
            _draw_mark(right, row["tightness_median"] - 1.0, at, row, sizes)
    _set_violations(left, level)
    _set_looseness(right, rows, names)
    for panel in (left, right):
        panel.grid(axis="x")
        panel.hlines([i + 0.5 for i in range(len(names) - 1)], 0, 1, color=style.PALE,
                     linewidth=0.7, transform=panel.get_yaxis_transform())  # fmt: skip
        style.hide_axis_line(panel)
    left.set_yticks(range(len(names)), [_name_bound(rows, name) for name in names])
    left.set_ylim(len(names) - 0.45, -0.55)
    _add_sizes(figure, sizes)
    return figure


def _draw_mark(panel: Any, value: float, at: float, row: Row, sizes: list[int]) -> None:
    colour = family_colour(str(row["bound"]))
    hollow = bool(row["as_published"])
    panel.plot(
        value, at, "o", markersize=4.0 + 1.1 * sizes.index(row["samples"]), color=colour,
        markerfacecolor="none" if hollow else colour, zorder=2 if hollow else 3, clip_on=False,
        label="as published" if hollow else "correct",
    )  # fmt: skip


def _set_violations(panel: Any, level: float) -> None:
    panel.axvline(level, color=style.INK, linestyle="--", linewidth=1.1, zorder=1)
    panel.set_xscale("symlog", linthresh=level / 10.0, linscale=0.5)
    panel.set_xticks([0.0, level / 10.0, level, 10.0 * level, 1.0 if level > 0.01 else 0.5])
    panel.set_xticks([], minor=True)
    panel.set_xlim(0.0, 0.5)
    panel.set_title("Violated: the true ratio lies above", pad=20)
    panel.set_xlabel(f"share of bounds (log from {10.0 * level:g}%)")
    panel.text(level, 1.01, f"{100.0 * level:g}% is allowed", fontsize=8.5, ha="center",
               transform=panel.get_xaxis_transform())  # fmt: skip
    style.format_shares(panel.xaxis)


def _set_looseness(panel: Any, rows: Sequence[Row], names: list[str]) -> None:
    panel.set_xscale("log")
    panel.set_title("Loose: how far above the true ratio", pad=20)
    panel.set_xlabel("median of bound / ratio − 1 (log)")
    style.format_shares(panel.xaxis)
    for at, name in enumerate(names):
        most = max(r["infinite"] for r in rows if r["bound"] == name and not r["as_published"])
        if most >= 0.02:
            panel.text(1.0, at, f"up to {100.0 * most:.0f}% infinite", fontsize=8,
                       color=style.FAINT, ha="right", va="center",
                       transform=panel.get_yaxis_transform())  # fmt: skip
    low, high = panel.get_xlim()
    panel.set_xlim(low, high * (high / low) ** 0.2)


def _name_bound(rows: Sequence[Row], bound: str) -> str:
    kind = next(row["type"] for row in rows if row["bound"] == bound)
    return f"{_NAMES.get(bound) or format_label(bound)}\n({_TYPES.get(kind, kind)})"


def _add_sizes(figure: Figure, sizes: list[int]) -> None:
    shape: Any = {"marker": "o", "linestyle": "", "color": style.FAINT}
    dots = [Line2D([], [], label=f"n = {n:,}", **shape) for n in sizes]
    for i, dot in enumerate(dots):
        dot.set_markersize(4.0 + 1.1 * i)
    hollow = Line2D([], [], markerfacecolor="none", label="as the published script", **shape)
    figure.legend(
        handles=[*dots, hollow], loc="outside lower center", ncols=len(sizes) + 1, fontsize=9
    )


# how asymmetric the interval of Theorem 1 is around the sample mean

_SIZES = (1, 10, 100, 1_000, 10_000)


@mpl.rc_context(style.STYLE)
def draw_asymmetry(sizes: Sequence[int] = _SIZES, z: float = 3.0) -> Figure:
    """Draw the asymmetry over the sample mean: squared, as published, and signed, as defined."""
    # closer at the ends, where curves of large n are steep
    mean = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 401))
    figure, panels, _ = style.make_grid(2, columns=2, height=3.7)
    for panel, squared in zip(panels, (True, False), strict=True):
        for i, n in enumerate(sizes):
            shade = mpl.colormaps["viridis"](0.9 * (1.0 - (i + 0.5) / len(sizes)))
            values = theory.asymmetry(mean, n, z, squared=squared)
            panel.plot(mean, values, color=shade, linewidth=1.8, label=f"n = {n:,}")
        panel.axhline(0.0, color=style.FAINT, linewidth=0.6, zorder=1)
        panel.set(xlabel="sample mean", xlim=(0, 1))
        panel.grid(axis="y")
    panels[0].set(title="As published: the square", ylabel="asymmetry squared", ylim=(-0.02, 1.02))
    panels[0].legend(loc="upper center", fontsize=9, title=f"samples (z = {z:g})")
    panels[1].set(
        title="As defined: with its sign",
        ylabel="distance of the mean from the centre,\nin half widths of the interval",
        ylim=(-1.05, 1.05),
    )
    return figure


# where the arms of an ad campaign lie

_STEPS = 121
_PAPERS = 33  # arms of the campaign that the paper shows


def find_paper_campaign(campaigns: Sequence[Bernoulli], arms: int = _PAPERS) -> Bernoulli:
    """Return the campaign with the number of arms that the paper shows, or the nearest to it."""
    if not campaigns:
        raise InvalidInput("there is no campaign to draw; give the file of the ads")
    return min(campaigns, key=lambda campaign: abs(campaign.arms - arms))


def estimate_density(campaign: Bernoulli) -> tuple[Floats, Floats]:
    """Return points of [0, 1] and the Gaussian density of (cost, reward) on their square."""
    line = np.linspace(0.0, 1.0, _STEPS)
    x, y = np.meshgrid(line, line)
    kernel = gaussian_kde(np.vstack([campaign.cost, campaign.reward]))
    return line, kernel(np.vstack([x.ravel(), y.ravel()])).reshape(x.shape)


@mpl.rc_context(style.STYLE)
def draw_density(campaign: Bernoulli) -> Figure:
    """Draw the arms of a campaign as dots over a density of their means, and the best arm."""
    figure = Figure(figsize=(5.6, 4.4), layout="constrained")
    panel = figure.subplots()
    # two arms, or arms on a line, have no density
    if campaign.arms > 2 and np.linalg.matrix_rank(np.cov(campaign.cost, campaign.reward)) == 2:
        line, height = estimate_density(campaign)
        shades = panel.contourf(line, line, height, levels=9, cmap="Blues")
        bar = figure.colorbar(shades, ax=panel, label="density of arms", format="%.2g")
        bar.outline.set_visible(False)
    panel.scatter(campaign.cost, campaign.reward, s=16, color=style.INK, linewidths=0, zorder=3,
                  clip_on=False)  # fmt: skip
    _mark_best(panel, campaign)
    panel.set(
        xlim=(0, 1), ylim=(0, 1), aspect="equal",
        xlabel="mean cost of a click (1 = highest)",
        ylabel="mean reward of a click (1 = best)",
        title=f"{campaign.arms} ads of campaign {campaign.name}",
    )  # fmt: skip
    return figure


def _mark_best(panel: Any, campaign: Bernoulli) -> None:
    arm = int(np.argmax(campaign.reward / campaign.cost))
    point = campaign.cost[arm], campaign.reward[arm]
    panel.scatter(*point, s=70, facecolor="none", edgecolor=style.ACCENT, linewidth=1.8, zorder=4,
                  clip_on=False)  # fmt: skip
    below = point[1] > 0.1  # above the dot there may be the edge of the panel
    panel.annotate(
        "best arm", point, xytext=(0, -9 if below else 9), textcoords="offset points",
        ha="center", va="top" if below else "bottom", color=style.ACCENT, weight="bold",
    )  # fmt: skip
