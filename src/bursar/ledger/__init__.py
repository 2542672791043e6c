"""The ledger: an append-only log of events, each chained to the one before, kept in a store."""

from bursar.ledger.log import Event, LogHead
from bursar.ledger.memory import MemoryStore
from bursar.ledger.store import LogWriter, Store

__all__ = ["Event", "LogHead", "LogWriter", "MemoryStore", "Store"]
