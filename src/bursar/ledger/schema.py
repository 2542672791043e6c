"""The tables of ledgers, as numbered steps that only go forward.

A step that has been released is never edited: every database that took it stores its checksum. A
change is a new step at the end. In PostgreSQL the tables are in a schema of their own, ``bursar``,
so that a database can hold other tables, too.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import LiteralString

from bursar.errors import CorruptLedger, NewerSchema

SQLITE_STEPS: tuple[str, ...] = (
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

POSTGRES_STEPS: tuple[LiteralString, ...] = (
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
)  # the fill factor lets a campaign's row change in place, without touching an index


def check_steps(steps: tuple[str, ...], version: int, taken: dict[int, str], location: str) -> None:
    """Check that a database took our steps, by their checksums, and no newer ones."""
    if version > len(steps):
        raise NewerSchema(
            f"{location} has schema {version}, this bursar knows {len(steps)};"
            " use the newer bursar that wrote it"
        )
    for number, step in enumerate(steps[:version], 1):
        if taken.get(number) != checksum(step):
            raise CorruptLedger(
                f"step {number} of the schema of {location} was changed; restore a backup"
            )


def checksum(step: str) -> str:
    """Return the checksum of a step; white space does not matter."""
    return blake2b(" ".join(step.split()).encode(), digest_size=16).hexdigest()
