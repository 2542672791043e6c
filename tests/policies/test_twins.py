"""Compiled policies against slow twins written from the paper, choice by choice over 300 rounds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from extent import extent
from twins import TWINS

import bursar
from bursar.jit import rng as streams

ROUNDS = 300
PARAMETERS: dict[str, list[dict]] = {
    "omega-ucb": [{"rho": 0.25}, {"rho": 1.0}],
    "omega-star-ucb": [{"rho": 0.25}, {"rho": 1.0, "min_samples": 5, "eta_min": 0.1}],
    "sw-omega-ucb": [{"window": 40}, {"rho": 1.0, "window": 7}, {"window": 1000}],
    "sw-omega-star-ucb": [{"window": 120}, {"window": 40, "min_samples": 5, "eta_min": 0.1}],
    "d-omega-ucb": [{"gamma": 0.98}, {"rho": 1.0, "gamma": 0.7}, {"gamma": 1.0}],
    "d-omega-star-ucb": [{"gamma": 0.99}, {"gamma": 0.95, "min_samples": 5, "eta_min": 0.1}],
    "pooled-gittins": [{}, {"horizon": 0.5}, {"pool": False}],
    "sf-omega-ucb": [{}, {"horizon": 0.1}],
    "m-ucb": [{}, {"alpha": 1.0}, {"variant": "authors"}],
    "c-ucb": [{}, {"alpha": 1.0}, {"variant": "authors"}],
    "i-ucb": [{}, {"alpha": 1.0}, {"variant": "authors"}],
    "budget-ucb": [{}, {"variant": "authors"}, {"factor": 3.0}],
    "ucb-sc-plus": [{}, {"plus": False}, {"variant": "authors"}],
    "kl-ucb-sc-plus": [{}, {"plus": False}],
    "ucb-b2": [{}, {"variant": "authors"}, {"alpha": 3.0}],
    "pd-bwk": [{}, {"c_rad": 0.05}, {"c_rad": 0.1, "horizon": 300.0}],
    "eps-first": [{}, {"eps": 0.3, "update_in_exploitation": True}],
    "b-greedy": [{}, {"alpha": 4.0}],
    "mrcb": [{}, {"set_size": 2}, {"kappa": 0.5, "set_size": 3}],
}
CASES = [
    pytest.param(slug, params, id=f"{slug}-{i}")
    for slug in bursar.POLICIES
    for i, params in enumerate(PARAMETERS.get(slug, [{}]))
]


class Drawer:
    """The twin's generator: the same stream as the compiled policy's.

    test_stream.py shows that its numbers are NumPy's Philox and that the variates are beta."""

    def __init__(self, *position: int) -> None:
        self.words = streams.new_stream(*position)

    def random(self) -> float:
        return streams.uniform(self.words)

    def beta(self, a: float, b: float) -> float:
        return streams.beta(self.words, float(a), float(b))


def outcomes(kind: str, arms: int, rng: np.random.Generator) -> np.ndarray:
    """Rewards and costs of every arm at every round, drawn up front: arms x rounds x 2."""
    means = rng.uniform(0.05, 0.95, size=(arms, 1, 2))
    if kind == "bernoulli":
        return (rng.uniform(size=(arms, ROUNDS, 2)) < means).astype(float)
    if kind == "free":  # one arm costs nothing, one brings nothing
        drawn = (rng.uniform(size=(arms, ROUNDS, 2)) < means).astype(float)
        drawn[0, :, 1] = 0.0
        drawn[-1, :, 0] = 0.0
        return drawn
    return rng.beta(4 * means, 4 * (1 - means), size=(arms, ROUNDS, 2))


def test_every_policy_has_a_twin():
    assert set(TWINS) == set(bursar.POLICIES)


@pytest.mark.parametrize(
    ("kind", "ties"),  # every kind of outcome, and both rules where indices tie
    extent(
        [("bernoulli", "random"), ("beta", "random"), ("free", "first")],
        list(product(["bernoulli", "beta", "free"], ["random", "first"])),
    ),
)
@pytest.mark.parametrize(("slug", "params"), CASES)
def test_same_choices(slug, params, kind, ties):
    for arms in extent((5, 1), (5, 3, 1)):
        if params.get("set_size", 1) > arms:
            continue
        compare(slug, params, kind, ties, arms)


def compare(slug: str, params: dict, kind: str, ties: str, arms: int) -> None:
    tape = outcomes(kind, arms, np.random.default_rng([arms, len(slug)]))
    budget, min_cost = 60.0, 0.05
    policy = bursar.POLICIES[slug](**params, ties=ties)
    learner = policy.learner(arms, seed=7, budget=budget, min_cost=min_cost)
    twin = TWINS[slug](arms, budget, min_cost, ties == "first", **params)
    drawer = Drawer(7)
    played = [0] * arms
    for i in range(ROUNDS):
        ours, theirs = learner.choose(), twin.choose(drawer)
        same = ours == theirs or twin.tied(ours, theirs)
        assert same, f"round {i}: compiled chose {ours}, the twin {theirs}"
        reward, cost = tape[ours, played[ours]]
        played[ours] += 1
        learner.record(ours, reward, cost)
        twin.record(ours, reward, cost, drawer)
    assert learner.plays_per_arm.tolist() == played
