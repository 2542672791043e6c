"""A spool: outcomes that could not be delivered, in a file, until somebody takes them."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from bursar.client.script import Script
from bursar.client.transport import Reply, Request, Retry, Transport
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

__all__ = ["Spool", "SpoolingTransport"]

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

    def keep(self, calls: Sequence[Request[Any]]) -> None:
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

    def call(self, line: str) -> Request[None]:
        """Return the call of a line; one that was cut off by a crash is refused."""
        try:
            found = json.loads(line)
            method, path, body = found["method"], found["path"], found["body"]
        except (ValueError, LookupError, TypeError):
            raise InvalidData(f"{self.path}: a line that is no outcome, {line!r}") from None
        return Request(method, path, _nothing, body)

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


def _nothing(answer: Reply) -> None:
    return None


# ==== client.delivery
# Outcomes on their way: delivered now, or kept in a file and delivered later.

T = TypeVar("T")

_LOG = logging.getLogger("bursar.client")


class SpoolingTransport(Transport):
    """A line with a spool beside it: a file for what could not be delivered, if one was given."""

    def __init__(
        self, url: str, key: str | None, timeout: float, retry: Retry, spool: str | Path | None
    ) -> None:
        super().__init__(url, key, timeout, retry)
        self.spool = None if spool is None else Spool(Path(spool))

    def deliver(self, call: Request[T], parts: Sequence[Request[Any]] = ()) -> Script[T]:
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

    def keep(self, calls: Sequence[Request[Any]], error: BaseException) -> bool:
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
