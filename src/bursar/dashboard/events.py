"""The log of a campaign in words: the page of all events, with filters and permanent links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from starlette.responses import Response

from bursar.campaign import ArmView
from bursar.campaign import events as kinds
from bursar.dashboard.render import Page, parse_count
from bursar.formatting import format_number, pluralize
from bursar.ledger import Event, Store
from bursar.money import Coin

GROUPS: dict[str, tuple[str, ...]] = {
    "decisions": (*kinds.GRANTS, kinds.CONFIRMED),
    "outcomes": (*kinds.OUTCOMES, *kinds.ENDINGS),
    "changes": kinds.RULES,
    "trouble": (*kinds.NOTICES, kinds.LAPSED, kinds.RELEASED, kinds.CORRECTED, kinds.DEFAULTED),
}
"""The kinds of events that the page can be filtered by."""

_PAGE = 100  # events on a page
_WINDOW = 500  # events that are read at once
_MAX_READ = 20_000  # events that one page searches


async def show_events(page: Page) -> Response:
    """Show a page of the log, newest first."""
    page.require("read")
    query = page.query
    group, decision = query.get("group", ""), query.get("decision", "").strip()
    before = parse_count(query.get("before", "")) or 0
    values = await page.run(_load, page, group, decision, before)
    return page.render("events", group=group, decision=decision, before=before, **values)


def _load(page: Page, group: str, decision: str, before: int) -> dict[str, Any]:
    service, name = page.service, page.name
    campaign = service.campaign(name)
    wanted = GROUPS.get(group)
    next_before: int | None = None
    if decision:
        # ids are printable, and a database may refuse to look for others
        own = load_decision_events(service.store, name, decision) if decision.isprintable() else []
        found = [one for one in reversed(own) if wanted is None or one.kind in wanted]
    elif group == "changes":
        # the series collects them while it reads, because they are rare in a long log
        changes = reversed(service.series.get(name).changes)
        found = [one for one in changes if not before or one.seq < before]
        next_before = found[_PAGE - 1].seq if len(found) > _PAGE else None
        found = found[:_PAGE]
    else:
        end = campaign.status().seq + 1
        start = min(before, end) if before else end
        found, next_before = read_backwards(service.store, name, start, _PAGE, wanted)
    describer = EventDescriber(campaign.coin, campaign.arms())
    return {"events": found, "next_before": next_before, "describer": describer}


def read_backwards(
    store: Store, name: str, before: int, limit: int, wanted: Sequence[str] | None = None
) -> tuple[list[Event], int | None]:
    """Return the newest events of some kinds before a number, and the number to continue from.

    At most ``limit`` events are returned, from the 20,000 before that number; ``wanted`` has the
    kinds, or is None for all.
    """
    found: list[Event] = []
    end, last = before, max(before - _MAX_READ, 1)
    while end > last and len(found) < limit:
        start = max(end - _WINDOW, last)
        # numbers have no gaps, so these are the events from start up to end
        window = [event for event, _ in islice(store.read(name, start - 1), end - start)]
        found.extend(one for one in reversed(window) if wanted is None or one.kind in wanted)
        end = start
    if len(found) > limit:
        return found[:limit], found[limit - 1].seq
    return found, end if end > 1 else None


def load_decision_events(store: Store, name: str, decision: str) -> list[Event]:
    """Return the events of a decision in order."""
    with store.open_writer(name) as writer:
        return writer.decision_events(decision)


def find_group(kind: str) -> str:
    """Return the first group that has a kind."""
    return next((name for name, group in GROUPS.items() if kind in group), "changes")


class EventDescriber:
    """Describes the events of a campaign in words, given its currency and all of its arms."""

    def __init__(self, coin: Coin, arms: Sequence[ArmView]) -> None:
        self._coin = coin
        self._arms = [arm.key for arm in arms]

    def describe(self, event: Event) -> str:
        """Return what an event means; raise NewerSchema for a kind that is not known."""
        kinds.check_kind(event)
        return _DESCRIPTIONS[event.kind](self, event.body)

    find_group = staticmethod(find_group)

    def money(self, units: int) -> str:
        """Return an amount with its currency."""
        return self._coin.format(units)

    def arm(self, number: int) -> str:
        """Return the key of an arm."""
        return self._arms[number] if number < len(self._arms) else f"arm {number}"


def _describe_choice(self: EventDescriber, body: dict[str, Any]) -> str:
    note = "; more expensive arms were not affordable" if body.get("constrained") else ""
    return f"{self.arm(body['arm'])} chosen, {self.money(body['hold'])} held{note}"


def _describe_outcome(self: EventDescriber, body: dict[str, Any]) -> str:
    parts = []
    if "cost" in body:
        parts.append(f"cost {self.money(body['cost'])}")
    if body.get("reward") is not None:
        parts.append(f"reward {format_number(body['reward'])}")
    return ", ".join(parts) + (" (too late to learn from)" if body.get("late") else "")


def _describe_default(self: EventDescriber, body: dict[str, Any]) -> str:
    reward = body["reward"]
    record = "none was recorded" if reward is None else f"{format_number(reward)} was recorded"
    return f"No reward arrived before the deadline; {record}"


def _describe_lapse(self: EventDescriber, body: dict[str, Any]) -> str:
    charge = body.get("charge", 0)
    end = f"{self.money(charge)} was recorded as spent" if charge else "the hold was released"
    return f"No cost arrived before the deadline; {end}"


def _describe_cap(self: EventDescriber, body: dict[str, Any]) -> str:
    scope = body["scope"]
    cap = "Daily cap" if scope == "day" else f"Cap of {scope.removeprefix('arm:')}"
    return f"{cap} removed" if body["cap"] is None else f"{cap} set to {self.money(body['cap'])}"


def _describe_creation(self: EventDescriber, body: dict[str, Any]) -> str:
    arms = ", ".join(key for key, _ in body["arms"][:5])
    rest = f" and {len(body['arms']) - 5} more" if len(body["arms"]) > 5 else ""
    return f"Created with a budget of {self.money(body['budget'])} for {arms}{rest}"


def _describe_change(self: EventDescriber, body: dict[str, Any]) -> str:
    return (
        f"The mean {body['what']} of {body['key']} changed from {format_number(body['before'])}"
        f" to {format_number(body['after'])} in its last {pluralize(body['newer'], 'outcome')}"
        + ("; older outcomes are no longer used" if body["reset"] else "")
    )


def _reason(body: dict[str, Any]) -> str:
    return f" ({body['reason']})" if body.get("reason") else ""


_DESCRIPTIONS: dict[str, Callable[[EventDescriber, dict[str, Any]], str]] = {
    kinds.CREATED: _describe_creation,
    kinds.ASKED: _describe_choice,
    kinds.ADOPTED: lambda self, body: (
        f"{_describe_choice(self, body)}; adopted after a backup was restored"
    ),
    kinds.CONFIRMED: lambda self, body: "Confirmed for use",
    kinds.TOLD: _describe_outcome,
    kinds.DEFAULTED: _describe_default,
    kinds.CORRECTED: lambda self, body: (
        f"Corrected to {_describe_outcome(self, body)}{_reason(body)}"
    ),
    kinds.VOIDED: lambda self, body: f"Voided, hold released{_reason(body)}",
    kinds.RELEASED: lambda self, body: "Not confirmed in time, hold released",
    kinds.LAPSED: _describe_lapse,
    kinds.ARM_ADDED: lambda self, body: (
        f"Arm {body['key']} added with a maximum cost of {self.money(body['max_cost'])}"
    ),
    kinds.ARM_PAUSED: lambda self, body: f"Arm {body['key']} paused{_reason(body)}",
    kinds.ARM_RESUMED: lambda self, body: f"Arm {body['key']} resumed",
    kinds.ARM_RETIRED: lambda self, body: f"Arm {body['key']} retired permanently",
    kinds.BUDGET_SET: lambda self, body: (
        f"Budget changed from {self.money(body['before'])} to {self.money(body['budget'])}"
    ),
    kinds.CAP_SET: _describe_cap,
    kinds.PAUSED: lambda self, body: "Campaign paused",
    kinds.RESUMED: lambda self, body: "Campaign resumed",
    kinds.CLOSED: lambda self, body: "Campaign closed permanently",
    kinds.RESTORED: lambda self, body: "Restored from a backup",
    kinds.RECONCILED: lambda self, body: (
        f"Reconciled, {self.money(body['gap'])} added to the spend"
    ),
    kinds.CHANGED: _describe_change,
    kinds.POLICY_ERROR: lambda self, body: f"The policy failed: {body['error']}",
    kinds.POLICY_SLOW: lambda self, body: (
        f"The policy took {format_number(body['seconds'])} seconds to choose"
    ),
}
