"""What must hold between policies (spec section 10), and how an index behaves for a caller."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from forgetting import discounted, sliding
from hypothesis import given
from hypothesis import strategies as st
from policy_parts import find_best_set, packing

import bursar
from bursar.errors import (
    InvalidInput,
    InvalidParameter,
    MissingKnowledge,
    NoIndex,
    UnknownParameter,
)
from bursar.policies.omega import OmegaStarUCB, OmegaUCB

unit = st.floats(0, 1)
plays_of_arm = st.integers(1, 10**6)
more_plays = st.integers(0, 10**7)


def index(slug: str, n, r, c, plays, **more) -> float:
    policy = bursar.policy(slug)
    return float(
        policy.indices(n=[n], mean_reward=[r], mean_cost=[c], plays=plays, budget=100.0, **more)[0]
    )


@given(plays_of_arm, unit, unit, more_plays)
def test_kl_ucb_sc_plus_is_never_above_ucb_sc_plus(n, r, c, more):
    ball, disc = (index(s, n, r, c, n + more) for s in ("kl-ucb-sc-plus", "ucb-sc-plus"))
    assert ball <= disc * (1 + 1e-12)


@given(plays_of_arm, unit, unit, more_plays)
def test_the_ball_of_kl_ucb_sc_plus_lies_within_its_box(n, r, c, more):
    ball = index("kl-ucb-sc-plus", n, r, c, n + more)
    box = index("kl-ucb-sc-plus:region=box", n, r, c, n + more)
    assert ball <= box * (1 + 1e-9)


@given(st.integers(30, 10**6), unit, unit, more_plays, unit, unit)
def test_omega_grows_with_the_variance(n, r, c, more, a, b):
    low, high = sorted((a, b))
    narrow, wide = (
        index(
            "omega-star-ucb:rho=0.25", n, r, c, n + more,
            var_reward=[s * r * (1 - r)], var_cost=[s * c * (1 - c)],
        )
        for s in (low, high)
    )  # fmt: skip
    assert narrow <= wide * (1 + 1e-12)


@given(plays_of_arm, unit, unit, more_plays)
def test_omega_star_without_variances_is_omega(n, r, c, more):
    star = index("omega-star-ucb:rho=0.25", n, r, c, n + more)
    assert star == pytest.approx(index("omega-ucb:rho=0.25", n, r, c, n + more), rel=1e-12)


@given(plays_of_arm, unit, unit, more_plays, st.floats(0.01, 2))
def test_mrcb_of_one_arm_is_m_ucb(n, r, c, more, alpha):
    single = index(f"mrcb:kappa={alpha**2!r}", n, r, c, n + more)
    m_ucb = index(f"m-ucb:alpha={alpha!r}", n, r, c, n + more)
    if math.isinf(single) or math.isinf(m_ucb):  # alpha² is rounded: the edge may fall either way
        e = alpha * math.sqrt(math.log(n + more) / n)
        assert single == m_ucb or c == pytest.approx(e, rel=1e-12)
    else:
        e = alpha * math.sqrt(math.log(n + more) / n)
        assert single == pytest.approx(m_ucb, rel=1e-12 * max(1.0, c / (c - e)))


histories = st.lists(
    st.tuples(st.integers(0, 2), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=80
)


@given(histories, st.floats(0.1, 2))
def test_nothing_forgotten_is_omega(history, rho):
    rewards, costs = ([[h[i] for h in history if h[0] == k] for k in range(3)] for i in (1, 2))
    for policy in (OmegaUCB(rho=rho), OmegaStarUCB(rho=rho)):
        want = policy.indices(
            n=[len(x) for x in rewards],
            mean_reward=[np.mean(x) if x else 0.5 for x in rewards],
            mean_cost=[np.mean(x) if x else 0.5 for x in costs],
            var_reward=[np.var(x) if x else 0.0 for x in rewards],
            var_cost=[np.var(x) if x else 0.0 for x in costs],
            plays=len(history),
        )
        for left in (discounted(history, 3, 1.0), sliding(history, 3, len(history) + 1)):
            assert left.indices(policy) == pytest.approx(want, rel=1e-6)  # eta: small variances


@given(st.lists(st.tuples(st.integers(1, 99), unit, st.floats(0.01, 1)), min_size=2, max_size=6))
def test_fractional_kubes_arm_has_the_largest_density_of_kube(rows):
    n, r, c = map(list, zip(*rows, strict=True))
    state = {"n": n, "mean_reward": r, "mean_cost": c, "plays": sum(n)}
    fractional = bursar.policy("fractional-kube").indices(**state)
    density = bursar.policy("kube").indices(**state)
    counts = packing(**state, budget_left=1000.0)
    assert fractional.tolist() == density.tolist()
    assert counts[int(np.argmax(density))] > 0
    assert counts @ np.array(c) <= 1000.0 * (1 + 1e-12)


@pytest.mark.parametrize("slug", bursar.POLICIES)
@given(plays_of_arm, unit, unit, more_plays, more_plays)
def test_the_index_of_an_unplayed_arm_never_falls(slug, n, r, c, first, second):
    policy = next(iter(bursar.POLICIES[slug].examples()))
    if not policy.monotone:
        return
    early, late = sorted((n + first, n + second))
    before, after = (index(str(policy), n, r, c, plays) for plays in (early, late))
    assert after >= before * (1 - 1e-12)


def test_who_claims_a_monotone_index():
    """Section 4 of the specification, including those that must not claim it."""
    claims = {slug for slug, cls in bursar.POLICIES.items() if cls.monotone}
    falling = {"sw-omega-ucb", "sw-omega-star-ucb", "pooled-gittins", "sf-omega-ucb"}
    assert set(bursar.POLICIES) - claims == {"ucb-bv2", "pd-bwk", "bts", "uniform"} | falling


def test_scaled_data_scale_the_index():
    """Cents in place of euros: the choice is the same, the ratio is in the new units."""
    rng = np.random.default_rng(0)
    n = rng.integers(1, 400, 8)
    r, c = rng.uniform(size=(2, 8))
    for cls in bursar.POLICIES.values():
        for policy in cls.examples():
            if policy.index is None:
                continue
            plain = policy.indices(
                n=n, mean_reward=r, mean_cost=c, plays=n.sum(), budget=50.0,
                var_reward=r * (1 - r) / 3, var_cost=c * (1 - c) / 3,
            )  # fmt: skip
            if getattr(policy, "min_cost", None) is not None:
                policy = policy.but(min_cost=policy.min_cost * 100)
            scaled = policy.indices(
                n=n, mean_reward=5 * r, mean_cost=100 * c, plays=n.sum(), budget=5000.0,
                var_reward=25 * r * (1 - r) / 3, var_cost=1e4 * c * (1 - c) / 3,
                reward_range=(0, 5), cost_range=(0, 100),
            )  # fmt: skip
            assert scaled == pytest.approx(plain * 5 / 100, rel=1e-9), str(policy)


def test_losses_are_allowed_where_the_theorem_allows_them():
    got = bursar.policy("omega-ucb:rho=1").indices(
        n=[10, 10], mean_reward=[-1.0, 0.5], mean_cost=[0.5, 0.5], plays=20, reward_range=(-1, 1)
    )
    assert (got >= 0).all()
    with pytest.raises(InvalidInput, match="omega-ucb, omega-star-ucb and sf-omega-ucb take any"):
        bursar.policy("bts").learner(2, reward_range=(-1, 1))


def test_an_unplayed_arm_comes_first():
    got = bursar.policy("c-ucb").indices(
        n=[0, 5], mean_reward=[0.0, 0.5], mean_cost=[0.0, 0.5], plays=5
    )
    assert got[0] == math.inf
    assert math.isfinite(got[1])


def test_before_the_first_play_every_arm_comes_first():
    for cls in bursar.POLICIES.values():
        policy = next(iter(cls.examples()))
        if policy.index is not None:
            got = policy.indices(
                n=[0, 0], mean_reward=[math.nan] * 2, mean_cost=[0, 0], plays=0, budget=9.0
            )
            assert got.tolist() == [math.inf, math.inf]
            assert policy.indices(n=[], mean_reward=[], mean_cost=[], plays=3, budget=9.0).size == 0


def test_no_index_is_nan_whatever_the_valid_input():
    """Means, counts and times at the ends of what a double can hold."""
    edge = np.array([0.0, 5e-324, 1e-300, 1e-150, 1e-20, 0.5, 1 - 2**-53, 1.0])
    for plays, counts in ((1, [1]), (2, [1, 2]), (5, [1, 5]), (1e15, [1, 1e14, 1e15]), (1e18, [1])):
        r, c, n = (a.ravel() for a in np.meshgrid(edge, edge, np.array(counts, dtype=float)))
        for cls in bursar.POLICIES.values():
            for policy in cls.examples():
                if policy.index is None:
                    continue
                got = policy.indices(
                    n=n, mean_reward=r, mean_cost=c, plays=int(plays), budget=100.0,
                    var_reward=r * (1 - r), var_cost=c * (1 - c) / 2,
                )  # fmt: skip
                assert (got >= 0.0).all(), str(policy)


def test_a_tiny_lower_bound_of_the_costs_makes_no_nan():
    for slug in ("ucb-bv1:min_cost=5e-324", "budget-ucb:min_cost=5e-324"):
        assert index(slug, 1, 0.5, 0.5, 1) >= 1.0


def test_omega_star_keeps_its_digits_near_the_upper_end_of_a_range():
    got = bursar.policy("omega-star-ucb:rho=0.25").indices(
        n=[100], mean_reward=[0.5], mean_cost=[9.999999], plays=200, cost_range=(0, 10),
        var_reward=[0.1], var_cost=[(10 - 9.999999) * 9.999999 * 0.5],
    )  # fmt: skip
    assert got[0] == pytest.approx(0.0558531636497067493, rel=1e-13)


def test_kl_ucb_sc_plus_is_infinite_where_no_double_holds_it():
    assert index("kl-ucb-sc-plus", 1, 1e-150, 1e-20, 5) == math.inf


def test_kube_plays_free_arms_only():
    learner = bursar.policy("kube").learner(3, budget=9.0)
    for arm, cost in ((0, 0.0), (1, 0.5), (2, 0.0)):
        learner.record(arm, 1.0, cost)
    assert {learner.choose() for _ in range(50)} == {0, 2}


def test_changing_an_unknown_parameter():
    with pytest.raises(UnknownParameter, match="omega-ucb has no parameter 'rhoo'; did you mean"):
        bursar.policy("omega-ucb").but(rhoo=1)


def test_shapes_follow_the_input():
    policy = bursar.policy("i-ucb")
    assert isinstance(policy.indices(n=3, mean_reward=0.5, mean_cost=0.5, plays=9), float)
    grid = policy.indices(n=[[1], [2]], mean_reward=[0.1, 0.2, 0.3], mean_cost=0.5, plays=9)
    assert grid.shape == (2, 3)


STATE = {"n": [3, 4], "mean_reward": [0.5, 0.4], "mean_cost": [0.5, 0.4]}


@pytest.mark.parametrize(
    ("slug", "state", "error", "message"),
    [
        ("m-ucb", {"plays": 2}, InvalidInput, "plays must count the plays of all arms, here 4 or"),
        ("m-ucb", {"plays": math.nan}, InvalidInput, "got nan"),
        ("m-ucb", {"plays": 9, "mean_cost": [0.5, 1.4]}, InvalidInput, "mean_cost must be in its"),
        ("m-ucb", {"plays": 9, "n": [3, -4]}, InvalidInput, "n must be 0 or more plays, got -4"),
        ("m-ucb", {"plays": 9, "cost_range": (1, 0)}, InvalidInput, "the lower first"),
        ("m-ucb", {"plays": 9, "cost_range": (-1, 1)}, InvalidInput, "costs cannot be negative"),
        ("omega-star-ucb", {"plays": 9, "var_cost": [-1, 0]}, InvalidInput, "var_cost must be 0"),
        ("omega-star-ucb", {"plays": 9, "var_cost": [1, 2, 3]}, InvalidInput, "do not match"),
        ("m-ucb", {"plays": None}, InvalidInput, "plays must be a number, got None"),
        ("m-ucb", {"plays": "5"}, InvalidInput, "plays must be a number, got '5'"),
        (
            "m-ucb",
            {"plays": 9, "cost_range": 5},
            InvalidInput,
            "cost_range must be two numbers, (low",
        ),
        ("m-ucb", {"plays": 9, "cost_range": (0, 1e300)}, InvalidInput, "1e-100 to 1e+100 apart"),
        ("pd-bwk", {"plays": 9, "budget": -5}, InvalidInput, "budget must be positive and finite"),
        ("bts", {"plays": 9}, NoIndex, "bts draws its arm at random and has no index"),
        (
            "budget-ucb",
            {"plays": 9},
            MissingKnowledge,
            "budget-ucb needs to know min_cost, a lower bound on the mean costs, got None;"
            " give min_cost=…, or budget-ucb:min_cost=…",
        ),
        ("pd-bwk", {"plays": 9}, MissingKnowledge, "pd-bwk needs to know the budget, got None"),
    ],
)
def test_bad_states_are_named(slug, state, error, message):
    with pytest.raises(error, match=re.escape(message)):
        bursar.policy(slug).indices(**(STATE | state))


def test_a_set_larger_than_the_number_of_arms():
    with pytest.raises(InvalidParameter, match="at most the number of arms, 2, got 3"):
        bursar.policy("mrcb:set_size=3").learner(2)


def test_mrcb_finds_the_best_set_among_all():
    rng = np.random.default_rng(8)
    from itertools import combinations  # noqa: PLC0415

    for _ in range(200):
        arms = int(rng.integers(2, 9))
        size = int(rng.integers(1, arms + 1))
        n = rng.integers(1, 200, arms)
        r, c = rng.uniform(size=(2, arms))
        policy = bursar.policy(f"mrcb:kappa=0.1,set_size={size}")
        _, ratio = find_best_set(policy, n=n, mean_reward=r, mean_cost=c, rounds=500)
        e = np.sqrt(0.1 * math.log(500) / n)
        u, low = np.minimum(r + e, 1), np.maximum(c - e, 0)
        best = max(
            u[list(s)].sum() / low[list(s)].sum() if low[list(s)].sum() else math.inf
            for s in combinations(range(arms), size)
        )
        assert ratio == pytest.approx(best, rel=1e-12)


def test_pd_bwks_weights_do_not_overflow():
    learner = bursar.policy("pd-bwk:horizon=1e7").learner(3, budget=1e7, min_cost=0.1)
    learner.memory[:] = 5000.0, 4990.0  # logarithms: exp of them is no double
    for k in range(3):
        learner.record(k, 0.5, 0.5)
    assert learner.choose() in range(3)


states = st.lists(
    st.tuples(st.integers(1, 500), unit, unit, unit, unit), min_size=1, max_size=6
)  # plays, means, and shares of the largest variances


def gittins(rows, budget: float, **params) -> np.ndarray:
    n, r, c, a, b = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return bursar.policy("pooled-gittins").but(**params).indices(
        n=n, mean_reward=r, mean_cost=c, var_reward=a * r * (1 - r), var_cost=b * c * (1 - c),
        plays=int(n.sum()), budget=budget,
    )  # fmt: skip


@given(states, st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.booleans())
def test_pooled_gittins_hopes_for_less_as_the_budget_is_spent(rows, a, b, pool):
    """The index of an arm that is not played never rises; the engine relies on it."""
    less, more = (gittins(rows, budget, pool=pool) for budget in sorted((a, b)))
    assert (less <= more * (1 + 1e-9)).all()


@given(states)
def test_pooled_gittins_hopes_for_nothing_without_a_budget(rows):
    """What is left are estimates, drawn a little to the mean of all arms."""
    spent = gittins(rows, 1e-9)
    assert (spent == gittins(rows, 1e-12)).all()
    assert (gittins(rows, 1e6) > spent).all()


def test_arms_without_plays_say_nothing_of_the_others():
    played = {"mean_reward": [0.4, 0.6], "mean_cost": [0.5, 0.7], "plays": 12, "budget": 50.0}
    two = bursar.policy("pooled-gittins").indices(n=[5, 7], **played)
    played |= {"mean_reward": [0.4, 0.6, 0.0], "mean_cost": [0.5, 0.7, 0.0]}
    three = bursar.policy("pooled-gittins").indices(n=[5, 7, 0], **played)
    assert three.tolist() == [*two.tolist(), math.inf]


def test_pooled_gittins_learns_in_the_users_units():
    """Euros and cents: the same choices, the budget in the units of costs."""
    rng = np.random.default_rng(3)
    learners = [
        bursar.policy("pooled-gittins").learner(4, budget=60.0),
        bursar.policy("pooled-gittins").learner(
            4, budget=6000.0, reward_range=(0, 5), cost_range=(0, 100)
        ),
    ]
    for _ in range(120):
        arm, other = (learner.choose() for learner in learners)
        assert arm == other
        reward, cost = rng.integers(0, 9, 2) / 8 * [1.0, 0.25 * (arm + 1)]
        learners[0].record(arm, reward, cost)
        learners[1].record(arm, 5 * reward, 100 * cost)
    assert learners[1].spent == pytest.approx(100 * learners[0].spent)


def test_pooled_gittins_asks_for_its_budget():
    message = "pooled-gittins needs to know the budget, got None; give budget=…"
    with pytest.raises(MissingKnowledge, match=re.escape(message)):
        bursar.policy("pooled-gittins").learner(3)
    with pytest.raises(MissingKnowledge, match=re.escape(message)):
        bursar.policy("pooled-gittins").indices(**STATE, plays=9)
    with pytest.raises(InvalidParameter, match="horizon must be positive, got 0"):
        bursar.policy("pooled-gittins:horizon=0")
