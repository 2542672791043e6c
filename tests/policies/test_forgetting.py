"""Policies that forget: the 60-digit vectors, what they are without forgetting, and long games."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from extent import extent
from forgetting import columns

import bursar
from bursar.errors import InvalidInput, InvalidParameter

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors.json").read_text())


def value(expected) -> float:
    return float(expected["value"]) if isinstance(expected, dict) else float(expected)


def fed(policy: bursar.Policy, history, arms: int) -> bursar.Learner:
    learner = policy.learner(arms)
    for arm, reward, cost in history:
        learner.record(arm, reward, cost)
    return learner


def kept(learner: bursar.Learner):
    """Weights, means and variances that a learner has left."""
    n, *sums = columns(learner)
    return n, *(np.where(n > 0, s / np.where(n > 0, n, 1), 0.0) for s in sums)


def indices(learner: bursar.Learner) -> np.ndarray:
    n, r, c, vr, vc = kept(learner)
    plays = int(learner.game["plays"][0])
    return learner.policy.indices(
        n=n, mean_reward=r, mean_cost=c, var_reward=vr, var_cost=vc, plays=plays
    )


@pytest.mark.parametrize("family", ["sliding_omega_ucb", "discounted_omega_ucb"])
def test_the_vectors_hold_for_the_policies(family):
    for case in VECTORS[family]:
        name, own = ("sw-omega-ucb", "window") if "window" in case else ("d-omega-ucb", "gamma")
        policy = bursar.policy(f"{name}:rho={case['rho']},{own}={case[own]!r},ties=first")
        learner = fed(policy, case["history"], case["K"])
        want = [value(arm["index"]) for arm in case["arms"]]
        assert indices(learner).tolist() == pytest.approx(want, rel=1e-13)
        n, r, c, _, _ = kept(learner)
        for k, arm in enumerate(case["arms"]):
            assert n[k] == pytest.approx(value(arm.get("n_eff", arm.get("n"))), rel=1e-13)
            if n[k]:
                assert r[k] == pytest.approx(value(arm["mean_reward"]), rel=1e-13)
                assert c[k] == pytest.approx(value(arm["mean_cost"]), rel=1e-13)
        played = {arm for arm, _, _ in case["history"]}
        if len(played) == case["K"]:  # else an arm that was never played comes first
            assert learner.choose() == int(np.argmax(want))


@pytest.mark.parametrize("star", ["", "star-"])
@pytest.mark.parametrize("forgetful", ["sw-omega-{}ucb:window=100000", "d-omega-{}ucb:gamma=1"])
def test_who_forgets_nothing_plays_as_omega_ucb(forgetful, star):
    slug, plain = forgetful.format(star), f"omega-{star}ucb"
    for seed, arms in ((1, 2), (2, 10), (3, 50)):
        problem = bursar.Bernoulli.random(arms, seed, cost_low=0.05)
        games = [
            bursar.play(one, problem, 1e9, seed, record=True, max_plays=4000).choices.tolist()
            for one in (slug, plain)
        ]
        assert games[0] == games[1]


def test_simulations_know_them_and_agree_with_omega_ucb_too():
    policies = ["omega-ucb", "sw-omega-ucb:window=1000000", "d-omega-ucb:gamma=1"]
    result = bursar.simulate(policies, "S-Br-10", 4, budget_plays=3000, shares=[0.5, 1.0])
    regret = result.values[:, :, 2].reshape(4, 3, 2)
    assert (regret == regret[:, :1]).all()


@pytest.mark.parametrize(
    "slug",
    [
        "sw-omega-ucb:window=90",
        "sw-omega-star-ucb:window=300",
        "d-omega-ucb:gamma=0.98",
        "d-omega-star-ucb:gamma=0.997",
        "d-omega-star-ucb:gamma=0.6",
    ],
)
@pytest.mark.parametrize("kind", ["coins", "values"])
def test_every_choice_of_a_long_game_is_that_of_a_look_at_all_arms(slug, kind):
    """Kept indices and bounds never change a choice, however long the game and the change."""
    rng = np.random.default_rng(4)
    policy = bursar.policy(slug).but(ties="first")
    learner = policy.learner(8)
    plays = extent(1600, 4000)
    for play in range(plays):
        arm = learner.choose()
        if play >= 8:
            scores = indices(learner)
            near = scores >= scores.max() * (1 - 1e-9)  # `indices` sums in another order
            assert near[arm], f"play {play}: chose {arm}, the indices are {scores}"
        means = np.roll(np.linspace(0.2, 0.8, 8), 4 * play // plays * 3)
        drawn = rng.random(2)
        outcome = (drawn < (means[arm], 0.5)) if kind == "coins" else drawn * (means[arm], 0.9)
        learner.record(arm, float(outcome[0]), float(outcome[1]))


@pytest.mark.parametrize("window", [1, 2, 50, 700])
def test_a_window_holds_the_last_plays_exactly_even_after_many(window):
    rng = np.random.default_rng(window)
    learner = bursar.policy(f"sw-omega-star-ucb:window={window}").learner(4)
    history = [(int(rng.integers(4)), *rng.random(2)) for _ in range(5000)]
    for play in history:
        learner.record(*play)
    n, r, c, vr, vc = kept(learner)
    for k in range(4):
        last = np.array([play[1:] for play in history[-window:] if play[0] == k]).reshape(-1, 2)
        assert n[k] == len(last)
        if len(last):
            assert (r[k], c[k]) == pytest.approx(tuple(last.mean(axis=0)), rel=1e-12)
            assert (vr[k], vc[k]) == pytest.approx(tuple(last.var(axis=0)), rel=1e-9, abs=1e-15)


def test_an_arm_whose_plays_have_left_the_window_is_tried_again():
    run = bursar.play(
        "sw-omega-ucb:window=200", bursar.Bernoulli([0.9, 0.0], [0.5, 0.5]), 4000, record=True
    )
    again = np.flatnonzero(run.choices == 1)
    assert max(b - a for a, b in pairwise(again.tolist())) <= 201


@pytest.mark.parametrize("slug", ["sw-omega-ucb:window=300", "d-omega-ucb:gamma=0.995"])
def test_after_a_change_they_find_the_new_best_arm_and_plain_omega_does_not(slug):
    def late_share(name: str) -> float:
        learner = bursar.policy(name).learner(2, seed=1)
        rng = np.random.default_rng(2)
        chosen = []
        for play in range(8000):
            arm = learner.choose()
            mean = (0.6, 0.1 if play < 5000 else 0.95)[arm]  # the first stays as it was
            learner.record(arm, float(rng.random() < mean), float(rng.random() < 0.5))
            chosen.append(arm)
        return float(np.mean(chosen[5600:6600]))

    assert late_share(slug) > 0.5
    assert late_share("omega-ucb") < 0.01


@pytest.mark.parametrize(
    ("slug", "message"),
    [
        ("sw-omega-ucb:window=0", "sw-omega-ucb: window must be from 1 to 10,000,000 plays, got 0"),
        ("sw-omega-star-ucb:window=99999999", "window must be from 1 to 10,000,000 plays, got 9"),
        ("d-omega-ucb:gamma=0", "d-omega-ucb: gamma must be in (0, 1]; 1 forgets nothing, got 0"),
        ("d-omega-star-ucb:gamma=1.5", "gamma must be in (0, 1]; 1 forgets nothing, got 1.5"),
    ],
)
def test_what_cannot_be_is_refused(slug, message):
    with pytest.raises(InvalidParameter) as caught:
        bursar.policy(slug)
    assert message in str(caught.value)


@pytest.mark.parametrize("slug", ["sw-omega-ucb", "d-omega-star-ucb"])
def test_campaigns_say_why_they_refuse_them(slug):
    with pytest.raises(InvalidInput, match="keeps notes between its choices"):
        bursar.Campaign("c", budget="1", arms={"a": "0.1", "b": "0.1"}, policy=slug)
