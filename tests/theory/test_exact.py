"""Random states of every index policy against 60-digit arithmetic, at 1e-13."""

from __future__ import annotations

import math

import exact
import numpy as np
import pytest

import bursar

TOLERANCE = 1e-13
EDGES = [0.0, 1e-12, 1e-6, 0.013, 0.5, 1.0 - 1e-9, 1.0]


def states(count: int, seed: int):
    """(n, r, c, var_r share, var_c share, plays): ordinary ones, and means at the edges."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        n = float(math.floor(10 ** rng.uniform(0, 7)))
        plays = math.floor(n * 10 ** rng.uniform(0, 3)) + 1
        r, c = rng.uniform(size=2)
        if i % 3 == 0:
            r, c = rng.choice(EDGES, size=2)
        if i % 3 == 1:
            c = 10 ** rng.uniform(-6, 0)
        yield n, float(r), float(c), *rng.uniform(size=2).tolist(), plays


def agrees(slug: str, n, r, c, plays, want, **more) -> None:
    got = bursar.policy(slug).indices(n=[n], mean_reward=[r], mean_cost=[c], plays=plays, **more)[0]
    note = f"{slug} n={n} r={r} c={c} plays={plays} {more}: {got} != {want}"
    if want == exact.inf or want > 1e308:
        assert got == math.inf, note
    else:
        # an index of e^600 feels the last digit of its inputs 600 times over
        tolerance = TOLERANCE * max(1.0, abs(float(exact.log(want))) / 100) if want else 0.0
        assert abs(exact.mpf(got) - want) <= tolerance * want, note


CASES = {
    "omega-ucb:rho=0.25": lambda n, r, c, N: exact.omega(0.25, n, r, c, N),
    "omega-ucb:rho=2": lambda n, r, c, N: exact.omega(2.0, n, r, c, N),
    "m-ucb": lambda n, r, c, N: exact.m_ucb(2.0**-4, n, r, c, N),
    "c-ucb": lambda n, r, c, N: exact.c_ucb(2.0**-3, n, r, c, N),
    "i-ucb": lambda n, r, c, N: exact.i_ucb(2.0**-2, n, r, c, N),
    "budget-ucb:min_cost=0.01": lambda n, r, c, N: exact.budget_ucb(0.01, n, r, c, N),
    "ucb-sc-plus": exact.ucb_sc_plus,
    "kl-ucb-sc-plus": exact.kl_ucb_sc_plus,
    "ucb-bv1:min_cost=0.2": lambda n, r, c, N: exact.ucb_bv1(0.2, n, r, c, N),
    "fractional-kube": exact.fractional_kube,
    "kube": exact.fractional_kube,
    "pd-bwk:c_rad=16.1": lambda n, r, c, N: exact.pd_bwk(16.1, n, r, c),
    "mrcb": lambda n, r, c, N: exact.m_ucb(2.0**-4, n, r, c, N),
}


@pytest.mark.parametrize("slug", CASES)
def test_indices(slug):
    count = 60 if slug.startswith("kl") else 300
    for n, r, c, _, _, plays in states(count, seed=len(slug)):
        want = CASES[slug](n, r, c, plays)
        if well_conditioned(slug, n, r, c, plays):
            agrees(slug, n, r, c, plays, want)


def well_conditioned(slug, n, r, c, plays) -> bool:
    """Leave out states in which the last digit of an input decides: a radius next to the cost."""
    radius = {
        "m-ucb": 2.0**-4 * math.sqrt(math.log(plays) / n),
        "mrcb": 2.0**-4 * math.sqrt(math.log(plays) / n),
        "ucb-sc-plus": math.sqrt(math.log((plays + 1) / n) / (2 * n)),
        "pd-bwk:c_rad=16.1": math.sqrt(16.1 * c / n) + 16.1 / n,
        "ucb-bv1:min_cost=0.2": math.sqrt(math.log(plays) / n),
    }.get(slug)
    if radius is None:
        return True
    against = 0.2 if slug.startswith("ucb-bv1") else c
    return abs(radius - against) > 1e-2 * against or against == 0.0


def test_omega_star_ucb():
    for n, r, c, part_r, part_c, plays in states(300, seed=1):
        vr, vc = part_r * r * (1 - r), part_c * c * (1 - c)
        want = exact.omega_star(0.25, n, r, c, vr, vc, plays)
        agrees("omega-star-ucb:rho=0.25", n, r, c, plays, want, var_reward=vr, var_cost=vc)


@pytest.mark.parametrize("ranges", [((0, 5), (0, 2)), ((-2, 3), (1, 9)), ((1, 2), (0.5, 0.75))])
def test_omega_ucb_takes_any_range(ranges):
    (m_r, top_r), (m_c, top_c) = ranges
    for n, r, c, _, _, plays in states(200, seed=2):
        r_, c_ = m_r + (top_r - m_r) * r, m_c + (top_c - m_c) * c
        want = exact.omega(0.25, n, r_, c_, plays, 1, 1, *ranges)
        if want > 1e-3 and c > 1e-9:  # nearer to 0 the shift by m alone costs digits
            agrees(
                "omega-ucb:rho=0.25", n, r_, c_, plays, want,
                reward_range=ranges[0], cost_range=ranges[1],
            )  # fmt: skip


def test_ucb_b2():
    for n, r, c, part_r, part_c, plays in states(300, seed=3):
        vr, vc = part_r / 4, part_c / 4
        if n < 2:
            vr = vc = 0.25
        want = exact.ucb_b2(2.01, 0.01, n, r, c, vr, vc, plays)
        agrees("ucb-b2:min_cost=0.01", n, r, c, plays, want, var_reward=vr, var_cost=vc)


def test_intervals_of_any_range():
    rng = np.random.default_rng(4)
    for n, x, _, eta, _, _ in states(300, seed=4):
        m = float(rng.choice([0.0, -3.0, 0.25, 100.0]))
        top = m + float(rng.choice([1.0, 0.5, 7.0]))
        mean, z = min(m + (top - m) * x, top), float(rng.uniform(0.1, 6))
        low, high = bursar.interval(mean, n, z, eta, m, top)
        want_low, want_high = exact.wilson(mean, n, exact.mpf(z) ** 2, exact.mpf(eta), m, top)
        for got, want in ((low, want_low), (high, want_high)):
            assert abs(exact.mpf(got) - want) <= TOLERANCE * max(abs(want), (top - m) * 1e-3)


def test_lower_bounds_near_zero_keep_their_digits():
    for mean in (1e-150, 1e-40, 1e-12, 1e-5):
        for n in (1, 1000, 10**9):
            want = exact.wilson(mean, n, exact.mpf(9))[0]
            with exact.mp.workdps(400):
                want = exact.wilson(mean, n, exact.mpf(9))[0]
            assert abs(exact.mpf(bursar.interval(mean, n, 3.0)[0]) - want) <= TOLERANCE * want
