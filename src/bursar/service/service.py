"""The service: everything that a route or a page needs, in one place."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from bursar.campaign import Campaign
from bursar.campaign.opening import opened
from bursar.campaign.orphan import Seal
from bursar.errors import UnknownCampaign
from bursar.ledger import Store
from bursar.service.bell import Bell
from bursar.service.key import Key
from bursar.service.keys import Keys
from bursar.service.metrics import Metrics
from bursar.service.office import Office
from bursar.service.recent import Recent
from bursar.service.series import Shelf
from bursar.service.sessions import Sessions
from bursar.service.settings import Settings

__all__ = ["Service"]

P = ParamSpec("P")
T = TypeVar("T")

_READERS = 8  # threads that look things up


class Service:
    """Campaigns of one store, for many callers of an event loop.

    Parameters
    ----------
    storage : str or Store
        "memory", "sqlite:///file.db" or "postgresql://…".
    settings : Settings, optional
        How it is set up.
    """

    def __init__(self, storage: str | Store, settings: Settings | None = None) -> None:
        self.store = opened(storage)
        self.settings = settings or Settings()
        self.keys = Keys(self.store)
        self.sessions = Sessions(self.store, self.keys, secure=self.settings.secure_cookies)
        self.office = Office(self.settings.queue, self._served)
        self.metrics = Metrics()
        self.metrics.queue = self.office.waiting
        self.series = Shelf(self.store)
        self.seal = Seal(self.store)
        self.recent = Recent()
        self.stopping = False
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="look")
        self._campaigns: dict[str, Campaign] = {}
        self._bells: dict[str, Bell] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    # campaigns

    def campaign(self, name: str) -> Campaign:
        """Return a campaign, opened once and kept; blocks while it is opened."""
        found = self._campaigns.get(name)
        if found is None:
            if not name.isprintable():  # none is, and PostgreSQL cannot look for some of them
                raise UnknownCampaign(f"no campaign named {name!r}")
            try:
                opened_now = Campaign(name, storage=self.store)
            except UnknownCampaign:  # where the ledger is, is nobody's business
                raise UnknownCampaign(f"no campaign named {name!r}") from None
            with self._lock:  # of two who opened it at the same time, one counts
                found = self._campaigns.setdefault(name, opened_now)
        return found

    async def find(self, name: str) -> Campaign:
        """Return a campaign without keeping the event loop waiting."""
        found = self._campaigns.get(name)
        return await self.look(self.campaign, name) if found is None else found

    def names(self) -> list[str]:
        """Return the campaigns there are; blocks."""
        return self.store.names()

    # work

    async def do(
        self, name: str, work: Any, *, urgent: bool = False, deadline: float | None = None
    ) -> Any:
        """Have work done in the line of a campaign, many with one commit; return its result.

        Parameters
        ----------
        name : str
            The campaign.
        work : callable
            What :mod:`bursar.campaign.request` makes.
        urgent : bool
            Whether it goes before asks.
        deadline : float, optional
            Time (of ``time.monotonic``) after which it is dropped if it is still in line.
        """
        campaign = self._campaigns.get(name)
        if campaign is None:
            campaign = await self.look(self.campaign, name)
        return await self.office.do(campaign, work, urgent, deadline)

    async def look(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call what blocks in a thread, and return what it returns."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))

    async def change(
        self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call what changes a campaign in a thread, then wake those who watch it."""
        result = await self.look(function, *args, **kwargs)
        self._ring(name)
        return result

    # watching

    async def admits(self, key: Key) -> bool:
        """Tell whether a key that was let in is still live; for streams, which outlive requests."""
        if self.settings.open:
            return True
        if not self.keys.recent():
            await self.look(self.keys.refresh)
        return self.keys.named(key.id) is not None

    async def watch(self, name: str, key: Key) -> AsyncIterator[int | None]:
        """Yield the newest number of the log whenever it grew; None is a sign of life.

        Own commits are seen at once, those of other processes within a second. Ends when the
        service stops, or when the key does.
        """
        campaign = await self.find(name)
        self._loop = asyncio.get_running_loop()
        bell = self._bells.get(name)
        if bell is None:
            bell = self._bells[name] = Bell(lambda: self.look(lambda: campaign.status().seq))
        if not self.stopping:
            async for seq in bell.watch():
                if not await self.admits(key):
                    return
                yield seq

    def _ring(self, name: str) -> None:
        bell = self._bells.get(name)
        if bell is not None:
            bell.ring()

    def _served(self, name: str, works: int, seconds: float) -> None:
        self.metrics.committed(seconds, works)
        self._ring(name)

    # the end

    def stop(self) -> None:
        """Say that the end is near, from any thread: streams end, readiness says no."""
        self.stopping = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._send_home)

    def _send_home(self) -> None:
        for bell in self._bells.values():
            bell.close()

    def close(self) -> None:
        """Serve what is in line, then give back files and connections; blocks."""
        self.stop()
        self.office.close()
        self._pool.shutdown(wait=True)
        self.store.close()
