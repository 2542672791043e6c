"""Why a decision was what it was: as data, and in two plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from bursar.campaign.views import ArmView
from bursar.formatting import to_plain
from bursar.policies import Policy

__all__ = [
    "Explanation",
    "Option",
    "SentenceInput",
    "format_index",
    "join_words",
    "write_sentences",
]


@dataclass(frozen=True)
class Option:
    """An arm as it stood before a decision.

    Attributes
    ----------
    arm : ArmView
        Counts, means and 95% intervals.
    status : str
        chosen, open (it might have been), unaffordable, paused, retired or excluded.
    why : str
        Why it could not be chosen ("was paused", "needs 2.00, 1.50 were left"), or "".
    tried : int
        Plays that the policy counted: learned ones and those that waited for their outcome.
    index : float or None
        What the policy compared arms by: what the arm may bring per unit spent; None if the policy
        has no index.
    reward_bound, cost_bound : float or None
        The parts of the index, for policies whose index is a bound of the reward over a bound of
        the cost.
    """

    arm: ArmView
    status: str
    why: str
    tried: int
    index: float | None
    reward_bound: float | None
    cost_bound: float | None

    @property
    def key(self) -> str:
        """Key of the arm."""
        return self.arm.key


@dataclass(frozen=True)
class Explanation:
    """A decision and what was known when it was made.

    Attributes
    ----------
    decision, arm : str
        Its id, and the arm that was chosen.
    seq, seed : int
        Number of its event and seed of the campaign: all that its random numbers depend on.
    at : datetime
        When it was made.
    policy : str
        Slug of the policy.
    how : str
        "index" (the largest one), "first" (an arm never tried), "drawn" (the policy draws),
        "explored" (at random, by the campaign's rule), "only" (no other arm could be chosen) or
        "fallback" (at random because the policy failed).
    hold : Decimal
        What was reserved.
    propensity : float or None
        How likely the arm was, if that is known.
    constrained : bool
        Whether arms were left out because they did not fit into what was left.
    available : Decimal
        What was left before it: of the budget, and of the cap of the day.
    policy_arm : str or None
        What the policy itself wanted; differs from ``arm`` if that was explored.
    verified : bool
        Whether asking again, with what was known then, gives what the log says in every bit.
    options : tuple of Option
        All arms there were.
    sentences : tuple of str
        The same for people.
    """

    decision: str
    arm: str
    seq: int
    seed: int
    at: datetime
    policy: str
    how: str
    hold: Decimal
    propensity: float | None
    constrained: bool
    available: Decimal
    policy_arm: str | None
    verified: bool
    options: tuple[Option, ...]
    sentences: tuple[str, ...]

    def option(self, key: str) -> Option:
        """Return one arm."""
        return next(one for one in self.options if one.key == key)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = to_plain(self)
        return found

    def __str__(self) -> str:
        return " ".join(self.sentences)


# ==== campaign.wording
# The sentences that say why an arm was chosen.


class SentenceInput(NamedTuple):
    """What the sentences are about."""

    arm: Option
    options: tuple[Option, ...]
    how: str
    policy: Policy
    explore: float
    wanted: str | None
    failure: str | None
    left: str
    left_by: str
    verified: bool
    now: str | None

    @property
    def rivals(self) -> list[Option]:
        """The others that might have been chosen."""
        return [one for one in self.options if one.status == "open"]


def write_sentences(case: SentenceInput) -> tuple[str, ...]:
    """Return two sentences; more if the arm changed, or the choice made again differs."""
    said = {
        "index": _by_index,
        "first": _first,
        "drawn": _drawn,
        "explored": _explored,
        "only": _only,
        "fallback": _fallback,
    }[case.how](case) + _changed(case)
    if case.verified or case.failure is not None:  # what failed then may work now
        return said
    other = "another" if case.now in (None, case.arm.key) else case.now
    return (
        *said,
        f"Made again from the log, the choice would be {other}: this is not what the log says.",
    )


def format_index(value: float) -> str:
    """Return a number for people: three digits, no more.

    >>> format_index(31.24), format_index(0.004567), format_index(1234567.0), format_index(-2.0)
    ('31.2', '0.00457', '1,230,000', '-2')
    """
    if not math.isfinite(value):
        return "any amount" if value > 0 else "any loss"
    if value == 0.0:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    text = f"{rounded:,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> join_words(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _by_index(case: SentenceInput) -> tuple[str, ...]:
    arm = case.arm
    second = max(case.rivals, key=lambda one: one.index or 0.0)
    mine, other = arm.index or 0.0, second.index or 0.0
    if mine == other == math.inf:
        equals = join_words([one.key for one in case.rivals if one.index == math.inf])
        why = f"nothing bounds yet what it or {equals} may bring per unit spent: a tie, drawn"
    elif mine == math.inf:
        why = (
            "nothing bounds yet what it may bring per unit spent,"
            f" {second.key} brings at most {format_index(other)}"
        )
    elif mine == other:
        why = f"it may bring up to {format_index(mine)} per unit spent, so may {second.key}: a tie, drawn"
    else:
        why = (
            f"it may bring up to {format_index(mine)} per unit spent,"
            f" {second.key} at most {format_index(other)}"
        )
    return f"{arm.key} was chosen: {why}.", _left_out(case) or _compared(case, second)


def _changed(case: SentenceInput) -> tuple[str, ...]:
    """Return what had changed of the arm by then, if anything had."""
    if not case.arm.arm.changed:
        return ()
    change = case.arm.arm.changed[0]
    mixed = "" if change.reset else "; its averages mix both"
    return (f"Its {change}{mixed}.",)


def _compared(case: SentenceInput, second: Option) -> str:
    """Return how the chosen arm and the next best one look on average."""
    arm = case.arm
    if arm.arm.ratio is None:
        waits = "one decision waits" if arm.tried == 1 else f"{arm.tried:,} decisions wait"
        return f"Nothing is known of {arm.key} yet: {waits} for an outcome."
    mine = arm.arm.ratio.value
    if second.arm.ratio is None:
        return f"{arm.key} brings {format_index(mine)} on average, of {second.key} nothing is known yet."
    other = second.arm.ratio.value
    if other > mine:
        better = f"{second.key} looks better on average ({format_index(other)} against {format_index(mine)})"
        if arm.tried < second.tried:
            return (
                f"{better} but was tried {_times(second.tried)}, {arm.key} only"
                f" {_times(arm.tried) if arm.tried == 1 else format(arm.tried, ',')}."
            )
        return f"{better}, but the bounds decide, not the averages."
    if other == mine:
        alike = f"On average both bring {format_index(mine)}"
        alike = "Neither has cost anything yet" if mine == math.inf else alike
        return (
            f"{alike}; {arm.key} was tried {_times(arm.tried)},"
            f" {second.key} {_times(second.tried)}."
        )
    return (
        f"It also looks better on average ({format_index(mine)} against {format_index(other)}),"
        f" tried {_times(arm.tried)}, {second.key} {_times(second.tried)}."
    )


def _left_out(case: SentenceInput) -> str:
    """Return which arms money did not reach for, or nothing."""
    dear = [one for one in case.options if one.status == "unaffordable"]
    if not dear:
        return ""
    if len(dear) == 1:
        return f"{dear[0].key} could not be chosen: it {dear[0].why}."
    return (
        f"{join_words([one.key for one in dear])} could not be chosen:"
        f" they need more than the {case.left} that were left{case.left_by}."
    )


def _first(case: SentenceInput) -> tuple[str, ...]:
    able = [case.arm, *case.rivals]
    tried = sum(one.tried > 0 for one in able)
    change = next((one for one in case.arm.arm.changed if one.reset), None)
    if change is not None and not case.arm.tried:
        why = (
            f"{case.arm.key} was chosen because it is learned anew since its mean {change.what}"
            " changed: every arm is tried once."
        )
    elif case.arm.tried:
        why = f"{case.arm.key} was chosen although arms wait for their first try."
    else:
        why = f"{case.arm.key} was chosen because it was never tried: every arm is tried once."
    state = f"{tried} of {len(able)} arms were tried before."
    return why, _left_out(case) or state


def _drawn(case: SentenceInput) -> tuple[str, ...]:
    count = len(case.rivals) + 1
    why = f"{case.arm.key} was drawn at random: {case.policy.describe_draw(count)}."
    return why, _left_out(case) or _standing(case)


def _standing(case: SentenceInput) -> str:
    """Return how an arm that was drawn looks beside the best."""
    known = [one for one in (case.arm, *case.rivals) if one.arm.ratio is not None]
    ranked = sorted(known, key=lambda one: -one.arm.ratio.value if one.arm.ratio else 0.0)
    mine = case.arm.arm.ratio
    if mine is None:
        return f"Nothing is known of {case.arm.key} yet."
    best = ranked[0]
    if best is case.arm or best.arm.ratio is None:
        return f"It looks best on average: {format_index(mine.value)} per unit spent."
    return (
        f"It brings {format_index(mine.value)} per unit spent on average, {best.key} looks best with"
        f" {format_index(best.arm.ratio.value)}."
    )


def _explored(case: SentenceInput) -> tuple[str, ...]:
    share = format_index(100.0 * case.explore)
    count = len(case.rivals) + 1
    why = (
        f"{case.arm.key} was explored: {share}% of asks go to any of {count} arms at random,"
        " whatever they brought."
    )
    as_well = " as well" if case.wanted == case.arm.key else ""
    wanted = f"The policy would have chosen {case.wanted}{as_well}."
    return why, _left_out(case) or wanted


def _only(case: SentenceInput) -> tuple[str, ...]:
    out = [one for one in case.options if one.status not in ("chosen", "open")]
    why = f"{case.arm.key} was the only arm that could be chosen."
    if not out:
        return why, "There is no other arm."
    if len(out) <= 3:
        return why, "; ".join(f"{one.key} {one.why}" for one in out) + "."
    groups = [
        f"{sum(one.status == status for one in out)} {status}"
        for status in ("unaffordable", "paused", "retired", "excluded")
        if any(one.status == status for one in out)
    ]
    return why, f"Of the others, {join_words(groups)}."


def _fallback(case: SentenceInput) -> tuple[str, ...]:
    count = len(case.rivals) + 1
    return (
        f"{case.arm.key} was drawn at random among {count} arms because the policy failed"
        f" ({case.failure}).",
        _left_out(case) or "Money was checked as always.",
    )
