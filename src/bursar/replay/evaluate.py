"""Answers: a log and policies in, an estimate of each out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike

from bursar.errors import CannotAnswer, InvalidInput, UnknownArm, suggest
from bursar.estimate import Estimate
from bursar.formatting import format_percent, pluralize
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.policies.base import Range
from bursar.replay.estimators import PassTotals, ReplayEstimate, arm_values, learning
from bursar.replay.log import Log, read
from bursar.replay.support import Support, format_estimate, format_value, quantile_of, support
from bursar.settings.csv_table import Exclusions
from bursar.validation import Floats, check_int, check_positive

__all__ = ["ALWAYS", "compared", "replay", "sentences", "verdict"]

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
        The decisions; a path is read by :func:`bursar.replay.read`.
    policies : sequence of str or Policy
        Slugs such as ``omega-star-ucb:rho=0.25``, and ``always:ARM`` for a fixed arm.
    budget : float, optional
        What each policy may spend; what the log spent if not given. As in :func:`bursar.play`, the
        last play may exceed it.
    arms : sequence of str, optional
        The arms to choose from; by default every arm of the log.
    resamples : int
        Resampled logs for the intervals, two passes each; half as many shuffles for the mean.
    level : float
        Of the intervals.
    seed : int
        Same seed, same answer.
    reward_range, cost_range : (low, high), optional
        What policies are told of rewards and costs; by default from 0 to the largest in the log
        (rewards from the smallest, if that is negative).
    min_cost : float, optional
        A lower bound of the mean costs, for policies that need one.
    clip : float, optional
        See :func:`bursar.replay.support`.

    Returns
    -------
    list of ReplayEstimate
        One a policy, in their order.

    Raises
    ------
    CannotAnswer
        If the log has no propensities, left nothing to chance, or never tried an arm.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> arm = rng.integers(2, size=4000)
    >>> reward = rng.random(4000) < np.array([0.8, 0.3])[arm]
    >>> log = Log.of(arm=arm, propensity=np.full(4000, 0.5), cost=np.ones(4000), reward=reward)
    >>> [found] = replay(log, ["omega-star-ucb:rho=0.25"], budget=1000)
    >>> found.reached, bool(700 < found.reward.low < found.reward.high < 850)
    (1.0, True)
    """
    log = log if isinstance(log, Log) else read(log)
    quantile_of(level)
    check_int("resamples", resamples, 20, "fewer give no interval; 200 is usual")
    check_int("seed", seed, 0, "try 0")
    if isinstance(policies, str) or not policies:
        raise InvalidInput(f"policies must be a list of one or more, got {policies!r}")
    rows = support(log, arms, clip)
    if log.spent <= 0.0:
        raise CannotAnswer(
            f"every cost in {log.name} is 0, so no budget is ever spent; check the column of costs"
        )
    money = (
        log.spent if budget is None else check_positive("budget", budget, "give what may be spent")
    )
    told = PassTotals(
        money,
        min_cost,
        reward_range or _range(rows.reward),
        cost_range or _range(rows.cost),
    )
    _refuse_outside(rows, told)
    players = [_player(one, rows) for one in policies]
    learners = [one for one in players if isinstance(one, Policy)]
    played = iter(learning(log, rows, learners, told, resamples, seed, level))
    return [
        next(played) if isinstance(one, Policy) else _fixed(log, rows, one, money, level)
        for one in players
    ]


def _player(given: str | Policy, rows: Support) -> str | Policy:
    """Return a policy, or the name of a fixed arm."""
    if not isinstance(given, str) or not given.startswith(ALWAYS):
        return policy_of(given)
    arm = given.removeprefix(ALWAYS).strip()
    if arm not in rows.arms:
        raise UnknownArm(f"no arm named {arm!r}{suggest(arm, rows.arms)}")
    return arm


def _fixed(log: Log, rows: Support, arm: str, money: float, level: float) -> ReplayEstimate:
    value = arm_values(rows, level)[rows.arms.index(arm)]
    says = value.rows > 1 and math.isfinite(value.ratio.value)
    return ReplayEstimate(
        ALWAYS + arm,
        "weights",
        money,
        money if says else 0.0,
        value.ratio.map(lambda end: money * end) if says else None,
        None,
        value.ratio if says else None,
        Estimate(money, money, money) if says else None,
        value.effective,
        float(value.rows),
        log.earned_by(money) if says else None,
        0,
        "",
        level,
    )


def _range(values: Floats) -> Range:
    low, high = min(0.0, float(values.min())), float(values.max())
    return (low, high) if high > low else (low, low + 1.0)


def _refuse_outside(rows: Support, told: PassTotals) -> None:
    for name, values, given in (
        ("reward", rows.reward, told.reward_range),
        ("cost", rows.cost, told.cost_range),
    ):
        low, high = given
        if not (low <= values.min() and values.max() <= high):
            raise InvalidInput(
                f"{name}_range must hold every {name} of the log, {values.min():g} to"
                f" {values.max():g}, got {tuple(given)!r}; leave it out to take it from the log"
            )


# ==== replay.verdict
# Verdicts: what a replay found, in sentences.


def verdict(found: ReplayEstimate, rows: Support) -> str:
    """Return what one estimate says, and what would be needed where the log cannot say it."""
    if found.reward is None:
        return _silent(found, rows)
    earned = format_estimate(found.reward, found.level)
    share = format_percent(found.reached, digits=2 if found.reached < 0.995 else 4)
    if found.spend < found.budget:
        return (
            f"{found.policy}: the log reaches {share} of the budget of"
            f" {format_value(found.budget)}. By a spend of {format_value(found.spend)} it would have earned"
            f" {earned}{_beside(found, 'had earned')}. Beyond that the log cannot say: it ended"
            f" while waiting for {found.waited_for!r}; about"
            f" {format_value(_needed(found, rows))} rows like these would reach the whole budget."
        )
    return (
        f"{found.policy} would have earned {earned} for {format_value(found.budget)}"
        f"{_beside(found, 'earned')}."
    )


def _silent(found: ReplayEstimate, rows: Support) -> str:
    if found.method == "weights":
        return (
            f"{found.policy}: the log cannot say; the arm has {pluralize(int(found.rows), 'row')}"
            " or costs nothing, so no budget limits it."
        )
    rare = int((rows.floor * len(rows)).argmin())
    return (
        f"{found.policy}: the log cannot say; it ended before every one of the"
        f" {len(rows.arms)} arms was played, waiting for {found.waited_for!r}."
        f" {rows.arms[rare]!r} has {pluralize(int(rows.rows_per_arm[rare]), 'row')}, the least"
        f" propensity of them {format_value(float(rows.floor[rare]))}: log more rows, give the arm a"
        " larger share, or leave it out."
    )


def _beside(found: ReplayEstimate, verb: str) -> str:
    if found.logged is None or found.reward is None:
        return "; the logging policy never spent as much"
    said = f", where the logging policy {verb} {format_value(found.logged)}: "
    if found.reward.low > found.logged:
        return said + "more"
    return said + ("less" if found.reward.high < found.logged else "no clear difference")


def _needed(found: ReplayEstimate, rows: Support) -> float:
    """Return the rows that the budget takes if plays go on at the same cost and pace."""
    return len(rows) / found.reached


def compared(found: list[ReplayEstimate]) -> str:
    """Return how to compare policies that the log follows to different spends, or nothing."""
    spends = {one.spend for one in found if one.reward is not None}
    if len(spends) < 2:
        return ""
    return (
        "The rewards belong to different spends; to compare them at one, give"
        f" --budget {_floored(min(spends))}."
    )


def _floored(number: float) -> str:
    text = f"{number:.3g}"
    return text if float(text) <= number else f"{number * 0.99:.3g}"


def sentences(log: Log, rows: Support) -> list[str]:
    """Return what was read, what was left out and why, and what speaks against the answers."""
    seen = len(log) + sum(log.left_out.counts.values())
    said = [
        f"{log.name}: {len(rows):,} of {pluralize(seen, log.unit)} can be replayed;"
        f" {len(rows.arms)} arms. The logging policy earned {format_value(log.earned)} for"
        f" {format_value(log.spent)}."
    ]
    said += _reasons(log.left_out, "Left out", log.unit)
    said += _reasons(rows.left_out, "Not replayed", log.unit)
    return said + list(rows.notes)


def _reasons(out: Exclusions, what: str, unit: str) -> list[str]:
    said = []
    for reason, count in out.counts.items():
        first = out.lines[reason]
        more = ", …" if count > len(first) else ""
        where = f"{unit}{'s' * (len(first) > 1)} {', '.join(map(str, first))}{more}"
        said.append(f"{what}: {pluralize(count, unit)}, {reason} ({where}).")
    return said
