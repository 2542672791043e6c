"""The one picture for everybody: what share of the possible reward each policy lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar.analysis.shares import lost
from bursar.errors import BursarError, InvalidInput
from bursar.figures import choice
from bursar.figures.labels import RECOMMENDED, label
from bursar.figures.style import ACCENT, FAINT, INK, STYLE, WIDTH, bare
from bursar.problems import Changing
from bursar.result import Result
from bursar.settings import setting as setting_of

__all__ = ["Loss", "chance", "headline", "losses"]

_CHANCE = "uniform"


class Loss(NamedTuple):
    """What a policy lost of the reward that was possible, as a mean over settings."""

    policy: str
    share: float


def losses(result: Result, policies: Sequence[str] | None = None) -> list[Loss]:
    """Return the mean share of the possible reward that each policy lost, the best first."""
    found = lost(result, list(choice.main(result, policies)))
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
        if any(isinstance(problem, Changing) for problem in problems):
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
    words = f" lost {_percent(bar.share)} of what was possible"
    if bar.policy != RECOMMENDED and row > 0:
        words = f" {_percent(bar.share)}"
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


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%" if share >= 0.001 else f"{100.0 * share:.2g}%"


def _at(result: Result, setting: str) -> int:
    return result.settings.index(setting)
