"""The data of Figure 1: how often 99% bounds of reward over cost are exceeded, how loose they are.

Means of rewards and costs are drawn at random, a pair of Bernoulli arms each; so are the means of
n samples of either. A bound is violated if the true ratio exceeds it. All bounds are the package's
own: of each policy at the moment when its radius is that of the level.

The rows ``as_published`` repeat the errors of the published script (docs/deviations.md, 18-21).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bursar.analysis.bound_formulas import TYPES, as_published, correct
from bursar.checks import Floats, positive, whole
from bursar.errors import InvalidInput
from bursar.intervals import interval

__all__ = ["SIZES", "coverage"]

SIZES = (100, 1_000, 10_000, 100_000)
_NORMAL = 1.959963984540054


def coverage(
    pairs: int = 10_000,
    level: float = 0.01,
    sizes: Sequence[int] = SIZES,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return a row a bound and sample size, corrected and as published.

    Parameters
    ----------
    pairs : int
        Random pairs of a mean reward and a mean cost, both uniform.
    level : float
        Nominal probability of a violation.
    sizes : sequence of int
        Samples of each.
    seed : int
        Same seed, same rows.

    Returns
    -------
    list of dict
        ``bound``, ``type`` (u united, c composite, h hybrid), ``samples``, ``pairs``,
        ``violations`` with its 95% interval (Wilson) ``violations_low`` and ``violations_high``,
        ``tightness_median`` of bound over ratio (an infinite bound counts as the loosest; None if
        the median is infinite), ``tightness_mean`` of the finite ones (None if there are none),
        ``infinite`` (share of bounds), ``zero_costs`` (pairs whose samples all cost nothing; their
        bound is infinite and never violated), ``as_published``.
    """
    whole("pairs", pairs, 1, "10,000 in the paper")
    if not 0.0 < positive("level", level, "0.01 in the paper") < 1.0:
        raise InvalidInput(f"level must be below 1, got {level!r}; 0.01 in the paper")
    rows: list[dict[str, Any]] = []
    for n in sizes:
        rng = np.random.default_rng([seed, whole("sizes", n, 1, "100 or more in the paper")])
        mu_r, mu_c = 1.0 - rng.random(pairs), 1.0 - rng.random(pairs)  # in (0, 1]
        r, c = rng.binomial(n, mu_r) / n, rng.binomial(n, mu_c) / n
        zero = int((c == 0.0).sum())
        for name, bound in correct(r, c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, zero, False))
        positive_c = _redrawn(rng, c, mu_c, n)
        for name, bound in as_published(r, positive_c, n, level).items():
            rows.append(_row(name, n, mu_r / mu_c, bound, 0, True))
    return rows


def _redrawn(rng: np.random.Generator, c: Floats, mu_c: Floats, n: int) -> Floats:
    """Draw costs anew until their mean is above 0, as the published script does."""
    c = c.copy()
    while (zero := np.flatnonzero(c == 0.0)).size:
        c[zero] = rng.binomial(n, mu_c[zero]) / n
    return c


def _row(
    name: str, n: int, ratio: Floats, bound: Floats, zero: int, published: bool
) -> dict[str, Any]:
    share = float((ratio > bound).mean())
    low, high = interval(share, ratio.size, _NORMAL)
    finite = np.isfinite(bound)
    tightness = bound / ratio
    middle = float(np.median(tightness))
    return {
        "bound": name,
        "type": TYPES[name],
        "samples": n,
        "pairs": int(ratio.size),
        "violations": share,
        "violations_low": low,
        "violations_high": high,
        "tightness_median": middle if np.isfinite(middle) else None,
        "tightness_mean": float(tightness[finite].mean()) if finite.any() else None,
        "infinite": float(1.0 - finite.mean()),
        "zero_costs": zero,
        "as_published": published,
    }
