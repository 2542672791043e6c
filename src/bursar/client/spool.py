"""A spool: outcomes that could not be delivered, in a file, until somebody takes them."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bursar.client.call import Answer, Call
from bursar.errors import (
    BursarError,
    IdempotencyMismatch,
    InvalidData,
    InvalidInput,
    OutcomeConflict,
    TooLarge,
    UnknownCampaign,
    UnknownDecision,
)
from bursar.files import whole_file

__all__ = ["Spool"]

_FINAL = (
    InvalidInput, InvalidData, OutcomeConflict, IdempotencyMismatch, TooLarge,
    UnknownCampaign, UnknownDecision,
)  # fmt: skip


class Spool:
    """A file with a line for each call; shared by any number of threads and processes.

    Each line is on the disk before anybody goes on. Lines are dropped after they were taken: a
    crash in between sends one twice, which counts once.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise InvalidInput(f"spool must be a file in a folder that exists, got {str(path)!r}")
        self.path = path
        self.refused = path.with_name(path.name + ".refused")

    def wants(self, error: BaseException) -> bool:
        """Return whether a call that failed so may be taken later."""
        return not isinstance(error, _FINAL)

    @property
    def waiting(self) -> bool:
        """Whether there is something to deliver."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False

    def keep(self, calls: Sequence[Call[Any]]) -> None:
        """Append calls, a line each."""
        lines = [
            json.dumps({"method": one.method, "path": one.path, "body": one.body}) for one in calls
        ]
        with self._locked():
            self._append(self.path, "\n".join(lines))

    def refuse(self, line: str, error: BursarError) -> None:
        """Put a call aside that will never be taken."""
        told = json.dumps({"refused": str(error), "code": error.code, "line": line})
        with self._locked():
            self._append(self.refused, told)

    def lines(self) -> list[str]:
        """Return what is kept, oldest first."""
        with self._locked():
            return self._read()

    def call(self, line: str) -> Call[None]:
        """Return the call of a line; one that was cut off by a crash is refused."""
        try:
            found = json.loads(line)
            method, path, body = found["method"], found["path"], found["body"]
        except (ValueError, LookupError, TypeError):
            raise InvalidData(f"{self.path}: a line that is no outcome, {line!r}") from None
        return Call(method, path, _nothing, body)

    def needless(self, line: str, error: BursarError) -> bool:
        """Return whether a refusal leaves nothing to do: a hold to give back that never was."""
        return isinstance(error, UnknownDecision) and self.call(line).path.endswith("/void")

    def drop(self, done: list[str]) -> None:
        """Forget lines, each once; others that came meanwhile stay."""
        with self._locked():
            rest = self._read()
            for line in done:
                if line in rest:  # another process may have been quicker
                    rest.remove(line)
            with whole_file(self.path) as partial:
                partial.touch(0o600)
                partial.write_text("".join(one + "\n" for one in rest), "utf-8")

    def _read(self) -> list[str]:
        text = self.path.read_text("utf-8") if self.path.exists() else ""
        return [line for line in text.split("\n") if line]

    def _append(self, path: Path, line: str) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            size = os.fstat(file).st_size
            torn = size and os.pread(file, 1, size - 1) != b"\n"  # somebody died in the middle
            data = ("\n" if torn else "") + line + "\n"
            os.write(file, data.encode())
            os.fsync(file)
        finally:
            os.close(file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held for moments only, never while sending
            yield
        finally:
            os.close(lock)


def _nothing(answer: Answer) -> None:
    return None
