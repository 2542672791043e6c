"""The ledger: an append-only log of events, each chained to the one before, kept in a store."""

from bursar.ledger.event import GENESIS, Event, decode_event_body, encode_event_body, hash_event
from bursar.ledger.memory import MemoryStore
from bursar.ledger.store import LogHead, LogWriter, Store

__all__ = [
    "GENESIS",
    "Event",
    "LogHead",
    "LogWriter",
    "MemoryStore",
    "Store",
    "decode_event_body",
    "encode_event_body",
    "hash_event",
]
