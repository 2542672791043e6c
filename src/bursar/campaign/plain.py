"""What campaigns show, as plain data: ready for JSON, money as decimal texts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Return a value as texts, numbers, lists and dictionaries; what is infinite becomes None.

    >>> plain({"spent": Decimal("1.50"), "bound": math.inf})
    {'spent': '1.50', 'bound': None}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no infinity
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
