"""What a service does by itself: end what is overdue, check sums and logs."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from bursar.campaign import Campaign
from bursar.campaign.events import (
    ADOPTED,
    BUDGET_SET,
    CORRECTED,
    ENDINGS,
    RECONCILED,
    TOLD,
)
from bursar.campaign.records import OPEN
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import BursarError, CorruptLedger
from bursar.ledger import Event

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "InvariantData",
    "find_violations",
    "load_invariant_data",
    "run_maintenance",
    "verify_all",
    "watch_invariants",
]

# ==== service.invariants
# Whether the money of a running campaign adds up; looked at every minute, and told to Prometheus.
#
# The database refuses grants beyond the budget by itself. This is the second look, at what is in
# memory: held is what open decisions hold, the row in the store says the same as the state, and more
# than the budget is gone only where the log says why.


class InvariantData(NamedTuple):
    """Sums of a campaign at one moment, in units; ``oldest`` is when its oldest hold was made."""

    seq: int
    budget: int
    spent: int
    held: int
    overrun: int
    holds: int
    open: int
    oldest: int | None


def load_invariant_data(transaction: Transaction) -> InvariantData:
    """Return the sums of a campaign: a work for :meth:`bursar.Campaign.together`."""
    state = transaction.state
    held = [choice for choice in state.decisions.values() if choice.money in OPEN]
    return InvariantData(
        state.seq, state.budget, state.spent, state.held, state.overrun,
        sum(choice.hold for choice in held), len(held),
        min((choice.ts for choice in held), default=None),
    )  # fmt: skip


def find_violations(campaign: Campaign) -> list[str]:
    """Return what does not add up, in words; usually nothing. Blocks."""
    [found] = campaign.execute_batch([load_invariant_data])
    if isinstance(found, BaseException):
        raise found
    facts: InvariantData = found
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
    for row in campaign.store.campaign_rows():
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
    if event.kind == BUDGET_SET:
        return max(0, int(body["before"]) - int(body["budget"]))
    if event.kind == RECONCILED:
        return int(body["gap"])
    if event.kind == ADOPTED:
        return int(body["hold"])
    if event.kind in ENDINGS:
        ended.add(event.decision)
    elif event.kind == CORRECTED or (event.kind == TOLD and event.decision in ended):
        return int(body.get("cost") or 0)
    return 0


_LOG = logging.getLogger("bursar.chores")
_MINUTE = 60.0
_DAY = 86_400.0


async def run_maintenance(service: Service, every: float = _MINUTE) -> None:
    """Do all of it until cancelled."""
    verified = time.monotonic()
    while not service.stopping:
        await asyncio.sleep(every)
        await watch_invariants(service)
        if time.monotonic() - verified >= _DAY:
            verified = time.monotonic()
            await service.run_in_thread(verify_all, service)


async def watch_invariants(service: Service) -> int:
    """End overdue holds and check the sums of all campaigns; return how many sums are wrong."""
    wrong = 0
    try:
        await service.run_in_thread(service.ping)
        names = [
            row.name
            for row in await service.run_in_thread(service.store.campaign_rows)
            if row.state != "closed" or row.held
        ]
    except BursarError as error:
        _LOG.error("the store cannot be written or read: %s", error)
        return 0
    for name in names:
        try:
            await service.submit(name, release_expired, urgent=True)
            found = await service.run_in_thread(_broken, service, name)
        except BursarError as error:
            _LOG.error("%s cannot be checked: %s", name, error, extra={"campaign": name})
            continue
        for fault in found:
            _LOG.error("%s does not add up: %s", name, fault, extra={"campaign": name})
        wrong += len(found)
    service.metrics.count_violations(wrong)
    return wrong


def verify_all(service: Service) -> int:
    """Check every log from its first event on; return how many are damaged. Blocks for long."""
    damaged = 0
    for name in service.names():
        try:
            service.campaign(name).verify()
        except CorruptLedger as error:
            _LOG.error("%s is damaged: %s", name, error, extra={"campaign": name})
            damaged += 1
        except BursarError as error:
            _LOG.error("%s cannot be verified: %s", name, error, extra={"campaign": name})
    service.metrics.count_mismatches(damaged)
    return damaged


def _broken(service: Service, name: str) -> list[str]:
    return find_violations(service.campaign(name))
