"""The tables of a PostgreSQL ledger, as numbered steps that only go forward.

They lie in a schema of their own, ``bursar``, so that a database may hold other tables too. A step
that has been released is never edited: its checksum lies in every database it made. A change is a
new step at the end. The steps that a database lacks are taken in one transaction, by one process at
a time; whoever comes meanwhile waits and finds them taken.
"""

from __future__ import annotations

import time
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import uuid4

from bursar.errors import CorruptLedger, InvalidInput, NewerSchema

if TYPE_CHECKING:
    from psycopg import Connection

__all__ = ["STEPS", "migrate"]

_KEY = int.from_bytes(b"bursar", "big")  # of the advisory lock

STEPS: tuple[LiteralString, ...] = (
    """
    CREATE SCHEMA IF NOT EXISTS bursar;
    CREATE TABLE bursar.meta(
        one boolean PRIMARY KEY DEFAULT true CHECK (one), schema_version integer NOT NULL,
        instance text NOT NULL, epoch integer NOT NULL, created bigint NOT NULL);
    CREATE TABLE bursar.step(
        number integer PRIMARY KEY, checksum text NOT NULL, ts bigint NOT NULL);
    CREATE TABLE bursar.campaign(
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE, state text NOT NULL, budget bigint NOT NULL,
        spent bigint NOT NULL CHECK (spent >= 0), held bigint NOT NULL CHECK (held >= 0),
        seq bigint NOT NULL CHECK (seq >= 1), ts bigint NOT NULL,
        hash bytea NOT NULL CHECK (octet_length(hash) = 16)
    ) WITH (fillfactor = 10);
    CREATE TABLE bursar.event(
        campaign bigint NOT NULL, seq bigint NOT NULL CHECK (seq >= 1), ts bigint NOT NULL,
        kind text NOT NULL, decision text COLLATE "C" NOT NULL, body text NOT NULL,
        hash bytea NOT NULL CHECK (octet_length(hash) = 16), PRIMARY KEY (campaign, seq));
    CREATE INDEX event_of_decision ON bursar.event(campaign, decision) WHERE decision <> '';
    CREATE TABLE bursar.snapshot(
        campaign bigint NOT NULL, seq bigint NOT NULL, body bytea NOT NULL,
        hash bytea NOT NULL CHECK (octet_length(hash) = 16), PRIMARY KEY (campaign, seq));
    """,
    """
    CREATE TABLE bursar.paper(
        kind text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, body bytea NOT NULL,
        PRIMARY KEY (kind, id));
    """,
)  # the room in campaign's pages lets its rows change in place, without touching an index


def migrate(connection: Connection[Any], place: str) -> None:
    """Take the steps that a database lacks; refuse one that knows more steps than we do."""
    if _version(connection, place) == len(STEPS):
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock($1)", (_KEY,))
        had = _version(connection, place)  # another process may have been faster
        now = time.time_ns() // 1000
        for number, step in enumerate(STEPS[had:], had + 1):
            connection.execute(step)
            connection.execute(
                "INSERT INTO bursar.step VALUES ($1, $2, $3)", (number, _checksum(step), now)
            )
        if had:
            connection.execute("UPDATE bursar.meta SET schema_version = $1", (len(STEPS),))
        else:
            connection.execute(
                "INSERT INTO bursar.meta VALUES (true, $1, $2, 1, $3)",
                (len(STEPS), uuid4().hex, now),
            )


def _version(connection: Connection[Any], place: str) -> int:
    """Return the number of steps taken, after checking that they are ours."""
    # to_regclass would answer from a cache that waiting for the advisory lock does not freshen
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'bursar'")
    tables = {name for (name,) in found}
    if not tables:
        return 0
    if "meta" not in tables:
        raise InvalidInput(
            f"the schema 'bursar' of {place} is of something else; name another database"
        )
    (had,) = connection.execute("SELECT schema_version FROM bursar.meta").fetchone() or (0,)
    if had > len(STEPS):
        raise NewerSchema(
            f"{place} has schema {had}, this bursar knows {len(STEPS)};"
            " use the newer bursar that wrote it"
        )
    taken = dict(connection.execute("SELECT number, checksum FROM bursar.step").fetchall())
    for number, step in enumerate(STEPS[:had], 1):
        if taken.get(number) != _checksum(step):
            raise CorruptLedger(
                f"step {number} of the schema of {place} is not the one of this bursar;"
                " restore a backup"
            )
    return int(had)


def _checksum(step: str) -> str:
    return blake2b(" ".join(step.split()).encode(), digest_size=16).hexdigest()
