"""Marks of BTS's loop: how likely a ratio passes a level, draws of it, and whose turn a mark is.

The argument is in `bursar.engine.thompson`.
"""

from __future__ import annotations

import math

from bursar.checks import Floats
from bursar.compiled import compiled
from bursar.policies.bts import posterior
from bursar.stream import Stream, beta, uniform

__all__ = ["accepted", "drawn", "pick", "set_weight", "tail"]


@compiled
def tail(n: float, over_hits: float, under_hits: float, log_q: float) -> tuple[float, float]:
    """Return s and a bound of P(X/Y > q); X and Y have the posteriors of hits in n trials."""
    a, d, total = over_hits + 1.0, under_hits + 1.0, n + 2.0
    spread = 1.0 / a + 1.0 / d - 2.0 / total + 1e-9
    s = min((log_q - math.log((a - 0.5) / (d - 0.5))) / spread, d - 1.0)
    if s <= 0.0:
        return 0.0, 1.0
    log_moment = (
        math.lgamma(a + s) - math.lgamma(a) - math.lgamma(total + s) + math.lgamma(total)
        + math.lgamma(d - s) - math.lgamma(d) - math.lgamma(total - s) + math.lgamma(total)
    )  # fmt: skip
    return s, min(1.0, math.exp(log_moment - s * log_q))


@compiled
def drawn(stream: Stream, n: float, reward: float, cost: float) -> float:
    """Draw an arm's ratio."""
    a, b = posterior(n, reward)
    x = beta(stream, a, b)
    a, b = posterior(n, cost)
    y = beta(stream, a, b)
    return x / y if y > 0.0 else math.inf


@compiled
def _tilted(stream: Stream, n: float, over_hits: float, under_hits: float, s: float) -> float:
    """Draw X/Y with its density tilted by (X/Y)^s."""
    a, b = posterior(n, over_hits)
    x = beta(stream, a + s, b)
    a, b = posterior(n, under_hits)
    y = beta(stream, a - s, b)
    return x / y if y > 0.0 else math.inf


@compiled
def accepted(
    stream: Stream, n: float, over_hits: float, under_hits: float, s: float, p: float, q: float
) -> float:
    """Return X/Y > q if a marked arm has one, else 0. Marks come with 1 - exp(-p/(1-p)) >= p."""
    x = _tilted(stream, n, over_hits, under_hits, s)
    if not x > q:
        return 0.0
    keep = math.exp(s * math.log(q / x)) * p / -math.expm1(-p / (1.0 - p))
    return x if uniform(stream) < keep else 0.0


@compiled
def set_weight(weights: Floats, arm: int, rate: float) -> None:
    node = (weights.size >> 1) + arm
    weights[node] = rate
    node >>= 1
    while node >= 1:
        weights[node] = weights[2 * node] + weights[2 * node + 1]
        node >>= 1


@compiled
def pick(weights: Floats, x: float) -> int:
    """Return the arm at position x of the rates laid end to end."""
    node, half = 1, weights.size >> 1
    while node < half:
        node <<= 1
        if x >= weights[node] and weights[node + 1] > 0.0:
            x -= weights[node]
            node += 1
    return node - half
