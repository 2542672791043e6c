"""How a user's own export is to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bursar.checks import positive
from bursar.errors import InvalidInput
from bursar.settings.amounts import Decimal
from bursar.settings.entries import Columns
from bursar.settings.lots import Limit
from bursar.settings.own_setting import Model

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """How an export is read; see :func:`bursar.settings.own.read`."""

    decimal: Decimal | None = None
    blank_is_zero: bool = False
    money: bool | None = None
    prize: float | Literal["largest"] | None = None
    model: Model = "bernoulli"

    def __post_init__(self) -> None:
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.model not in ("bernoulli", "beta"):
            raise InvalidInput(f"model must be 'bernoulli' or 'beta', got {self.model!r}")
        if self.prize not in (None, "largest"):
            positive("prize", self.prize, "what one success brings, or 'largest'")

    def limit(self, columns: Columns, sign: str) -> Limit | None:
        """Return the most that a click can bring; None if the largest of a group is to be it."""
        if isinstance(self.prize, str):
            return None
        if self.prize is not None:
            reason = f"more {columns.reward} a click than the prize of {self.prize:g}"
            return Limit(float(self.prize), reason)
        money = bool(sign) if self.money is None else self.money
        return None if money else Limit(1.0, f"more {columns.reward} than {columns.clicks}")
