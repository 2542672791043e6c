"""The lines of one process to its PostgreSQL server: some in use, a few kept for the next."""

from __future__ import annotations

import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Sequence

import psycopg
from psycopg.pq.abc import PGresult

from bursar.errors import StorageInUse
from bursar.ledger.forking import watch
from bursar.ledger.postgres_error import Lost, Refused, failure
from bursar.ledger.postgres_line import Call, Line

__all__ = ["Pool"]

_KEPT = 4  # idle lines


class Pool:
    """Lines for the taking, and a lock a campaign, so that its threads wait here on no line."""

    def __init__(self, url: str, place: str, deadline: float) -> None:
        self.place = place
        self.deadline = deadline
        self._url = url
        self._idle: list[Line] = []
        self._start_afresh()
        watch(self)
        weakref.finalize(self, _hang_up, self._idle)

    def take_turn(self, name: str) -> None:
        """Wait for the other threads of this process on a campaign."""
        if not self._turns[name].acquire(timeout=self.deadline):
            raise StorageInUse(
                f"campaign {name!r} was busy for {self.deadline:g} s: another thread keeps it;"
                " end its session, and try again"
            )

    def end_turn(self, name: str) -> None:
        """Let the next thread in."""
        lock = self._turns[name]
        if lock.locked():  # not so for a session that a fork has cut off
            lock.release()

    def begun(self, calls: Sequence[Call]) -> tuple[Line, list[PGresult]]:
        """Take a line and run the first statements on it.

        A line that was kept may have died since; nothing was done on it, so another takes its
        place. A new one that fails is the caller's to know.
        """
        while True:
            line, new = self._taken()
            try:
                return line, line.run(calls, self.deadline)
            except BaseException as error:
                self.drop(line)
                if isinstance(error, Lost) and not new:
                    continue
                if isinstance(error, Lost | Refused):
                    raise failure(self.place, error) from error
                raise

    def once(self, *calls: Call) -> list[PGresult]:
        """Run statements that need no transaction of their own."""
        line, found = self.begun(calls)
        self.put_back(line)
        return found

    def put_back(self, line: Line) -> None:
        """Keep a line that has nothing under way for the next user."""
        with self._lock:
            self._used.discard(line)
            if len(self._idle) < _KEPT and not self._closed:
                self._idle.append(line)
                return
        line.close()

    def drop(self, line: Line | None) -> None:
        """Hang up: the server undoes what was under way."""
        if line is not None:
            with self._lock:
                self._used.discard(line)
            line.close()

    def reopened(self, until: float) -> Line:
        """Return a new line, trying again until a moment; raise the last error then."""
        pause = 0.01
        while True:
            try:
                line = self._opened()
            except (Lost, Refused, psycopg.Error) as error:
                if time.monotonic() + pause > until:
                    raise Lost(str(error)) from error
                time.sleep(pause)
                pause = min(2 * pause, 0.5)
                continue
            with self._lock:
                self._used.add(line)
            return line

    def close(self) -> None:
        """Hang up all lines that are not in use; those follow when they are put back."""
        with self._lock:
            self._closed = True
            _hang_up(self._idle)

    def before_fork(self) -> None:
        """Let no line be half taken while the process is copied."""
        self._lock.acquire()

    def after_fork(self, child: bool) -> None:
        """Give the child lines of its own."""
        if not child:
            self._lock.release()
            return
        for line in [*self._idle, *self._used]:
            line.abandon()
        self._start_afresh()

    def _taken(self) -> tuple[Line, bool]:
        """Return a line, and whether it is new."""
        with self._lock:
            if self._idle:
                line = self._idle.pop()
                self._used.add(line)
                return line, False
        try:
            line = self._opened()
        except (Lost, Refused, psycopg.Error) as error:
            raise failure(self.place, error) from error
        with self._lock:
            self._used.add(line)
        return line, True

    def _start_afresh(self) -> None:
        self._lock = threading.RLock()  # a fork may come while the same thread has it
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._idle.clear()
        self._used: set[Line] = set()
        self._closed = False

    def _opened(self) -> Line:
        self._closed = False  # a closed store opens again when it is used
        return Line(self._url, self.place, self.deadline)


def _hang_up(lines: list[Line]) -> None:
    while lines:
        lines.pop().close()
