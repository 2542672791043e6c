"""The service: the campaigns of a store, for the routes and pages that serve them."""

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.types import Receive

from bursar.campaign import Campaign
from bursar.campaign.committer import Command, Committer, DeadlinePassed, PendingCommand
from bursar.campaign.creation import open_store
from bursar.campaign.decision import TokenSigner
from bursar.errors import BursarError, Overloaded, UnknownCampaign
from bursar.ledger import Store
from bursar.ledger.store import READ_STOPPED, ReadStopped
from bursar.service.auth import Sessions
from bursar.service.keys import Key, Keys
from bursar.service.maintenance import ExplainedExcess
from bursar.service.middleware import RateLimit
from bursar.service.requests import request_deadline
from bursar.service.responses import HTTPProblem
from bursar.service.series import SeriesCache
from bursar.service.telemetry import Metrics

P = ParamSpec("P")
T = TypeVar("T")

_READERS = 8  # threads for calls that block
_HEAVY = 2  # heavy reads that run at once
_HEAVY_WAITING = 32  # that may wait
_HEAVY_SECONDS = 30.0  # that one may wait
_RECENT = 100_000  # decisions that are remembered
_LOGINS, _LOGINS_AT_ONCE = 0.5, 20.0  # failed logins per second and address, with bursts
_PING_SECONDS = 1.0  # for which the result of a ping is valid


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """Where a service listens, and what it allows.

    Attributes
    ----------
    host, port
        The address.
    allowed_hosts : tuple of str
        Host names that requests may use in addition to ``host``.
    require_keys : bool
        Whether requests need a key; False is for demos and tests on one machine.
    body_limit, batch_limit : int
        Largest body in bytes, and largest body with many outcomes.
    rate : float
        Requests per second and key; 0 for no limit.
    queue : int
        Commands of a campaign that may be queued.
    docs_url : str
        Prefix of the type of a problem, such as the address of a page; the code follows.
    reports : Path or None
        A folder with reports of ``bursar reproduce``.
    secure_cookies : bool
        Whether cookies are sent over HTTPS only.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    allowed_hosts: tuple[str, ...] = ()
    require_keys: bool = True
    body_limit: int = 65_536
    batch_limit: int = 1_048_576
    rate: float = 0.0
    queue: int = 4096
    docs_url: str = "urn:bursar:problem:"
    reports: Path | None = None
    secure_cookies: bool = False


class Service:
    """Campaigns of one store, for many callers on an event loop.

    Parameters
    ----------
    storage : str or Store
        "memory", "sqlite:///file.db" or "postgresql://…".
    config : ServiceConfig, optional
        Its configuration.
    """

    def __init__(self, storage: str | Store, config: ServiceConfig | None = None) -> None:
        self.store = open_store(storage)
        self.config = config or ServiceConfig()
        self.keys = Keys(self.store)
        self.sessions = Sessions(self.store, self.keys, secure=self.config.secure_cookies)
        self.failed_logins = RateLimit(_LOGINS, "failed logins", _LOGINS_AT_ONCE)  # by address
        self.metrics = Metrics(self)
        self.series = SeriesCache(self.store)
        self.signer = TokenSigner(self.store)
        self.recent = RecentIds()
        self.explained: dict[str, ExplainedExcess] = {}
        self.stopping = False
        self._closed = False
        self._ping_time = -_PING_SECONDS
        self._ping_error: BursarError | None = None
        self._pool = ThreadPoolExecutor(_READERS, thread_name_prefix="reader")
        # of their own, so that no read delays the check of a key, nor a store that hangs
        self._key_pool = ThreadPoolExecutor(2, thread_name_prefix="keys")
        self._ping_pool = ThreadPoolExecutor(1, thread_name_prefix="ping")
        self._heavy = HeavyReads()
        self._campaigns: dict[str, Campaign] = {}
        self._openings: dict[str, asyncio.Task[Campaign]] = {}
        self._notifiers: dict[str, ChangeNotifier] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    # campaigns

    def campaign(self, name: str) -> Campaign:
        """Return a campaign, which is opened once; blocks while it is opened."""
        found = self._campaigns.get(name)
        if found is None:
            if not name.isprintable():  # no name is, and PostgreSQL rejects some of them
                raise UnknownCampaign(f"no campaign named {name!r}")
            try:
                opened = Campaign(name, storage=self.store)
            except UnknownCampaign:  # do not reveal where the ledger is
                raise UnknownCampaign(f"no campaign named {name!r}") from None
            with self._lock:  # if two threads opened it, keep one
                found = self._campaigns.setdefault(name, opened)
        return found

    async def find_campaign(self, name: str) -> Campaign:
        """Return a campaign without blocking the event loop."""
        found = self._campaigns.get(name)
        if found is not None:
            return found
        # opened once for all who wait: a campaign with many open decisions takes time and memory
        opening = self._openings.get(name)
        if opening is None:
            loop = asyncio.get_running_loop()
            opening = loop.create_task(self.run_in_thread(self.campaign, name))
            self._openings[name] = opening
            opening.add_done_callback(lambda _: self._openings.pop(name, None))
        return await asyncio.shield(opening)

    async def submit(
        self,
        name: str,
        command: Command[Any],
        *,
        urgent: bool = False,
        deadline: float | None = None,
    ) -> Any:
        """Run a command of :mod:`bursar.campaign.commands`, many with one commit.

        An urgent one goes before asks. One that is still queued at the deadline, a time of
        ``time.monotonic``, is dropped.
        """
        campaign = self._campaigns.get(name) or await self.find_campaign(name)
        if self._closed:
            raise HTTPProblem("stopping", "the service is stopping; nothing was reserved")
        future = asyncio.get_running_loop().create_future()
        pending = PendingCommand(command, future, deadline, self._on_commit)
        campaign.committer.submit(pending, urgent, self.config.queue)
        return await future

    def _on_commit(self, name: str, commands: int, seconds: float) -> None:
        self.metrics.commit_seconds.observe(seconds)
        self.metrics.batch_size.observe(commands)
        self._notify(name)

    def committers(self) -> dict[str, Committer]:
        """Return the queues of the campaigns that are open."""
        return {name: one.committer for name, one in self._campaigns.copy().items()}

    def queued(self) -> dict[str, int]:
        """Return how many commands are queued now, by campaign."""
        return {name: len(one) for name, one in self.committers().items()}

    def raise_alarm(self, name: str, what: str, message: str) -> None:
        """Add an alarm to a campaign, if it is open; the next success of ``what`` removes it."""
        campaign = self._campaigns.get(name)
        if campaign is not None:
            campaign.committer.alarms[what] = message

    async def change(
        self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function that changes a campaign in a thread, then notify its watchers."""
        result = await self.run_in_thread(function, *args, **kwargs)
        self._notify(name)
        return result

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that blocks for a short time in a thread, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **kwargs))

    async def run_for_keys(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that reads keys in a thread that nothing else uses."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._key_pool, lambda: function(*args, **kwargs))

    async def run_heavy(
        self, request: Request, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Call a function that reads much of a log; few run at once, see :class:`HeavyReads`."""
        deadline = request_deadline(request)
        return await self._heavy.run(lambda: function(*args, **kwargs), request.receive, deadline)

    async def stream_heavy(self, request: Request, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Return pieces that are made in threads; the first is made now, or the call refused."""
        first = await self.run_heavy(request, next, pieces, b"")

        async def stream() -> AsyncIterator[bytes]:
            piece = first
            while piece:
                yield piece
                piece = await self._heavy.run(lambda: next(pieces, b""))

        return stream()

    # the store

    async def check_writable(self) -> None:
        """Raise unless the store could be written within the last second.

        The result is kept for that long, so that requests without a key cannot load the disk.
        """
        if time.monotonic() - self._ping_time >= _PING_SECONDS:
            self._ping_time = time.monotonic()
            loop = asyncio.get_running_loop()
            try:
                await loop.run_in_executor(self._ping_pool, self.ping)
                self._ping_error = None
            except BursarError as error:
                self._ping_error = error
        if self._ping_error is not None:
            raise self._ping_error

    def ping(self) -> None:
        """Write a row and record how long that takes; blocks."""
        start = time.perf_counter()
        self.store.ping()
        self.metrics.sync_seconds.observe(time.perf_counter() - start)

    # watching

    async def watch(self, name: str, key: Key, session: str = "") -> AsyncIterator[int | None]:
        """Yield the number of the newest event when it has grown, and None as a heartbeat.

        Commits of this process are seen at once, those of others within a second. The iteration
        ends when the service stops, or the key or the session is no longer live.
        """
        await self.find_campaign(name)
        self._loop = asyncio.get_running_loop()
        if name not in self._notifiers:
            # from the store: the queue of the campaign is for commands
            self._notifiers[name] = ChangeNotifier(
                lambda: self.run_in_thread(self.store.last_seq, name)
            )
        if not self.stopping:
            async for seq in self._notifiers[name].watch():
                if not await self.is_admitted(key, session):
                    return
                yield seq

    async def read_shared(
        self, name: str, after: int, newest: int, load: Callable[[int, int], T]
    ) -> T:
        """Return what a function of a watcher loads of the log after one event up to another.

        Watchers that follow the end of the log are at the same event: it is loaded once for all.
        """
        if newest - after > _NEAR:
            return await self._heavy.run(lambda: load(after, newest))
        return await self._notifiers[name].share(
            (after, newest), lambda: self.run_in_thread(load, after, newest)
        )

    async def is_admitted(self, key: Key, session: str = "") -> bool:
        """Tell whether a key and a session are still live, for streams, which outlive requests."""
        if not self.config.require_keys:
            return True
        if not self.keys.is_recent():
            await self.run_for_keys(self.keys.refresh)
        if session:
            ended = await self.run_for_keys(self.sessions.has_ended, session)
            if ended:
                return False
        return self.keys.find_by_id(key.id) is not None

    def _notify(self, name: str) -> None:
        if name in self._notifiers:
            self._notifiers[name].notify()

    # shutdown

    def stop(self) -> None:
        """Begin shutdown (thread-safe): end streams and fail readiness."""
        self.stopping = True
        for notifier in self._notifiers.copy().values():
            if self._loop is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(notifier.close)

    def close(self) -> None:
        """Commit what is queued, then close files and connections; blocks."""
        self.stop()
        self._closed = True
        for campaign in self._campaigns.copy().values():
            campaign.close()  # it does not close the store, which it did not open
        self._heavy.close()
        for pool in (self._pool, self._key_pool, self._ping_pool):
            pool.shutdown(wait=True)
        self.store.close()


class HeavyReads:
    """Runs reads that take long, such as explanations and exports: two at once, others wait.

    At most 32 wait, for 30 seconds at most; more are refused before they cost anything. A read
    whose caller has left is dropped before it starts, or stopped when it next reads from the log.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_HEAVY, thread_name_prefix="heavy")
        self._stopped = False
        self._unfinished = 0

    async def run(
        self,
        function: Callable[[], T],
        receive: Receive | None = None,
        deadline: float | None = None,
    ) -> T:
        """Call a function in a thread, unless ``receive`` says that the caller has left.

        ``deadline`` is a time of ``time.monotonic`` by which the function must have returned. A
        call without ``receive`` makes the next piece of a response that has begun; it is never
        refused.
        """
        if receive is not None and self._unfinished >= _HEAVY + _HEAVY_WAITING:
            raise Overloaded(
                f"{_HEAVY_WAITING} long reads are waiting; nothing was read, try again in a moment"
            )
        unwanted, context = threading.Event(), Context()
        context.run(READ_STOPPED.set, lambda: self._stopped or unwanted.is_set())
        job = self._pool.submit(context.run, function)
        result = asyncio.wrap_future(job)
        self._unfinished += 1
        try:
            if receive is not None:
                await _wait_for_result(job, result, receive, deadline)
            return await result
        finally:
            self._unfinished -= 1
            unwanted.set()
            result.cancel()  # and the job with it, if it has not started

    def close(self) -> None:
        """Stop what is read, drop what waits; blocks until the threads have ended."""
        self._stopped = True
        self._pool.shutdown(wait=True, cancel_futures=True)


async def _wait_for_result(
    job: Future[T], result: asyncio.Future[T], receive: Receive, deadline: float | None
) -> None:
    """Wait until a job has ended; raise if its caller leaves, or if it does not start in time."""
    latest = time.monotonic() + _HEAVY_SECONDS  # to start
    left = asyncio.ensure_future(_wait_for_disconnect(receive))
    both: set[asyncio.Future[Any]] = {result, left}
    try:
        while not result.done():
            until = deadline if job.running() else min(latest, deadline or latest)
            rest = None if until is None else until - time.monotonic()
            if rest is not None and rest <= 0.0:
                raise DeadlinePassed("the read did not end before its deadline; it was dropped")
            await asyncio.wait(both, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
            if left.done() and not result.done():
                raise ReadStopped("the caller has left; the read was dropped")
    finally:
        left.cancel()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class RecentIds(OrderedDict[str, str]):
    """The campaigns of the newest decisions whose ids were generated here.

    Ids that callers choose are not remembered: another process may have given the same id to
    another campaign, and the outcome would be booked in the wrong one.
    """

    def add(self, decision: str, campaign: str) -> None:
        """Remember a decision, and forget the oldest if there are too many."""
        self[decision] = campaign
        if len(self) > _RECENT:
            self.popitem(last=False)


_POLL = 1.0  # seconds between reads of what other processes wrote
_PAUSE = 0.1  # seconds between two notifications at least
_CROWD = 50  # watchers for whom that is enough; with more it grows, up to a second
_NEAR = 1000  # events behind the newest within which watchers share what they read
_HEARTBEAT = 15.0  # seconds without changes after which watchers get a heartbeat


class ChangeNotifier:
    """Wakes all watchers of one campaign when its log has grown, in any process.

    ``head`` is awaited for the number of the newest event.
    """

    def __init__(self, head: Callable[[], Awaitable[int]]) -> None:
        self._head = head
        self._seq = 0
        self._watchers: set[asyncio.Event] = set()
        self._committed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._shared: dict[tuple[int, int], asyncio.Task[Any]] = {}

    def notify(self) -> None:
        """Check for new events now; call it on the event loop."""
        self._committed.set()

    def close(self) -> None:
        """End all watching; call it on the event loop."""
        self._closed = True
        self._committed.set()
        for watcher in self._watchers:
            watcher.set()

    async def watch(self) -> AsyncIterator[int | None]:
        """Yield the number of the newest event when it has grown, and None as a heartbeat."""
        grown = asyncio.Event()
        self._watchers.add(grown)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poll())
        seen = 0
        try:
            while not self._closed:
                if self._seq != seen:
                    seen = self._seq
                    yield seen
                    continue
                grown.clear()
                try:
                    await asyncio.wait_for(grown.wait(), _HEARTBEAT)
                except TimeoutError:
                    yield None
        finally:
            self._watchers.discard(grown)
            if not self._watchers:
                self._committed.set()  # ends the polling

    async def share(self, key: tuple[int, int], make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what is made once for all watchers, until the next event."""
        task = self._shared.get(key)
        if task is None:
            task = self._shared[key] = asyncio.get_running_loop().create_task(make())
        try:
            found: T = await asyncio.shield(task)
        except Exception:
            self._shared.pop(key, None)  # the next watcher tries again
            raise
        return found

    async def _poll(self) -> None:
        try:
            while self._watchers and not self._closed:
                self._committed.clear()
                try:
                    newest = await self._head()
                except BursarError:
                    newest = self._seq  # the store may be back at the next poll
                if newest != self._seq:  # lower, too, if the log was set back
                    self._seq = newest
                    self._shared.clear()
                    for watcher in self._watchers:
                        watcher.set()
                    await asyncio.sleep(min(_PAUSE * max(1.0, len(self._watchers) / _CROWD), _POLL))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._committed.wait(), _POLL)
        finally:
            self._task = None
