"""Amounts as people write them: ``1,234.50``, ``€ 12,30``, ``1 234``; never guessed wrongly.

A text is read under each of the two decimal marks. Where only one gives a number the text says
which mark the file uses; where both give numbers that differ, another text of the file must say it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from bursar.errors import InvalidData

__all__ = ["Amount", "Cell", "Decimal", "amount", "decimal_of", "is_blank"]

Decimal = Literal[".", ","]

_BLANK = {"", "-", "--", "–", "—", "n/a", "#n/a", "na", "nan", "none", "null"}
# a sign, a sign with letters (US$), a code (EUR), and words; not any letters: 12k is no currency
_SIGN = r"[A-Z]{0,3}[$£¥¤฿\u20a0-\u20cf]|[A-Z]{3}|[Kk]r\.?|zł|Kč|Ft|lei|Rs\.?"
_MINUS = "[-+\u2212]?"
_WHOLE = re.compile(
    rf"(?P<open>\(?)\s*(?P<minus>{_MINUS})\s*(?P<before>{_SIGN})?\s*(?P<second>{_MINUS})"
    rf"\s*(?P<body>[0-9.,](?:.*[0-9.,])?)\s*(?P<after>{_SIGN})?\s*(?P<close>\)?)"
)
_SPACES = "'’ \u00a0\u2009\u202f"


def _body(decimal: str, thousands: str) -> re.Pattern[str]:
    first, rest = "[1-9][0-9]{0,2}", f"{re.escape(decimal)}[0-9]*"
    spaced = f"{first}(?P<gap>[{_SPACES}{thousands}])[0-9]{{3}}(?:(?P=gap)[0-9]{{3}})*(?:{rest})?"
    indian = rf"[1-9][0-9]?(?:,[0-9]{{2}})*,[0-9]{{3}}(?:{rest})?"  # 12,34,567.00
    plain = rf"(?:[0-9]+(?:{rest})?|{re.escape(decimal)}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    return re.compile("|".join([spaced, plain] + [indian] * (thousands == ",")))


_BODIES: dict[Decimal, re.Pattern[str]] = {".": _body(".", ","), ",": _body(",", ".")}


class Amount(NamedTuple):
    """A number and the currency written beside it, if any."""

    value: float
    sign: str


class Cell(NamedTuple):
    """Where a text stands."""

    line: int
    column: str
    text: str


def is_blank(text: str) -> bool:
    """Whether a field says that there is nothing: empty, a dash, or a word for it."""
    return text.casefold() in _BLANK


def amount(text: str, decimal: Decimal) -> Amount | None:
    """Return the number that a text is under a decimal mark, or None.

    Examples
    --------
    >>> amount("€ 1.234,50", ","), amount("1,234", "."), amount("1,234", ",")
    (Amount(value=1234.5, sign='€'), Amount(value=1234.0, sign=''), Amount(value=1.234, sign=''))
    >>> amount("12k", "."), amount("30-34", "."), amount("(5.00)", ".")
    (None, None, Amount(value=-5.0, sign=''))
    """
    found = _WHOLE.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    if not _BODIES[decimal].fullmatch(found["body"]):
        return None
    thousands = "," if decimal == "." else "."
    plain = re.sub(f"[{_SPACES}{thousands}]", "", found["body"]).replace(decimal, ".")
    value = float(plain)
    if not value < math.inf:
        return None
    down = sum(bool(found[part]) and found[part] in "-\u2212" for part in ("minus", "second"))
    sign = found["before"] or found["after"] or ""
    return Amount(-value if down or found["open"] else value, sign)


def decimal_of(cells: Iterable[Cell], name: str) -> Decimal:
    """Return the decimal mark of a file; refuse one that uses both, or that leaves it open."""
    proof: dict[Decimal, Cell] = {}
    unclear: Cell | None = None
    for cell in cells:
        point, comma = amount(cell.text, "."), amount(cell.text, ",")
        if point is not None and comma is not None:
            if point != comma:
                unclear = unclear or cell
        elif point is not None:
            proof.setdefault(".", cell)
        elif comma is not None:
            proof.setdefault(",", cell)
    if len(proof) == 2:
        one, other = proof["."], proof[","]
        raise InvalidData(
            f"{name}, line {one.line}: {one.column} {one.text!r} has a decimal point, but line"
            f" {other.line}: {other.column} {other.text!r} a decimal comma;"
            " give the one that is right, decimal='.' or decimal=',' (--decimal)"
        )
    if not proof and unclear is not None:
        values = [amount(unclear.text, mark) for mark in _BODIES]
        first, second = (f"{value.value:g}" for value in values if value is not None)
        raise InvalidData(
            f"{name}, line {unclear.line}: {unclear.column} {unclear.text!r} may be {first} or"
            f" {second}, and no other line tells;"
            " give decimal='.' or decimal=',' (--decimal)"
        )
    return next(iter(proof), ".")
