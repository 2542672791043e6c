"""The Facebook ads of the paper, which may not be in the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FILE = Path(__file__).parent.parent.parent / "shared" / "data" / "facebook_ads.csv"


def the_file() -> Path:
    """Return the shared file; skip the test without it, but fail in CI."""
    if not FILE.is_file():
        if os.environ.get("CI"):
            pytest.fail(f"{FILE} must be there when CI is set")
        pytest.skip(f"{FILE} is not there: the ads are not in the repository")
    return FILE
