"""How often 99% bounds of reward per cost are exceeded, and how loose they are (Fig. 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from bursar.errors import InvalidInput
from bursar.figures.labels import family_colour
from bursar.figures.style import FAINT, INK, PALE, STYLE, WIDTH, bare, percent
from bursar.policies import POLICIES

__all__ = ["coverage"]

Row = Mapping[str, Any]

_TYPES = {"u": "united", "h": "hybrid", "c": "composite"}
_NAMES = {"ucb-sc": "UCB-SC", "kl-ucb-sc": "KL-UCB-SC"}  # bounds of which the policy is a variant
_BAND = 0.62  # of a row's height: where its sample sizes lie, the smallest at the top


def coverage(rows: Sequence[Row], level: float = 0.01) -> Figure:
    """Draw violations and typical looseness of each bound over sample sizes.

    ``rows`` are those of :func:`bursar.analysis.coverage.coverage`. Filled marks are correct,
    hollow ones what the published script computes.
    """
    if not rows:
        raise InvalidInput("there are no rows to draw; give those of analysis.coverage.coverage()")
    names = list(dict.fromkeys(str(row["bound"]) for row in rows))
    sizes = sorted({int(row["samples"]) for row in rows})
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 0.56 * len(names) + 1.5), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for row in rows:
            at = names.index(row["bound"]) + _BAND * _place(row, sizes)
            _mark(left, row["violations"], at, row, sizes)
            if row["tightness_median"] is not None:
                _mark(right, row["tightness_median"] - 1.0, at, row, sizes)
        _violations(left, level)
        _looseness(right, rows, names)
        for panel in (left, right):
            panel.grid(axis="x")
            panel.hlines([i + 0.5 for i in range(len(names) - 1)], 0, 1, color=PALE, linewidth=0.7,
                         transform=panel.get_yaxis_transform())  # fmt: skip
            bare(panel)
        left.set_yticks(range(len(names)), [_name(rows, name) for name in names])
        left.set_ylim(len(names) - 0.45, -0.55)
        _legend(figure, sizes)
    return figure


def _place(row: Row, sizes: list[int]) -> float:
    """Return where in its row a sample size lies, from -1/2 to 1/2."""
    return sizes.index(row["samples"]) / (len(sizes) - 1) - 0.5 if len(sizes) > 1 else 0.0


def _mark(panel: Any, value: float, at: float, row: Row, sizes: list[int]) -> None:
    colour = family_colour(str(row["bound"]))
    hollow = bool(row["as_published"])
    panel.plot(
        value, at, "o", markersize=4.0 + 1.1 * sizes.index(row["samples"]), color=colour,
        markerfacecolor="none" if hollow else colour, zorder=2 if hollow else 3, clip_on=False,
        label="as published" if hollow else "correct",
    )  # fmt: skip


def _violations(panel: Any, level: float) -> None:
    panel.axvline(level, color=INK, linestyle="--", linewidth=1.1, zorder=1)
    panel.set_xscale("symlog", linthresh=level / 10.0, linscale=0.5)
    panel.set_xticks([0.0, level / 10.0, level, 10.0 * level, 1.0 if level > 0.01 else 0.5])
    panel.set_xticks([], minor=True)
    panel.set_xlim(0.0, 0.5)
    panel.set_title("Violated: the true ratio lies above", pad=20)
    panel.set_xlabel(f"share of bounds (log from {10.0 * level:g}%)")
    panel.text(level, 1.01, f"{100.0 * level:g}% is allowed", fontsize=8.5, ha="center",
               transform=panel.get_xaxis_transform())  # fmt: skip
    percent(panel.xaxis)


def _looseness(panel: Any, rows: Sequence[Row], names: list[str]) -> None:
    panel.set_xscale("log")
    panel.set_title("Loose: how far above the true ratio", pad=20)
    panel.set_xlabel("median of bound / ratio − 1 (log)")
    percent(panel.xaxis)
    for at, name in enumerate(names):
        most = max(r["infinite"] for r in rows if r["bound"] == name and not r["as_published"])
        if most >= 0.02:
            panel.text(1.0, at, f"up to {100.0 * most:.0f}% infinite", fontsize=8, color=FAINT,
                       ha="right", va="center", transform=panel.get_yaxis_transform())  # fmt: skip
    low, high = panel.get_xlim()
    panel.set_xlim(low, high * (high / low) ** 0.2)


def _name(rows: Sequence[Row], bound: str) -> str:
    kind = next(row["type"] for row in rows if row["bound"] == bound)
    title = POLICIES[bound].title if bound in POLICIES else _NAMES.get(bound, bound)
    return f"{title}\n({_TYPES.get(kind, kind)})"


def _legend(figure: Figure, sizes: list[int]) -> None:
    style: Any = {"marker": "o", "linestyle": "", "color": FAINT}
    dots = [Line2D([], [], label=f"n = {n:,}", **style) for n in sizes]
    for i, dot in enumerate(dots):
        dot.set_markersize(4.0 + 1.1 * i)
    hollow = Line2D([], [], markerfacecolor="none", label="as the published script", **style)
    figure.legend(
        handles=[*dots, hollow], loc="outside lower center", ncols=len(sizes) + 1, fontsize=9
    )
