"""A disk that fails on command: an SQLite VFS that knows which writes are durable.

Everything is written to real files. For each file the disk also remembers what a power cut would
leave of it: its content at the last sync, and the writes since then, which may be lost or torn.
"""

from __future__ import annotations

import random
from pathlib import Path
from uuid import uuid4

import apsw

SECTOR = 512


class Platter:
    """What of one file is safe, and the writes (or truncations) that are not."""

    def __init__(self, content: bytes = b"") -> None:
        self.safe = bytearray(content)
        self.pending: list[tuple[int, bytes | None]] = []

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.safe, offset, data)
        self.pending.clear()

    def left(self, rng: random.Random | None) -> bytes:
        """What is left: without ``rng`` nothing un-synced, with it any sectors of it."""
        content = bytearray(self.safe)
        for offset, data in self.pending if rng is not None else ():
            if data is None:
                if rng.random() < 0.5:
                    _apply(content, offset, None)
                continue
            for start in range(0, len(data), SECTOR):
                if rng.random() < 0.5:
                    _apply(content, offset + start, data[start : start + SECTOR])
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


class Disk(apsw.VFS):
    """Counts syncs and writes; raises ``error`` from number ``sync`` or ``write`` on.

    With ``off`` the power goes: from then on nothing works. Else only that one call fails.
    """

    def __init__(
        self,
        *,
        sync: int = 0,
        write: int = 0,
        error: type[Exception] = apsw.IOError,
        off: bool = True,
    ) -> None:
        self.name = f"disk-{uuid4().hex}"
        self.platters: dict[str, Platter] = {}
        self.syncs = self.writes = 0
        self.dead = False
        self._sync, self._write, self._error, self._off = sync, write, error, off
        super().__init__(self.name, "unix")

    def xOpen(self, name, flags):  # noqa: N802
        self.check()
        return File(self.name, name, flags, self)

    def xDelete(self, name, sync_dir):  # noqa: N802
        self.check()
        super().xDelete(name, sync_dir)
        self.platters.pop(Path(name).name, None)

    def check(self) -> None:
        if self.dead:
            raise apsw.IOError("the power is off")

    def fail(self) -> None:
        self.dead = self._off
        raise self._error("made by the test")

    def synced(self) -> None:
        self.check()
        self.syncs += 1
        if self.syncs == self._sync:
            self.fail()

    def written(self) -> None:
        self.check()
        self.writes += 1
        if self.writes == self._write:
            self.fail()

    def after_the_cut(self, folder: Path, rng: random.Random | None) -> None:
        """Write what is left of the files to a folder."""
        for name, platter in self.platters.items():
            (folder / name).write_bytes(platter.left(rng))


class File(apsw.VFSFile):
    def __init__(self, vfs, name, flags, disk: Disk) -> None:
        super().__init__("unix", name, flags)
        self._disk = disk
        path = Path(name.filename() if isinstance(name, apsw.URIFilename) else name)
        self._platter = disk.platters.setdefault(path.name, Platter())

    def xRead(self, amount, offset):  # noqa: N802
        self._disk.check()
        return super().xRead(amount, offset)

    def xWrite(self, data, offset):  # noqa: N802
        self._disk.written()
        super().xWrite(data, offset)
        self._platter.pending.append((offset, bytes(data)))

    def xTruncate(self, size):  # noqa: N802
        self._disk.check()
        super().xTruncate(size)
        self._platter.pending.append((size, None))

    def xSync(self, flags):  # noqa: N802
        try:
            self._disk.synced()
        except Exception:
            if not self._disk.dead:  # as Linux: it forgets the pages, and the next sync is well
                self._platter.pending.clear()
            raise
        super().xSync(flags)
        self._platter.sync()
