"""The service: everything that a route or a page needs, in one place."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from bursar.campaign import Campaign
from bursar.campaign.committer import Command, PendingCommand
from bursar.campaign.creation import open_store
from bursar.campaign.tokens import TokenSigner
from bursar.errors import BursarError, UnknownCampaign
from bursar.ledger import Store
from bursar.service.auth import Sessions
from bursar.service.config import ServiceConfig
from bursar.service.keys import Key, Keys
from bursar.service.responses import HTTPProblem
from bursar.service.series import SeriesCache
from bursar.service.telemetry import Metrics

__all__ = ["ChangeNotifier", "RecentIds", "Service"]

# ==== service.recent
# Recent decisions: which campaign they belong to, without a look into the store.


class RecentIds:
    """The newest decisions whose ids were made here, so that no other campaign can have them.

    Ids that callers choose are not kept: another process may have given the same id to another
    campaign a moment ago, and then the money would be booked in the wrong one.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._most = most
        self._campaigns: dict[str, str] = {}
        self._order: deque[str] = deque()

    def add(self, decision: str, campaign: str) -> None:
        """Remember a decision, and forget the oldest if there are too many."""
        self._campaigns[decision] = campaign
        self._order.append(decision)
        if len(self._order) > self._most:
            self._campaigns.pop(self._order.popleft(), None)

    def get(self, decision: str) -> str | None:
        """Return the campaign of a decision, if it is remembered."""
        return self._campaigns.get(decision)


# ==== service.bell
# A bell: rings for all who watch a campaign when its log has grown, in whatever process.

_POLL = 1.0  # seconds between looks for what other processes wrote
_PAUSE = 0.1  # seconds between two rings at least, however busy the campaign is
_BEAT = 15.0  # seconds without news after which a watcher gets a sign of life


class ChangeNotifier:
    """One campaign that is watched.

    Parameters
    ----------
    head : callable
        Awaited for the number of the newest event.
    """

    def __init__(self, head: Callable[[], Awaitable[int]]) -> None:
        self._head = head
        self._seq = 0
        self._watchers: set[asyncio.Event] = set()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def ring(self) -> None:
        """Say that something may have been committed; on the event loop."""
        self._news.set()

    def close(self) -> None:
        """Send all watchers home; on the event loop."""
        self._closed = True
        self._news.set()
        for watcher in self._watchers:
            watcher.set()

    async def watch(self) -> AsyncIterator[int | None]:
        """Yield the number of the newest event whenever it grew, and None as a sign of life."""
        mine = asyncio.Event()
        self._watchers.add(mine)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look())
        seen = 0
        try:
            while not self._closed:
                if self._seq > seen:
                    seen = self._seq
                    yield seen
                    continue
                mine.clear()
                try:
                    await asyncio.wait_for(mine.wait(), _BEAT)
                except TimeoutError:
                    yield None
        finally:
            self._watchers.discard(mine)
            if not self._watchers:
                self._news.set()  # nobody is left: the one who looks may go, too

    async def _look(self) -> None:
        try:
            while self._watchers and not self._closed:
                self._news.clear()
                try:
                    newest = await self._head()
                except BursarError:
                    newest = self._seq  # a store that is away for a moment; look again
                if newest > self._seq:
                    self._seq = newest
                    for watcher in self._watchers:
                        watcher.set()
                    await asyncio.sleep(_PAUSE)
                try:
                    await asyncio.wait_for(self._news.wait(), _POLL)
                except TimeoutError:
                    continue
        finally:
            self._task = None


P = ParamSpec("P")
T = TypeVar("T")

_READERS = 8  # threads that look things up
_PING_SECONDS = 1.0  # for which the result of a ping stands


class Service:
    """Campaigns of one store, for many callers of an event loop.

    Parameters
    ----------
    storage : str or Store
        "memory", "sqlite:///file.db" or "postgresql://…".
    config : ServiceConfig, optional
        How it is set up.
    """

    def __init__(self, storage: str | Store, config: ServiceConfig | None = None) -> None:
        self.store = open_store(storage)
        self.config = config or ServiceConfig()
        self.keys = Keys(self.store)
        self.sessions = Sessions(self.store, self.keys, secure=self.config.secure_cookies)
        self.metrics = Metrics()
        self.metrics.queue = self.queued
        self.series = SeriesCache(self.store)
        self.signer = TokenSigner(self.store)
        self.recent = RecentIds()
        self.stopping = False
        self._ping_time = -_PING_SECONDS
        self._ping_error: BursarError | None = None
        self._closed = False
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="look")
        self._campaigns: dict[str, Campaign] = {}
        self._bells: dict[str, ChangeNotifier] = {}
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

    async def find_campaign(self, name: str) -> Campaign:
        """Return a campaign without keeping the event loop waiting."""
        found = self._campaigns.get(name)
        return await self.run_in_thread(self.campaign, name) if found is None else found

    def names(self) -> list[str]:
        """Return the campaigns there are; blocks."""
        return self.store.names()

    # work

    async def submit(
        self, name: str, command: Command, *, urgent: bool = False, deadline: float | None = None
    ) -> Any:
        """Run a command of a campaign, many with one commit; return its result.

        Parameters
        ----------
        name : str
            The campaign.
        command : callable
            One of :mod:`bursar.campaign.commands`.
        urgent : bool
            Whether it goes before asks.
        deadline : float, optional
            Time (of ``time.monotonic``) after which it is dropped if it is still queued.
        """
        campaign = self._campaigns.get(name)
        if campaign is None:
            campaign = await self.run_in_thread(self.campaign, name)
        if self._closed:
            raise HTTPProblem("stopping", "the service is stopping; nothing was reserved")
        future = asyncio.get_running_loop().create_future()
        pending = PendingCommand(command, future, deadline, self._committed)
        campaign.submit(pending, urgent, self.config.queue)
        return await future

    def queued(self) -> dict[str, int]:
        """Return how many commands are queued now, by campaign."""
        return {name: campaign.waiting for name, campaign in self._campaigns.copy().items()}

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call what blocks in a thread, and return what it returns."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))

    async def change(
        self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call what changes a campaign in a thread, then wake those who watch it."""
        result = await self.run_in_thread(function, *args, **kwargs)
        self._ring(name)
        return result

    async def check_writable(self) -> None:
        """Raise unless the store could be written within the last second.

        Requests without a key end here, so they must not make the disk work.
        """
        if time.monotonic() - self._ping_time >= _PING_SECONDS:
            self._ping_time = time.monotonic()
            self._ping_error = None
            try:
                await self.run_in_thread(self.ping)
            except BursarError as error:
                self._ping_error = error
        if self._ping_error is not None:
            raise self._ping_error

    def ping(self) -> None:
        """Write a row, and measure how long that takes; blocks."""
        start = time.perf_counter()
        self.store.ping()
        self.metrics.observe_sync(time.perf_counter() - start)

    # watching

    async def is_admitted(self, key: Key) -> bool:
        """Tell whether a key that was let in is still live; for streams, which outlive requests."""
        if not self.config.require_keys:
            return True
        if not self.keys.is_recent():
            await self.run_in_thread(self.keys.refresh)
        return self.keys.find_by_id(key.id) is not None

    async def watch(self, name: str, key: Key) -> AsyncIterator[int | None]:
        """Yield the newest number of the log whenever it grew; None is a sign of life.

        Own commits are seen at once, those of other processes within a second. Ends when the
        service stops, or when the key does.
        """
        campaign = await self.find_campaign(name)
        self._loop = asyncio.get_running_loop()
        bell = self._bells.get(name)
        if bell is None:
            bell = self._bells[name] = ChangeNotifier(
                lambda: self.run_in_thread(lambda: campaign.status().seq)
            )
        if not self.stopping:
            async for seq in bell.watch():
                if not await self.is_admitted(key):
                    return
                yield seq

    def _ring(self, name: str) -> None:
        bell = self._bells.get(name)
        if bell is not None:
            bell.ring()

    def _committed(self, name: str, commands: int, seconds: float) -> None:
        self.metrics.observe_commit(seconds, commands)
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
        """Commit what is queued, then close files and connections; blocks."""
        self.stop()
        self._closed = True
        for campaign in self._campaigns.copy().values():
            campaign.close()  # not the store, which is ours
        self._pool.shutdown(wait=True)
        self.store.close()
