"""Costs above their holds: when an arm is paused for them, and what an operator is told.

A hold of the maximum cost should never be exceeded, so an arm is paused after ``overruns`` costs
above its maximum. A hold that is a quantile q of the arm's costs is exceeded by design, by about
1 - q of them, and only more than that is a reason to pause the arm. The test needs nothing beside
the newest costs, which the holds are computed from:

If the costs of an arm are exchangeable, the rank of each among those before it is uniform and
independent of the ranks of all others (Rényi). So, whatever their distribution, cost i + 1 exceeds
the q-quantile of i costs before it independently with probability p_i = 1 - ⌈qi⌉ / (i + 1), which
contains the error of the quantile; ties only make it rarer. The number of such costs among n has at
most the upper tail of a binomial number with the mean of the p_i (Hoeffding 1956). The test runs at
an overrun and looks at the last 125, 250 and 500 costs; the overrun that it runs at does not count,
because the test waited for it. Levels of ALARM / 3o(o + 1) at overrun number o add up to ALARM in
the whole life of an arm; since looks overlap, less than 1% of arms have a false alarm in 10,000
plays (tests/campaign/test_holds_and_numbers.py).

The quantile follows the costs, and what it absorbs is no reason to pause: if costs that scatter
little double, the arm is paused within some ten plays; if they scatter by a factor of three, the
hold may be right again before anything is significant. Changes of the mean have a test of their own
(:mod:`bursar.jit.detector`).
"""

import math
from bisect import insort
from collections.abc import Sequence

from bursar.campaign.records import Arm, DecisionRecord, is_own_hold
from bursar.campaign.state import ENOUGH_COSTS, State
from bursar.formatting import join_words

ALARM = 0.05  # probability that an arm is ever paused though its costs stay the same
_LENGTHS = (125, 250, 500)  # costs that the test looks at; fewer are a matter of order
_NAMED = 5  # arms that an alarm names


def find_pause_reason(state: State, record: DecisionRecord, cost: int) -> str | None:
    """Return why the arm of a decision is to be paused after a cost above its hold, or None."""
    arm, most = state.arms[record.arm], state.config.overruns
    if not most or arm.state != "active":
        return None
    if cost > arm.max_cost and (above := _count_above_maximum(state, arm)) >= most:
        what = "their hold" if state.config.quantile is None else "its maximum"
        return f"{above} costs above {what}"
    if is_own_hold(record.fingerprint) or not _exceeds_promise(state, arm):
        return None
    return f"more of its costs than chance explains are above its hold, {state.config.hold}"


def is_overrunning(state: State, arm: Arm) -> bool:
    """Return whether the costs of an arm are a reason to pause it."""
    most = state.config.overruns
    return most > 0 and (_count_above_maximum(state, arm) >= most or _exceeds_promise(state, arm))


def _count_above_maximum(state: State, arm: Arm) -> int:
    """Return how many costs of an arm were above its maximum; of the newest, if those are kept."""
    if state.config.quantile is None:
        return arm.overruns
    return sum(cost > arm.max_cost for cost in arm.costs)


def _exceeds_promise(state: State, arm: Arm) -> bool:
    quantile, most = state.config.quantile, state.config.overruns
    return quantile is not None and exceeds_quantile(arm.costs, quantile, arm.overruns, most)


def exceeds_quantile(costs: Sequence[int], quantile: float, overruns: int, least: int) -> bool:
    """Return whether costs exceed a quantile of those before them more often than chance explains.

    ``overruns`` is the number of overruns of the arm, at the last of which this is asked; fewer
    than ``least`` are never enough.
    """
    if overruns < least:
        return False
    over, promised = _compare_with_quantiles(costs, quantile)
    level = ALARM / (len(_LENGTHS) * overruns * (overruns + 1))
    for length in _LENGTHS:
        count, n = sum(over[-length:]), min(length, len(over))
        if count >= least and _binomial_tail(count - 1, n, sum(promised[-length:]) / n) <= level:
            return True
        if n < length:
            break
    return False


def _compare_with_quantiles(
    costs: Sequence[int], quantile: float
) -> tuple[list[bool], list[float]]:
    """Return for each cost whether it exceeds the quantile of those before, and how likely."""
    ordered = sorted(costs[:ENOUGH_COSTS])
    over: list[bool] = []
    promised: list[float] = []
    for cost in costs[ENOUGH_COSTS:]:
        rank = math.ceil(quantile * len(ordered))
        over.append(cost > ordered[rank - 1])
        promised.append(1.0 - rank / (len(ordered) + 1))
        insort(ordered, cost)
    return over, promised


def _binomial_tail(k: int, n: int, p: float) -> float:
    """Return the probability of k or more successes in n tries; 1 if that is below the mean.

    >>> round(_binomial_tail(3, 10, 0.1), 12)
    0.0701908264
    """
    if k <= n * p:
        return 1.0
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    term = total = math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))
    for more in range(k, n):
        term *= (n - more) / (more + 1) * p / (1.0 - p)
        total += term
        if term <= total * 1e-12:
            break
    return total


def list_overrun_alarms(state: State) -> list[str]:
    """Return what an operator should know of overruns: all of them, and the arms they paused."""
    if not state.overrun:
        return []
    total = state.config.coin.format(state.overrun)
    arms = sorted((arm for arm in state.arms if arm.overruns), key=lambda arm: -arm.overruns)
    counts = [f"{arm.overruns:,} of {arm.key!r}" for arm in arms]
    # a cost above the hold of one request, but within the maximum, is money and no more
    which = join_words(counts, _NAMED) if counts else "all within the maximum of their arms"
    rule = _describe_rule(state)
    found = [f"costs exceeded their holds by {total} in all: {which}; {rule}"]
    for arm in arms:
        if arm.state == "paused" and is_overrunning(state, arm):
            found.append(
                f"arm {arm.key!r} is paused after {arm.overruns:,} costs above their holds"
                f" ({total} in all arms; {rule}); resume it if its costs may be what they are, or"
                " add an arm with a larger maximum cost in its place"
            )
    return found


def _describe_rule(state: State) -> str:
    most, quantile = state.config.overruns, state.config.quantile
    if not most:
        return "no arm is paused for it, by overruns=0"
    if quantile is None:
        return f"an arm is paused after {most:,}, by overruns={most}"
    return (
        f"by hold={state.config.hold!r} a share of {1.0 - quantile:.2g} is expected to, and an arm"
        f" is paused if clearly more do, or {most:,} exceed its maximum"
    )
