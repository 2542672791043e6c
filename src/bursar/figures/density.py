"""Where the arms of an ad campaign lie: density of mean reward against mean cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde

from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.figures.style import ACCENT, INK, STYLE
from bursar.settings.ads import Campaign

__all__ = ["density", "estimate", "like_the_papers"]

_STEPS = 121
_PAPERS = 33  # arms of the campaign that the paper shows


def like_the_papers(campaigns: Sequence[Campaign], arms: int = _PAPERS) -> Campaign:
    """Return the campaign with the number of arms that the paper shows, or the nearest to it."""
    if not campaigns:
        raise InvalidInput("there is no campaign to draw; give the file of the ads")
    return min(campaigns, key=lambda campaign: abs(campaign.arms - arms))


def estimate(campaign: Campaign) -> tuple[Floats, Floats]:
    """Return points of [0, 1] and the Gaussian density of (cost, reward) on their square."""
    line = np.linspace(0.0, 1.0, _STEPS)
    x, y = np.meshgrid(line, line)
    kernel = gaussian_kde(np.vstack([campaign.cost, campaign.reward]))
    return line, kernel(np.vstack([x.ravel(), y.ravel()])).reshape(x.shape)


def density(campaign: Campaign) -> Figure:
    """Draw the arms of a campaign as dots over a density of their means, and the best arm."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(5.6, 4.4), layout="constrained")
        panel = figure.subplots()
        if _spread_out(campaign):
            line, height = estimate(campaign)
            shades = panel.contourf(line, line, height, levels=9, cmap="Blues")
            bar = figure.colorbar(shades, ax=panel, label="density of arms", format="%.2g")
            bar.outline.set_visible(False)
        panel.scatter(campaign.cost, campaign.reward, s=16, color=INK, linewidths=0, zorder=3,
                      clip_on=False)  # fmt: skip
        _best(panel, campaign)
        panel.set(
            xlim=(0, 1), ylim=(0, 1), aspect="equal",
            xlabel="mean cost of a click (1 = dearest)",
            ylabel="mean reward of a click (1 = best)",
            title=f"{campaign.arms} ads of campaign {campaign.name}",
        )  # fmt: skip
    return figure


def _best(panel: Any, campaign: Campaign) -> None:
    arm = int(np.argmax(campaign.reward / campaign.cost))
    place = campaign.cost[arm], campaign.reward[arm]
    panel.scatter(*place, s=70, facecolor="none", edgecolor=ACCENT, linewidth=1.8, zorder=4,
                  clip_on=False)  # fmt: skip
    below = place[1] > 0.1  # above the dot there may be the edge of the panel
    panel.annotate(
        "best arm", place, xytext=(0, -9 if below else 9), textcoords="offset points",
        ha="center", va="top" if below else "bottom", color=ACCENT, weight="bold",
    )  # fmt: skip


def _spread_out(campaign: Campaign) -> bool:
    """Whether the means span a plane: a density of two arms, or of arms on a line, is none."""
    if campaign.arms < 3:
        return False
    return bool(np.linalg.matrix_rank(np.cov(campaign.cost, campaign.reward)) == 2)
