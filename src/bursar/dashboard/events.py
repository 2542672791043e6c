"""All events of a campaign: filters, permalinks, pages by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import events as kinds
from bursar.dashboard.render import base_of, render
from bursar.formatting import format_count, format_number, format_time
from bursar.ledger import Event, Store
from bursar.money import Coin
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["GROUPS", "Story", "StoryLine", "events_page", "group_of", "of_decision", "older"]

# ==== dashboard.story
# Events in plain words.

GROUPS: dict[str, tuple[str, ...]] = {
    "decisions": (*kinds.GRANTS, kinds.CONFIRMED),
    "outcomes": (*kinds.OUTCOMES, *kinds.ENDINGS),
    "changes": kinds.RULES,
    "trouble": (
        *kinds.NOTICES, kinds.LAPSED, kinds.RELEASED, kinds.CORRECTED, kinds.DEFAULTED,
    ),
}  # fmt: skip
"""Kinds of events that people look for together."""


def group_of(kind: str) -> str:
    """Return the first group that a kind is in."""
    return next(name for name, group in GROUPS.items() if kind in group)


@dataclass(frozen=True)
class StoryLine:
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

    def line(self, event: Event) -> StoryLine:
        """Return an event as a line."""
        at = datetime.fromtimestamp(event.ts / 1e6, UTC)
        kinds.check_kind(event)
        text = _TOLD[event.kind](self, event.body)
        return StoryLine(
            event.seq, format_count(event.seq), format_time(at), at.isoformat(), event.kind,
            group_of(event.kind), text, event.decision, str(event.body.get("by", "")),
        )  # fmt: skip

    def money(self, units: int) -> str:
        """Return units for people."""
        return self._coin.format(units)

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
        parts.append(f"brought {format_number(body['reward'])}")
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
    before, after = format_number(body["before"]), format_number(body["after"])
    anew = "; it is learned anew" if body["reset"] else ""
    return (
        f"The mean {body['what']} of {body['key']} changed from {before} to {after}"
        f" in its last {format_count(body['newer'])} outcomes{anew}"
    )


def _created(story: Story, body: dict[str, Any]) -> str:
    arms = ", ".join(key for key, _ in body["arms"][:5])
    more = f" and {len(body['arms']) - 5} more" if len(body["arms"]) > 5 else ""
    return f"Created with {story.money(body['budget'])} for {arms}{more}"


def _because(body: dict[str, Any]) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""


_TOLD: dict[str, Callable[[Story, dict[str, Any]], str]] = {
    kinds.ASKED: _asked,
    kinds.ADOPTED: lambda story, body: f"{_asked(story, body)}, before a backup was restored",
    kinds.CONFIRMED: lambda story, body: "Confirmed: about to be spent",
    kinds.TOLD: _told,
    kinds.CORRECTED: _corrected,
    kinds.DEFAULTED: lambda story, body: (
        f"No reward in time: {format_number(body['reward'])} counts"
    ),
    kinds.VOIDED: lambda story, body: f"Hold given back{_because(body)}",
    kinds.RELEASED: lambda story, body: "Never confirmed: hold given back",
    kinds.LAPSED: _lapsed,
    kinds.CREATED: _created,
    kinds.ARM_ADDED: lambda story, body: (
        f"Arm {body['key']} added, {story.money(body['max_cost'])} at most"
    ),
    kinds.ARM_PAUSED: lambda story, body: f"Arm {body['key']} paused{_because(body)}",
    kinds.ARM_RESUMED: lambda story, body: f"Arm {body['key']} resumed",
    kinds.ARM_RETIRED: lambda story, body: f"Arm {body['key']} retired for good",
    kinds.BUDGET_SET: _budget,
    kinds.CAP_SET: _cap,
    kinds.PAUSED: lambda story, body: "Campaign paused",
    kinds.RESUMED: lambda story, body: "Campaign resumed",
    kinds.CLOSED: lambda story, body: "Campaign closed for good",
    kinds.RESTORED: lambda story, body: "Restored from a backup",
    kinds.RECONCILED: lambda story, body: f"Reconciled: {story.money(body['gap'])} more was spent",
    kinds.CHANGED: _changed,
    kinds.POLICY_ERROR: lambda story, body: f"The policy failed: {body['error']}",
    kinds.POLICY_SLOW: lambda story, body: f"The policy took {body['seconds']:.3g} s to choose",
}


# ==== dashboard.history
# The log, newest first: pages by event number, however long it is.

_WINDOW = 500  # events that are read at once
_MOST = 20_000  # events that one page looks through


def older(
    store: Store, name: str, before: int, limit: int, wanted: Callable[[Event], bool]
) -> tuple[list[Event], int | None]:
    """Return the newest events before a number that are wanted, and where to go on.

    Parameters
    ----------
    store, name
        Whose log.
    before : int
        Events with smaller numbers are looked at.
    limit : int
        How many to return.
    wanted : callable
        Whether an event is to be shown.
    """
    found: list[Event] = []
    end, last = before, max(before - _MOST, 1)
    while end > last and len(found) < limit:
        start = max(end - _WINDOW, last)
        # numbers have no gaps, so so many events are those before the end
        page = [event for event, _ in islice(store.read(name, start - 1), end - start)]
        found.extend(event for event in reversed(page) if wanted(event))
        end = start
    if len(found) > limit:
        return found[:limit], found[limit - 1].seq
    return found, end if end > 1 else None


def of_decision(store: Store, name: str, decision: str) -> list[Event]:
    """Return the events of one decision, in order."""
    with store.open_writer(name) as session:
        return session.decision_events(decision)


_LIMIT = 100
_LABELS = [
    ("", "all events"),
    ("decisions", "decisions"),
    ("outcomes", "outcomes"),
    ("changes", "changes of money and rules"),
    ("trouble", "trouble"),
]


async def events_page(service: Service, request: Request) -> Response:
    """Show a page of the log, newest first."""
    name: str = request.path_params["name"]
    require(request, "read", name)
    query = request.query_params
    group = query.get("group", "")
    decision = query.get("decision", "").strip()
    given = query.get("before", "")
    before = int(given) if given.isascii() and given.isdigit() and len(given) < 18 else 0
    lines, more = await service.run_in_thread(_lines, service, name, group, decision, before)
    return render(
        service, request, "events", name=name, base=base_of(name), events=lines,
        group=group, groups=_LABELS, decision=decision, before=before, older=more,
    )  # fmt: skip


def _lines(
    service: Service, name: str, group: str, decision: str, before: int
) -> tuple[list[StoryLine], int | None]:
    campaign = service.campaign(name)
    kinds = GROUPS.get(group)

    def wanted(event: Event) -> bool:
        return kinds is None or event.kind in kinds

    more: int | None = None
    if decision:
        known = decision.isprintable()  # others were never made, and a database may not take them
        own = of_decision(service.store, name, decision) if known else []
        found = [one for one in reversed(own) if wanted(one)]
    elif group == "changes":
        # rare in a long log, so the series notes them as it reads
        found = [
            one
            for one in reversed(service.series.get(name).changes)
            if not before or one.seq < before
        ]
        found, more = found[:_LIMIT], found[_LIMIT - 1].seq if len(found) > _LIMIT else None
    else:
        newest = campaign.status().seq + 1
        start = min(before, newest) if before else newest
        found, more = older(service.store, name, start, _LIMIT, wanted)
    story = Story(campaign.coin, [arm.key for arm in campaign.arms()])
    return [story.line(event) for event in found], more
