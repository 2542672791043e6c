"""Money: integers of a small unit inside, decimals outside; floats only where they are exact."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal

from bursar.errors import InvalidInput
from bursar.formatting import format_money
from bursar.validation import unwrap_scalar

Amount = Decimal | str | int | float
Rounding = Literal["up", "down", "nearest"]

_MODES = {"up": ROUND_CEILING, "down": ROUND_FLOOR, "nearest": ROUND_HALF_EVEN}
_MOST_EXPONENT = 12
_LONGEST = 100  # digits of an amount that is kept as text; 0.1 as a float has 55
_DIGITS = 18  # of the largest amount in units: below 2^63, as databases keep it


@dataclass(frozen=True, slots=True)
class Coin:
    """A currency and its smallest unit, 10^-exponent of it.

    Examples
    --------
    >>> coin = Coin(exponent=4, currency="EUR")
    >>> coin.units("cost", "0.0031")
    31
    >>> coin.amount(31)
    Decimal('0.0031')
    >>> coin.units("cost", 0.1)
    Traceback (most recent call last):
    bursar.errors.InvalidInput: cost=0.1 is a float with no exact decimal value; pass '0.1' as text
    or a Decimal, or set a rounding
    >>> coin.units("cost", 0.10000000000000001, rounding="up")
    1001
    """

    exponent: int = 6
    currency: str = ""

    def __post_init__(self) -> None:
        if type(self.exponent) is not int or not 0 <= self.exponent <= _MOST_EXPONENT:
            raise InvalidInput(
                f"exponent must be a whole number from 0 to {_MOST_EXPONENT}, got"
                f" {self.exponent!r}; 2 keeps cents, 6 millionths"
            )
        name = self.currency
        if not isinstance(name, str) or len(name) > 16 or not name.isprintable():
            raise InvalidInput(
                f"currency must be text of at most 16 printable characters, got {name!r}"
            )

    def units(self, name: str, value: Amount, rounding: Rounding | None = None) -> int:
        """Return an amount in units; it must be 0 or more, finite, and exact unless rounded."""
        if rounding is not None and rounding not in _MODES:
            raise InvalidInput(f"rounding must be one of {', '.join(_MODES)}, got {rounding!r}")
        if type(value) is str and rounding is None:
            return _units_of_text(name, value, self.exponent)
        value = unwrap_scalar(value)
        return _to_units(name, value, parse_amount(name, value), self.exponent, rounding)

    def amount(self, units: int) -> Decimal:
        """Return units as an amount, with all digits of the exponent."""
        return Decimal(units).scaleb(-self.exponent)

    def text(self, units: int) -> str:
        """Return units as a decimal number in text, as in JSON.

        >>> Coin(2).text(1234), Coin(6).text(-1)
        ('12.34', '-0.000001')
        """
        return f"{self.amount(units):f}"

    def format(self, units: int) -> str:
        """Return units as text for people, with the currency.

        >>> Coin(6, "EUR").format(1_234_500_000)
        '1,234.50 EUR'
        """
        return format_money(self.amount(units), self.currency)


def choose_exponent(amounts: Iterable[Amount], least: int = 6) -> int:
    """Return the decimals that amounts need, from ``least`` to the most that a coin can have.

    What is no amount does not count: it is refused where it is used.

    >>> choose_exponent(["25.00", "0.000000001"]), choose_exponent([0.1, "1e-40", "x"])
    (9, 6)
    """
    return max([least, *filter(_MOST_EXPONENT.__ge__, map(count_decimals, amounts))])


def find_exponent(
    budget: Amount, arms: Mapping[str, Amount], caps: Mapping[str, Amount], min_cost: Any = None
) -> int:
    """Return how many decimals the money of a new campaign needs: 6, or more."""
    amounts = [budget, *([] if min_cost is None else [min_cost])]
    for one in (arms, caps):
        amounts += one.values() if isinstance(one, Mapping) else ()
    return choose_exponent(amounts)


def count_decimals(value: Amount) -> int:
    """Return how many decimals an amount has, without zeros at its end; 0 if it is no amount."""
    with suppress(InvalidInput):
        return len(format_amount("amount", value).partition(".")[2])
    return 0


def format_amount(name: str, value: Amount) -> str:
    """Return an amount as text, the same for equal amounts.

    >>> format_amount("hold", "0.020"), format_amount("hold", Decimal("2E1"))
    ('0.02', '20')
    """
    found = parse_amount(name, unwrap_scalar(value))
    if not -_LONGEST < found.adjusted() < _LONGEST or len(found.as_tuple().digits) > _LONGEST:
        raise InvalidInput(f"{name} must have at most {_LONGEST} digits, got {value!r:.100}")
    text = f"{found:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=4096)
def _units_of_text(name: str, value: str, exponent: int) -> int:
    return _to_units(name, value, parse_amount(name, value), exponent, None)


def parse_amount(name: str, value: Amount) -> Decimal:
    """Return an amount as a decimal number; it must be 0 or more, and finite."""
    # Decimal takes '1_000' and full-width digits; money does not
    odd = isinstance(value, str) and not (value.isascii() and "_" not in value)
    found = None
    if isinstance(value, Decimal | str | int | float) and not isinstance(value, bool) and not odd:
        with suppress(InvalidOperation):
            found = Decimal(value)
    if found is None:
        raise InvalidInput(f"{name} must be an amount such as '1.50', got {value!r}")
    if not found.is_finite():
        raise InvalidInput(f"{name} must be finite, got {value!r}")
    if found < 0:
        raise InvalidInput(f"{name} must be 0 or more, got {value!r}")
    return found


def _to_units(
    name: str, given: Amount, value: Decimal, exponent: int, mode: Rounding | None
) -> int:
    if not value:
        return 0
    if value.adjusted() + exponent >= _DIGITS:
        raise InvalidInput(
            f"{name} must be below 10^{_DIGITS - exponent}, got {given!r};"
            " a smaller exponent allows larger amounts"
        )
    _, digits, power = value.as_tuple()
    shift = int(power) + exponent
    whole = int("".join(map(str, digits)))
    if shift >= 0:
        return whole * int(10**shift)
    if mode is not None:
        return int(value.scaleb(exponent).to_integral_value(_MODES[mode]))
    if -shift > len(digits) + 400:
        units, rest = 0, whole
    else:
        units, rest = divmod(whole, int(10**-shift))
    if not rest:
        return units
    if isinstance(given, float):
        raise InvalidInput(
            f"{name}={given!r} is a float with no exact decimal value;"
            f" pass '{given!r}' as text or a Decimal, or set a rounding"
        )
    raise InvalidInput(
        f"{name} has more than {exponent} decimals, got {given!r};"
        " pass fewer, or set a larger exponent or a rounding"
    )
