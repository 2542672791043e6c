"""A claim on an SQLite file: one service a file, so that two cannot each believe to be the one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType

from bursar.errors import StorageInUse, StorageUnavailable
from bursar.ledger.place import checked_place

__all__ = ["Claim"]


class Claim:
    """Held from the start of a service to its end; it goes with the process, killed or not.

    Commands such as ``bursar campaign show`` need none: they take turns with the service.
    """

    def __init__(self, path: Path) -> None:
        self._path = checked_place(path)
        self._file = -1

    def __enter__(self) -> Claim:
        name = f"{self._path}-serve"
        try:
            self._file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            owner = os.pread(self._file, 32, 0).decode("ascii", "replace")
            self._close()
            raise StorageInUse(
                f"{str(self._path)!r} is served by process {owner or '(unknown)'} already;"
                " stop that one, or use postgresql:// for several"
            ) from None
        except OSError as error:
            self._close()
            raise StorageUnavailable(f"cannot write {name!r}: {error.strerror}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
