"""A row of a log, and what must be true of it before it counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

from bursar.settings.ads import Exclusions
from bursar.settings.amounts import is_blank

__all__ = ["COLUMNS", "NEEDED", "Checked", "Row", "checked_rows"]

NEEDED = ("arm", "propensity", "cost", "reward")
COLUMNS = (*NEEDED, "decision", "time", "available")


class Row(NamedTuple):
    """A row as it was read: texts from CSV, anything from Parquet; ``None`` for nothing."""

    arm: Any
    propensity: Any
    cost: Any
    reward: Any
    decision: Any = None
    time: Any = None
    available: Any = None


class Checked(NamedTuple):
    """A row that counts; a propensity of NaN means that the log has none for it."""

    line: int
    arm: str
    propensity: float
    cost: float
    reward: float
    time: float
    available: frozenset[str] | None


def checked_rows(
    rows: Iterable[tuple[int, Row]],
    timed: bool,
    called: dict[str, str],
    left_out: Exclusions,
    unweighted: Exclusions,
) -> Iterator[Checked]:
    """Yield the rows that count; note the others by reason, columns by the names they have."""
    seen: set[str] = set()
    for line, row in rows:
        found = _checked(line, row, timed, called)
        if isinstance(found, str):
            left_out.add(line, found)
            continue
        decision = _text(row.decision)
        if decision and decision in seen:
            left_out.add(line, f"{called['decision']} was there before")
            continue
        seen.add(decision)
        weight = _propensity(row.propensity, called["propensity"])
        if isinstance(weight, str):
            unweighted.add(line, weight)
            weight = math.nan
        yield found._replace(propensity=weight)


def _checked(line: int, row: Row, timed: bool, called: dict[str, str]) -> Checked | str:
    arm = _text(row.arm)
    if not arm:
        return f"{called['arm']} is empty"
    cost = _number(row.cost, called["cost"])
    if isinstance(cost, str):
        return cost
    if cost < 0.0:
        return f"{called['cost']} is negative"
    reward = _number(row.reward, called["reward"])
    if isinstance(reward, str):
        return reward
    when = _time(row.time) if timed else 0.0
    if when is None:
        return f"{called['time']} is no time"
    available = _names(row.available)
    if available is not None and arm not in available:
        return f"{called['arm']} is not in {called['available']}"
    return Checked(line, arm, math.nan, cost, reward, when, available)


def _number(value: Any, column: str) -> float | str:
    """Return a finite number, or what is wrong with it."""
    if _is_nothing(value):
        return f"{column} is empty"
    try:
        if isinstance(value, str) and ("_" in value or not value.isascii()):
            return f"{column} is not a number"  # float() takes 1_000 and digits of any script
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return f"{column} is not a number"
    return number if math.isfinite(number) else f"{column} is not finite"


def _propensity(value: Any, column: str) -> float | str:
    number = _number(value, column)
    if isinstance(number, str):
        return number
    if number == 0.0:
        return f"{column} is 0, but the arm was chosen"
    return number if 0.0 < number <= 1.0 else f"{column} is not in (0, 1]"


def _time(value: Any) -> float | None:
    """Return seconds of a time: a number, ISO text, or a datetime, in UTC if it has no zone."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            try:
                value = datetime.fromisoformat(value)
            except ValueError:
                return None
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, date):
        value = float(value.toordinal()) * 86400.0
    if isinstance(value, Real | Decimal) and math.isfinite(value):
        return float(value)
    return None


def _names(value: Any) -> frozenset[str] | None:
    """Return the arms of a list, or of a text such as ``a|b|c``; None if it says nothing."""
    if _is_nothing(value):
        return None
    parts = value.split("|") if isinstance(value, str) else list(value)
    return frozenset(name for part in parts if (name := _text(part))) or None


def _text(value: Any) -> str:
    return "" if _is_nothing(value) else str(value).strip()


def _is_nothing(value: Any) -> bool:
    if isinstance(value, str):
        return is_blank(value.strip())
    return value is None or (isinstance(value, float) and math.isnan(value))
