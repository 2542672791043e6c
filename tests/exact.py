"""The indices once more in 60 digits (mpmath), straight from the formulas; inputs are doubles."""

from __future__ import annotations

from mpmath import inf, log, mp, mpf, sqrt

mp.dps = 60


def wilson(mean, n, z2, eta=1, m=0, M=1):  # noqa: N803  (the paper's letters)
    """Theorem 1, literally."""
    mean, m, M = mpf(mean), mpf(m), mpf(M)  # noqa: N806
    a, b, c = n + z2 * eta, 2 * n * mean + z2 * eta * (M + m), n * mean**2 + z2 * eta * M * m
    root = sqrt(b**2 / (4 * a**2) - c / a)
    return b / (2 * a) - root, b / (2 * a) + root


def omega(rho, n, r, c, plays, eta_r=1, eta_c=1, reward_range=(0, 1), cost_range=(0, 1)):
    z2 = 2 * mpf(rho) * log(mpf(plays) + 1)
    if c == cost_range[0] == 0:
        return inf
    upper = wilson(r, n, z2, eta_r, *reward_range)[1]
    lower = wilson(c, n, z2, eta_c, *cost_range)[0]
    return max(upper, 0) / lower


def omega_star(rho, n, r, c, vr, vc, plays, min_samples=30):
    r, c, vr, vc = mpf(r), mpf(c), mpf(vr), mpf(vc)
    eta_r = min(1, vr / (r * (1 - r))) if n >= min_samples and 0 < r < 1 else 1
    eta_c = min(1, vc / (c * (1 - c))) if n >= min_samples and 0 < c < 1 else 1
    return omega(rho, n, r, c, plays, eta_r, eta_c)


def m_ucb(alpha, n, r, c, plays):
    r, c, e = mpf(r), mpf(c), mpf(alpha) * sqrt(log(mpf(plays)) / n)
    return min(r + e, 1) / (c - e) if c > e else inf


def c_ucb(alpha, n, r, c, plays):
    return (mpf(r) + mpf(alpha) * sqrt(log(mpf(plays)) / n)) / mpf(c) if c else inf


def i_ucb(alpha, n, r, c, plays):
    return mpf(r) / mpf(c) + mpf(alpha) * sqrt(log(mpf(plays)) / n) if c else inf


def budget_ucb(lam, n, r, c, plays):
    if not c:
        return inf
    r, c, e = mpf(r), mpf(c), sqrt(log(mpf(plays)) / n)
    return r / c + e / c * (1 + min(r + e, 1) / max(c - e, mpf(lam)))


def ucb_sc_plus(n, r, c, plays):
    r, c, share = mpf(r), mpf(c), log((mpf(plays) + 1) / n)
    if not c**2 > share / (2 * n):
        return inf
    a = sqrt(share / (2 * (r**2 + c**2) * n - share))
    return (r + a * c) / (c - a * r)


def ucb_bv1(lam, n, r, c, plays):
    r, c, lam, s = mpf(r), mpf(c), mpf(lam), sqrt(log(mpf(plays)) / n)
    return r / c + (1 + 1 / lam) * s / (lam - s) if c and s < lam else inf


def fractional_kube(n, r, c, plays):
    return (mpf(r) + sqrt(2 * log(mpf(plays) + 1) / n)) / mpf(c) if c else inf


def pd_bwk(c_rad, n, r, c):
    r, c, q = mpf(r), mpf(c), mpf(c_rad)
    u, low = min(1, r + sqrt(q * r / n) + q / n), max(0, c - sqrt(q * c / n) - q / n)
    return u / low if low else inf


def ucb_b2(alpha, lam, n, r, c, vr, vc, plays):
    r, c, x = mpf(r), mpf(c), mpf(alpha) * log(mpf(plays))
    e = sqrt(2 * mpf(vr) * x / n) + 3 * x / n
    h = sqrt(2 * mpf(vc) * x / n) + 3 * x / n
    if not 0 < h < c * mpf("0.28") / mpf("1.28"):
        return inf
    rate = r / max(c, mpf(lam))
    return rate + mpf("1.4") * (e + rate * h) / c


def kl(p, q):
    return (p * log(p / q) if p else 0) + ((1 - p) * log((1 - p) / (1 - q)) if p < 1 else 0)


def ball_level(r, c, q):
    """min over tau of kl(r, q tau) + kl(c, tau), by the textbook root of the quadratic."""
    r, c, q = mpf(r), mpf(c), mpf(q)
    s = 1 + r + q * (1 + c)
    tau = 2 * (r + c) / (s + sqrt(s**2 - 8 * q * (r + c)))  # (s - root) / 4q would cancel
    mu = q * tau
    if r == 1:
        mu, tau = mpf(1), 1 / q
    return (0 if mu == r else kl(r, mu)) + (0 if tau == c else kl(c, tau))


def kl_ucb_sc_plus(n, r, c, plays):
    """By bisection on log q."""
    if not c:
        return inf
    level = log((mpf(plays) + 1) / n) / n
    low, high = (log(mpf(r) / mpf(c)) if r else mpf(-3000)), mpf(3000)
    for _ in range(200):
        middle = (low + high) / 2
        if ball_level(r, c, mp.exp(middle)) > level:
            high = middle
        else:
            low = middle
    return mp.exp(low)
