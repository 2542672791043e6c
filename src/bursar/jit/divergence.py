r"""The largest ratio mu/tau within a Kullback-Leibler ball around two Bernoulli means.

.. math:: \sup\{\mu/\tau : kl(r, \mu) + kl(c, \tau) \le L\}

:math:`G(q) = \min_\tau kl(r, q\tau) + kl(c, \tau)` is 0 up to q = r/c and strictly increasing
beyond; its inner minimum is the smaller root of a quadratic. So the supremum is the q at which
G(q) = L, found by a safeguarded Newton iteration on log q.
"""

import math

from bursar.jit.compile import compiled

_LARGEST = 709.0  # exp overflows beyond


@compiled
def _part(p: float, q: float, away: float) -> float:
    """Return q - p - p log(q/p), one of the two halves of kl(p, q); ``away`` is q - p."""
    if p <= 0.0:
        return q
    if q <= 0.0:
        return math.inf
    if abs(away) < 0.03 * p:  # the logarithm would cancel: x - log(1 + x) by its series
        x = away / p
        term, total = x * x, 0.0
        for k in range(2, 15):
            total += term / k
            term *= -x
        return p * total
    quotient = q / p
    return away - p * (math.log(quotient) if quotient < math.inf else math.log(q) - math.log(p))


@compiled
def bernoulli_kl(p: float, q: float, q_rest: float) -> float:
    """Return kl(p, q) with ``q_rest`` = 1 - q; both halves are >= 0, nothing cancels."""
    away = q - p if q < 0.5 else (1.0 - p) - q_rest
    return _part(p, q, away) + _part(1.0 - p, q_rest, -away)


@compiled
def ball_level(r: float, c: float, q: float) -> tuple[float, float]:
    """Return G(q) and its derivative with respect to log q, for q >= r/c and c > 0."""
    total = 1.0 + r + q * (1.0 + c)
    # halves of sums and roots of factors: q may be as large as a double can be
    if q >= 1.0:
        gap = total - 4.0
        root = math.hypot(gap, math.sqrt(8.0 * (1.0 - r)) * math.sqrt(q - 1.0))
        scale = 0.5 * total + 0.5 * root
        tau, mu = (r + c) / scale, (r + c) * (q / scale)
        tau_rest = 1.0 - tau
        if gap > 0.0:
            mu_rest = (1.0 - r) * ((q - 1.0) / (0.5 * gap + 0.5 * root))
        else:
            mu_rest = 0.25 * (root - gap)
    else:
        gap = total - 4.0 * q
        root = math.hypot(gap, math.sqrt(8.0 * q * (1.0 - c) * (1.0 - q)))
        tau = (r + c) / (0.5 * total + 0.5 * root)
        mu = q * tau
        mu_rest = 1.0 - mu
        if gap > 0.0:
            tau_rest = 2.0 * (1.0 - c) * (1.0 - q) / (gap + root)
        else:
            tau_rest = 0.25 * (root - gap) / q
    if tau > 1e-290:
        level = bernoulli_kl(r, mu, mu_rest) + bernoulli_kl(c, tau, tau_rest)
    else:  # tau may be too small for a double; its logarithm is not
        log_tau = math.log(r + c) - math.log(0.5 * total + 0.5 * root)
        rest = _part(1.0 - c, tau_rest, c - tau)
        level = bernoulli_kl(r, mu, mu_rest) + (tau - c) - c * (log_tau - math.log(c)) + rest
    # both quotients are the same number; the larger denominator keeps more digits
    slope = (mu - r) / mu_rest if mu_rest > tau_rest else (c - tau) / tau_rest
    return level, slope


@compiled
def _bracket(r: float, c: float, level: float) -> tuple[float, float]:
    """Return logarithms below and above the solution; Pinsker's disc bounds it from above."""
    radius = math.sqrt(0.5 * level)
    high = _LARGEST
    if c > radius:
        disc = (r * c + radius * math.sqrt(r * r + (c - radius) * (c + radius))) / (
            (c - radius) * (c + radius)
        )
        high = min(high, math.log(disc) + 1e-9)
    if r > 0.0:
        return math.log(r / c), high
    step = 1.0
    while step < 1e3 and ball_level(r, c, math.exp(high - step))[0] > level:
        step *= 2.0
    return high - step, high


@compiled
def ball_ratio(r: float, c: float, level: float) -> float:
    """Return the largest mu/tau with kl(r, mu) + kl(c, tau) <= level; inf if and only if c is 0."""
    if c <= 0.0:
        return math.inf
    if level <= 0.0:
        return r / c
    low, high = _bracket(r, c, level)
    if high >= _LARGEST and ball_level(r, c, math.exp(_LARGEST))[0] < level:
        return math.inf  # larger than any double
    u = 0.5 * (low + high)
    if r > 0.0:
        u = min(low + math.sqrt(2.0 * level * ((1.0 - r) / r + (1.0 - c) / c)), u)
    q = math.exp(u)
    target = math.sqrt(level)
    for _ in range(200):
        value, slope = ball_level(r, c, q)
        if value > level:
            high = math.log(q)
        else:
            low = math.log(q)
        here = math.sqrt(value)
        step = 2.0 * (here - target) * here / slope if slope > 0.0 else math.inf
        u = math.log(q)
        if not low < u - step < high:
            if abs(step) <= 4e-16:
                break
            step = u - 0.5 * (low + high)
        q *= math.exp(-step)  # multiplying keeps digits that a large logarithm cannot hold
        if abs(step) <= 4e-16:
            break
    return q


@compiled
def _tail(p: float, level: float, above: bool) -> float:
    """Return the q beyond p, above or below it, at which kl(p, q) = level; by bisection."""
    near, far = p, 1.0 if above else 0.0
    for _ in range(1100):  # below p the solution may be as small as a double can be
        q = 0.5 * (near + far)
        if q in (near, far):
            break
        if bernoulli_kl(p, q, 1.0 - q) > level:
            far = q
        else:
            near = q
    return near


@compiled
def box_ratio(r: float, c: float, level: float) -> float:
    """Return the largest mu over the smallest tau, each within kl <= level of its mean."""
    least = _tail(c, level, False) if c > 0.0 else 0.0
    return _tail(r, level, True) / least if least > 0.0 else math.inf
