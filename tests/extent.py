"""How much of a long grid is tested: a covering sample, or all of it under `make test-all`."""

from __future__ import annotations

import os
from typing import TypeVar

__all__ = ["extent"]

T = TypeVar("T")


def extent(sample: T, whole: T) -> T:
    """Return what to test: ``sample``, or ``whole`` if BURSAR_TEST_ALL is set."""
    return whole if os.environ.get("BURSAR_TEST_ALL") else sample
