"""Where an SQLite ledger lies: its URL, its folder, and whether the file system can be trusted."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from bursar.errors import CorruptLedger, InvalidInput, StorageInUse, StorageUnavailable

__all__ = ["checked_place", "file_system", "path_of"]

_HEADER = 512  # bytes that no database is smaller than
_SCHEME = "sqlite:///"
_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = re.compile(
    r"9p|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|pvfs2"
    r"|smb\w*|fuse\.(ceph|cephfs|davfs|gcsfuse|glusterfs|rclone|s3fs|smb\w*|sshfs)"
)


def path_of(url: str | os.PathLike[str]) -> Path:
    """Return the file that a URL or path stands for.

    >>> path_of("sqlite:///spend.db"), path_of("sqlite:////var/lib/spend.db")
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


def checked_place(path: Path) -> Path:
    """Return the real path of a ledger, after checking that one can be kept there."""
    path = path.resolve()
    if not path.parent.is_dir():
        raise StorageUnavailable(f"no folder {str(path.parent)!r} to keep a ledger in; make it")
    if path.exists() and not path.is_file():
        raise StorageUnavailable(f"{str(path)!r} is not a file; give the ledger another name")
    if path.exists() and 0 < path.stat().st_size < _HEADER:  # SQLite would start over in it
        raise CorruptLedger(f"{str(path)!r} is not a whole SQLite file; restore a backup")
    kind = file_system(path.parent)
    if _NETWORK.fullmatch(kind):
        raise StorageInUse(
            f"{str(path)!r} lies on a network file system ({kind}), whose locks do not keep two"
            " machines apart; use a local disk, or PostgreSQL"
        )
    for part in (path.parent, path):
        if part.exists() and not os.access(part, os.W_OK):
            raise StorageUnavailable(f"{str(part)!r} cannot be written by this user; allow it")
    return path


def file_system(folder: Path, mounts: str | None = None) -> str:
    """Return the kind of file system of a real folder, or ``""`` where the system does not tell.

    Linux tells; on other systems a ledger on a network drive is not noticed.

    >>> root, share = "1 0 0:1 / / rw - ext4 sda rw", "2 1 0:2 / /mnt/x rw - nfs4 host:/ rw"
    >>> file_system(Path("/mnt/x/y"), f"{root}{chr(10)}{share}")
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
