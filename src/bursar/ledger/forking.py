"""What must not be open when a process forks: told before, and after in parent and child."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["watch"]


class Forked(Protocol):
    """Something with files that parent and child must not share."""

    def before_fork(self) -> None:
        """Close what can be closed, and let nobody open it."""

    def after_fork(self, child: bool) -> None:
        """Allow use again."""


_WATCHED: WeakSet[Forked] = WeakSet()
_PAUSED: list[Forked] = []


def watch(thing: Forked) -> None:
    """Tell a thing of forks for as long as it lives."""
    _WATCHED.add(thing)


def _before() -> None:
    for thing in list(_WATCHED):
        thing.before_fork()
        _PAUSED.append(thing)


def _after(child: bool) -> None:
    while _PAUSED:
        _PAUSED.pop().after_fork(child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(False),
        after_in_child=lambda: _after(True),
    )
