"""An estimate: a number that is not known for certain, with the interval it lies in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from bursar.arrays import Floats


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and both ends of its interval; the function that returns it states the level.

    Examples
    --------
    >>> Estimate(0.62, 0.41, 0.94).compare_to(1.0)
    'lower'
    """

    value: float
    low: float
    high: float

    @classmethod
    def from_draws(cls, value: float, draws: Floats, level: float) -> Self:
        """Return a value with the central ``level`` of its draws as the interval."""
        tail = round(0.5 - 0.5 * level, 12)  # without the round-off of 1 - level
        low, high = np.quantile(draws, [tail, 1.0 - tail])
        return cls(float(value), float(low), float(high))

    def compare_to(self, reference: float) -> Literal["lower", "higher", "unclear"]:
        """Return on which side of a reference the whole interval lies, if it does."""
        if self.high < reference:
            return "lower"
        return "higher" if self.low > reference else "unclear"

    def map(self, function: Callable[[float], float]) -> Self:
        """Return the estimate with an increasing function applied to the value and both ends."""
        return type(self)(*(float(function(x)) for x in (self.value, self.low, self.high)))
