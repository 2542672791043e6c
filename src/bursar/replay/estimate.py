"""An estimate: what a policy would have earned on a log, as far as the log reaches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from bursar.replay.value import Value

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """What a policy would have earned, and how far the log can say it.

    Attributes
    ----------
    policy : str
        Its slug, or ``always:ARM``.
    method : {"replay", "weights"}
        Replay for policies, inverse propensity weights for fixed arms.
    budget : float
        What it was given to spend.
    spend : float
        The spend that ``reward`` belongs to: the budget, or the part of it that the log reaches.
    reward, ratio, spent : Value or None
        Expected total reward, reward per cost and spend by then; None if the log cannot say.
    single : Value or None
        Between which rewards a single campaign would have ended; None for fixed arms.
    plays, rows : float
        Accepted decisions a pass, and rows it took to find them.
    logged : float or None
        What the logging policy had earned by the same spend; None if it never spent as much.
    passes : int
        Passes through the log, shuffled and resampled.
    waited_for : str
        The arm for which most passes waited when the log ended; empty if none did.
    level : float
        Of the intervals.
    """

    policy: str
    method: Literal["replay", "weights"]
    budget: float
    spend: float
    reward: Value | None
    single: Value | None
    ratio: Value | None
    spent: Value | None
    plays: float
    rows: float
    logged: float | None
    passes: int
    waited_for: str
    level: float

    @property
    def reached(self) -> float:
        """The share of the budget that the log can speak of."""
        return self.spend / self.budget

    def as_dict(self) -> dict[str, Any]:
        """Return all of it for JSON; intervals as {mean, low, high}."""
        found = asdict(self) | {"reached": self.reached}
        for key in ("reward", "single", "ratio", "spent"):
            value = getattr(self, key)
            found[key] = None if value is None else value._asdict()
        return found
