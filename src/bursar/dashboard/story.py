"""Events in plain words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bursar.dashboard.spelling import count, moment, number
from bursar.ledger import Event
from bursar.money import Coin

__all__ = ["GROUPS", "Line", "Story", "group_of"]

GROUPS = {
    "decisions": ("asked", "adopted", "confirmed"),
    "outcomes": ("told", "corrected", "defaulted", "voided", "released", "lapsed"),
    "changes": (
        "created", "arm-added", "arm-paused", "arm-resumed", "arm-retired", "budget-set",
        "cap-set", "paused", "resumed", "closed", "restored", "reconciled",
    ),
    "trouble": ("changed", "policy-error", "lapsed", "released", "corrected", "defaulted"),
}  # fmt: skip
"""Kinds of events that people look for together."""


def group_of(kind: str) -> str:
    """Return the first group that a kind is in."""
    return next((name for name, kinds in GROUPS.items() if kind in kinds), "changes")


@dataclass(frozen=True)
class Line:
    """An event for people."""

    seq: int
    number: str
    at: str
    iso: str
    kind: str
    group: str
    text: str
    decision: str
    by: str


class Story:
    """Turns events of one campaign into lines.

    Parameters
    ----------
    coin : Coin
        Currency of the campaign.
    arms : sequence of str
        Keys of its arms, in the order they were added.
    """

    def __init__(self, coin: Coin, arms: Sequence[str]) -> None:
        self._coin, self._arms = coin, arms

    def line(self, event: Event) -> Line:
        """Return an event as a line."""
        at = datetime.fromtimestamp(event.ts / 1e6, UTC)
        told = _TOLD.get(event.kind)
        text = event.kind if told is None else told(self, event.body)
        return Line(
            event.seq, count(event.seq), moment(at), at.isoformat(), event.kind,
            group_of(event.kind), text, event.decision, str(event.body.get("by", "")),
        )  # fmt: skip

    def money(self, units: int) -> str:
        """Return units for people."""
        return self._coin.shown(units)

    def arm(self, place: int) -> str:
        """Return the key of an arm."""
        return self._arms[place] if place < len(self._arms) else f"arm {place}"


def _asked(story: Story, body: dict[str, Any]) -> str:
    left_out = "; dearer arms did not fit" if body.get("constrained") else ""
    return f"{story.arm(body['arm'])} chosen, {story.money(body['hold'])} held{left_out}"


def _told(story: Story, body: dict[str, Any]) -> str:
    parts = []
    if "cost" in body:
        parts.append(f"cost {story.money(body['cost'])}")
    if body.get("reward") is not None:
        parts.append(f"brought {number(body['reward'])}")
    return ", ".join(parts) + (" (late, not learned)" if body.get("late") else "")


def _corrected(story: Story, body: dict[str, Any]) -> str:
    return f"Corrected: {_told(story, body)}{_because(body)}"


def _lapsed(story: Story, body: dict[str, Any]) -> str:
    charge = body.get("charge", 0)
    return f"No cost came in time: {story.money(charge)} counted as spent"


def _budget(story: Story, body: dict[str, Any]) -> str:
    return f"Budget set from {story.money(body['before'])} to {story.money(body['budget'])}"


def _cap(story: Story, body: dict[str, Any]) -> str:
    what = "a day" if body["scope"] == "day" else body["scope"].removeprefix("arm:")
    most = "as much as the budget allows" if body["cap"] is None else story.money(body["cap"])
    return f"Cap of {what}: {most}"


def _changed(story: Story, body: dict[str, Any]) -> str:
    before, after = number(body["before"]), number(body["after"])
    anew = "; it is learned anew" if body["reset"] else ""
    return (
        f"The mean {body['what']} of {body['key']} changed from {before} to {after}"
        f" in its last {count(body['newer'])} outcomes{anew}"
    )


def _created(story: Story, body: dict[str, Any]) -> str:
    arms = ", ".join(key for key, _ in body["arms"][:5])
    more = f" and {len(body['arms']) - 5} more" if len(body["arms"]) > 5 else ""
    return f"Created with {story.money(body['budget'])} for {arms}{more}"


def _because(body: dict[str, Any]) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""


_TOLD: dict[str, Callable[[Story, dict[str, Any]], str]] = {
    "asked": _asked,
    "adopted": lambda story, body: f"{_asked(story, body)}, before a backup was restored",
    "confirmed": lambda story, body: "Confirmed: about to be spent",
    "told": _told,
    "corrected": _corrected,
    "defaulted": lambda story, body: f"No reward in time: {number(body['reward'])} counts",
    "voided": lambda story, body: f"Hold given back{_because(body)}",
    "released": lambda story, body: "Never confirmed: hold given back",
    "lapsed": _lapsed,
    "created": _created,
    "arm-added": lambda story, body: (
        f"Arm {body['key']} added, {story.money(body['max_cost'])} at most"
    ),
    "arm-paused": lambda story, body: f"Arm {body['key']} paused{_because(body)}",
    "arm-resumed": lambda story, body: f"Arm {body['key']} resumed",
    "arm-retired": lambda story, body: f"Arm {body['key']} retired for good",
    "budget-set": _budget,
    "cap-set": _cap,
    "paused": lambda story, body: "Campaign paused",
    "resumed": lambda story, body: "Campaign resumed",
    "closed": lambda story, body: "Campaign closed for good",
    "restored": lambda story, body: "Restored from a backup",
    "reconciled": lambda story, body: f"Reconciled: {story.money(body['gap'])} more was spent",
    "changed": _changed,
    "policy-error": lambda story, body: f"The policy failed: {body['error']}",
}
