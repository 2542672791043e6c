"""The conformance kit finds what it is for: a broken policy fails with its fault named."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bursar import testing
from bursar.compiled import compiled
from bursar.errors import NonConforming
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


def test_a_sound_policy_passes():
    testing.check_policy(OmegaUCB(rho=0.5))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (broken(index=nan_at_free_arms), "its index is nan at n=1, mean reward 0, mean cost 0"),
        (broken(index=negative_for_dear_arms), "its index is -"),
        (broken(index=falls_with_time), "monotone, but 400 of 400 indices fell by 501"),
        (broken(choose=always_first), r"arms \[1, 2, 3, 4\] of 5 were not tried in 400 plays"),
        (broken(choose=out_of_range), "it chose arm 5"),
        (broken(choose=by_name), "renaming the arms changes the choice"),
    ],
)
def test_a_fault_is_found_and_named(policy, message):
    with pytest.raises(NonConforming, match=message):
        testing.check_policy(policy)


def test_a_run_that_is_not_repeatable_is_found(monkeypatch):
    drawn = iter(np.random.default_rng(0).integers(0, 5, 10_000).tolist())
    monkeypatch.setattr("bursar.policies.learner.Learner.choose", lambda self: next(drawn))
    with pytest.raises(NonConforming, match="two games of one seed differ"):
        testing.check_same_seed_same_run(Uniform())


def test_a_slug_that_loses_a_parameter_is_found():
    class Forgetful(OmegaUCB):
        def __str__(self) -> str:
            return self.name

    with pytest.raises(NonConforming, match="its slug makes another policy"):
        testing.check_slug_round_trip(Forgetful(rho=0.5))


def test_compiled_code_that_differs_from_its_python_is_found(monkeypatch):
    monkeypatch.setattr(testing, "interpreted", lambda kernel: lambda *a: 0)
    with pytest.raises(NonConforming, match="compiled and Python choices differ from play"):
        testing.check_compiled_equals_python(OmegaUCB())


def test_the_example_of_a_policy_of_ones_own_conforms():
    path = Path(__file__).parent.parent / "examples" / "my_policy.py"
    names = runpy.run_path(str(path))
    testing.check_policy(names["Optimist"](hope=2.0))
    assert names["Optimist"](hope=2.0).indices(
        n=[4], mean_reward=[0.5], mean_cost=[0.25], plays=9
    ).tolist() == [(0.5 + 2.0 / 4) / 0.25]
