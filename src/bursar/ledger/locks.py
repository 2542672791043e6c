"""Locks between processes on one machine, and where a ledger file can rely on them.

All locks end with their process, so a process that is killed leaves none behind.
"""

import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote
from weakref import WeakSet

from bursar.errors import CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable
from bursar.formatting import hide_password

_FEW, _MANY = 5e-5, 1e-3  # seconds between attempts: during a usual transaction, and later
_USUAL = 500  # attempts
_NOW = fcntl.LOCK_EX | fcntl.LOCK_NB

_SMALLEST = 512  # bytes of a database
_SCHEME = "sqlite:///"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|pvfs2"
    r"|smb\w*|fuse\.(ceph|cephfs|davfs|gcsfuse|glusterfs|rclone|s3fs|smb\w*|sshfs)"
)


class FairLock:
    """A lock that processes acquire in turn: two files beside the database, locked one by one.

    It is written by hand because SQLite's own lock, and the lock files of libraries, let waiting
    processes poll: the one that has just finished is first to ask again, and of four busy processes
    three starve. Here a waiting process holds the turn, and one that has finished must queue for
    the turn behind it. Waiting polls, too, since only so can it have a deadline without signals or
    threads; but at most one process polls the lock itself, the others poll the turn. Data never
    depends on these files: SQLite's own locks protect it even if somebody deletes them.
    """

    def __init__(self, path: Path, deadline: float) -> None:
        self._path, self._deadline = path, deadline
        self._files: list[int] = []
        try:
            self._files += [_open_lock_file(path, "turn")]
            self._files += [_open_lock_file(path, "lock")]
        except OSError:
            self.close()
            raise
        self._turn, self._lock = self._files

    def acquire(self) -> None:
        """Wait for the turn, then for the lock; give up after the deadline."""
        until = time.monotonic() + self._deadline
        self._wait(self._turn, until)
        try:
            self._wait(self._lock, until)
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def release(self) -> None:
        """Let the next process have the lock."""
        fcntl.flock(self._lock, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the files; they are not deleted, since other processes may be waiting for them."""
        while self._files:
            os.close(self._files.pop())
        self._turn = self._lock = -1

    def _wait(self, file: int, until: float) -> None:
        for attempt in count():
            try:
                return fcntl.flock(file, _NOW)
            except BlockingIOError:
                if time.monotonic() >= until:
                    break
                time.sleep(_FEW if attempt < _USUAL else _MANY)
        raise StorageInUse(
            f"{str(self._path)!r} was locked by another process for {self._deadline:g} s;"
            " find out which process has it open, then retry"
        )


@contextmanager
def claim_ledger(path: Path) -> Iterator[None]:
    """Claim an SQLite file for one service, from its start to its end.

    Two services on one file would each believe to be the only one. Commands such as ``bursar
    campaign show`` need no claim: they take turns with the service.
    """
    path = check_location(path)
    with ExitStack() as stack:
        try:
            lock = _open_lock_file(path, "serve")
            file = stack.enter_context(os.fdopen(lock, "r+b", buffering=0))
            fcntl.flock(file, _NOW)
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        except BlockingIOError:
            owner = file.read(32).decode("ascii", "replace")
            raise StorageInUse(
                f"{str(path)!r} is already served by process {owner or '(unknown)'};"
                " stop that process, or use postgresql:// for several"
            ) from None
        except OSError as error:
            name = f"{path}-serve"
            raise StorageUnavailable(f"cannot write {name!r}: {error.strerror}") from error
        yield


def _open_lock_file(ledger: Path, name: str) -> int:
    """Open a lock file beside a ledger; who may not read the ledger must not lock it either."""
    wanted = ledger.stat().st_mode & 0o666 if ledger.exists() else 0o600
    file = os.open(f"{ledger}-{name}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, wanted)
    found = os.fstat(file)
    # a umask, or an older bursar, may have made it another; only its owner can change that
    if found.st_mode & 0o777 != wanted and found.st_uid == os.geteuid():
        os.fchmod(file, wanted)
    return file


class ForkGuard(Protocol):
    """An object with files or connections that parent and child must not share."""

    def before_fork(self) -> None:
        """Close what can be closed, and keep it closed."""

    def after_fork(self, child: bool) -> None:
        """Allow use again."""


_GUARDS: WeakSet[ForkGuard] = WeakSet()
_PAUSED: list[ForkGuard] = []


def register_fork_guard(guard: ForkGuard) -> None:
    """Call an object before and after every fork, for as long as it lives."""
    _GUARDS.add(guard)


def _before_fork() -> None:
    for guard in list(_GUARDS):
        guard.before_fork()
        _PAUSED.append(guard)


def _after_fork(child: bool) -> None:
    while _PAUSED:
        _PAUSED.pop().after_fork(child)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(False),
        after_in_child=lambda: _after_fork(True),
    )


def ledger_path(url: str | os.PathLike[str]) -> Path:
    """Return the file of a URL or path.

    >>> ledger_path("sqlite:///spend.db"), ledger_path("sqlite:////var/lib/spend.db")
    (PosixPath('spend.db'), PosixPath('/var/lib/spend.db'))
    """
    text = os.fspath(url)
    if text.startswith(_SCHEME):
        text = unquote(text.removeprefix(_SCHEME))
    elif re.match(r"[a-z]+:", text):
        shown = hide_password(text)
        raise InvalidInput(f"the URL of an SQLite ledger is sqlite:///file.db, got {shown!r}")
    if not text or text.startswith(":") or "\0" in text or "?" in text:
        shown = hide_password(os.fspath(url))
        raise InvalidInput(f"an SQLite ledger needs the name of a file, got {shown!r}")
    return Path(text)


def check_location(path: Path) -> Path:
    """Check that a ledger can be stored at a path; return its real path."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise StorageUnavailable(f"no folder {str(path.parent)!r} for the ledger; create it")
    if path.exists():
        _check_ledger_file(path)
    kind = file_system_of(path.parent)
    if _NETWORK.fullmatch(kind):
        raise StorageInUse(
            f"{str(path)!r} is on a network file system ({kind}), whose locks do not work between"
            " machines; use a local disk, or PostgreSQL"
        )
    for part in (path.parent, path):
        if part.exists() and not os.access(part, os.W_OK):
            raise StorageUnavailable(f"{str(part)!r} is not writable; change its permissions")
    return path


def _check_ledger_file(path: Path) -> None:
    """Refuse a file that cannot be a ledger, or has two names.

    Locks and the write-ahead log go by the name: two programs that open one file by different names
    do not see each other.
    """
    if not path.is_file():
        raise StorageUnavailable(f"{str(path)!r} is not a file; choose another name")
    found = path.stat()
    if 0 < found.st_size < _SMALLEST:  # SQLite would overwrite it
        raise CorruptLedger(f"{str(path)!r} is not a complete SQLite file; restore a backup")
    if found.st_nlink > 1:
        raise StorageInUse(
            f"{str(path)!r} has {found.st_nlink} names (hard links), and programs that use"
            " different names would not see each other; remove the other names"
            f" (find them with: find / -xdev -inum {found.st_ino}), or use a copy"
        )
    if _MOUNTS.exists():  # a bind mount has the device of its source, so the device does not tell
        mounted = any(point == str(path) for point, _ in _list_mounts())
    else:
        mounted = found.st_dev != path.parent.stat().st_dev
    if mounted:
        raise StorageInUse(
            f"{str(path)!r} is a mount point, so programs outside of the mount use another name"
            f" and do not see this one; mount its folder {str(path.parent)!r} instead of the file"
        )


def file_system_of(folder: Path, mounts: str | None = None) -> str:
    """Return the kind of file system of a real folder, or ``""`` if it is not known.

    It is known on Linux; on other systems a ledger on a network drive is not detected.

    >>> root, share = "1 0 0:1 / / rw - ext4 sda rw", "2 1 0:2 / /mnt/x rw - nfs4 host:/ rw"
    >>> file_system_of(Path("/mnt/x/y"), f"{root}{chr(10)}{share}")
    'nfs4'
    """
    best, kind = -1, ""
    for point, found in _list_mounts(mounts):
        # a later mount on the same point hides the earlier one
        if folder.is_relative_to(point) and len(point) >= best:
            best, kind = len(point), found
    return kind


def _list_mounts(mounts: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield mount points with their kind of file system, in the order in which they were made."""
    if mounts is None:
        mounts = _MOUNTS.read_text(errors="surrogateescape") if _MOUNTS.exists() else ""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        if dash:
            point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), before.split(" ")[4])
            yield point, after.split(" ")[0]
