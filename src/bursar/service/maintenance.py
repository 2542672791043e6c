"""What a service does regularly: release expired holds, check sums and rates, verify the logs.

The database itself refuses grants beyond the budget. The check of the sums is a second safeguard
over the state in memory: the money held is that of the open decisions, the row in the store equals
the state, and more than the budget is used only where the log explains it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from copy import copy
from typing import TYPE_CHECKING

from msgspec import Struct

from bursar.campaign import Campaign
from bursar.campaign.audit import load_verifications, save_verification
from bursar.campaign.events import ADOPTED, BUDGET_SET, CORRECTED, ENDINGS, RECONCILED, TOLD
from bursar.campaign.records import OPEN, DecisionRecord
from bursar.campaign.state import State
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import BursarError, CorruptLedger
from bursar.ledger import Event

if TYPE_CHECKING:
    from bursar.service.service import Service

_LOG = logging.getLogger("bursar.chores")
_MINUTE = 60.0
_DAY = 86_400_000_000  # µs
_REST = 4.0  # times as long as a slice of a verification takes
_LONGEST_REST = 0.5  # seconds


async def run_maintenance(service: Service, every: float = _MINUTE) -> None:
    """Check the sums every minute, and verify the logs every day, until cancelled."""

    async def repeat(work: Callable[[Service], Awaitable[int]], failure: str) -> None:
        while not service.stopping:
            try:
                await work(service)
            except Exception as error:
                _report(service, error, failure)
            await asyncio.sleep(every)

    def verify(service: Service) -> Awaitable[int]:
        # not in one of the service's own threads, which requests wait for
        return asyncio.to_thread(verify_overdue, service)

    verification = asyncio.create_task(repeat(verify, "the verification of the logs failed"))
    try:
        await asyncio.sleep(every)
        await repeat(check_all, "the check of the campaigns failed")
    finally:
        verification.cancel()


async def check_all(service: Service) -> int:
    """Release expired holds and check the sums of all campaigns; return how many are wrong."""
    violations = 0
    try:
        await service.run_in_thread(service.ping)
        rows = await service.run_in_thread(service.store.campaign_rows)
    except Exception as error:
        _report(service, error, "the store cannot be written or read")
        return 0
    for name in [row.name for row in rows if row.state != "closed" or row.held]:
        try:
            await service.submit(name, release_expired, urgent=True)
            campaign = await service.find_campaign(name)
            found = await service.run_in_thread(find_violations, campaign, service.explained)
            await service.run_in_thread(watch_rate, campaign)
        except Exception as error:  # the others must be checked all the same
            _report(service, error, f"{name} cannot be checked", name)
            continue
        campaign.committer.alarms.pop("maintenance", None)
        for one in found:
            _LOG.error("%s does not add up: %s", name, one, extra={"campaign": name})
        violations += len(found)
    service.metrics.violations.inc(violations)
    return violations


def _report(service: Service, error: Exception, what: str, name: str = "") -> None:
    """Log and count a failure; the campaign, if it is one that is open, gets an alarm."""
    trace = None if isinstance(error, BursarError) else error
    message = f"{what}: {error if trace is None else repr(error)}"
    _LOG.error("%s", message, exc_info=trace, extra={"campaign": name})
    service.metrics.maintenance_failures.inc()
    service.raise_alarm(name, "maintenance", message)


class _StoppingError(Exception):
    """The service stops, so a verification ends where it is."""


def verify_overdue(service: Service) -> int:
    """Verify the logs that were not verified for a day; return the number of damaged ones.

    The time of the last verification is in the store, so that a service that is restarted every
    day verifies its logs, and one of several processes does it for all. It works for a fifth of
    the time, in slices of some milliseconds.
    """
    damaged, began = 0, time.monotonic()

    def pause() -> None:
        nonlocal began
        if service.stopping:
            raise _StoppingError
        time.sleep(min(_REST * (time.monotonic() - began), _LONGEST_REST))
        began = time.monotonic()

    for name in service.store.names():
        last = load_verifications(service.store)[name]
        if last.error:
            service.raise_alarm(name, "verification", f"the log is damaged: {last.error}")
        if 0 <= time.time_ns() // 1000 - last.at < _DAY:
            continue
        try:
            service.campaign(name).verify(pause=pause)
        except _StoppingError:
            break
        except CorruptLedger as error:
            damaged += 1
            _LOG.error("%s is damaged: %s", name, error, extra={"campaign": name})
            service.metrics.mismatches.inc()
            # also for one that cannot even be opened
            save_verification(service.store, name, time.time_ns() // 1000, str(error))
        except Exception as error:
            _report(service, error, f"{name} cannot be verified", name)
    return damaged


def watch_rate(campaign: Campaign) -> None:
    """Log a sudden change of the rate of spending when it is found; it is an alarm for a day."""
    before, alarms = campaign.committer.rate_change, campaign.alarms
    if before is None and campaign.committer.rate_change is not None:
        said = next(one for one in alarms if one.startswith(f"{campaign.name}: it spends"))
        _LOG.warning("%s", said, extra={"campaign": campaign.name})


def copy_sums(transaction: Transaction) -> tuple[State, list[DecisionRecord]]:
    """Return a state whose sums no longer change, and its decisions that hold money.

    It is a command for :meth:`bursar.Campaign.execute_batch`.
    """
    state = copy(transaction.state)
    return state, [one for one in state.decisions.values() if one.money in OPEN]


def find_violations(
    campaign: Campaign, explained: dict[str, ExplainedExcess] | None = None
) -> list[str]:
    """Return descriptions of the sums that do not add up; blocks.

    ``explained`` remembers, by campaign, what the log explained before.
    """
    [result] = campaign.execute_batch([copy_sums])
    if isinstance(result, BaseException):
        raise result
    state, decisions = result
    spent, held, overrun = state.spent, state.held, state.overrun
    holds = sum(one.hold for one in decisions)
    found = []
    if held != holds:
        found.append(f"{held} units are held, but open decisions hold {holds}")
    if min(spent, held, overrun) < 0:
        found.append(f"spent {spent}, held {held} or overrun {overrun} is below 0")
    excess = spent + held - state.budget
    known = {} if explained is None else explained
    if excess > overrun and excess > overrun + _explain_excess(campaign, known):
        found.append(f"{excess} units more than the budget are used, and the log does not say why")
    for row in campaign.store.campaign_rows():
        if row.name == campaign.name and row.seq == state.seq:
            stored, logged = (row.budget, row.spent, row.held), (state.budget, spent, held)
            if stored != logged:
                found.append(
                    f"budget, spent and held are {stored} in the store, {logged} by the log"
                )
    return found


class ExplainedExcess(Struct):
    """The units beyond the budget that a log explains up to an event, except for overruns."""

    seq: int = 0
    hash: bytes = b""
    units: int = 0
    ended: set[str] = set()  # decisions whose hold ended without a cost


def _explain_excess(campaign: Campaign, known: dict[str, ExplainedExcess]) -> int:
    """Return the units beyond the budget that the log explains, except for overruns.

    These are cuts of the budget, spending after a backup, costs that came after their hold was
    released, and corrections. Only a campaign that is overdrawn beyond its overruns is read, and
    only what is new since the last time.
    """
    name, store = campaign.name, campaign.store
    found = known.pop(name, None) or ExplainedExcess()
    if found.seq:
        last = next(store.read(name, found.seq - 1), None)
        if last is None or last[1] != found.hash:  # another log: it was restored from a backup
            found = ExplainedExcess()
    for event, digest in store.read(name, found.seq):
        found.units += _excess(event, found.ended)
        found.seq, found.hash = event.seq, digest
    known[name] = found
    return found.units


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
