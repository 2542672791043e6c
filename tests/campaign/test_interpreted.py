"""A command interprets the kernels of a campaign: every number must be that of the machine code."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.campaign.learner import COST, REWARD, CampaignLearner
from bursar.jit.compile import delay_compilation
from bursar.policies import POLICIES


def fits(policy) -> bool:
    return policy.round_size == 1 and not policy.memory_size(2)


EXAMPLES = [next(iter(kind.examples())) for kind in POLICIES.values()]


def play(policy, calls: int):
    """Return the choices of a small campaign and what it has learned, as bytes."""
    delay_compilation(calls)
    try:
        learner = CampaignLearner(policy, (-1.0, 2.0) if policy.any_range else (0.0, 2.0), seed=3)
        learner.add_arms([0.5, 2.0])
        learner.set_context(100.0, 0.05)
        chosen = []
        outcomes = np.random.default_rng(1).uniform(size=(80, 2))
        for seq, (reward, cost) in enumerate(outcomes, 1):
            if seq == 30:
                learner.add_arms([3.0])
                learner.set_context(100.0, 0.05)
            arm = learner.choose([0, 1] if seq % 7 == 0 else None, seq)
            learner.add_waiting(arm)
            chosen.append(arm)
            if seq % 5:  # every fifth decision stays open
                reward = round(2.0 * reward) if seq % 3 else 2.0 * reward
                learner.learn(arm, reward, 0.5 * cost, 1000 + seq, True, COST | REWARD)
        learner.forget(chosen[0], 0.5, 0.25, 1001)
        return chosen, learner.seen.tobytes(), learner.game.tobytes(), learner.watch.tobytes()
    finally:
        delay_compilation(0)


@pytest.mark.parametrize("policy", [pytest.param(p, id=p.name) for p in EXAMPLES if fits(p)])
def test_interpreted_numbers_are_the_compiled_ones(policy):
    compiled = play(policy, 0)
    assert play(policy, 10**6) == compiled
    assert play(policy, 100) == compiled, "the machine code takes over in the middle"
