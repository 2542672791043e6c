"""The ledger: an append-only log of events, each chained to the one before, kept in a store."""

from bursar.ledger.event import GENESIS, Event, chained, decoded, encoded
from bursar.ledger.memory import MemoryStore
from bursar.ledger.store import Head, Session, Store

__all__ = [
    "GENESIS",
    "Event",
    "Head",
    "MemoryStore",
    "Session",
    "Store",
    "chained",
    "decoded",
    "encoded",
]
