"""The middle of many repetitions and its 95% interval, at each share of the budget."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from bursar.checks import Floats
from bursar.errors import InvalidInput, nearest

__all__ = ["STATISTICS", "Band", "band"]

STATISTICS = ("mean", "median")


class Band(NamedTuple):
    """A line and what surrounds it."""

    middle: Floats
    low: Floats
    high: Floats


def band(values: Floats, statistic: str = "mean") -> Band:
    """Return mean or median over the first axis, with its 95% interval.

    The mean's is Student's, the median's lies between two order statistics, whatever the
    distribution is. With a single repetition there is nothing to tell, and the width is 0.
    """
    if statistic not in STATISTICS:
        close = nearest(str(statistic), STATISTICS)
        raise InvalidInput(f"statistic must be 'mean' or 'median', got {statistic!r}{close}")
    count = values.shape[0]
    if statistic == "mean":
        mean = values.mean(axis=0)
        if count < 2:
            return Band(mean, mean, mean)
        half = stats.t.ppf(0.975, count - 1) * values.std(axis=0, ddof=1) / np.sqrt(count)
        return Band(mean, mean - half, mean + half)
    # between the k-th smallest and the k-th largest with at least 95%, if there are enough
    k = max(int(stats.binom.ppf(0.025, count, 0.5)), 1) - 1
    ranked = np.sort(values, axis=0)
    return Band(np.median(values, axis=0), ranked[k], ranked[count - 1 - k])
