"""Players of scripts: one that blocks, one that awaits. All that sync and async do not share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx2

from bursar.client.script import Awaiting, Blocking, Exchange, Pause, Script

__all__ = ["AsyncPlayer", "Player"]

T = TypeVar("T")


class Player(Blocking):
    """Plays scripts at once, from any number of threads."""

    def __init__(
        self, transport: httpx2.BaseTransport | None, sleep: Callable[[float], Any] | None
    ) -> None:
        self._http = httpx2.Client(transport=transport)
        self._sleep = sleep or time.sleep

    def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        try:
            step = next(script)
            while True:
                try:
                    result = self._do(step)
                except BaseException as error:
                    step = script.throw(error)
                else:
                    step = script.send(result)
        except StopIteration as end:
            found: T = end.value
            return found

    def _do(self, step: Exchange | Pause) -> httpx2.Response | None:
        if isinstance(step, Pause):
            self._sleep(step.seconds)
            return None
        return self._http.request(
            step.method, step.url, headers=step.headers, content=step.content, timeout=step.timeout
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncPlayer(Awaiting):
    """Plays scripts in an asyncio event loop."""

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None,
        sleep: Callable[[float], Awaitable[Any]] | None,
    ) -> None:
        self._http = httpx2.AsyncClient(transport=transport)
        self._sleep = sleep or asyncio.sleep
        self._last: set[asyncio.Task[Any]] = set()

    async def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        try:
            step = next(script)
            while True:
                try:
                    result = await self._do(step)
                except BaseException as error:
                    step = script.throw(error)
                else:
                    step = script.send(result)
        except StopIteration as end:
            found: T = end.value
            return found

    async def _do(self, step: Exchange | Pause) -> httpx2.Response | None:
        if isinstance(step, Pause):
            await self._sleep(step.seconds)
            return None
        return await self._http.request(
            step.method, step.url, headers=step.headers, content=step.content, timeout=step.timeout
        )

    async def play_out(self, script: Script[T]) -> T:
        """Play a script to its end, even if whoever waits for it is cancelled meanwhile."""
        task = asyncio.ensure_future(self.play(script))
        self._last.add(task)  # the loop itself would forget it
        task.add_done_callback(self._last.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await asyncio.wait({task})
            raise

    async def close(self) -> None:
        """Wait for outcomes on their way, then close all connections."""
        if self._last:
            await asyncio.wait(self._last)
        await self._http.aclose()
