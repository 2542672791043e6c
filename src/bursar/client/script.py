"""Scripts: what to send and when to wait, said once and played by two kinds of clients.

A script is a generator. It yields an :class:`Exchange` and gets the response back, or a
:class:`Pause`, and returns the result. Nothing in it knows whether its player blocks or awaits, so
there is one description of every call, of retries and of what happens when things go wrong.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import httpx2

__all__ = [
    "AsyncRunner",
    "Awaiting",
    "Blocking",
    "Runner",
    "Script",
    "SendRequest",
    "Sleep",
    "Verb",
    "View",
]

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class SendRequest:
    """One request; its player answers with the response, or raises what the network raised."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes
    timeout: float


@dataclass(frozen=True)
class Sleep:
    """So many seconds of doing nothing."""

    seconds: float


Script = Generator[SendRequest | Sleep, Any, T]


class Blocking(ABC):
    """Whatever plays scripts at once."""

    scripts: Any

    @abstractmethod
    def play(self, script: Script[T]) -> T:
        """Play a script to its end."""


class Awaiting(ABC):
    """Whatever plays scripts in an event loop."""

    scripts: Any

    @abstractmethod
    async def play(self, script: Script[T]) -> T:
        """Play a script to its end."""


class Verb(Generic[S, P, T]):
    """A method made of a script: it returns the result, or a coroutine of it."""

    def __init__(self, script: Callable[Concatenate[S, P], Script[T]]) -> None:
        self.script = script
        self.__doc__ = script.__doc__
        found = inspect.signature(script)
        self.signature = found.replace(parameters=list(found.parameters.values())[1:])

    @overload
    def __get__(
        self, owner: None, kind: type | None = None
    ) -> Callable[Concatenate[S, P], Script[T]]: ...

    @overload
    def __get__(self, owner: Blocking, kind: type | None = None) -> Callable[P, T]: ...

    @overload
    def __get__(
        self, owner: Awaiting, kind: type | None = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self.script

        def bound(*args: P.args, **options: P.kwargs) -> Any:
            return owner.play(self.script(owner.scripts, *args, **options))

        bound.__doc__, bound.__name__ = self.script.__doc__, self.script.__name__
        cast(Any, bound).__signature__ = self.signature
        return bound


class View(Generic[S, T]):
    """A property made of a script: the value, or something to await it from."""

    def __init__(self, script: Callable[[S], Script[T]]) -> None:
        self.script = script
        self.__doc__ = script.__doc__

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> View[S, T]: ...

    @overload
    def __get__(self, owner: Blocking, kind: type | None = None) -> T: ...

    @overload
    def __get__(self, owner: Awaiting, kind: type | None = None) -> Coroutine[Any, Any, T]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else owner.play(self.script(owner.scripts))


# ==== client.player
# Players of scripts: one that blocks, one that awaits. All that sync and async do not share.


class Runner(Blocking):
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

    def _do(self, step: SendRequest | Sleep) -> httpx2.Response | None:
        if isinstance(step, Sleep):
            self._sleep(step.seconds)
            return None
        return self._http.request(
            step.method, step.url, headers=step.headers, content=step.content, timeout=step.timeout
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncRunner(Awaiting):
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

    async def _do(self, step: SendRequest | Sleep) -> httpx2.Response | None:
        if isinstance(step, Sleep):
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
