"""The conformance kit finds what it is for: a broken policy fails with its fault named."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import bursar
from bursar import testing
from bursar.errors import NonConforming
from bursar.jit.arms import argmax
from bursar.jit.compile import compiled
from bursar.policies.omega import OmegaUCB
from bursar.policies.uniform import Uniform


@compiled
def nan_at_free_arms(p, n, r, c, vr, vc, now):
    return r / c  # 0/0 for an arm that costs and brings nothing


@compiled
def negative_for_dear_arms(p, n, r, c, vr, vc, now):
    return r - c


@compiled
def falls_with_time(p, n, r, c, vr, vc, now):
    return 1.0 / (1.0 + now)


@compiled
def always_first(p, arms, game, memory, stream):
    return 0


@compiled
def out_of_range(p, arms, game, memory, stream):
    return 5 if game[0].plays > 20 else game[0].plays % arms.size


@compiled
def by_name(p, arms, game, memory, stream):
    return min(game[0].plays, 3, arms.size - 1) if game[0].plays != 4 else min(4, arms.size - 1)


def broken(**functions):
    """A policy class with some functions replaced."""
    body = {key: staticmethod(f) if callable(f) else f for key, f in functions.items()}
    base = OmegaUCB if "index" in functions else Uniform
    return dataclass(frozen=True)(type("Broken", (base,), {"name": "broken", **body}))()


@compiled
def authors_clock(p, plays):
    return np.sqrt(np.log(plays - 1.0))  # NaN at the first play of a single arm


@compiled
def radius(p, n, r, c, vr, vc, now):
    return (r + now) / c if c > 0.0 else np.inf


@compiled
def lowest_of_equals(p, arms, game, memory, stream):
    best = 0
    for k in range(arms.size):
        if arms[k].n == 0.0:
            return k
        if arms[k].reward * arms[best].cost > arms[best].reward * arms[k].cost:
            best = k
    return best


@compiled
def nan_scores(p, arms, game, memory, stream):
    scores = np.empty(arms.size)
    for k in range(arms.size):
        if arms[k].n == 0.0:
            return k
        scores[k] = arms[k].reward / arms[k].cost
    return argmax(scores, game, stream)


def not_compiled(p, n, r, c, vr, vc, now):
    return r


def test_a_sound_policy_passes():
    testing.check_policy(OmegaUCB(rho=0.5))


@pytest.mark.parametrize("slug", ["m-ucb:alpha=1,ties=first", "ucb-sc-plus:ties=first"])
def test_the_rule_for_ties_is_the_users_choice(slug):
    testing.check_policy(bursar.policy(slug))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (broken(index=nan_at_free_arms), "its index is nan at n=1, mean reward 0, mean cost 0"),
        (broken(index=negative_for_dear_arms), "its index is -"),
        (broken(index=falls_with_time), "it is monotone, but 400 of 400 indices fell by play 501"),
        (broken(choose=always_first), r"arms \[1, 2, 3, 4\] of 5 were not tried in 400 plays"),
        (broken(choose=out_of_range), "it chose arm 5"),
        (broken(choose=by_name), "renaming the arms changes the choice"),
        (broken(index=radius, clock=authors_clock), "its index is nan at n=1"),
        (broken(choose=lowest_of_equals), "five arms with the same record are chosen unequally"),
        (broken(choose=nan_scores), "the score of an arm is NaN"),
        (broken(choose=None), "broken: KeyError: 'scores'"),
        (broken(index=not_compiled), "broken: TypingError"),
        ("bts", "policy must be a bursar.Policy, got 'bts'; subclass it"),
    ],
)
def test_a_fault_is_found_and_named(policy, message):
    with pytest.raises(NonConforming, match=message):
        testing.check_policy(policy)


def test_a_run_that_is_not_repeatable_is_found(monkeypatch):
    drawn = iter(np.random.default_rng(0).integers(0, 5, 10_000).tolist())
    monkeypatch.setattr("bursar.policies.base.Learner.choose", lambda self: next(drawn))
    with pytest.raises(NonConforming, match="two games with the same seed differ"):
        testing.check_same_seed_same_run(Uniform())


def test_a_slug_that_loses_a_parameter_is_found():
    class Forgetful(OmegaUCB):
        def __str__(self) -> str:
            return self.name

    with pytest.raises(NonConforming, match="its slug gives a different policy"):
        testing.check_slug_round_trip(Forgetful(rho=0.5))


def test_compiled_code_that_differs_from_its_python_is_found(monkeypatch):
    monkeypatch.setattr(testing, "interpreted", lambda kernel: lambda *a: 0)
    with pytest.raises(NonConforming, match="compiled and Python choices differ from play"):
        testing.check_compiled_equals_python(OmegaUCB())


def test_the_example_of_a_policy_of_ones_own_conforms():
    path = Path(__file__).parents[2] / "examples" / "my_policy.py"
    names = runpy.run_path(str(path))
    testing.check_policy(names["Optimist"](hope=2.0))
    assert names["Optimist"](hope=2.0).indices(
        n=[4], mean_reward=[0.5], mean_cost=[0.25], plays=9
    ).tolist() == [(0.5 + 2.0 / 4) / 0.25]
