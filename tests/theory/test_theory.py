"""The theory against exact numbers: the vectors, mpmath, and what the theorems imply.

References are computed with 40 digits from the exact value of each double, by formulas that share
nothing with the code: direct sums, Hurwitz zeta functions, Euler-Maclaurin with 13 derivatives.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from extent import extent
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar import theory
from bursar.errors import BursarError, InvalidInput

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text("utf-8"))
THEORY = VECTORS["theory"]

quick = settings(deadline=None, max_examples=60)
rhos = st.floats(1e-3, 10.0)
unit = st.floats(0.0, 1.0)
costs = st.floats(1e-3, 1.0)
rewards = st.just(0.0) | st.floats(1e-6, 1.0)
arms = st.lists(st.tuples(rewards, costs), min_size=1, max_size=6).map(
    lambda pairs: tuple(np.array(column) for column in zip(*pairs, strict=True))
)


@pytest.fixture(autouse=True)
def _digits() -> Any:
    with mp.workdps(40):
        yield


def want(expected: dict[str, Any], rtol: float = 1e-13) -> Any:
    return pytest.approx(expected["float"], rel=rtol, abs=0.0)


def error(got: float, exact: Any) -> float:
    """Relative error of a double."""
    return float(abs(mp.mpf(got) / exact - 1))


# --- vectors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("case", THEORY["z_and_alpha"], ids=lambda c: f"t={c['t']},rho={c['rho']}")
def test_levels_match_the_vectors(case: dict[str, Any]) -> None:
    t, rho = case["t"], case["rho"]
    assert theory.z_rho(t, rho) == want(case["z"], 1e-15)
    assert theory.alpha(t, rho) == want(case["alpha_bound"], 1e-15)
    assert theory.alpha_exact(t, rho) == want(case["alpha_exact"])
    assert theory.z_from_alpha(theory.alpha(t, rho)) == want(case["z_from_bound"])


@pytest.mark.parametrize("case", THEORY["n_star"], ids=lambda c: f"tau={c['tau']},mu={c['mu_r']}")
def test_gaps_and_n_star_match_the_vectors(case: dict[str, Any]) -> None:
    means = [case["mu1_r"], case["mu_r"]], [case["mu1_c"], case["mu_c"]]
    assert theory.gaps(*means).tolist() == [0.0, case["Delta"]["float"]]  # correctly rounded
    assert theory.proportional_gaps(*means).tolist() == [0.0, case["delta"]["float"]]
    plays = theory.n_star(case["tau"], case["rho"], *means, case["eta_r"], case["eta_c"])
    assert plays[0] == math.inf
    assert plays[1] == want(case["n_star"], 2e-15)


@pytest.mark.parametrize("case", THEORY["xi"], ids=lambda c: f"tau={c['tau']},rho={c['rho']}")
def test_xi_matches_the_vectors(case: dict[str, Any]) -> None:
    assert theory.xi(case["tau"], case["rho"], case["K"]) == want(case["xi"], 2e-15)


@pytest.mark.parametrize("case", THEORY["regret_bound"], ids=lambda c: f"B={c['B']}")
def test_regret_bound_matches_the_vectors(case: dict[str, Any]) -> None:
    budget, rho, means = case["B"], case["rho"], (case["mu_r"], case["mu_c"])
    cheapest = min(case["mu_c"])
    tau = theory.tau_budget(budget, cheapest)
    assert (tau, type(tau)) == (case["tau_B"], int)
    assert theory.xi(tau, rho, len(case["mu_r"])) == want(case["xi"])
    assert theory.excess_plays(budget, cheapest) == want(case["X_explicit"], 2e-15)
    # The exponent B mu / 2 is rounded here: up to 62 of them cost 62 units in the last place.
    assert theory.excess_plays_order(budget, cheapest) == want(case["X_order_term"])
    assert theory.regret_bound(budget, rho, *means) == want(case["bound"], 2e-15)


@pytest.mark.parametrize("case", VECTORS["asymmetry"], ids=lambda c: f"n={c['n']},mean={c['mean']}")
def test_asymmetry_matches_the_vectors(case: dict[str, Any]) -> None:
    where = case["mean"], case["n"], case["z"], case["eta"]
    assert theory.asymmetry(*where) == want(case["definition"], 1e-15)
    assert theory.asymmetry(*where, squared=True) == want(case["paper_closed_form"], 1e-15)


def test_example_2_tells_the_two_values_of_z_apart() -> None:
    case = VECTORS["example_2"]
    bound = theory.alpha(case["t"], 1.0)
    assert theory.z_from_alpha(bound) == want(case["omega_z_of_alpha_bound"]["z"])
    assert theory.z_rho(case["t"], 1.0) == want(case["omega_policy_z"]["z"])


# --- levels ----------------------------------------------------------------------------------


def quantile(alpha: float) -> Any:
    """Find -Phi^-1(alpha/2) by Newton's method on log erfc, which is smooth for every alpha."""
    if alpha > 0.5:
        return mp.sqrt(2) * mp.erfinv(1 - mp.mpf(alpha))
    z = mp.sqrt(-2 * mp.log(mp.mpf(alpha)))
    for _ in range(60):
        tail = mp.erfc(z / mp.sqrt(2))
        z += mp.log(tail / alpha) * tail / (mp.sqrt(2 / mp.pi) * mp.exp(-z * z / 2))
    return z


TINY = [5e-324, 1e-323, 3e-322, 1e-310, 4.4e-308, 4.5e-308, 1e-300, 1e-100, 1e-12, 1e-3]
NEAR_ONE = [0.3, 0.5, 0.85, 0.999, 1 - 1e-9, 1 - 2**-53]


@pytest.mark.parametrize("alpha", TINY + NEAR_ONE)
def test_quantile_is_accurate_for_every_level(alpha: float) -> None:
    assert error(theory.z_from_alpha(alpha), quantile(alpha)) < 2e-15


@pytest.mark.parametrize("t", [1 + 2**-40, 1.5, 2.0, 1e3, 1e12])
@pytest.mark.parametrize("rho", [1e-9, 1e-3, 0.25, 1.0, 10.0])
def test_levels_are_accurate(t: float, rho: float) -> None:
    exponent = mp.mpf(rho) * mp.log(mp.mpf(t))
    bound = mp.exp(-exponent) / (1 + mp.sqrt(-mp.expm1(-exponent)))
    assert error(theory.alpha(t, rho), bound) < 1e-15
    assert error(theory.z_rho(t, rho), mp.sqrt(2 * exponent)) < 1e-15
    exact = mp.erfc(mp.sqrt(exponent))
    assert error(theory.alpha_exact(t, rho), exact) < 5e-16 * (1 + rho * math.log(t))


@quick
@given(st.floats(1.0, 1e300), rhos)
def test_exact_level_lies_below_the_bound_of_theorem_3(t: float, rho: float) -> None:
    slack = 1 + 1e-15 * (1 + rho * math.log(t))
    assert 0.0 <= theory.alpha_exact(t, rho) <= theory.alpha(t, rho) * slack <= slack


def test_levels_end_at_certainty() -> None:
    assert (theory.alpha(1), theory.alpha_exact(1), theory.z_rho(1)) == (1.0, 1.0, 0.0)
    assert (theory.z_from_alpha(1.0), theory.z_from_alpha(0.0)) == (0.0, math.inf)
    assert math.copysign(1.0, theory.z_from_alpha(1.0)) == 1.0


# --- gaps and plays --------------------------------------------------------------------------


@quick
@given(arms)
def test_gaps_are_exact_and_bridge_to_the_best_arm(means: tuple[Any, Any]) -> None:
    mu_r, mu_c = means
    ratio = [Fraction(r) / Fraction(c) for r, c in zip(*means, strict=True)]
    assert theory.gaps(mu_r, mu_c).tolist() == [float(max(ratio) - one) for one in ratio]
    delta = theory.proportional_gaps(mu_r, mu_c)
    assert ((delta >= 0.0) & (delta <= 1.0)).all()
    catch_up = (mu_r + delta * (1.0 - mu_r)) / (mu_c * (1.0 - delta))
    np.testing.assert_allclose(catch_up, float(max(ratio)), rtol=1e-10, atol=1e-12)


def test_ties_of_the_doubles_are_ties() -> None:
    assert theory.gaps([0.3, 0.6, 0.15], [0.1, 0.2, 0.05]).tolist() == [0.0, 0.0, 0.0]
    # In decimals these two tie; their doubles do not.
    assert 0.0 < theory.gaps([0.3, 0.9], [0.1, 0.3])[0] < 1e-15


@quick
@given(arms, st.integers(1, 10**12), rhos, unit, unit)
def test_n_star_is_never_nan(
    means: tuple[Any, Any], tau: int, rho: float, eta_r: float, eta_c: float
) -> None:
    plays = theory.n_star(tau, rho, *means, eta_r, eta_c)
    assert (plays >= 0.0).all()
    assert (plays <= theory.n_star(tau, rho, *means)).all()
    assert np.isinf(plays[theory.gaps(*means) == 0.0]).all()


def test_n_star_at_the_edges() -> None:
    best, sure = (0.5, 0.25), (1.0, 1.0)  # the second arm always pays, and costs too much
    mean_reward, mean_cost = zip(best, sure, strict=True)
    for tau, eta in ((1, 0.0), (1, 1.0), (100, 0.0)):
        assert theory.n_star(tau, 1.0, mean_reward, mean_cost, eta).tolist() == [math.inf] * 2
    assert theory.n_star(1, 1.0, [0.5, 0.2], [0.5, 0.5])[1] == 0.0
    tiny = [1e-150, 0.0], [1.0, 1e-160]  # a proportional gap of 1e-310
    assert theory.n_star([1, 2], 1.0, *tiny)[:, 1].tolist() == [0.0, math.inf]
    assert theory.n_star(9, 1.0, [1.0, 0.5], [5e-324, 1.0], 0.0).tolist() == [math.inf, 0.0]


def test_plays_of_arms_keep_the_axes_of_time() -> None:
    means = [0.8, 0.1, 0.5], [0.25, 0.125, 0.5]
    grid = theory.suboptimal_plays([[10], [1000]], [0.25, 1.0, 2.0, 4.0], *means)
    assert grid.shape == (2, 4, 3)
    one = 1.0 + theory.n_star(1000, 2.0, *means) + theory.xi(1000, 2.0, 3)
    assert grid[1, 2].tolist() == one.tolist()


# --- xi --------------------------------------------------------------------------------------


def level(t: Any, rho: Any) -> Any:
    u = mp.power(t, -rho)
    return u / (1 + mp.sqrt(1 - u))  # 1 - sqrt(1 - u), of which u = 1e-120 would leave nothing


def head_of_xi(tau: int, rho: float, k: int, stop: int) -> Any:
    exponent = mp.mpf(rho)
    terms = (level(mp.mpf(t), exponent) for t in range(k + 1, stop + 1))
    return (tau - k) * level(mp.mpf(tau), exponent) + mp.fsum(terms)


def xi_by_zeta(tau: int, rho: float, k: int) -> Any:
    """Sum t^(-rho j) as a difference of Hurwitz zeta functions, for each binomial term j."""
    start = max(k, 60)
    total, weight, j = head_of_xi(tau, rho, k, start), mp.mpf(1) / 2, 1
    while True:
        power = mp.mpf(rho) * j
        if power == 1:
            term = weight * (mp.digamma(tau + 1) - mp.digamma(start + 1))
        else:
            term = weight * (mp.zeta(power, start + 1) - mp.zeta(power, tau + 1))
        total += term
        if term < total * mp.mpf(10) ** -20:
            return total
        weight *= (j - mp.mpf(1) / 2) / (j + 1)
        j += 1


def tail(function: Callable[[Any], Any], edges: list[Any], scale: Any) -> Any:
    """Sum a positive function over edges[0] < t <= edges[-1], inf included, relative to its start.

    Euler-Maclaurin with 13 derivatives; `scale` turns t into the variable to integrate over.
    """
    first, last = edges[0], edges[-1]
    total = scale * mp.quad(lambda x: function(x * scale), [edge / scale for edge in edges])
    for sign, end in ((-1, first), (1, last)):
        value = function(end)
        total += sign * value / 2
        if value < mp.mpf(10) ** -30:
            continue
        derivatives = mp.taylor(function, end, 26)
        for j in range(1, 14):
            total += sign * mp.bernoulli(2 * j) / (2 * j) * derivatives[2 * j - 1]
    return total


def xi_by_euler_maclaurin(tau: int, rho: float, k: int) -> Any:
    start = mp.mpf(max(k, 60))
    height = level(start, mp.mpf(rho))
    pieces = math.ceil(math.log(tau / start) * max(1.0, rho / 4.0))
    edges = [start * (tau / start) ** (mp.mpf(i) / pieces) for i in range(pieces)] + [mp.mpf(tau)]
    rest = tail(lambda t: level(t, mp.mpf(rho)) / height, edges, mp.mpf(1))
    return head_of_xi(tau, rho, k, int(start)) + height * rest


@pytest.mark.parametrize(
    ("tau", "rho", "k"),
    [
        (10**9, 1.0, 10),
        (10**12, 1.0, 2),
        (10**12, 0.25, 10),
        (10**12, 0.1, 3),
        (10**12, 2.0, 50),
        (10**9, 1.5, 10**6),
        (10**12, 0.5, 10**9),
        (10**9, 10.0, 1),
    ],
)
def test_xi_matches_zeta_functions(tau: int, rho: float, k: int) -> None:
    assert error(theory.xi(tau, rho, k), xi_by_zeta(tau, rho, k)) < 5e-15


LONG_SUMS = [
    (tau, k, rho)
    for tau, k in [(10**9, 1), (10**12, 7), (10**12, 20_000), (10**6, 17_000)]
    for rho in (1e-3, 0.02, 1.0, 9.99)
]


# the sample has every sum and every rho once
@pytest.mark.parametrize(("tau", "k", "rho"), extent(LONG_SUMS[::5], LONG_SUMS))
def test_xi_matches_a_long_euler_maclaurin_sum(tau: int, rho: float, k: int) -> None:
    assert error(theory.xi(tau, rho, k), xi_by_euler_maclaurin(tau, rho, k)) < 5e-15


DIRECT_SUMS = [
    (tau, k, rho)
    for tau, k in [(16_385, 1), (16_384, 1), (16_400, 10), (30_000, 14_000)]
    for rho in (1e-3, 0.3, 10.0)
]


# the sample has every sum and, twice, every rho
@pytest.mark.parametrize(("tau", "k", "rho"), extent(DIRECT_SUMS[::2], DIRECT_SUMS))
def test_xi_matches_a_direct_sum_where_the_method_changes(tau: int, rho: float, k: int) -> None:
    assert error(theory.xi(tau, rho, k), head_of_xi(tau, rho, k, tau)) < 5e-15


def test_the_two_references_agree() -> None:
    case = 10**12, 0.25, 10
    assert abs(xi_by_zeta(*case) / xi_by_euler_maclaurin(*case) - 1) < mp.mpf(10) ** -19


@quick
@given(st.integers(1, 10**12), st.integers(0, 10**12), rhos)
def test_xi_stays_below_its_closed_form(k: int, more: int, rho: float) -> None:
    plays, upper = theory.xi(k + more, rho, k), theory.xi_upper(k + more, rho, k)
    assert 0.0 <= plays <= upper * (1 + 1e-14)
    assert math.isfinite(upper)
    assert theory.xi(k + more, rho * 1.01, k) <= plays


@quick
@given(st.integers(1, 10**6), st.integers(0, 10**11), st.integers(1, 10**6), st.floats(1e-3, 1.0))
def test_xi_grows_in_time_up_to_rho_1(k: int, more: int, step: int, rho: float) -> None:
    earlier, later = theory.xi(k + more, rho, k), theory.xi(k + more + step, rho, k)
    assert later >= earlier * (1 - 1e-14)


def test_xi_falls_in_time_for_large_rho() -> None:
    assert theory.xi(100, 3.0, 2) > theory.xi(1000, 3.0, 2)


def test_closed_form_is_steady_around_rho_1() -> None:
    near = [theory.xi_upper(10**9, 1.0 + step, 10) for step in (-1e-13, 0.0, 1e-13)]
    assert near[0] == pytest.approx(near[1], rel=1e-11)
    assert near[2] == pytest.approx(near[1], rel=1e-11)
    exact = (
        mp.mpf(10**9 - 10) * level(mp.mpf(10**9), 1) + mp.mpf(1) / 11 + mp.log(mp.mpf(10**9) / 11)
    )
    assert error(near[1], exact) < 1e-15
    assert theory.xi_upper(10, 1.0, 10) == 0.0 == theory.xi(10, 1.0, 10)


def test_huge_rho_leaves_nothing() -> None:
    assert theory.xi(10**6, 1e4, 3) == 0.0


# --- excess plays ----------------------------------------------------------------------------


def excess_reference(budget: float, mu: float, direct: int) -> Any:
    """Sum `direct` terms one by one and the rest, if any, by a long Euler-Maclaurin sum."""
    tau = math.floor(2 * Fraction(budget) / Fraction(mu))
    money, cost = mp.mpf(budget), mp.mpf(mu)

    def term(t: Any) -> Any:
        return mp.exp(-2 * (t * cost - money) ** 2 / t) if t else mp.mpf(1)

    stop = tau + direct
    total = mp.fsum(term(mp.mpf(t)) for t in range(tau, stop))
    if cost**2 * direct > 60:
        return total
    reach, height = 1 / cost**2, term(mp.mpf(stop))
    edges = [mp.mpf(stop)]
    while edges[-1] - stop < 60 * reach:
        edges.append(edges[-1] + min(edges[-1], 4 * reach))
    return total + height * (1 + tail(lambda t: term(t) / height, edges, reach))


DIRECT = [(100.0, 0.1), (0.3, 0.9), (0.2, 0.9), (0.9, 0.9), (600.0, 1.0), (1e3, 0.7), (0.01, 0.05)]
LONG = [
    (5.0, 1e-5),
    (1e7, 1e-5),
    (6e7, 1e-5),
    (1e-9, 1e-6),
    (3.0, 0.02),
    (2e4, 0.024),
    (40.0, 0.026),
]


@pytest.mark.parametrize(("budget", "mu"), DIRECT)
def test_excess_plays_match_a_direct_sum(budget: float, mu: float) -> None:
    exact = excess_reference(budget, mu, math.ceil(61 / mu**2))
    assert error(theory.excess_plays(budget, mu), exact) < 2e-15


@pytest.mark.parametrize(("budget", "mu"), LONG)
def test_excess_plays_match_a_long_euler_maclaurin_sum(budget: float, mu: float) -> None:
    exact = excess_reference(budget, mu, 300)
    assert error(theory.excess_plays(budget, mu), exact) < 2e-15


def test_excess_plays_at_the_edges() -> None:
    assert theory.excess_plays(1e300, 1.0) == 0.0
    assert theory.excess_plays(1e-200, 1e-200) == math.inf
    for budget in (1e-160, 1e-152, 1e-150, 1e10):  # both sides of the limit of small budgets
        assert theory.excess_plays(budget, 1e-150) == pytest.approx(5e299, rel=1e-14)
    assert theory.excess_plays(1.0, 1e-153) == pytest.approx(5e305, rel=1e-14)
    assert theory.excess_plays(1e150, 1e-150) == pytest.approx(2.2099552234e299)


def test_excess_plays_exceed_the_papers_order_term_for_small_budgets() -> None:
    # The order of Theorem 5 has a constant: X(B) is near 1 / (2 mu²), not near 0, for B near 0.
    assert theory.excess_plays(3.0, 0.05) > 3 * theory.excess_plays_order(3.0, 0.05)
    assert theory.excess_plays(100.0, 0.05) < 0.1 * theory.excess_plays_order(100.0, 0.05)


@quick
@given(st.integers(1, 1400), st.integers(1, 2**10))
def test_excess_plays_lie_below_a_geometric_series(tau: int, share: int) -> None:
    mu = share / 2**10
    budget = tau * mu / 2  # exact, so that the horizon is tau and t mu - B >= t mu / 2 from there
    assert theory.tau_budget(budget, mu) == tau
    series = math.exp(-tau * mu * mu / 2) / -math.expm1(-mu * mu / 2)
    first = math.exp(-budget * mu)
    assert first * (1 - 1e-12) <= theory.excess_plays(budget, mu) <= series * (1 + 1e-12)


@quick
@given(st.floats(1e-3, 1e9), st.floats(1e-6, 1.0))
def test_horizon_is_the_exact_floor(budget: float, mu: float) -> None:
    tau = theory.tau_budget(budget, mu)
    assert tau * Fraction(mu) <= 2 * Fraction(budget) < (tau + 1) * Fraction(mu)


# --- regret ----------------------------------------------------------------------------------


@quick
@given(arms, st.floats(10.0, 1e6), rhos)
def test_regret_bound_is_the_sum_of_its_parts(means: Any, budget: float, rho: float) -> None:
    mu_r, mu_c = means
    tau = theory.tau_budget(budget, float(mu_c.min()))
    gap = theory.gaps(mu_r, mu_c)
    bound = theory.regret_bound(budget, rho, mu_r, mu_c)
    plays = theory.suboptimal_plays(tau, rho, mu_r, mu_c) + theory.excess_plays(budget, mu_c.min())
    parts = 2 * (mu_r / mu_c).max() + sum(gap[gap > 0.0] * plays[gap > 0.0])
    assert bound == pytest.approx(parts, rel=1e-12)
    assert math.isfinite(bound) or (mu_r[gap > 0.0] == 1.0).any()


def test_regret_bound_ignores_the_order_of_arms_and_ties() -> None:
    bound = theory.regret_bound(500.0, 1.0, [0.8, 0.1, 0.5], [0.25, 0.125, 0.5])
    assert theory.regret_bound(500.0, 1.0, [0.5, 0.8, 0.1], [0.5, 0.25, 0.125]) == bound
    tied = theory.regret_bound(500.0, 1.0, [0.8, 0.4, 0.1, 0.5], [0.25, 0.125, 0.125, 0.5])
    assert bound * 0.999 < tied < bound  # one arm more, so a ξ that begins one round later
    assert theory.regret_bound(500.0, 1.0, [0.5, 0.5], [0.25, 0.25]) == 4.0
    assert theory.regret_bound(500.0, 1.0, [0.5, 1.0], [0.25, 1.0]) == math.inf


@pytest.mark.parametrize(("rho", "budgets"), [(0.25, (1e9, 1e12)), (1.0, (1e9, 1e12))])
def test_regret_bound_grows_by_its_order(rho: float, budgets: tuple[float, float]) -> None:
    bound = theory.regret_bound(budgets, rho, [0.8, 0.1], [0.25, 0.125])
    order = theory.regret_order(budgets, rho)
    assert bound[1] / bound[0] == pytest.approx(order[1] / order[0], rel=0.1)


def test_order_and_its_name() -> None:
    assert theory.regret_order([1.0, 16.0], 0.75).tolist() == [1.0, 2.0]
    assert theory.regret_order(math.e, [1.0, 3.0]).tolist() == [1.0, 1.0]
    names = [theory.regret_order_name(rho) for rho in (1 / 64, 0.25, 0.7, 1.0, 2.0)]
    assert names == ["O(B^0.984375)", "O(B^0.75)", "O(B^0.3)", "O(log B)", "O(log B)"]


# --- asymmetry -------------------------------------------------------------------------------

around = st.tuples(unit, st.floats(1e-3, 1e9), st.floats(0.0, 1e3), unit)


@quick
@given(around)
def test_asymmetry_has_the_sign_of_the_deviation(where: tuple[float, float, float, float]) -> None:
    mean, n, z, eta = where
    value = theory.asymmetry(mean, n, z, eta)
    assert -1.0 <= value <= 1.0
    assert value == 0.0 or (value > 0.0) == (mean > 0.5)
    assert theory.asymmetry(mean, n, z, eta, squared=True) == value * value
    assert abs(theory.asymmetry(mean, 2 * n, z, eta)) <= abs(value) * (1 + 1e-14)


@pytest.mark.parametrize("mean", [1e-300, 1e-12, 0.3, 0.5 - 1e-12, 0.5 + 1e-12, 1 - 2**-53])
@pytest.mark.parametrize(("n", "z", "eta"), [(1.0, 3.0, 1.0), (1e9, 3.0, 0.1), (30.0, 1e-5, 1.0)])
def test_asymmetry_is_accurate_at_the_borders(mean: float, n: float, z: float, eta: float) -> None:
    x, pull = mp.mpf(mean), mp.mpf(eta) * mp.mpf(z) ** 2
    a, b, c = n + pull, 2 * n * x + pull, n * x**2
    half_width = mp.sqrt(b**2 / (4 * a**2) - c / a)
    with mp.workdps(700):  # the literal definition cancels
        exact = (x - b / (2 * a)) / half_width
    closed = (2 * x - 1) * mp.sqrt(pull / (4 * n * x * (1 - x) + pull))
    assert abs(exact / closed - 1) < 1e-12
    assert error(theory.asymmetry(mean, n, z, eta), closed) < 1e-15


def test_asymmetry_is_that_of_the_interval_in_any_range() -> None:
    unit_range = theory.asymmetry(0.25, 20, 2.0)
    assert theory.asymmetry(5.0, 20, 2.0, low=4.0, high=8.0) == unit_range
    assert theory.asymmetry([4.0, 6.0, 8.0], 20, 2.0, low=4.0, high=8.0).tolist() == [-1, 0, 1]


def test_interval_without_width_has_no_asymmetry() -> None:
    assert theory.asymmetry(0.0, 10, 0.0) == 0.0
    assert theory.asymmetry([0.0, 0.3, 1.0], 10, 3.0, eta=0.0).tolist() == [0.0, 0.0, 0.0]
    assert theory.asymmetry(0.9, 10, 1e200) == pytest.approx(0.8)


# --- the shape of things ---------------------------------------------------------------------

SCALARS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "alpha": (theory.alpha, (10, 0.5)),
    "alpha_exact": (theory.alpha_exact, (10, 0.5)),
    "z_rho": (theory.z_rho, (10, 0.5)),
    "z_from_alpha": (theory.z_from_alpha, (0.05,)),
    "xi": (theory.xi, (100, 0.5, 10)),
    "xi_upper": (theory.xi_upper, (100, 0.5, 10)),
    "excess_plays": (theory.excess_plays, (10, 0.5)),
    "excess_plays_order": (theory.excess_plays_order, (10, 0.5)),
    "regret_order": (theory.regret_order, (10, 0.5)),
    "asymmetry": (theory.asymmetry, (0.4, 10, 3)),
}


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_give_floats_and_arrays_give_arrays(name: str) -> None:
    function, values = SCALARS[name]
    single = function(*values)
    assert type(single) is float
    assert type(function(*map(np.float64, values))) is float
    column = function(np.full((2, 1), values[0]), *values[1:])
    assert (column.shape, column.dtype) == ((2, 1), np.float64)
    assert column.tolist() == [[single], [single]]
    assert function([], *values[1:]).shape == (0,)


def test_regret_bound_broadcasts() -> None:
    means = [0.8, 0.1], [0.2, 0.1]
    grid = theory.regret_bound([[10.0], [100.0]], [0.25, 1.0, 2.0], *means)
    assert grid.shape == (2, 3)
    assert type(theory.regret_bound(100, 1, *means)) is float
    assert grid[1, 1] == theory.regret_bound(100, 1, *means)
    assert theory.tau_budget([100.0, 1.0], 0.1).tolist() == [1999.0, 19.0]


def test_every_public_name_is_there() -> None:
    assert theory.__all__ == sorted(theory.__all__)
    assert all(callable(getattr(theory, name)) for name in theory.__all__)


ERRORS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: theory.alpha(10, -1.0),
        "rho must be positive, got -1.0; rho = 0.25 is a good start, "
        "rho >= 1 gives logarithmic regret",
    ),
    (lambda: theory.z_rho([1, 0.5]), "t must be at least 1, got 0.5; the first round is t = 1"),
    (
        lambda: theory.z_from_alpha(1.5),
        "alpha must be in [0, 1], got 1.5; a level is a probability",
    ),
    (lambda: theory.z_rho(math.nan), "t must be at least 1, got nan; the first round is t = 1"),
    (
        lambda: theory.z_rho("ten"),
        "t must be a number or an array of numbers, got 'ten'; convert it",
    ),
    (
        lambda: theory.alpha([1, 2], [1, 2, 3]),
        "shapes do not match: t (2,), rho (3,); pass equal lengths or single numbers",
    ),
    (
        lambda: theory.xi(10.5, 1.0, 2),
        "tau must be a whole number of at least 1, got 10.5; it counts plays; round it",
    ),
    (
        lambda: theory.xi(9, 1.0, 10),
        "tau must be at least arms = 10, got 9.0; "
        "the theorem begins after every arm was played once",
    ),
    (
        lambda: theory.gaps([0.5, 0.5], [0.5, 0.0]),
        "mean_cost must be in (0, 1], got 0.0; "
        "divide costs by the largest possible one, and drop arms that cost nothing",
    ),
    (
        lambda: theory.gaps([0.5], [0.5, 0.1]),
        "mean_reward and mean_cost must be two lists of the same length, one entry per arm, "
        "got shapes (1,) and (2,); pass every arm of the problem",
    ),
    (
        lambda: theory.n_star(10, 1.0, [0.5, 0.1], [0.5, 0.5], [1, 1, 1]),
        "eta_reward must be one number or one per arm (2), got shape (3,); 1 is always safe",
    ),
    (
        lambda: theory.regret_bound(0.1, 1.0, [0.5, 0.1], [0.5, 0.5]),
        "budget must reach the number of arms, 2 budget / min mean_cost >= 2, got budget 0.1; "
        "the theorem begins after every arm was played once",
    ),
    (
        lambda: theory.tau_budget(1e200, 1e-200),
        "budget / min_cost must be below 1e300, got 1e+200 / 1e-200; "
        "no run is that long, check the units",
    ),
    (
        lambda: theory.asymmetry(2.0, 10, 3.0),
        "mean must be in [low, high], got 2.0; pass the range that fits the data",
    ),
    (
        lambda: theory.asymmetry(2.0, 10, 3.0, low=3.0),
        "low must be finite and below high, got 3.0; swap them",
    ),
]


@pytest.mark.parametrize(("call", "message"), ERRORS, ids=[text[:24] for _, text in ERRORS])
def test_errors_say_what_was_wrong_and_the_way_out(call: Any, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value) == message
    assert isinstance(caught.value, BursarError)
    assert isinstance(caught.value, ValueError)


def test_the_lower_bound_is_what_a_search_finds():
    def kl(p, q):
        return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))

    chance = np.random.default_rng(3)
    for arms in (2, 3, 10):
        rewards, costs = chance.uniform(0.01, 0.99, arms), chance.uniform(0.02, 0.99, arms)
        best, slope = (rewards / costs).max(), 0.0
        for r, c in zip(rewards, costs, strict=True):
            lost = c * best - r
            low, high = 1e-9, min(1.0, 1.0 / best) - 1e-12
            for _ in range(6):  # the nearest pair on the line x = best y, by a grid that narrows
                y = np.linspace(low, high, 20_001)[1:-1]
                distance = kl(r, best * y) + kl(c, y)
                at, width = int(np.argmin(distance)), (high - low) / 20_000
                low, high = max(1e-9, y[at] - 2 * width), min(high, y[at] + 2 * width)
            slope += lost / distance[at] if lost > 1e-12 else 0.0
        found = theory.lower_bound([100.0, 1e4, 1e6], rewards, costs)
        assert found == pytest.approx(np.log([100.0, 1e4, 1e6]) * slope, rel=1e-6)


def test_the_lower_bound_counts_no_arm_that_ties_and_refuses_what_is_no_problem():
    assert theory.lower_bound(1000, [0.5, 0.25], [0.5, 0.25]) == 0.0
    one = theory.lower_bound(1000, [0.5, 0.3], [0.5, 0.6])
    assert theory.lower_bound(1000, [0.5, 0.5, 0.3], [0.5, 0.5, 0.6]) == pytest.approx(one)
    assert theory.lower_bound(1000, [0.5, 0.3, 0.3], [0.5, 0.6, 0.6]) == pytest.approx(2 * one)
    assert np.isfinite(theory.lower_bound(1000, [1.0, 0.0, 1.0], [0.5, 1.0, 1.0]))
    for budget, rewards, costs in (
        (0, [0.5], [0.5]),
        (10, [0.5], [0.0]),
        (10, [1.5], [0.5]),
        (10, [0.5, 0.5], [0.5]),
        (10, [], []),
        (10, [np.nan], [0.5]),
    ):
        with pytest.raises(InvalidInput):
            theory.lower_bound(budget, rewards, costs)
