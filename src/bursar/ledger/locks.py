"""A fair lock between processes: two files beside the database, locked in turn.

SQLite lets waiting writers poll, and the one that has just finished is always first to ask again:
of four busy processes three starve. Here whoever waits holds the turn, and who finishes must queue
for the turn behind it. The locks go with the process, so a killed one leaves nothing behind. Data
never depends on them: SQLite's own locks stand below, should somebody delete the files.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Protocol
from urllib.parse import unquote
from weakref import WeakSet

from bursar.errors import CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable

__all__ = [
    "FairLock",
    "LedgerClaim",
    "check_location",
    "file_system_of",
    "ledger_path",
    "register_fork_guard",
]

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


# ==== ledger.forking
# What must not be open when a process forks: told before, and after in parent and child.


class ForkGuard(Protocol):
    """Something with files that parent and child must not share."""

    def before_fork(self) -> None:
        """Close what can be closed, and let nobody open it."""

    def after_fork(self, child: bool) -> None:
        """Allow use again."""


_WATCHED: WeakSet[ForkGuard] = WeakSet()
_PAUSED: list[ForkGuard] = []


def register_fork_guard(thing: ForkGuard) -> None:
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


# ==== ledger.place
# Where an SQLite ledger lies: its URL, its folder, and whether the file system can be trusted.

_HEADER = 512  # bytes that no database is smaller than
_SCHEME = "sqlite:///"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|pvfs2"
    r"|smb\w*|fuse\.(ceph|cephfs|davfs|gcsfuse|glusterfs|rclone|s3fs|smb\w*|sshfs)"
)


def ledger_path(url: str | os.PathLike[str]) -> Path:
    """Return the file that a URL or path stands for.

    >>> ledger_path("sqlite:///spend.db"), ledger_path("sqlite:////var/lib/spend.db")
    (PosixPath('spend.db'), PosixPath('/var/lib/spend.db'))
    """
    text = os.fspath(url)
    if text.startswith(_SCHEME):
        text = unquote(text.removeprefix(_SCHEME))
    elif re.match(r"[a-z]+:", text):
        raise InvalidInput(f"a SQLite ledger is at sqlite:///file.db, got {text!r}")
    if not text or text.startswith(":") or "\0" in text or "?" in text:
        raise InvalidInput(f"a SQLite ledger needs the name of a file, got {os.fspath(url)!r}")
    return Path(text)


def check_location(path: Path) -> Path:
    """Return the real path of a ledger, after checking that one can be kept there."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise StorageUnavailable(f"no folder {str(path.parent)!r} to keep a ledger in; make it")
    if path.exists() and not path.is_file():
        raise StorageUnavailable(f"{str(path)!r} is not a file; give the ledger another name")
    if path.exists() and 0 < path.stat().st_size < _HEADER:  # SQLite would start over in it
        raise CorruptLedger(f"{str(path)!r} is not a whole SQLite file; restore a backup")
    kind = file_system_of(path.parent)
    if _NETWORK.fullmatch(kind):
        raise StorageInUse(
            f"{str(path)!r} lies on a network file system ({kind}), whose locks do not keep two"
            " machines apart; use a local disk, or PostgreSQL"
        )
    for part in (path.parent, path):
        if part.exists() and not os.access(part, os.W_OK):
            raise StorageUnavailable(f"{str(part)!r} cannot be written by this user; allow it")
    return path


def file_system_of(folder: Path, mounts: str | None = None) -> str:
    """Return the kind of file system of a real folder, or ``""`` where the system does not tell.

    Linux tells; on other systems a ledger on a network drive is not noticed.

    >>> root, share = "1 0 0:1 / / rw - ext4 sda rw", "2 1 0:2 / /mnt/x rw - nfs4 host:/ rw"
    >>> file_system_of(Path("/mnt/x/y"), f"{root}{chr(10)}{share}")
    'nfs4'
    """
    if mounts is None:
        mounts = _MOUNTS.read_text(errors="surrogateescape") if _MOUNTS.exists() else ""
    best, kind = -1, ""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        if not dash:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split(" ")[4])
        # a later mount on the same point hides the earlier one
        if folder.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), after.split(" ")[0]
    return kind


# ==== service.claim
# A claim on an SQLite file: one service a file, so that two cannot each believe to be the one.


class LedgerClaim:
    """Held from the start of a service to its end; it goes with the process, killed or not.

    Commands such as ``bursar campaign show`` need none: they take turns with the service.
    """

    def __init__(self, path: Path) -> None:
        self._path = check_location(path)
        self._file = -1

    def __enter__(self) -> LedgerClaim:
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
