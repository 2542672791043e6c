"""Outcomes on their way: delivered now, or kept in a file and delivered later."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from bursar.client.call import Call
from bursar.client.line import Line
from bursar.client.retry import Retry
from bursar.client.script import Script
from bursar.client.spool import Spool
from bursar.errors import BursarError

__all__ = ["Delivery"]

T = TypeVar("T")

_LOG = logging.getLogger("bursar.client")


class Delivery(Line):
    """A line with a spool beside it: a file for what could not be delivered, if one was given."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retry: Retry, spool: str | Path | None
    ) -> None:
        super().__init__(url, key, timeout, retry)
        self.spool = None if spool is None else Spool(Path(spool))

    def deliver(self, call: Call[T], parts: Sequence[Call[Any]] = ()) -> Script[T]:
        """Send a call that says what happened to money; keep it if it could not be delivered.

        What is kept of a call with many outcomes are its parts, one a line.
        """
        try:
            done = yield from self.call(call)
        except GeneratorExit:
            raise
        except BaseException as error:  # cancelled ones, too: nobody will say it again
            self.keep(parts or (call,), error)
            raise
        yield from self.catch_up()
        return done

    def keep(self, calls: Sequence[Call[Any]], error: BaseException) -> bool:
        """Keep calls that failed, if there is a file for them and they may be taken later."""
        if self.spool is None or not self.spool.wants(error) or not calls:
            return False
        try:
            self.spool.keep(calls)
        except OSError as trouble:
            error.add_note(f"it could not be kept in {self.spool.path} either: {trouble}")
            return False
        error.add_note(f"it is kept in {self.spool.path} and delivered later")
        return True

    def catch_up(self) -> Script[None]:
        """Deliver what was kept, now that somebody answers; whatever fails can wait."""
        if self.spool is not None and self.spool.waiting:
            try:
                yield from self.flush()
            except BursarError as error:
                _LOG.warning("what is kept in %s must wait: %s", self.spool.path, error)

    def flush(self) -> Script[int]:
        """Deliver what was kept; return how many were taken.

        What the service refuses for what it says goes to a file beside, with the reason.
        """
        if self.spool is None:
            return 0
        done: list[str] = []
        refused = 0
        try:
            for line in self.spool.lines():
                try:
                    yield from self.call(self.spool.call(line))
                except BursarError as error:
                    if self.spool.wants(error):
                        raise
                    if not self.spool.needless(line, error):
                        _LOG.warning("kept in %s, but refused: %s", self.spool.path, error)
                        self.spool.refuse(line, error)
                        refused += 1
                done.append(line)
        finally:
            if done:
                self.spool.drop(done)
        return len(done) - refused
