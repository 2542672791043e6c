"""A fair lock between processes: two files beside the database, locked in turn.

SQLite lets waiting writers poll, and the one that has just finished is always first to ask again:
of four busy processes three starve. Here whoever waits holds the turn, and who finishes must queue
for the turn behind it. The locks go with the process, so a killed one leaves nothing behind. Data
never depends on them: SQLite's own locks stand below, should somebody delete the files.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from bursar.errors import StorageInUse

__all__ = ["FairLock"]

_SHORT, _LONG = 5e-5, 1e-3  # seconds between looks: while a usual transaction lasts, and after
_PATIENCE = 0.05
_NOW = fcntl.LOCK_EX | fcntl.LOCK_NB


class FairLock:
    """One at a time among all processes that name the same database.

    Looking again and again, not sleeping in the kernel: only so can a wait have an end without
    signals or threads. At most one process looks at the lock itself, the others at the turn.
    """

    def __init__(self, path: Path, deadline: float) -> None:
        self._path = path
        self._deadline = deadline
        self._turn = self._lock = -1
        self._turn = _opened(f"{path}-turn")
        try:
            self._lock = _opened(f"{path}-lock")
        except OSError:
            self.close()
            raise

    def acquire(self) -> None:
        """Wait for the turn, then for the lock; give up after the deadline."""
        until = 0.0
        try:
            fcntl.flock(self._turn, _NOW)
        except BlockingIOError:
            until = time.monotonic() + self._deadline
            self._wait(self._turn, until)
        try:
            fcntl.flock(self._lock, _NOW)
        except BlockingIOError:
            self._wait(self._lock, until or time.monotonic() + self._deadline)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def release(self) -> None:
        """Let the next one in."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the files back; they stay where they are, since others may be waiting at them."""
        for file in (self._turn, self._lock):
            if file >= 0:
                os.close(file)
        self._turn = self._lock = -1

    def _wait(self, file: int, until: float) -> None:
        soon = time.monotonic() + _PATIENCE
        while (now := time.monotonic()) < until:
            time.sleep(_SHORT if now < soon else _LONG)
            try:
                return fcntl.flock(file, _NOW)
            except BlockingIOError:
                continue
        raise StorageInUse(
            f"{str(self._path)!r} was busy for {self._deadline:g} s: another process keeps it;"
            " see who has it open, and try again"
        )


def _opened(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
