"""A bell: rings for all who watch a campaign when its log has grown, in whatever process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from bursar.errors import BursarError

__all__ = ["Bell"]

_POLL = 1.0  # seconds between looks for what other processes wrote
_PAUSE = 0.1  # seconds between two rings at least, however busy the campaign is
_BEAT = 15.0  # seconds without news after which a watcher gets a sign of life


class Bell:
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
