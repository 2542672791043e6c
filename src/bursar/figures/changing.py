"""What policies lose over the speed at which the world changes, a panel a way to change."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar.analysis import games
from bursar.analysis.changing import forgetful, lost_share, sweeps
from bursar.errors import InvalidInput
from bursar.figures.band import band
from bursar.figures.labels import GREY, RECOMMENDED, label
from bursar.figures.style import STYLE, WIDTH, percent
from bursar.result import Result

__all__ = ["changing"]

_COOL = ("#56B4E9", "#0072B2", "#003f66")  # windows, short to long
_GREEN = ("#7fd6b8", "#009E73", "#00503a")  # discounts, quick to slow
_PLAIN = {RECOMMENDED: "#D55E00", "omega-star-ucb:rho=1": "#E69F00", "bts": GREY[1]}
_WORDS = {
    "abrupt": ("All means are drawn anew", "changes in the course of the budget"),
    "season": ("Rewards swing as in seasons", "periods in the course of the budget"),
    "drift": ("All means drift", "turns in the course of the budget"),
    "price": ("The best arm gets dearer at half time", "times its cost before"),
    "fatigue": ("Arms tire of being played", "rate at which they tire"),
}


def changing(result: Result) -> Figure:
    """Draw what was lost of what was possible, with 95% intervals, over the speed of change."""
    found = sweeps(result)
    if not found:
        raise InvalidInput("no world was played at three speeds; add C-abrupt-10:changes=0, 1, 2")
    lines = _lines(result)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 5.4), layout="constrained")
        panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for panel, (way, speeds) in zip(panels, found.items(), strict=True):
            for place, (slug, (colour, style, mark, width)) in enumerate(lines.items()):
                there = [i for i, one in enumerate(speeds) if games.has(result, one.setting, slug)]
                if not there:
                    continue
                bands = [band(lost_share(result, speeds[i].setting, slug)) for i in there]
                middle, low, high = (np.array([float(b[j]) for b in bands]) for j in range(3))
                at = np.array(there) + 0.045 * (place - 0.5 * (len(lines) - 1))  # side by side
                panel.plot(
                    at, middle, color=colour, linestyle=style, marker=mark, markersize=5,
                    linewidth=width, label=label(slug), markerfacecolor="white",
                )  # fmt: skip
                low = np.maximum(low, 0.2 * middle)  # a logarithmic axis has no 0
                panel.vlines(at, low, high, color=colour, linewidth=1.1, alpha=0.6)
            title, words = _WORDS[way]
            panel.set_xticks(range(len(speeds)), [f"{one.amount:g}" for one in speeds])
            panel.set(title=title, xlabel=words, yscale="log")
            percent(panel.yaxis)
            panel.grid(axis="y")
        panels[0].set_ylabel("lost of what was possible")
        handles = {line.get_label(): line for p in panels for line in p.get_lines()}
        figure.legend(
            handles=list(handles.values()), loc="outside lower center", ncols=3, fontsize=9
        )
    return figure


def _lines(result: Result) -> dict[str, tuple[str, str, str, float]]:
    """Return colour, dashes, mark and width of each policy that is shown."""
    shown = {slug: (c, "-", "o", 2.4) for slug, c in _PLAIN.items() if slug in result.policies}
    star = forgetful(result.policies)
    for kind, tones, mark in (("sw-", _COOL, "s"), ("d-", _GREEN, "^")):
        family = [slug for slug in star if slug.startswith(kind)]
        for i, slug in enumerate(family):
            shown[slug] = (tones[i % len(tones)], ("--", "-", ":")[i % 3], mark, 1.6)
    return shown
