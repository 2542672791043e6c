"""Bring a decision back that has left the memory: from its own events in the log."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.campaign.records import Arm, Choice
from bursar.campaign.state import day_of
from bursar.ledger import Event

__all__ = ["choice_of"]


def choice_of(events: Sequence[Event], arms: Sequence[Arm] = ()) -> Choice | None:
    """Return a decision as its events left it, or None if there are none.

    ``arms`` say since when each is learned: what was learned before stays as it was.
    """
    if not events:
        return None
    first, *rest = events
    body = first.body
    choice = Choice(
        first.decision, first.seq, first.ts, body["arm"], body["hold"], day_of(first.ts),
        body["expires"], body["due"], body["print"], body["p"], body["constrained"],
        body.get("context"),
    )  # fmt: skip
    reset = arms[choice.arm].reset if arms else 0
    for event in rest:
        _follow(choice, event, reset)
    return choice


def _follow(choice: Choice, event: Event, reset: int) -> None:
    body = event.body
    if event.kind == "confirmed":
        choice.money, choice.expires = "confirmed", body["expires"]
    elif event.kind in ("voided", "released", "lapsed"):
        choice.money, choice.charged = event.kind, body.get("charge", 0)
        if event.kind != "lapsed" and choice.rewarded == "pending":
            choice.rewarded = "none"
    elif event.kind in ("told", "defaulted", "corrected"):
        if event.kind == "corrected" and choice.learned > reset:
            choice.learned = 0
        if "report" in body:
            choice.reports[body["report"]] = body["print"]
        if "cost" in body:
            choice.cost = choice.charged = body["cost"]
            choice.money = "settled"
        if "reward" in body:
            choice.reward = body["reward"]
            late = "late" if body.get("late") else "observed"
            choice.rewarded = "defaulted" if event.kind == "defaulted" else late
        known = choice.cost is not None and choice.reward is not None
        if known and choice.rewarded != "late" and not choice.learned:
            choice.learned = event.seq
