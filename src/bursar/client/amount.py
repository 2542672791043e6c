"""Money on its way to a service: the checks of the embedded campaign, then decimal text."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from bursar.checks import real
from bursar.errors import InvalidInput
from bursar.money import Amount, Coin, Rounding

__all__ = ["amount_text", "exponent_of", "reward_number"]


def amount_text(
    name: str, value: Amount, exponent: int | None, rounding: Rounding | None = None
) -> tuple[str, Rounding | None]:
    """Return an amount as text, and the rounding that is left to the service.

    With the exponent of the campaign known, everything is decided here. Before the first answer it
    is not: then what no campaign takes is refused, and the exact value goes on its way.

    >>> amount_text("cost", "0.00310", 6), amount_text("cost", 0.1, 2, "up")
    (('0.003100', None), ('0.11', None))
    >>> amount_text("cost", 0.25, None, "up")
    ('0.25', 'up')
    """
    if exponent is not None:
        coin = Coin(exponent)
        return coin.text(coin.units(name, value, rounding)), None
    Coin(0).units(name, value, rounding or "up")  # a number, finite, 0 or more, below 10^18
    return f"{Decimal(value):f}", rounding


def exponent_of(amount: str) -> int:
    """Return the exponent of the campaign that wrote an amount: it writes all its digits.

    >>> exponent_of("0.004000"), exponent_of("12")
    (6, 0)
    """
    return len(amount.partition(".")[2])


def reward_number(reward: Any) -> float:
    """Return a reward; refuse what no campaign takes."""
    found = real("reward", reward)
    if not math.isfinite(found):
        raise InvalidInput(f"reward must be finite, got {reward!r}")
    return found
