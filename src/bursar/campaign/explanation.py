"""Why a decision was what it was: as data, and in two plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from bursar.campaign.arm_view import ArmView
from bursar.campaign.plain import plain

__all__ = ["Explanation", "Option"]


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
        found: dict[str, Any] = plain(self)
        return found

    def __str__(self) -> str:
        return " ".join(self.sentences)
