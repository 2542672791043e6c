"""Scripts: what to send and when to wait, said once and played by two kinds of clients.

A script is a generator. It yields an :class:`Exchange` and gets the response back, or a
:class:`Pause`, and returns the result. Nothing in it knows whether its player blocks or awaits, so
there is one description of every call, of retries and of what happens when things go wrong.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast, overload

__all__ = ["Awaiting", "Blocking", "Exchange", "Pause", "Script", "Verb", "View"]

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True)
class Exchange:
    """One request; its player answers with the response, or raises what the network raised."""

    method: str
    url: str
    headers: dict[str, str]
    content: bytes
    timeout: float


@dataclass(frozen=True)
class Pause:
    """So many seconds of doing nothing."""

    seconds: float


Script = Generator[Exchange | Pause, Any, T]


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
