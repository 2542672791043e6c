"""Scripts: each call is described once as a coroutine and run by two kinds of clients.

A script awaits nothing but its runner's ``request`` and ``sleep``. Those of an event loop suspend
it; those of a thread block and never do, so a blocking runner finishes a script in one step.
Retries and failures are handled in one place for both.
"""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

import httpx2

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")

Script = Coroutine[Any, Any, T]


class Runner:
    """Runs scripts in the calling thread; any number of threads may share it."""

    def __init__(
        self, transport: httpx2.BaseTransport | None, sleep: Callable[[float], Any] | None
    ) -> None:
        self._http = httpx2.Client(transport=transport)
        self._sleep = sleep or time.sleep

    async def request(self, method: str, url: str, **options: Any) -> httpx2.Response:
        """Send a request; return its response or raise the network's error."""
        return self._http.request(method, url, **options)

    async def sleep(self, seconds: float) -> None:
        """Pause."""
        self._sleep(seconds)

    def run_script(self, script: Script[T]) -> T:
        """Run a script to its end."""
        try:
            script.send(None)
        except StopIteration as end:
            found: T = end.value
            return found
        raise AssertionError("a script awaited something other than its runner")

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
        self.request = self._http.request
        self.sleep = sleep or asyncio.sleep
        self._shielded: set[asyncio.Task[Any]] = set()

    def run_script(self, script: Script[T]) -> Script[T]:
        """Return a script to be awaited."""
        return script

    async def run_shielded(self, script: Script[T]) -> T:
        """Run a script to its end even if the caller is cancelled meanwhile."""
        task = asyncio.ensure_future(script)
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

    def close(self) -> None:
        """Close the client's connections; campaigns go on."""
        self.runner.close()


class Awaiting:
    """An object whose scripts run in an event loop."""

    runner: AsyncRunner

    async def close(self) -> None:
        """Close the client's connections; campaigns go on."""
        await self.runner.close()


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
    def __get__(self, owner: Awaiting, kind: type | None = None) -> Callable[P, Script[T]]: ...

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
    def __get__(self, owner: Awaiting, kind: type | None = None) -> Script[T]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else owner.runner.run_script(self.script(owner))
