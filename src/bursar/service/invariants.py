"""Whether the money of a running campaign adds up; looked at every minute, and told to Prometheus.

The database refuses grants beyond the budget by itself. This is the second look, at what is in
memory: held is what open decisions hold, the row in the store says the same as the state, and more
than the budget is gone only where the log says why.
"""

from __future__ import annotations

from typing import NamedTuple

from bursar.campaign import Campaign
from bursar.campaign.records import OPEN
from bursar.campaign.turn import Turn
from bursar.ledger import Event

__all__ = ["Facts", "broken", "facts_of"]


class Facts(NamedTuple):
    """Sums of a campaign at one moment, in units; ``oldest`` is when its oldest hold was made."""

    seq: int
    budget: int
    spent: int
    held: int
    overrun: int
    holds: int
    open: int
    oldest: int | None


def facts_of(turn: Turn) -> Facts:
    """Return the sums of a campaign: a work for :meth:`bursar.Campaign.together`."""
    state = turn.state
    held = [choice for choice in state.choices.values() if choice.money in OPEN]
    return Facts(
        state.seq, state.budget, state.spent, state.held, state.overrun,
        sum(choice.hold for choice in held), len(held),
        min((choice.ts for choice in held), default=None),
    )  # fmt: skip


def broken(campaign: Campaign) -> list[str]:
    """Return what does not add up, in words; usually nothing. Blocks."""
    [found] = campaign.together([facts_of])
    if isinstance(found, BaseException):
        raise found
    facts: Facts = found
    wrong = []
    if facts.held != facts.holds:
        wrong.append(f"held is {facts.held} units, open decisions hold {facts.holds}")
    if min(facts.spent, facts.held, facts.overrun) < 0:
        wrong.append(
            f"spent {facts.spent}, held {facts.held} or overrun {facts.overrun} is below 0"
        )
    excess = facts.spent + facts.held - facts.budget
    if excess > facts.overrun and excess > facts.overrun + _explained(campaign):
        wrong.append(f"{excess} units more than the budget are gone, and the log does not say why")
    for row in campaign.store.standings():
        if row.name == campaign.name and row.seq == facts.seq:
            kept, seen = (row.budget, row.spent, row.held), (facts.budget, facts.spent, facts.held)
            if kept != seen:
                wrong.append(f"the store has budget, spent, held {kept}, the log says {seen}")
    return wrong


def _explained(campaign: Campaign) -> int:
    """Return how many units may be gone beyond the budget, beside overruns, by the whole log.

    A cut of the budget, what was spent after a backup, costs that came after their hold was given
    back, and corrections: read only when a campaign is overdrawn for more than its overruns.
    """
    ended: set[str] = set()
    return sum(_more(event, ended) for event in campaign.events())


def _more(event: Event, ended: set[str]) -> int:
    body = event.body
    if event.kind == "budget-set":
        return max(0, int(body["before"]) - int(body["budget"]))
    if event.kind == "reconciled":
        return int(body["gap"])
    if event.kind == "adopted":
        return int(body["hold"])
    if event.kind in ("voided", "released", "lapsed"):
        ended.add(event.decision)
    elif event.kind == "corrected" or (event.kind == "told" and event.decision in ended):
        return int(body.get("cost") or 0)
    return 0
