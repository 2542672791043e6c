"""Scripts: each call is described once as a generator and run by two kinds of clients.

A script yields a :class:`SendRequest` and receives the response, or yields the seconds of a pause;
it returns the result. Nothing in it depends on whether its runner blocks or awaits, so retries and
failures are handled in one place for both.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import httpx2

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class SendRequest:
    """One HTTP request; the runner returns its response or raises the network's error."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes
    timeout: float


Script = Generator[SendRequest | float, Any, T]


class Runner:
    """Runs scripts in the calling thread; any number of threads may share it."""

    def __init__(
        self, transport: httpx2.BaseTransport | None, sleep: Callable[[float], Any] | None
    ) -> None:
        self._http = httpx2.Client(transport=transport)
        self._sleep = sleep or time.sleep

    def run_script(self, script: Script[T]) -> T:
        """Run a script to its end."""
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

    def _do(self, step: SendRequest | float) -> httpx2.Response | None:
        if isinstance(step, float):
            self._sleep(step)
            return None
        return self._http.request(**vars(step))

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncRunner:
    """Runs scripts in an asyncio event loop."""

    def __init__(
        self,
        transport: httpx2.AsyncBaseTransport | None,
        sleep: Callable[[float], Awaitable[Any]] | None,
    ) -> None:
        self._http = httpx2.AsyncClient(transport=transport)
        self._sleep = sleep or asyncio.sleep
        self._shielded: set[asyncio.Task[Any]] = set()

    async def run_script(self, script: Script[T]) -> T:
        """Run a script to its end."""
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

    async def _do(self, step: SendRequest | float) -> httpx2.Response | None:
        if isinstance(step, float):
            await self._sleep(step)
            return None
        return await self._http.request(**vars(step))

    async def run_shielded(self, script: Script[T]) -> T:
        """Run a script to its end even if the caller is cancelled meanwhile."""
        task = asyncio.ensure_future(self.run_script(script))
        self._shielded.add(task)  # the loop itself keeps only weak references
        task.add_done_callback(self._shielded.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                await asyncio.wait({task})
            raise

    async def close(self) -> None:
        """Wait for outcomes that are being sent, then close all connections."""
        if self._shielded:
            await asyncio.wait(self._shielded)
        await self._http.aclose()


class Blocking:
    """An object whose scripts run in the calling thread."""

    runner: Runner


class Awaiting:
    """An object whose scripts run in an event loop."""

    runner: AsyncRunner


class ScriptMethod(Generic[S, P, T]):
    """A method made of a script; it returns the result, or a coroutine of the result."""

    def __init__(self, script: Callable[Concatenate[S, P], Script[T]]) -> None:
        self.script = script
        self.__doc__ = script.__doc__
        found = inspect.signature(script)
        self.signature = found.replace(parameters=list(found.parameters.values())[1:])

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

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
            return owner.runner.run_script(self.script(owner, *args, **options))

        bound.__doc__, bound.__name__ = self.__doc__, self.name
        cast(Any, bound).__signature__ = self.signature
        return bound


class ScriptProperty(Generic[T]):
    """A property made of a script; its value is the result, or a coroutine of the result."""

    def __init__(self, script: Callable[[Any], Script[T]]) -> None:
        self.script = script
        self.__doc__ = script.__doc__

    @overload
    def __get__(self, owner: Blocking, kind: type | None = None) -> T: ...

    @overload
    def __get__(self, owner: Awaiting, kind: type | None = None) -> Coroutine[Any, Any, T]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else owner.runner.run_script(self.script(owner))
