"""How long a million plays take, by policy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from bursar.errors import InvalidInput
from bursar.figures.labels import family_colour, label
from bursar.figures.style import STYLE, WIDTH, bare, roomy, thousands

__all__ = ["DRAWING", "per_million", "speed"]

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
        panel.set_yticks(places, [_name(slug) for slug in order])
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


def _name(slug: str) -> str:
    return "drawing outcomes (for all)" if slug == DRAWING else label(slug)
