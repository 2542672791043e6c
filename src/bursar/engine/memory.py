"""Memory of tapes, used again: pages that a thread has touched before are the cheapest there are.

A tape grows by steps and is gone after its match. Fresh pages at each step cost more than what is
written to them; so a thread keeps the block of its last tape for the next.
"""

from __future__ import annotations

import threading

import numpy as np

from bursar.checks import Floats

__all__ = ["KEPT", "block", "keep"]

KEPT = 256_000_000
"""Bytes that a thread may keep; a larger block is given back to the system."""

_own = threading.local()


def block(size: int) -> Floats:
    """Return room for at least ``size`` numbers, whatever they are now."""
    kept: Floats | None = getattr(_own, "block", None)
    if kept is not None and kept.size >= size:
        _own.block = None
        return kept
    return np.empty(size)


def keep(used: Floats) -> None:
    """Take a block back, if it is the larger one and not too large."""
    kept: Floats | None = getattr(_own, "block", None)
    if used.nbytes <= KEPT and (kept is None or used.size > kept.size):
        _own.block = used
