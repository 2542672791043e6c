"""Replay: what policies would have earned on a log, against simulations that know the truth."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from extent import extent
from typer.testing import CliRunner

import bursar
from bursar.campaign.export import export_decisions
from bursar.cli import app as commands
from bursar.errors import (
    CannotAnswer,
    InvalidData,
    InvalidInput,
    MissingData,
    MissingExtra,
    MissingKnowledge,
    UnknownArm,
    UnknownParameter,
    UnknownPolicy,
)
from bursar.jit.rng import new_stream, uniform
from bursar.replay import Log, estimate_arms, find_support, read_log, replay
from bursar.replay.estimators import (
    PLAYS,
    REWARD,
    ROWS,
    SPENT,
    PolicyKnowledge,
    play_passes,
    shuffle,
)
from bursar.replay.evaluate import describe_estimate, describe_log, suggest_budget

REWARDS, COSTS = np.array([0.7, 0.5, 0.3, 0.2]), np.array([0.5, 0.4, 0.6, 0.3])
NAMES = ["0", "1", "2", "3"]
OMEGA = "omega-star-ucb:rho=0.25"
EXPLORE = "log 5% of the asks at random (explore=0.05), with the propensity of each choice"


def logged(rows: int, how: str = "uniform", seed: int = 0, **more) -> Log:
    """Play the four arms at random; with ``context``, by a variable that the log does not have.

    In one of its two contexts every arm earns 0.2 more and arm 3 is played more often, so that the
    plain means of the log are wrong for every arm, though the means over contexts are REWARDS.
    """
    rng = np.random.default_rng([seed, 77])
    context = rng.integers(2, size=rows)
    chances = {
        "uniform": np.full((rows, 4), 0.25),
        "uneven": np.tile([0.1, 0.2, 0.3, 0.4], (rows, 1)),
        "context": np.where(
            context[:, None] == 0, [0.55, 0.15, 0.15, 0.15], [0.15, 0.15, 0.15, 0.55]
        ),
    }[how]
    arm = (rng.random(rows)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, 3)
    lift = np.where(context == 1, 0.2, -0.2) if how == "context" else 0.0
    return Log.from_columns(
        arm=arm,
        propensity=chances[np.arange(rows), arm],
        cost=(rng.random(rows) < COSTS[arm]) * 1.0,
        reward=(rng.random(rows) < REWARDS[arm] + lift) * 1.0,
        **more,
    )


@cache
def simulated(slug: str, budget: float, games: int = 400) -> np.ndarray:
    problem = bursar.Bernoulli(reward=REWARDS, cost=COSTS)
    return np.array([bursar.play(slug, problem, budget, seed=s).reward for s in range(games)])


def plain(**changes) -> Log:
    """Return a small sound log, with some columns changed."""
    columns = {
        "arm": ["a", "b"] * 50,
        "propensity": [0.5] * 100,
        "cost": [1.0] * 100,
        "reward": [1.0, 0.0] * 50,
    }
    return Log.from_columns(**(columns | changes), name="log.csv")


# ---- the estimate against the truth


SLUGS = [OMEGA, "bts", "eps-first", "uniform"]


@pytest.mark.parametrize("how", ["uniform", "uneven", "context"])
@pytest.mark.parametrize(
    "slug",
    # the machine code of MRCB's passes takes seconds to make
    extent(SLUGS, [*SLUGS, "mrcb:set_size=2"]),
)
def test_the_interval_holds_what_a_simulation_of_the_policy_earns(slug, how):
    truth = simulated(slug, 100)
    [found] = replay(logged(6000, how, seed=3), [slug], 100, arms=NAMES, resamples=60)
    assert found.reached == 1.0
    assert found.reward.low < truth.mean() < found.reward.high
    assert found.reward.high - found.reward.low < 0.5 * truth.mean()  # and says something
    low, high = np.quantile(truth, [0.025, 0.975])
    inside = (truth > found.single.low) & (truth < found.single.high)
    assert inside.mean() > 0.85
    assert found.single.high - found.single.low < 2.0 * (high - low)


def test_intervals_cover_and_estimates_are_unbiased_over_many_small_logs():
    truth = simulated(OMEGA, 40, 2000).mean()
    found = [
        replay(logged(1500, "uneven", seed), [OMEGA], 40, arms=NAMES, resamples=40)[0].reward
        for seed in range(60)
    ]
    means = np.array([value.value for value in found])
    assert abs(means.mean() - truth) < 3.5 * means.std() / 60**0.5
    assert sum(value.low <= truth <= value.high for value in found) >= 53


def test_what_lies_within_reach_of_a_short_log_is_right():
    [found] = replay(logged(3000, seed=5), [OMEGA], 5000, arms=NAMES, resamples=60)
    assert 0.0 < found.reached < 0.1
    truth = simulated(OMEGA, found.spend).mean()
    assert found.reward.low < truth < found.reward.high


def test_a_log_of_a_learner_that_explores_a_fifth_of_the_time_will_do():
    rng = np.random.default_rng(12)
    learner = bursar.policy("b-greedy").learner(4, seed=12)
    rows = []
    for _ in range(6000):
        best = learner.choose()
        arm = best if rng.random() > 0.2 else int(rng.integers(4))
        reward, cost = (float(rng.random() < mean[arm]) for mean in (REWARDS, COSTS))
        learner.record(arm, reward, cost)
        rows.append((arm, 0.8 * (arm == best) + 0.05, cost, reward))
    columns = zip(("arm", "propensity", "cost", "reward"), zip(*rows, strict=True), strict=True)
    [found] = replay(Log.from_columns(**dict(columns)), [OMEGA], 50.0, arms=NAMES, resamples=60)
    assert found.reached == 1.0
    assert found.reward.low < simulated(OMEGA, 50).mean() < found.reward.high
    assert found.plays * 6 < found.rows  # the best arm had 0.85 or 0.05: most rows are rejected


def test_weights_of_propensities_decide_where_the_log_looked_at_more_than_it_kept():
    truth = simulated(OMEGA, 300).mean()
    rows = find_support(logged(20_000, "context", seed=1), NAMES)
    knowledge = PolicyKnowledge(300.0, None, (0.0, 1.0), (0.0, 1.0))
    player = [(bursar.policy(OMEGA), 300.0)]
    right = play_passes(player, rows, knowledge, count=100, seed=0)[0]
    assert abs(right[:, REWARD].mean() / truth - 1.0) < 0.03
    blind = replace(rows, accept=np.ones(len(rows)))
    wrong = play_passes(player, blind, knowledge, count=100, seed=0)[0]
    # the best arm, 0, was mostly played in the worse context: without weights it seems worse
    assert wrong[:, REWARD].mean() / truth - 1.0 < -0.06


def test_accepted_rows_are_a_fair_stream_of_each_arm():
    rows = find_support(logged(60_000, "context", seed=2), NAMES)
    assert rows.floor.tolist() == [0.15, 0.15, 0.15, 0.15]
    weight = np.array([rows.accept[rows.arm == k].sum() for k in range(4)])
    mean = [(rows.accept * rows.reward)[rows.arm == k].sum() / weight[k] for k in range(4)]
    plain_mean = [rows.reward[rows.arm == k].mean() for k in range(4)]
    assert np.abs(mean - REWARDS).max() < 0.015
    assert np.abs(plain_mean - REWARDS).max() > 0.08
    assert np.abs(weight / len(rows) - 0.15).max() < 0.005  # every arm as often as any other


def test_a_pass_is_the_learner_and_the_log_step_by_step():
    rows = find_support(logged(600, "context", seed=9), NAMES)
    knowledge = PolicyKnowledge(1e9, None, (0.0, 1.0), (0.0, 1.0))
    slugs = (OMEGA, "bts", "kube")
    for slug in extent(slugs, (*slugs, "mrcb:set_size=2")):  # its machine code takes seconds
        policy = bursar.policy(slug)
        [[found]] = play_passes([(policy, 30.0)], rows, knowledge, count=1, seed=4)
        learner = policy.learner(4, seed=(4, 0, 0, 0), budget=1e9)
        order, coin = np.empty(600, dtype=np.int64), new_stream(4, 0, 0, 2)
        shuffle(order, new_stream(4, 0, 0, 1))
        assert sorted(order) == list(range(600))
        queues = [[row for row in order if rows.arm[row] == k] for k in range(4)]
        while learner.spent < 30.0:
            queue = queues[learner.choose()]
            while queue:
                row = queue.pop(0)
                if rows.accept[row] >= 1.0 or uniform(coin) < rows.accept[row]:
                    learner.record(int(rows.arm[row]), rows.reward[row], rows.cost[row])
                    break
        read = 600 - sum(map(len, queues))
        expected = [learner.earned, learner.spent, learner.plays_per_arm.sum(), read]
        assert found[[REWARD, SPENT, PLAYS, ROWS]].tolist() == expected


def test_a_log_lasts_as_long_as_the_rows_of_the_arm_that_is_played_most():
    log = logged(8000)
    learner, spread = replay(log, [OMEGA, "uniform"], 1e6, resamples=40)
    assert 2000 < learner.plays < 2400  # the best arm was logged 2,000 times
    assert learner.waited_for == "0"
    assert 0.9 * 8000 < spread.plays <= spread.rows <= 8000  # rows wait until their arm is wanted


def test_no_row_is_lost_while_another_arm_is_wanted():
    rows = find_support(logged(8000, "uneven"), NAMES)
    knowledge = PolicyKnowledge(1e9, None, (0.0, 1.0), (0.0, 1.0))
    [[found]] = play_passes([(bursar.policy("uniform"), 1e9)], rows, knowledge, count=1, seed=0)
    assert 0.9 * 4 * 800 < found[PLAYS] < 1.1 * 4 * 800  # the rarest arm has 800 rows


# ---- the budget


def test_the_budget_is_spent_and_exceeded_by_less_than_a_play():
    rng = np.random.default_rng(0)
    cost = rng.uniform(0.5, 2.0, 4000)
    log = Log.from_columns(
        arm=rng.integers(2, size=4000), propensity=[0.5] * 4000, cost=cost, reward=cost > 1.0
    )
    [found] = replay(log, [OMEGA], 50.0, resamples=40)
    assert found.reached == 1.0
    assert 50.0 <= found.spent.value < 52.0
    assert found.whole == found.reward
    assert found.logged == log.reward[: np.searchsorted(np.cumsum(cost), 50.0) + 1].sum()


def test_a_budget_beyond_the_log_gives_the_value_at_the_spend_it_reaches():
    log = logged(2000, seed=8)
    [far] = replay(log, [OMEGA], 1000.0, resamples=40)
    assert far.reached < 0.5
    assert far.waited_for in NAMES
    [near] = replay(log, [OMEGA], far.spend, resamples=40)
    assert near.reached == 1.0
    assert near.reward == far.reward  # a learner that knows no budget plays the same game


def test_without_a_budget_each_may_spend_what_the_log_spent():
    log = logged(1000)
    [found] = replay(log, ["uniform"], resamples=20)
    assert found.budget == log.spent == log.cost.sum()


def test_policies_that_need_the_budget_or_a_cost_get_it_or_refuse():
    log = logged(2000)
    assert replay(log, ["kube"], 20.0, resamples=20)[0].reached == 1.0
    with pytest.raises(MissingKnowledge, match="min_cost"):
        replay(log, ["ucb-bv1"], 20.0, resamples=20)
    assert replay(log, ["ucb-bv1"], 20.0, resamples=20, min_cost=0.2)[0].reached == 1.0


def test_units_do_not_matter():
    log = logged(3000, seed=6)
    cents = replace(log, cost=log.cost * 100.0, reward=log.reward * 7.0)
    [one] = replay(log, [OMEGA], 50.0, resamples=20)
    [other] = replay(cents, [OMEGA], 5000.0, resamples=20)
    assert other.reward.value == pytest.approx(7.0 * one.reward.value)
    assert other.ratio.value == pytest.approx(0.07 * one.ratio.value)


def test_negative_rewards_are_for_policies_that_take_any_range():
    log = logged(2000)
    loss = replace(log, reward=log.reward - 0.5)
    [found] = replay(loss, [OMEGA], 20.0, resamples=20)
    assert found.reward.value < replay(log, [OMEGA], 20.0, resamples=20)[0].reward.value
    with pytest.raises(InvalidInput, match="reward_range must start at 0"):
        replay(loss, ["bts"], 20.0, resamples=20)


# ---- order, seeds


def test_the_order_of_rows_does_not_matter():
    log = logged(6000, seed=4)
    back = replace(log, **{key: getattr(log, key)[::-1].copy() for key in
                           ("arm", "propensity", "cost", "reward", "offer", "line")})  # fmt: skip
    [one] = replay(log, [OMEGA], 200.0, arms=NAMES, resamples=40)
    [other] = replay(back, [OMEGA], 200.0, arms=NAMES, resamples=40)
    assert one.reward.low < other.reward.value < one.reward.high
    assert other.reward.low < one.reward.value < other.reward.high


def test_the_same_seed_gives_the_same_answer_alone_and_beside_others():
    log = logged(1000)
    both = replay(log, ["bts", OMEGA], 20.0, resamples=20, seed=3)
    assert replay(log, [OMEGA], 20.0, resamples=20, seed=3) == [both[1]]
    assert replay(log, [OMEGA], 20.0, resamples=20, seed=4) != [both[1]]


def test_the_log_is_put_in_the_order_of_its_times():
    times = ["2026-01-02T00:00:00", "2026-01-01", "2026-01-02T00:30:00+01:00"]
    log = Log.from_columns(
        arm="aba", propensity=[0.5] * 3, cost=[1, 2, 4], reward=[10, 20, 30], time=times
    )
    assert log.cost.tolist() == [2.0, 4.0, 1.0]
    assert log.earned_by(2.0) == 20.0
    assert log.earned_by(7.5) is None


# ---- the whole budget


@pytest.mark.parametrize(
    ("slug", "rows", "how", "budget"),
    [(OMEGA, 800, "uniform", 300), ("bts", 800, "uneven", 200), ("uniform", 800, "context", 250)],
)
def test_the_whole_budget_is_covered_with_less_bias_than_its_reach(slug, rows, how, budget):
    truth = simulated(slug, budget).mean()
    found = [
        replay(logged(rows, how, seed), [slug], budget, arms=NAMES, resamples=40)[0]
        for seed in range(extent(40, 100))
    ]
    assert all(one.reached < 1.0 for one in found)
    whole = [one.whole for one in found]
    assert np.mean([one.low <= truth <= one.high for one in whole]) >= 0.88
    error = np.array([one.value for one in whole]) - truth
    errors = np.array([one.high - one.low for one in whole]) / 3.92  # as the intervals have them
    assert np.median(errors) < 1.5 * error.std()  # they are not wide for safety alone
    assert abs(error.mean()) < 3.5 * error.std() / len(found) ** 0.5
    scaled = np.array([one.ratio.value * budget for one in found]) - truth
    if slug != "uniform":  # what learns earns more per cost later: the plain rate is too low
        assert scaled.mean() < -abs(error.mean())


def test_few_rows_of_an_arm_stop_at_the_reach():
    log = logged(1200, seed=3)
    few = np.flatnonzero(log.arm == 0)[8:]  # leave out all but 8 of its rows
    kept = np.delete(np.arange(1200), few)
    cut = {key: getattr(log, key)[kept] for key in ("arm", "cost", "reward", "offer", "line")}
    p = np.array([8 / 900, 0.33, 0.33, 0.33])[cut["arm"]]
    log = replace(log, **cut, propensity=p)
    [found] = replay(log, [OMEGA], resamples=40)
    assert found.reward is not None
    assert found.whole is None
    assert "say as much as 8 of equal weight, too few to use again (10 are needed)" in (
        describe_estimate(found, find_support(log))
    )


def test_the_whole_budget_is_closer_to_the_truth_than_the_reach_scaled_up():
    truth = simulated(OMEGA, 1200).mean()
    found = [
        replay(logged(3000, seed=seed), [OMEGA], 1200, arms=NAMES, resamples=20)[0]
        for seed in range(extent(16, 60))
    ]
    error = np.array([one.whole.value for one in found]) - truth
    scaled = np.array([one.ratio.value * 1200 for one in found]) - truth
    assert np.mean(error**2) < 0.85 * np.mean(scaled**2)
    covered = [one.whole.low <= truth <= one.whole.high for one in found]
    assert np.mean(covered) >= 0.85


def test_using_all_rows_is_closer_than_one_pass_over_those_that_match():
    truth, knowledge = simulated(OMEGA, 60).mean(), PolicyKnowledge(60, None, (0, 1), (0, 1))
    errors = []
    for seed in range(30):
        log = logged(1500, "uneven", seed)
        player, rows = [(bursar.policy(OMEGA), 60.0)], find_support(log, NAMES)
        [[once]] = play_passes(player, rows, knowledge, count=1, seed=seed)
        [found] = replay(log, [OMEGA], 60, arms=NAMES, resamples=40)
        arm = estimate_arms(rows)[0]
        errors.append(
            (once[REWARD] - truth, found.reward.value - truth,
             arm.ips_reward.value - 0.7, arm.reward.value - 0.7)
        )  # fmt: skip
    one_pass, replayed, ips, weighted = np.sqrt(np.mean(np.square(errors), axis=0))
    assert replayed < 0.7 * one_pass
    assert weighted < 0.8 * ips


def test_wrong_propensities_do_no_harm_if_outcomes_do_not_depend_on_them():
    truth = simulated(OMEGA, 1500).mean()
    log = logged(6000, "uneven", seed=2)
    claims = {"0": 0.18, "1": 0.25, "2": 0.27, "3": 0.3}  # of 0.1, 0.2, 0.3 and 0.4
    log = replace(log, propensity=np.array([claims[arm] for arm in log.arms])[log.arm])
    [found] = replay(log, [OMEGA], 1500, arms=NAMES, resamples=40)
    assert len(find_support(log, NAMES).notes) == 3
    assert found.reached < 1.0
    assert found.whole.low < truth < found.whole.high
    assert found.whole.high - found.whole.low < 0.3 * truth


# ---- the difference from what was logged


def same(shape: str, seed: int) -> Log:
    """Return a log of the policy ``uniform``."""
    rng = np.random.default_rng([seed, 14])
    arms, rows = {"bernoulli": (4, 800), "heavy": (4, 800), "few": (3, 90)}[shape]
    arm = rng.integers(arms, size=rows)
    reward = rng.random(rows) < np.linspace(0.7, 0.2, arms)[arm]
    if shape == "heavy":
        cost = np.linspace(0.6, 0.3, arms)[arm] * rng.lognormal(-1.28, 1.6, rows)
    else:
        cost = rng.random(rows) < np.linspace(0.6, 0.3, arms)[arm]
    return Log.from_columns(arm=arm, propensity=[1 / arms] * rows, cost=cost, reward=reward)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("shape", ["bernoulli", "heavy", "few"])
def test_a_policy_is_seldom_said_to_differ_from_itself(shape, share):
    many = extent(40, 200)
    verdicts, whole = [], []
    for seed in range(many):
        log = same(shape, seed)
        [found] = replay(log, ["uniform"], share * log.spent, resamples=40)
        verdicts.append(found.difference.compare_to(0.0))
        assert found.difference.value == pytest.approx(found.reward.value - found.logged)
        whole.append(found.whole_difference.compare_to(0.0))
    assert many - verdicts.count("unclear") <= 0.1 * many
    assert many - whole.count("unclear") <= 0.1 * many


def test_what_is_better_is_said_to_earn_more_and_what_is_worse_less():
    said = []
    for seed in range(20):
        log = logged(1500, "uniform", seed)
        found = replay(log, [OMEGA, "always:0", "always:2", "always:3"], 150.0, resamples=40)
        said.append([one.difference.compare_to(0.0) for one in found])
    learner, best, worst, bad = zip(*said, strict=True)
    assert learner.count("higher") >= 16  # it earns a third more
    assert best.count("higher") >= 18
    assert worst.count("lower") >= 18
    assert bad.count("lower") >= 8
    assert "lower" not in learner + best
    assert "higher" not in worst + bad


# ---- fixed arms


@pytest.mark.parametrize("how", ["uniform", "uneven", "context"])
def test_fixed_arms_have_their_true_values_by_weights(how):
    rows = find_support(logged(20_000, how, seed=7), NAMES)
    for value, reward, cost in zip(estimate_arms(rows, 0.999), REWARDS, COSTS, strict=True):
        assert value.reward.low < reward < value.reward.high
        assert value.cost.low < cost < value.cost.high
        assert value.ratio.low < reward / cost < value.ratio.high
        assert value.ips_reward.low < reward < value.ips_reward.high
        assert value.effective <= value.rows * (1.0 + 1e-12)
        assert value.reward.high - value.reward.low < 0.2


def test_intervals_of_fixed_arms_cover():
    hits = 0
    for seed in range(200):
        [_, value, *_] = estimate_arms(find_support(logged(800, "context", seed), NAMES))
        hits += value.ratio.low < 0.5 / 0.4 < value.ratio.high
    assert 180 <= hits <= 199


def test_always_an_arm_agrees_with_the_play_of_that_arm():
    log = logged(20_000, "context", seed=7)
    [found] = replay(log, ["always:1"], 1000.0)
    assert found.method == "weights"
    assert found.reward.low < 1000.0 * 0.5 / 0.4 < found.reward.high
    with pytest.raises(UnknownArm, match=r"^no arm named '7'; known: "):
        replay(log, ["always:7"], 1000.0)


# ---- when the log cannot answer, word for word


def refused(log: Log, **options) -> str:
    with pytest.raises(CannotAnswer) as error:
        replay(log, [OMEGA], **options)
    return str(error.value)


def test_a_log_without_propensities_cannot_answer():
    assert refused(plain(propensity=[None] * 100)) == (
        "log.csv has no propensities (propensity is empty: 100 of 100 rows), so it cannot tell what"
        f" other policies would have earned; {EXPLORE}"
    )


def test_propensities_of_zero_cannot_answer():
    assert refused(plain(propensity=[0.0] * 100)) == (
        "log.csv has no propensities (propensity is 0, but the arm was chosen: 100 of 100 rows), so"
        f" it cannot tell what other policies would have earned; {EXPLORE}"
    )


def test_a_log_that_left_nothing_to_chance_cannot_answer():
    assert refused(plain(propensity=[1.0] * 100)) == (
        "every choice in log.csv was certain (propensity 1 on all 100 rows), so nothing is known"
        f" about the other arms; {EXPLORE}"
    )


def test_a_log_in_which_no_row_gave_all_arms_a_chance_cannot_answer():
    log = plain(propensity=[1.0, 0.5] * 50, available=[None, ["b", "c"]] * 50, arm=["a", "b"] * 50)
    assert refused(log) == (
        "no row of log.csv gave every arm a chance (another arm had no chance (propensity 1): 50;"
        f" not every arm could be chosen: 50); {EXPLORE}"
    )


def test_an_arm_that_was_never_tried_cannot_be_answered_for():
    assert refused(plain(available=[["a", "b", "c"]] * 100)) == (
        "log.csv has no usable row of 'c', which a policy would try; compare only 'a', 'b',"
        f" or {EXPLORE}"
    )
    assert replay(plain(available=[["a", "b", "c"]] * 100), ["bts"], 5.0, arms=["a", "b"])
    assert "no usable row of 'x'" in refused(plain(), arms=["a", "x"])


def test_one_arm_is_no_choice():
    assert refused(plain(arm=["a"] * 100)) == (
        "log.csv has only the arm 'a'; a policy needs two or more to choose from"
    )


def test_propensities_that_do_not_fit_the_choices_cannot_answer():
    assert refused(plain(arm=["a"] * 90 + ["b"] * 10, propensity=[0.5] * 100)) == (
        "the propensities of 'a' in log.csv do not match how often it was chosen: 1/propensity"
        " averages 1.8 over the rows instead of about 1; they are wrong, so correct them where"
        " they are recorded"
    )


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory) -> list[Log]:
    """Export campaigns of 34 arms, most of whose choices are those of the largest index."""
    folder, logs = tmp_path_factory.mktemp("campaigns"), []
    for seed in range(20):
        rng = np.random.default_rng([seed, 34])
        reward, cost = rng.uniform(0.1, 0.7, 34), rng.uniform(0.05, 1.0, 34)
        arms = {f"arm{k}": 1 for k in range(34)}
        campaign = bursar.Campaign(
            f"c{seed}", budget=1000, arms=arms, explore=0.05, policy="omega-star-ucb", seed=seed
        )
        for _ in range(300):
            decision = campaign.ask()
            k = int(decision.arm[3:])
            spent = round(float(cost[k] * rng.uniform(0.5, 1.0)), 3)
            campaign.tell(decision.id, cost=str(spent), reward=float(rng.random() < reward[k]))
        export_decisions(campaign, folder / f"{seed}.csv")
        logs.append(read_log(folder / f"{seed}.csv"))
    return logs


def test_the_propensities_of_campaigns_are_right_and_accepted(campaigns):
    for log in campaigns:
        rows = find_support(log)
        assert rows.notes == ()
        [strict] = replay(log, [OMEGA], 10.0, resamples=20)
        assert strict.reward is None  # most arms were only seen where they had to be
        assert "use clip=0.9 if choices depended only on earlier" in describe_estimate(strict, rows)
    explored = np.mean([(log.propensity < 0.01).mean() for log in campaigns])
    assert abs(explored - 0.05 * 33 / 34) < 0.01  # so the small ones are as frequent as they say
    often = [str(arm) for arm in np.array(log.arms)[np.bincount(log.arm) >= 6]]
    assert replay(log, [OMEGA], 10.0, arms=often, clip=0.9, resamples=20)[0].reward is not None


@pytest.mark.parametrize("claim", [1 / 34, 0.3, 0.95])
def test_wrong_propensities_of_greedy_choices_are_refused(campaigns, claim):
    for log in campaigns:
        with pytest.raises(CannotAnswer, match="do not match how often it was chosen"):
            find_support(replace(log, propensity=np.full(len(log), claim)))


def test_sound_propensities_are_not_refused_however_rare_an_arm_is():
    for seed in range(extent(200, 1000)):
        rng = np.random.default_rng([seed, 8])
        chances = 0.98 * rng.dirichlet(np.full(4, 0.2)) + 0.005
        chances = np.array([np.roll(chances, row // 100 * (seed % 2)) for row in range(400)])
        arm = (rng.random(400)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, 3)
        p = chances[np.arange(400), arm]
        log = Log.from_columns(arm=arm, propensity=p, cost=[1] * 400, reward=[0] * 400)
        notes = find_support(log, log.arms).notes
        assert all("had hardly a chance in many decisions" in note for note in notes)
        assert seed % 2 or not notes


def test_costs_of_nothing_cannot_answer():
    assert refused(plain(cost=[0.0] * 100)) == (
        "every cost in log.csv is 0, so no budget is ever spent; check the column of costs"
    )


def test_a_log_of_no_use_at_all_cannot_answer():
    assert refused(plain(reward=["?"] * 100)) == (
        "no row of log.csv can be used (reward is not a number: 100)"
    )


def test_too_few_rows_of_an_arm_say_nothing_rather_than_something():
    arm = np.array([0] * 500 + [1] * 2 + [2] * 498)
    chance = np.array([0.5, 0.002, 0.498])[arm]
    log = Log.from_columns(arm=arm, propensity=chance, cost=np.ones(1000), reward=arm == 1)
    [found] = replay(log, [OMEGA], 100.0, resamples=40)
    assert (found.reward, found.single, found.ratio, found.reached) == (None, None, None, 0.0)
    assert found.whole is None
    assert describe_estimate(found, find_support(log)) == (
        "omega-star-ucb:rho=0.25: the log cannot tell; 2 rows of '1' with a least propensity of"
        " 0.002 say as much as 2 of equal weight, and 5 are needed; log more rows, give the arm a"
        " larger share, leave it out, or use clip=0.9 if choices depended only on earlier outcomes,"
        " as in campaigns."
    )


# ---- rows that gave no chance, clipping, notes


def test_rows_that_left_nothing_to_chance_are_set_aside_and_said():
    log = logged(2000)
    sure = log.propensity.copy()
    sure[[5, 9]] = 1.0
    rows = find_support(replace(log, propensity=sure))
    assert len(rows) == 1998
    assert describe_log(log, rows)[1] == (
        "Not replayed: 2 rows, another arm had no chance (propensity 1) (rows 6, 10)."
    )


def test_a_single_tiny_propensity_stops_a_replay_unless_clipped():
    log = logged(4000, seed=2)
    tiny = log.propensity.copy()
    tiny[int(np.flatnonzero(log.arm == 0)[0])] = 0.25e-3
    log = replace(log, propensity=tiny)
    [stuck] = replay(log, ["uniform"], 100.0, resamples=20)
    assert stuck.reward is None
    [found] = replay(log, ["uniform"], 100.0, resamples=20, clip=0.2)
    assert found.reached == 1.0
    assert any(
        "Propensities below 0.2 were clipped to 0.2 on 1 row" in note
        for note in find_support(log, clip=0.2).notes
    )


def test_a_log_that_drifts_is_said_to():
    log = plain(reward=[1.0] * 50 + [0.0] * 50, arm=["a", "b"] * 50)
    assert find_support(log).notes[0] == (
        "'a' earned 1 per play in the first half of its rows and 0 in the second: the log drifts,"
        " and estimates mix both."
    )
    assert find_support(logged(5000)).notes == ()


def test_verdicts_say_what_was_found_and_what_is_missing():
    log = logged(3000, seed=5)
    rows = find_support(log)
    whole, part = replay(log, [OMEGA, OMEGA], 60.0, resamples=40)[0], None
    text = describe_estimate(whole, rows)
    assert text.startswith(f"{OMEGA} would have earned {whole.reward.value:.4g} (95%: ")
    assert f"where the logging policy earned {whole.logged:.4g}: " in text
    part = replay(log, [OMEGA], log.spent, resamples=40)[0]
    text = describe_estimate(part, rows)
    assert f"the log supports this policy up to {100 * part.reached:.2g}% of the budget of" in text
    assert "Beyond that the log has no more rows of '0', and rows are used again: if they" in text
    assert f"would have earned {part.whole.value:,.0f} (95%: " in text
    assert f"where the logging policy earned {log.earned_by(log.spent):,.0f}: more; about " in text
    assert text.endswith("rows like these would cover the whole budget.")
    far = replay(log, [OMEGA], 100 * log.spent, resamples=20)[0]
    assert far.whole is None  # it would play more than 20,000 times
    assert "Beyond that the log cannot tell: it has no more rows of '0', and there are too" in (
        describe_estimate(far, rows)
    )
    assert suggest_budget([whole]) == ""
    assert suggest_budget([whole, part]).endswith("use --budget 60.")


# ---- options


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"policies": []}, InvalidInput, "policies must be a list of one or more"),
        ({"policies": OMEGA}, InvalidInput, "policies must be a list of one or more"),
        ({"policies": ["omgea-ucb"]}, UnknownPolicy, "did you mean 'omega-ucb'"),
        ({"budget": 0}, InvalidInput, "budget must be positive"),
        ({"level": 1}, InvalidInput, "level must be between 0 and 1, got 1; 0.95 is usual"),
        ({"resamples": 5}, InvalidInput, "resamples must be a whole number, 20 or more"),
        ({"clip": 2}, InvalidInput, "clip must be between 0 and 1"),
        (
            {"cost_range": (0, 0.5)},
            InvalidInput,
            "cost_range must contain every cost of the log, 1",
        ),
    ],
)
def test_options_out_of_their_domain_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        replay(plain(), **{"policies": [OMEGA], **options})


# ---- files

CSV = """decision,variant,Propensity,cost,reward,available,time
d1,a,0.5,1.5,1,a|b,1
d2,b,0.5,2,0,a|b,2
d2,b,0.5,2,0,a|b,2
d3,a,,1,1,a|b,3
d4,a,0.5,x,1,a|b,4
d5,a,0.5,-1,1,a|b,5
d6,,0.5,1,1,a|b,6
d7,b,0.5,1,nan,a|b,7
d8,b,0.5,inf,1,a|b,8
d9,b,1.5,1,1,a|b,9
d10,b,0.5,1,1,a,10
d11,b,0.5,1,1,a|b,soon
d12,b,0.5,1,1
"""


def test_rows_of_a_csv_that_cannot_be_used_are_counted_and_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(CSV)
    log = read_log(path, {"arm": "variant"})
    assert (len(log), log.spent, log.earned) == (4, 5.5, 3.0)
    assert log.left_out.lines == {
        "decision is repeated": [4],
        "cost is not a number": [6],
        "cost is negative": [7],
        "variant is empty": [8],
        "reward is empty": [9],
        "cost is not finite": [10],
        "variant is not in available": [12],
        "time is not a time": [13],
        "not as many fields as the header": [14],
    }
    assert log.unweighted.lines == {
        "propensity is empty": [5],
        "propensity is not in (0, 1]": [11],
    }
    sentences = describe_log(log, find_support(log))
    assert sentences[0] == (
        "log.csv: 2 of 13 lines can be replayed, with 2 arms. The logging policy earned 3 at a cost"
        " of 5.5."
    )
    assert "Left out: 1 line, cost is negative (line 7)." in sentences
    assert "Not replayed: 1 line, propensity is empty (line 5)." in sentences


def test_csv_and_parquet_give_the_same_log(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    log = logged(300)
    columns = {
        "arm": log.arm + 10,
        "propensity": log.propensity,
        "cost": log.cost,
        "reward": log.reward,
    }
    parquet.write_table(
        pa.table(columns | {"available": [["10", "11", "12", "13"]] * 300}),
        tmp_path / "log.parquet",
    )
    lines = ["arm;propensity;cost;reward"]
    lines += [";".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    one, other = read_log(tmp_path / "log.csv"), read_log(tmp_path / "log.parquet")
    assert one.arms == other.arms
    for key in ("arm", "propensity", "cost", "reward"):
        assert (getattr(one, key) == getattr(other, key)).all()
    assert replay(one, [OMEGA], 9, resamples=20) == replay(other, [OMEGA], 9, resamples=20)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "a.csv is empty; its header must name arm, propensity, cost"),
        ("a.csv", b"arm,cost,reward\na,1,1", "a.csv has no column 'propensity'; line 1 has arm"),
        (
            "a.csv",
            b"arm,prop,cost,reward,cost\n",
            "has no column 'propensity'; did you mean 'prop'",
        ),
        ("a.csv", b"arm,propensity,cost,reward,cost\n", "the column 'cost' appears twice"),
        ("a.csv", b"arm,propensity,cost,reward\n\xff", "line 2: not UTF-8 text, got byte 0xff"),
        ("a.csv", b'arm,propensity,cost,reward\n"a,1,1,1', "not CSV, unexpected end of data"),
        ("a.parquet", b"no parquet", "cannot read a.parquet as Parquet"),
    ],
)
def test_files_that_are_no_logs_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidData) as error:
        read_log(tmp_path / name)
    assert words in str(error.value)


def test_a_parquet_file_without_a_column_is_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"arm": ["a"], "cost": [1.0]}), tmp_path / "a.parquet")
    with pytest.raises(
        InvalidData, match=r"a\.parquet has no column 'propensity'; it has arm, cost"
    ):
        read_log(tmp_path / "a.parquet")


def test_files_that_are_not_there_and_columns_that_no_log_has(tmp_path):
    for name in ("none.csv", "none.parquet"):
        with pytest.raises(MissingData, match="check the path"):
            read_log(tmp_path / name)
    with pytest.raises(UnknownParameter, match=r"^a log has no column 'arms'; did you mean 'arm'"):
        read_log(tmp_path / "none.csv", {"arms": "variant"})


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'bursar\[paper\]'"):
        read_log(tmp_path / "a.parquet")


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(InvalidInput, match="the columns of a log must have one length"):
        Log.from_columns(arm=["a"], propensity=[0.5, 0.5], cost=[1], reward=[1])


# ---- the command


@pytest.fixture
def command():
    return lambda *words: CliRunner().invoke(commands, ["replay", *words], catch_exceptions=False)


@pytest.fixture
def file(tmp_path):
    log = logged(2000)
    lines = ["model,propensity,cost,reward"]
    lines += map("{},{},{},{}".format, log.arm, log.propensity, log.cost, log.reward)
    (tmp_path / "log.csv").write_text("\n".join(lines))
    return str(tmp_path / "log.csv")


def test_the_command_prints_a_table_and_sentences(command, file):
    done = command(
        file, "--policy", OMEGA, "--policy", "always:1", "--column", "arm=model", "--budget", "30",
        "--resamples", "20",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "2,000 of 2,000 lines can be replayed, with 4 arms." in done.output
    assert "100%" in done.output
    assert "always:1 would have earned" in done.output


def test_the_command_prints_json(command, file):
    done = command(file, "--policy", OMEGA, "--column", "arm=model", "--resamples", "20", "--json")
    found = json.loads(done.output)
    [one] = found["estimates"]
    assert one["policy"] == OMEGA
    assert one["reward"]["low"] < one["reward"]["mean"] < one["reward"]["high"]
    assert one["reached"] < 1.0
    assert found["logged"]["reward"] == logged(2000).earned
    assert [arm["rows"] for arm in found["arms"]] == np.bincount(logged(2000).arm).tolist()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--column", "model"], "--column must be of the form arm=variant, got 'model'"),
        (["--column", "arm=model", "--cost-range", "1"], "--cost-range must be two numbers as in"),
    ],
)
def test_the_command_refuses_what_it_cannot_read(command, file, words, said):
    with pytest.raises(InvalidInput, match=said):
        command(file, "--policy", OMEGA, *words)
