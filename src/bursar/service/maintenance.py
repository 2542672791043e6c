"""What a service does regularly: release expired holds, check the sums, verify the logs.

The database itself refuses grants beyond the budget. The check of the sums is a second safeguard
over the state in memory: the money held is that of the open decisions, the row in the store equals
the state, and more than the budget is used only where the log explains it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from bursar.campaign import Campaign
from bursar.campaign.events import ADOPTED, BUDGET_SET, CORRECTED, ENDINGS, RECONCILED, TOLD
from bursar.campaign.records import OPEN
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import BursarError, CorruptLedger
from bursar.ledger import Event

if TYPE_CHECKING:
    from bursar.service.service import Service

_LOG = logging.getLogger("bursar.chores")
_MINUTE = 60.0
_DAY = 86_400.0


async def run_maintenance(service: Service, every: float = _MINUTE) -> None:
    """Check the sums every minute and verify the logs every day, until cancelled."""
    verified = time.monotonic()
    while not service.stopping:
        await asyncio.sleep(every)
        await check_all(service)
        if time.monotonic() - verified >= _DAY:
            verified = time.monotonic()
            await service.run_in_thread(verify_all, service)


async def check_all(service: Service) -> int:
    """Release expired holds and check the sums of all campaigns; return how many are wrong."""
    violations = 0
    try:
        await service.run_in_thread(service.ping)
        rows = await service.run_in_thread(service.store.campaign_rows)
    except BursarError as error:
        _LOG.error("the store cannot be written or read: %s", error)
        return 0
    for name in [row.name for row in rows if row.state != "closed" or row.held]:
        try:
            await service.submit(name, release_expired, urgent=True)
            campaign = await service.find_campaign(name)
            found = await service.run_in_thread(find_violations, campaign)
        except BursarError as error:
            _LOG.error("%s cannot be checked: %s", name, error, extra={"campaign": name})
            continue
        for one in found:
            _LOG.error("%s does not add up: %s", name, one, extra={"campaign": name})
        violations += len(found)
    service.metrics.violations.inc(violations)
    return violations


def verify_all(service: Service) -> int:
    """Verify every log from its first event; return the number of damaged ones. Blocks for long."""
    damaged = 0
    for name in service.store.names():
        try:
            service.campaign(name).verify()
        except CorruptLedger as error:
            _LOG.error("%s is damaged: %s", name, error, extra={"campaign": name})
            damaged += 1
        except BursarError as error:
            _LOG.error("%s cannot be verified: %s", name, error, extra={"campaign": name})
    service.metrics.mismatches.inc(damaged)
    return damaged


class InvariantData(NamedTuple):
    """Sums of a campaign at one moment, in units; ``oldest`` is the time of its oldest hold."""

    seq: int
    budget: int
    spent: int
    held: int
    overrun: int
    holds: int
    open: int
    oldest: int | None


def load_invariant_data(transaction: Transaction) -> InvariantData:
    """Return the sums of a campaign; a command for :meth:`bursar.Campaign.execute_batch`."""
    state = transaction.state
    held = [one for one in state.decisions.values() if one.money in OPEN]
    return InvariantData(
        seq=state.seq, budget=state.budget, spent=state.spent, held=state.held,
        overrun=state.overrun, holds=sum(one.hold for one in held), open=len(held),
        oldest=min((one.ts for one in held), default=None),
    )  # fmt: skip


def find_violations(campaign: Campaign) -> list[str]:
    """Return descriptions of the sums that do not add up; blocks."""
    [data] = campaign.execute_batch([load_invariant_data])
    if isinstance(data, BaseException):
        raise data
    found = []
    if data.held != data.holds:
        found.append(f"{data.held} units are held, but open decisions hold {data.holds}")
    if min(data.spent, data.held, data.overrun) < 0:
        found.append(f"spent {data.spent}, held {data.held} or overrun {data.overrun} is below 0")
    excess = data.spent + data.held - data.budget
    if excess > data.overrun and excess > data.overrun + _explained_excess(campaign):
        found.append(f"{excess} units more than the budget are used, and the log does not say why")
    for row in campaign.store.campaign_rows():
        if row.name == campaign.name and row.seq == data.seq:
            stored = row.budget, row.spent, row.held
            logged = data.budget, data.spent, data.held
            if stored != logged:
                found.append(
                    f"budget, spent and held are {stored} in the store, {logged} by the log"
                )
    return found


def _explained_excess(campaign: Campaign) -> int:
    """Return the units beyond the budget that the log explains, except for overruns.

    These are cuts of the budget, spending after a backup, costs that came after their hold was
    released, and corrections. Only a campaign that is overdrawn beyond its overruns is read.
    """
    ended: set[str] = set()
    return sum(_excess(event, ended) for event in campaign.events())


def _excess(event: Event, ended: set[str]) -> int:
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
