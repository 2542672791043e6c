"""Scripts: each call is described once as a generator and run by two kinds of clients.

A script yields a :class:`SendRequest` and receives the response, or yields a :class:`Sleep`; it
returns the result. Nothing in it depends on whether its runner blocks or awaits, so retries and
failures are handled in one place for both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

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


@dataclass(frozen=True)
class Sleep:
    """A pause in seconds."""

    seconds: float


Script = Generator[SendRequest | Sleep, Any, T]


class Blocking:
    """An object whose scripts run in the calling thread."""

    calls: Any
    runner: Any


class Awaiting:
    """An object whose scripts run in an event loop."""

    calls: Any
    runner: Any


class ScriptMethod(Generic[S, P, T]):
    """A method made of a script; it returns the result, or a coroutine of the result."""

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
            return owner.runner.run_script(self.script(owner.calls, *args, **options))

        bound.__doc__, bound.__name__ = self.script.__doc__, self.script.__name__
        cast(Any, bound).__signature__ = self.signature
        return bound


class ScriptProperty(Generic[S, T]):
    """A property made of a script; its value is the result, or a coroutine of the result."""

    def __init__(self, script: Callable[[S], Script[T]]) -> None:
        self.script = script
        self.__doc__ = script.__doc__

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> ScriptProperty[S, T]: ...

    @overload
    def __get__(self, owner: Blocking, kind: type | None = None) -> T: ...

    @overload
    def __get__(self, owner: Awaiting, kind: type | None = None) -> Coroutine[Any, Any, T]: ...

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else owner.runner.run_script(self.script(owner.calls))
