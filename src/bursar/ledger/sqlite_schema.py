"""The tables of an SQLite ledger, as numbered steps that only go forward.

A step that has been released is never edited: its checksum lies in every database it made. A change
is a new step at the end. Before a database with content is changed, a copy of it is put beside it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any
from uuid import uuid4

import apsw

from bursar.errors import CorruptLedger, InvalidInput, NewerSchema

__all__ = ["APPLICATION", "STEPS", "migrate", "version"]

APPLICATION = 0x62757273  # "burs": tells our files from other SQLite files

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE meta(
        schema_version INTEGER NOT NULL, instance TEXT NOT NULL, epoch INTEGER NOT NULL,
        created INTEGER NOT NULL) STRICT;
    CREATE TABLE step(
        number INTEGER PRIMARY KEY, checksum TEXT NOT NULL, ts INTEGER NOT NULL) STRICT;
    CREATE TABLE campaign(
        id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT NOT NULL,
        budget INTEGER NOT NULL, spent INTEGER NOT NULL CHECK(spent >= 0),
        held INTEGER NOT NULL CHECK(held >= 0), seq INTEGER NOT NULL, ts INTEGER NOT NULL,
        hash BLOB NOT NULL) STRICT;
    CREATE TABLE event(
        campaign INTEGER NOT NULL, seq INTEGER NOT NULL, ts INTEGER NOT NULL, kind TEXT NOT NULL,
        decision TEXT NOT NULL, body TEXT NOT NULL, hash BLOB NOT NULL,
        PRIMARY KEY(campaign, seq)) STRICT, WITHOUT ROWID;
    CREATE INDEX event_of_decision ON event(campaign, decision) WHERE decision <> '';
    CREATE TABLE snapshot(
        campaign INTEGER PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL,
        hash BLOB NOT NULL) STRICT;
    """,
    """
    CREATE TABLE paper(
        kind TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
        PRIMARY KEY(kind, id)) STRICT, WITHOUT ROWID;
    """,
)


def version(connection: apsw.Connection) -> int:
    """Return the number of steps a database has taken; 0 for an empty one."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if not tables:
        return 0
    (owner,) = connection.execute("PRAGMA application_id").fetchone() or (0,)
    if owner != APPLICATION or "meta" not in tables:
        raise InvalidInput(
            f"{connection.filename!r} is a SQLite database of something else; name another file"
        )
    (found,) = connection.execute("SELECT schema_version FROM meta").fetchone() or (0,)
    return int(found)


def migrate(connection: apsw.Connection, copy: Callable[[Path], object]) -> None:
    """Take the steps that a database lacks, in one transaction, after ``copy`` to a file beside."""
    had = version(connection)
    if had > len(STEPS):
        raise NewerSchema(
            f"{connection.filename!r} has schema {had}, this bursar knows {len(STEPS)};"
            " use the newer bursar that wrote it"
        )
    _check_steps(connection, had)
    if had == len(STEPS):
        return
    if had:
        copy(Path(f"{connection.filename}.schema-{had}-{time.time_ns() // 10**9}"))
    with connection:  # a savepoint: all steps or none
        now = time.time_ns() // 1000
        for number, step in enumerate(STEPS[had:], had + 1):
            connection.execute(step).fetchall()
            connection.execute("INSERT INTO step VALUES(?, ?, ?)", (number, _checksum(step), now))
        if had:
            connection.execute("UPDATE meta SET schema_version = ?", (len(STEPS),))
        else:
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(
                "INSERT INTO meta VALUES(?, ?, 1, ?)", (len(STEPS), uuid4().hex, now)
            )


def _check_steps(connection: apsw.Connection, had: int) -> None:
    if not had:
        return
    rows: list[Any] = connection.execute("SELECT number, checksum FROM step").fetchall()
    taken = dict(rows)
    for number, step in enumerate(STEPS[:had], 1):
        if taken.get(number) != _checksum(step):
            raise CorruptLedger(
                f"step {number} of the schema of {connection.filename!r} is not the one of this"
                " bursar; restore a backup"
            )


def _checksum(step: str) -> str:
    return blake2b(" ".join(step.split()).encode(), digest_size=16).hexdigest()
