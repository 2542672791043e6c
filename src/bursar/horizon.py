r"""How far above its estimate an arm may be hoped to be, when so much is left to play.

One arm brings a normal drift of unknown mean :math:`\theta` a play against an alternative that
brings 0. It was played n times, m plays are left, and it may be given up at any time. Play on as
long as the posterior mean is above :math:`-z\sigma/\sqrt n`: the boundary z depends on the share
t = n/(n + m) of the horizon that is over, and on nothing else (Chernoff & Ray 1965, Lai 1987). It
is the finite-horizon Gittins index of the arm, in standard deviations above its mean. As t goes to
0, :math:`z^2 = 2\log(1/t) - \log\log(1/t) - \log 16\pi + o(1)`; there is no closed form.

The knots are the solution of the optimal stopping problem by backward induction, extrapolated to
steps of no length; `tests/test_horizon.py` solves it again. Between plays that cannot be divided
the boundary is lower by :math:`0.5826/\sqrt n` (Chernoff & Petkau 1986).

Lai (1987). Adaptive treatment allocation and the multi-armed bandit problem. Annals of Statistics
15(3). https://doi.org/10.1214/aos/1176350495
"""

from __future__ import annotations

import math

import numpy as np

from bursar.compiled import compiled

__all__ = ["KNOTS", "STEP", "WHOLE_PLAYS", "hope"]

STEP = 0.25  # of sqrt(log(1/t)), in which the boundary is nearly a straight line
KNOTS = np.array([
    0.0, 0.164, 0.330, 0.513, 0.718, 0.954, 1.227, 1.539, 1.889, 2.269, 2.667, 3.073, 3.479, 3.879,
    4.273, 4.662, 5.046, 5.427, 5.806, 6.183, 6.558,
])  # fmt: skip
WHOLE_PLAYS = 0.5826  # -zeta(1/2)/sqrt(2 pi)
_LAST = STEP * (len(KNOTS) - 1)
_LOG_16_PI = math.log(16.0 * math.pi)
_REST = float(KNOTS[-1]) - math.sqrt(2.0 * _LAST**2 - 2.0 * math.log(_LAST) - _LOG_16_PI)


@compiled
def hope(played: float, left: float) -> float:
    """Return z for so many plays done and left, whole ones; it falls as the plays run out.

    >>> [round(hope(n, 1e5), 2) for n in (1.0, 10.0, 1e3, 1e5)]
    [3.52, 3.35, 2.1, 0.58]
    """
    root = math.sqrt(math.log1p(max(left, 0.0) / played))
    if root >= _LAST:
        log = root * root
        z = _REST + math.sqrt(2.0 * log - math.log(log) - _LOG_16_PI)
    else:
        at = int(root / STEP)
        z = KNOTS[at] + (root / STEP - at) * (KNOTS[at + 1] - KNOTS[at])
    return max(z - WHOLE_PLAYS / math.sqrt(played), 0.0)
