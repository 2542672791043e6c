"""How lopsided the interval of Theorem 1 is around the sample mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from bursar import theory
from bursar.figures.style import FAINT, STYLE, grid

__all__ = ["asymmetry"]

_SIZES = (1, 10, 100, 1_000, 10_000)


def asymmetry(sizes: Sequence[int] = _SIZES, z: float = 3.0) -> Figure:
    """Draw the asymmetry over the sample mean: squared, as published, and signed, as defined."""
    # closer at the ends, where curves of large n are steep
    mean = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 401))
    with mpl.rc_context(STYLE):
        figure, panels, _ = grid(2, columns=2, height=3.7)
        for panel, squared in zip(panels, (True, False), strict=True):
            for i, n in enumerate(sizes):
                shade = mpl.colormaps["viridis"](0.9 * (1.0 - (i + 0.5) / len(sizes)))
                values = theory.asymmetry(mean, n, z, squared=squared)
                panel.plot(mean, values, color=shade, linewidth=1.8, label=f"n = {n:,}")
            panel.axhline(0.0, color=FAINT, linewidth=0.6, zorder=1)
            panel.set(xlabel="sample mean", xlim=(0, 1))
            panel.grid(axis="y")
        _name(panels, z)
    return figure


def _name(panels: Sequence[Any], z: float) -> None:
    panels[0].set(title="As published: the square", ylabel="asymmetry squared", ylim=(-0.02, 1.02))
    panels[0].legend(loc="upper center", fontsize=9, title=f"samples (z = {z:g})")
    panels[1].set(
        title="As defined: with its sign",
        ylabel="distance of the mean from the centre,\nin half widths of the interval",
        ylim=(-1.05, 1.05),
    )
