"""What a service does by itself: end what is overdue, check sums and logs."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from bursar.campaign.reaping import reap
from bursar.errors import BursarError, CorruptLedger
from bursar.service.invariants import broken

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["chores", "verify_all", "watch_over"]

_LOG = logging.getLogger("bursar.chores")
_MINUTE = 60.0
_DAY = 86_400.0


async def chores(service: Service, every: float = _MINUTE) -> None:
    """Do all of it until cancelled."""
    verified = time.monotonic()
    while not service.stopping:
        await asyncio.sleep(every)
        await watch_over(service)
        if time.monotonic() - verified >= _DAY:
            verified = time.monotonic()
            await service.look(verify_all, service)


async def watch_over(service: Service) -> int:
    """End overdue holds and check the sums of all campaigns; return how many sums are wrong."""
    wrong = 0
    try:
        await service.look(_time_a_write, service)
        names = [
            row.name
            for row in await service.look(service.store.standings)
            if row.state != "closed" or row.held
        ]
    except BursarError as error:
        _LOG.error("the store cannot be written or read: %s", error)
        return 0
    for name in names:
        try:
            await service.do(name, reap, urgent=True)
            found = await service.look(_broken, service, name)
        except BursarError as error:
            _LOG.error("%s cannot be checked: %s", name, error, extra={"campaign": name})
            continue
        for fault in found:
            _LOG.error("%s does not add up: %s", name, fault, extra={"campaign": name})
        wrong += len(found)
    service.metrics.violated(wrong)
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
    service.metrics.mismatched(damaged)
    return damaged


def _broken(service: Service, name: str) -> list[str]:
    return broken(service.campaign(name))


def _time_a_write(service: Service) -> None:
    start = time.perf_counter()
    service.store.ping()
    service.metrics.synced(time.perf_counter() - start)
