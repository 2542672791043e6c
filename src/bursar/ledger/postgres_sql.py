"""The statements of a PostgreSQL ledger, and how values go in and come out: as libpq has them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

INT, TEXT, BYTES, BOOL = 20, 25, 17, 16
_INTS, _TEXTS, _BYTES_LIST = 1016, 1009, 1001


class Statement(NamedTuple):
    """A statement that a line prepares: name, text, types and formats of its parameters."""

    name: bytes
    text: bytes
    types: tuple[int, ...]
    formats: tuple[int, ...]


def _statement(name: str, text: str, *types: int) -> Statement:
    return Statement(name.encode(), text.encode(), types, (1,) * len(types))


_EVENT = "seq, ts, kind, decision, body, hash"
# the row moves on only from the head that was decided on, and never by a grant beyond the budget;
# where it does not move, no event is added: one statement, so that COMMIT may follow unseen
_MOVE = """
WITH moved AS (
    UPDATE bursar.campaign SET state = $1, budget = $2, spent = $3, held = $4, seq = $6, ts = $7,
        hash = $8
    WHERE id = $9 AND seq = $10 AND (NOT $5 OR $3 + $4 <= $2) RETURNING id)
INSERT INTO bursar.event(campaign, seq, ts, kind, decision, body, hash)
"""
_ROW = (TEXT, INT, INT, INT, BOOL, INT, INT, BYTES, INT, INT)

BEGIN = _statement("begin", "BEGIN")
COMMIT = _statement("commit", "COMMIT")
ROLLBACK = _statement("rollback", "ROLLBACK")
LOCK = _statement(
    "lock", "SELECT id, seq, ts, hash FROM bursar.campaign WHERE name = $1 FOR UPDATE", TEXT
)
NAMES = _statement("names", "SELECT name FROM bursar.campaign")
NUMBER = _statement("number", "SELECT id FROM bursar.campaign WHERE name = $1", TEXT)
AFTER = _statement(
    "after",
    f"SELECT {_EVENT} FROM bursar.event WHERE campaign = $1 AND seq > $2 ORDER BY seq LIMIT $3",
    INT, INT, INT,
)  # fmt: skip
OF = _statement(
    "of",
    f"SELECT {_EVENT} FROM bursar.event"
    " WHERE campaign = $1 AND decision = $2 AND decision <> '' ORDER BY seq",
    INT, TEXT,
)  # fmt: skip
HASH_OF = _statement(
    "hash_of",
    "SELECT hash FROM bursar.event"
    " WHERE campaign = (SELECT id FROM bursar.campaign WHERE name = $1) AND seq = $2",
    TEXT, INT,
)  # fmt: skip
CREATE = _statement(
    "create",
    "WITH made AS (INSERT INTO bursar.campaign(name, state, budget, spent, held, seq, ts, hash)"
    " VALUES ($1, $2, $3, $4, $5, $6, $7, $11) ON CONFLICT (name) DO NOTHING RETURNING id)"
    f" INSERT INTO bursar.event(campaign, {_EVENT})"
    " SELECT id, $6, $7, $8, $9, $10, $11 FROM made",
    TEXT, TEXT, INT, INT, INT, INT, INT, TEXT, TEXT, TEXT, BYTES,
)  # fmt: skip
APPEND_ONE = _statement(
    "append_one", _MOVE + "SELECT id, $6, $7, $11, $12, $13, $8 FROM moved",
    *_ROW, TEXT, TEXT, TEXT,
)  # fmt: skip
APPEND = _statement(
    "append",
    _MOVE + "SELECT moved.id, e.* FROM moved, unnest($11, $12, $13, $14, $15, $16) AS e",
    *_ROW, _INTS, _INTS, _TEXTS, _TEXTS, _TEXTS, _BYTES_LIST,
)  # fmt: skip
SNAPSHOTS = _statement(
    "snapshots",
    "SELECT seq, body, hash FROM bursar.snapshot WHERE campaign = $1 ORDER BY seq DESC", INT,
)  # fmt: skip
# only of the log that was decided on, should the append that goes with it be refused
KEEP = _statement(
    "keep",
    "INSERT INTO bursar.snapshot SELECT id, $2, $3, $4 FROM bursar.campaign"
    " WHERE id = $1 AND hash = $5 AND seq >= $2"
    " ON CONFLICT (campaign, seq) DO UPDATE SET body = EXCLUDED.body, hash = EXCLUDED.hash",
    INT, INT, BYTES, BYTES, BYTES,
)  # fmt: skip
FORGET = _statement(
    "forget",
    "DELETE FROM bursar.snapshot WHERE campaign = $1 AND seq < (SELECT min(seq) FROM (SELECT seq"
    " FROM bursar.snapshot WHERE campaign = $1 ORDER BY seq DESC LIMIT 3) AS newest)",
    INT,
)
STANDINGS = _statement(
    "standings", "SELECT name, state, budget, spent, held, seq, ts FROM bursar.campaign"
)
CAMPAIGNS_OF = _statement(
    "find_campaigns",
    "SELECT name FROM bursar.campaign AS c WHERE EXISTS (SELECT 1 FROM bursar.event"
    " WHERE campaign = c.id AND decision = $1 AND decision <> '')",
    TEXT,
)
PAPERS = _statement("papers", "SELECT id, body FROM bursar.paper WHERE kind = $1", TEXT)
ADD_PAPER = _statement(
    "insert_record", "INSERT INTO bursar.paper VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    TEXT, TEXT, BYTES,
)  # fmt: skip
PUT_PAPER = _statement(
    "put_record",
    "INSERT INTO bursar.paper VALUES ($1, $2, $3)"
    " ON CONFLICT (kind, id) DO UPDATE SET body = EXCLUDED.body",
    TEXT, TEXT, BYTES,
)  # fmt: skip
DROP_PAPER = _statement(
    "drop_paper", "DELETE FROM bursar.paper WHERE kind = $1 AND id = $2", TEXT, TEXT
)
HANG_UP = _statement(
    "hang_up",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", TEXT,
)  # fmt: skip

ALL = tuple(value for value in globals().values() if isinstance(value, Statement))

number = struct.Struct("!q").pack


def whole(data: bytes) -> int:
    """Return the number that a server's eight bytes stand for."""
    return int.from_bytes(data, "big", signed=True)


def array(kind: int, items: Sequence[bytes]) -> bytes:
    """Return a list as the server takes it."""
    head = struct.pack("!iiIii", 1, 0, kind, len(items), 1)
    return head + b"".join(len(item).to_bytes(4, "big") + item for item in items)
