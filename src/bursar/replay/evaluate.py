"""Replay a log under other policies, and describe what was found in sentences."""

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from bursar.arrays import Floats
from bursar.errors import CannotAnswer, InvalidInput, UnknownArm, suggest
from bursar.estimate import Estimate
from bursar.formatting import format_number, format_percent, pluralize
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.policies.base import Range
from bursar.replay import estimators
from bursar.replay.estimators import PolicyKnowledge, ReplayEstimate, estimate_policies
from bursar.replay.log import Log, read_log
from bursar.replay.support import Support, find_support
from bursar.validation import check_int, check_positive

ALWAYS = "always:"  # the prefix of a fixed arm among policies


def replay(
    log: Log | str | PathLike[str],
    policies: Sequence[str | Policy],
    budget: float | None = None,
    *,
    arms: Sequence[str] | None = None,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
    reward_range: Range | None = None,
    cost_range: Range | None = None,
    min_cost: float | None = None,
    clip: float | None = None,
) -> list[ReplayEstimate]:
    """Estimate what each policy would have earned in place of the one that wrote the log.

    Parameters
    ----------
    log : Log or path
        The decisions; a path is read by :func:`bursar.replay.read_log`.
    policies : sequence of str or Policy
        Slugs such as ``omega-star-ucb:rho=0.25``, and ``always:ARM`` for a fixed arm.
    budget : float, optional
        The budget of each policy; by default what the log spent. As in :func:`bursar.play`, the
        last play may exceed it.
    arms : sequence of str, optional
        The arms to choose from; by default every arm of the log.
    resamples : int
        Resampled logs for the intervals, with two games each; as many shuffles for the mean.
    level : float
        The level of the intervals.
    seed : int
        The same seed gives the same answer.
    reward_range, cost_range : (low, high), optional
        The ranges of rewards and costs that policies assume; by default from 0 to the largest in
        the log (rewards from the smallest, if that is negative).
    min_cost : float, optional
        A lower bound on mean costs, for policies that need one.
    clip : float, optional
        See :func:`bursar.replay.find_support`.

    Returns
    -------
    list of ReplayEstimate
        One per policy, in their order.

    Raises
    ------
    CannotAnswer
        If the log has no propensities, never chose at random, or never tried an arm.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(2, size=4000)
    >>> reward = rng.random(4000) < np.array([0.8, 0.3])[arm]
    >>> half, one = np.full(4000, 0.5), np.ones(4000)
    >>> log = Log.from_columns(arm=arm, propensity=half, cost=one, reward=reward)
    >>> [found] = replay(log, ["omega-star-ucb:rho=0.25"], budget=1000)
    >>> found.reached, bool(700 < found.reward.low < found.reward.high < 850)
    (1.0, True)
    """
    log = log if isinstance(log, Log) else read_log(log)
    estimators.normal_quantile(level)  # checks it
    check_int("resamples", resamples, 20, "fewer give no interval; 200 is usual")
    check_int("seed", seed, 0, "try 0")
    if isinstance(policies, str) or not policies:
        raise InvalidInput(f"policies must be a list of one or more, got {policies!r}")
    rows = find_support(log, arms, clip)
    if log.spent <= 0.0:
        raise CannotAnswer(
            f"every cost in {log.name} is 0, so no budget is ever spent; check the column of costs"
        )
    if budget is None:
        budget = log.spent
    knowledge = PolicyKnowledge(
        budget=check_positive("budget", budget, "pass what may be spent"),
        min_cost=min_cost,
        reward_range=_check_range("reward", rows.reward, reward_range),
        cost_range=_check_range("cost", rows.cost, cost_range),
    )
    players = [_resolve_player(one, rows) for one in policies]
    learning = [one for one in players if isinstance(one, Policy)]
    estimates = iter(
        estimate_policies(log, rows, learning, knowledge, count=resamples, seed=seed, level=level)
    )
    return [
        next(estimates)
        if isinstance(one, Policy)
        else _estimate_fixed(log, rows, one, knowledge.budget, level)
        for one in players
    ]


def _resolve_player(given: str | Policy, rows: Support) -> str | Policy:
    """Return a policy, or the name of a fixed arm."""
    if not isinstance(given, str) or not given.startswith(ALWAYS):
        return policy_of(given)
    arm = given.removeprefix(ALWAYS).strip()
    if arm not in rows.arms:
        raise UnknownArm(f"no arm named {arm!r}{suggest(arm, rows.arms)}")
    return arm


def _check_range(name: str, values: Floats, given: Range | None) -> Range:
    """Return the range of the values, or the given one if it contains them."""
    least, most = float(values.min()), float(values.max())
    if given is None:
        low = min(0.0, least)
        return (low, most) if most > low else (low, low + 1.0)
    low, high = given
    if not (low <= least and most <= high):
        raise InvalidInput(
            f"{name}_range must contain every {name} of the log, {least:g} to {most:g}, got"
            f" {tuple(given)!r}; leave it out to take it from the log"
        )
    return given


def _estimate_fixed(
    log: Log, rows: Support, arm: str, budget: float, level: float
) -> ReplayEstimate:
    value = estimators.estimate_arms(rows, level)[rows.arms.index(arm)]
    found = ReplayEstimate(
        policy=ALWAYS + arm,
        method="weights",
        budget=budget,
        plays=value.effective,
        rows=float(value.rows),
        level=level,
    )
    if value.rows < 2 or not math.isfinite(value.ratio.value):
        return found
    reward = value.ratio.map(lambda end: budget * end)
    logged = log.earned_by(budget)
    difference = None
    if logged is not None:
        difference = estimators.estimate_difference(log, rows, arm, budget, level)
    return replace(
        found,
        spend=budget,
        reward=reward,
        difference=difference,
        whole_difference=difference,
        ratio=value.ratio,
        spent=Estimate(budget, budget, budget),
        whole=reward,
        logged=logged,
    )


def format_value(number: float) -> str:
    """Return a number with four significant digits, and all digits before the decimal point.

    >>> format_value(12345.678), format_value(0.123456), format_value(812.0)
    ('12,346', '0.1235', '812')
    """
    return format_number(number, 4, keep_whole=True)


def describe_log(log: Log, rows: Support) -> list[str]:
    """Return what was read, what was left out and why, and reasons for caution."""
    seen = len(log) + sum(log.left_out.counts.values())
    return [
        f"{log.name}: {len(rows):,} of {pluralize(seen, log.unit)} can be replayed, with"
        f" {len(rows.arms)} arms. The logging policy earned {format_value(log.earned)} at a cost of"
        f" {format_value(log.spent)}.",
        *log.left_out.format_sentences("Left out", log.unit),
        *rows.left_out.format_sentences("Not replayed", log.unit),
        *rows.notes,
    ]


def describe_estimate(found: ReplayEstimate, rows: Support) -> str:
    """Return what one estimate says, and what would be needed where the log cannot tell."""
    if found.reward is None:
        return _describe_unknown(found, rows)
    budget = format_value(found.budget)
    low, high = format_value(found.reward.low), format_value(found.reward.high)
    level = f"{100 * found.level:.4g}%"
    earned = f"{format_value(found.reward.value)} ({level}: {low} … {high})"
    if found.spend >= found.budget:
        comparison = _compare_to_logged(found, "earned")
        return f"{found.policy} would have earned {earned} with a budget of {budget}{comparison}."
    share = format_percent(found.reached, digits=2 if found.reached < 0.995 else 4)
    return (
        f"{found.policy}: the log supports this policy up to {share} of the budget of {budget}. At"
        f" a spend of {format_value(found.spend)} it would have earned"
        f" {earned}{_compare_to_logged(found, 'had earned')}."
        f" {_describe_beyond(found, rows, 'Beyond that')}; about"
        f" {format_value(len(rows) / found.reached)} rows like these would cover the whole budget."
    )


def _describe_beyond(found: ReplayEstimate, rows: Support, where: str) -> str:
    """Return what is known of the part of the budget for which rows must be used again."""
    if found.whole is None:
        effective = rows.count_effective()
        rare = int(effective.argmin())
        why = (
            f"those of {rows.arms[rare]!r} say as much as {effective[rare]:.2g} of equal weight,"
            f" too few to use again ({estimators.FEWEST_TO_DRAW:.0f} are needed)"
            if effective[rare] < estimators.FEWEST_TO_DRAW
            else "there are too few to use them again for a game of that length"
        )
        return (
            f"{where} the log cannot tell: it has no more rows of {found.waited_for!r}, and {why}"
        )
    low, high = format_value(found.whole.low), format_value(found.whole.high)
    compared = ""
    if found.whole_difference is not None:
        logged = found.whole.value - found.whole_difference.value
        compared = _format_verdict(logged, found.whole_difference, "earned")
    return (
        f"{where} the log has no more rows of {found.waited_for!r}, and rows are used again: if"
        f" they are independent, the whole budget would have earned"
        f" {format_value(found.whole.value)} ({100 * found.level:.4g}%: {low} … {high}){compared}"
    )


def _describe_unknown(found: ReplayEstimate, rows: Support) -> str:
    if found.method == "weights":
        return (
            f"{found.policy}: the log cannot tell; the arm has {pluralize(int(found.rows), 'row')}"
            " or costs nothing, so that no budget limits it."
        )
    effective = rows.count_effective()
    rare = int(effective.argmin())
    advice = (
        "log more rows, give the arm a larger share, leave it out, or use clip=0.9 if choices"
        " depended only on earlier outcomes, as in campaigns"
    )
    if effective[rare] < estimators.FEWEST_ROWS:
        return (
            f"{found.policy}: the log cannot tell;"
            f" {pluralize(int((rows.arm == rare).sum()), 'row')} of {rows.arms[rare]!r} with a"
            f" least propensity of {format_value(float(rows.floor[rare]))} say as much as"
            f" {effective[rare]:.2g} of equal weight, and {estimators.FEWEST_ROWS:.0f} are needed;"
            f" {advice}."
        )
    again = "" if found.whole is None else f" {_describe_beyond(found, rows, 'Beyond that')}."
    return (
        f"{found.policy}: the log cannot tell; its rows of {found.waited_for!r} ended before each"
        f" of the {len(rows.arms)} arms was played; {advice}.{again}"
    )


def _compare_to_logged(found: ReplayEstimate, verb: str) -> str:
    if found.logged is None or found.difference is None:
        return "; the logging policy never spent as much"
    return _format_verdict(found.logged, found.difference, verb)


def _format_verdict(logged: float, difference: Estimate, verb: str) -> str:
    verdict = {"higher": "more", "lower": "less", "unclear": "no clear difference"}
    said = verdict[difference.compare_to(0.0)]
    return f", where the logging policy {verb} {format_value(logged)}: {said}"


def suggest_budget(found: list[ReplayEstimate]) -> str:
    """Return how to compare policies that the log follows to different spends, or nothing."""
    spends = {one.spend for one in found if one.reward is not None}
    if len(spends) < 2:
        return ""
    least = min(spends)
    text = f"{least:.3g}"
    if float(text) > least:
        text = f"{least * 0.99:.3g}"
    return (
        "The rewards belong to different spends; to compare them at the same spend, use"
        f" --budget {text}."
    )
