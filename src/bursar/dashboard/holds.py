"""Open holds as a page lists them: oldest first, with those that are stuck marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bursar.campaign import Decision
from bursar.dashboard.look import Look, is_stuck
from bursar.dashboard.spelling import ago, count, moment, money, plural

__all__ = ["AGES", "chosen", "holds", "ticked"]

AGES = {"0": "All", "60": "1 minute", "600": "10 minutes", "3600": "1 hour", "86400": "1 day"}
"""Ages in seconds that can be filtered by."""

_SHOWN = 50


def chosen(look: Look, older: str) -> list[Decision]:
    """Return the holds that are as old as was asked for, oldest first."""
    age = int(older) if older in AGES else 0
    return [one for one in look.holds if (look.now - one.at).total_seconds() >= age]


def holds(look: Look, older: str) -> dict[str, Any]:
    """Return the table of open holds."""
    found, currency = chosen(look, older), look.status.currency
    shown = found[:_SHOWN]
    stuck = len(look.stuck)
    words = (
        f"{plural(len(look.holds), 'decision')} {'waits' if len(look.holds) == 1 else 'wait'} for"
        f" an outcome and {'holds' if len(look.holds) == 1 else 'hold'}"
        f" {money(look.status.held, currency)}; {count(stuck) if stuck else 'none'} stuck."
    )
    return {
        "total": len(look.holds),
        "shown": len(shown),
        "words": words,
        "more": f"{count(len(found) - _SHOWN)} more are not shown." if len(found) > _SHOWN else "",
        "ages": [
            {"value": value, "label": label if value == "0" else f"older than {label}",
             "chosen": value == (older if older in AGES else "0")}
            for value, label in AGES.items()
        ],
        "rows": [_row(one, look) for one in shown],
    }  # fmt: skip


def _row(one: Decision, look: Look) -> dict[str, Any]:
    return {
        "id": one.id,
        "short": one.id if len(one.id) <= 16 else f"{one.id[:8]}…{one.id[-6:]}",
        "arm": one.arm,
        "hold": money(one.hold, look.status.currency),
        "at": moment(one.at),
        "age": ago(one.at, look.now),
        "expires": moment(one.expires_at),
        "stuck": is_stuck(one, look.now),
    }


def ticked(fields: Mapping[str, str], mark: str = "hold:") -> list[str]:
    """Return the decisions that were ticked in the form.

    >>> ticked({"hold:a": "1", "reason": "x"})
    ['a']
    """
    return [name.removeprefix(mark) for name in fields if name.startswith(mark)]
