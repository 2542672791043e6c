"""The ledger: an append-only log of events, each chained to the one before, kept in a store."""

from bursar.ledger.event import Event
from bursar.ledger.memory import MemoryStore
from bursar.ledger.store import LogHead, LogWriter, Store

__all__ = ["Event", "LogHead", "LogWriter", "MemoryStore", "Store"]
