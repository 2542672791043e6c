"""A log: the decisions of a campaign with arm, propensity, cost and reward, in their order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.errors import InvalidInput, MissingData, UnknownParameter, suggest
from bursar.extras import import_extra
from bursar.settings.csv_table import BROKEN, Exclusions, is_blank, parse_table, read_content
from bursar.validation import Floats

__all__ = ["COLUMNS", "NEEDED", "CheckedRows", "Log", "LogRow", "check_rows", "read"]

# ==== replay.row
# A row of a log, and what must be true of it before it counts.

NEEDED = ("arm", "propensity", "cost", "reward")
COLUMNS = (*NEEDED, "decision", "time", "available")


class LogRow(NamedTuple):
    """A row as it was read: texts from CSV, anything from Parquet; ``None`` for nothing."""

    arm: Any
    propensity: Any
    cost: Any
    reward: Any
    decision: Any = None
    time: Any = None
    available: Any = None


class CheckedRows(NamedTuple):
    """A row that counts; a propensity of NaN means that the log has none for it."""

    line: int
    arm: str
    propensity: float
    cost: float
    reward: float
    time: float
    available: frozenset[str] | None


def check_rows(
    rows: Iterable[tuple[int, LogRow]],
    timed: bool,
    called: dict[str, str],
    left_out: Exclusions,
    unweighted: Exclusions,
) -> Iterator[CheckedRows]:
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


def _checked(line: int, row: LogRow, timed: bool, called: dict[str, str]) -> CheckedRows | str:
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
    return CheckedRows(line, arm, math.nan, cost, reward, when, available)


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


EVERY = -1  # the row does not say which arms could be chosen: all of them


@dataclass(frozen=True, eq=False)
class Log:
    """The decisions whose arm, cost and reward are known.

    Attributes
    ----------
    name : str
        The file, or what errors call it.
    arms : tuple of str
        Every arm that was chosen or could be, the first chosen first.
    arm : ndarray
        The number in ``arms`` of each decision.
    propensity : ndarray
        The probability with which the arm was chosen; NaN where the log has none.
    cost, reward : ndarray
        What each decision cost and brought.
    offer, offers : ndarray, tuple of frozenset
        Which arms could be chosen: a number in ``offers``, or -1 for all.
    line : ndarray
        Where each decision stands in the file; ``unit`` says what is counted, lines or rows.
    left_out : Exclusions
        Rows that cannot be used at all, by reason.
    unweighted : Exclusions
        Rows without a usable propensity: they count for what the log earned, not for replays.
    """

    name: str
    arms: tuple[str, ...]
    arm: NDArray[np.int32] = field(repr=False)
    propensity: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    offer: NDArray[np.int32] = field(repr=False)
    offers: tuple[frozenset[str], ...] = field(repr=False)
    line: NDArray[np.int64] = field(repr=False)
    unit: str
    left_out: Exclusions
    unweighted: Exclusions

    @classmethod
    def of(
        cls,
        *,
        arm: ArrayLike,
        propensity: ArrayLike,
        cost: ArrayLike,
        reward: ArrayLike,
        decision: ArrayLike | None = None,
        time: ArrayLike | None = None,
        available: Any = None,
        name: str = "the log",
    ) -> Log:
        """Make a log of columns: arrays or lists of equal length.

        Examples
        --------
        >>> log = Log.of(arm=["a", "b", "a"], propensity=[0.5, 0.5, 0.5], cost=[1, 2, 1],
        ...              reward=[0, 1, None])
        >>> len(log), log.spent, log.earned, log.left_out.counts
        (2, 3.0, 1.0, {'reward is empty': 1})
        """
        given = (arm, propensity, cost, reward, decision, time, available)
        columns = [None if c is None else list(cast("Iterable[Any]", c)) for c in given]
        sizes = {n: len(c) for n, c in zip(COLUMNS, columns, strict=True) if c is not None}
        if len(set(sizes.values())) > 1:
            raise InvalidInput(
                f"the columns of a log must be of one length, got {sizes}; one value a decision"
            )
        count = sizes["arm"]
        filled = [c if c is not None else [None] * count for c in columns]
        rows = ((i, LogRow(*values)) for i, values in enumerate(zip(*filled, strict=True), 1))
        return cls.checked(name, rows, "row", time is not None, {n: n for n in COLUMNS})

    @classmethod
    def checked(cls, name: str, rows: Any, unit: str, timed: bool, called: dict[str, str]) -> Log:
        """Make a log of raw rows; those that cannot be used are counted by reason."""
        left_out, unweighted = Exclusions(), Exclusions()
        kept = list(check_rows(rows, timed, called, left_out, unweighted))
        if timed:
            kept.sort(key=lambda row: row.time)  # stable: equal times keep the order of the file
        codes: dict[str, int] = {}
        offers: dict[frozenset[str], int] = {}
        arm = [codes.setdefault(row.arm, len(codes)) for row in kept]
        offer = [
            EVERY if row.available is None else offers.setdefault(row.available, len(offers))
            for row in kept
        ]
        for those in offers:
            for other in sorted(those):
                codes.setdefault(other, len(codes))
        return cls(
            name,
            tuple(codes),
            np.array(arm, dtype=np.int32),
            np.array([row.propensity for row in kept], dtype=np.float64),
            np.array([row.cost for row in kept], dtype=np.float64),
            np.array([row.reward for row in kept], dtype=np.float64),
            np.array(offer, dtype=np.int32),
            tuple(offers),
            np.array([row.line for row in kept], dtype=np.int64),
            unit,
            left_out,
            unweighted,
        )

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def spent(self) -> float:
        """What all decisions cost."""
        return float(self.cost.sum())

    @property
    def earned(self) -> float:
        """What all decisions brought: what the logging policy earned, exactly."""
        return float(self.reward.sum())

    def earned_by(self, spend: float) -> float | None:
        """Return what the log had earned when its spend reached ``spend``; None if it never did.

        Examples
        --------
        >>> log = Log.of(arm="aba", propensity=[0.5] * 3, cost=[1, 1, 1], reward=[1, 0, 1])
        >>> log.earned_by(2.0), log.earned_by(4.0)
        (1.0, None)
        """
        by = np.cumsum(self.cost)
        slack = 1e-9 * abs(spend)  # a sum in another order differs in its last digits
        at = int(np.searchsorted(by, spend - slack))
        return float(self.reward[: at + 1].sum()) if at < by.size else None


# ==== replay.reading
# Reading a log: CSV, or Parquet with the extra ``paper``.


def read(path: str | PathLike[str], columns: Mapping[str, str] | None = None) -> Log:
    """Read a log from a CSV file (or a ZIP file with one) or a Parquet file.

    Parameters
    ----------
    path : path
        A row a decision, with the columns arm, propensity, cost and reward; and, if there are such,
        decision (an id: a second row of it is left out), time (rows are put in its order) and
        available (the arms that could be chosen, as in ``small|large``).
    columns : mapping of str to str, optional
        Other names of these columns in the file, as in ``{"arm": "variant"}``.
    """
    called = _called(columns or {})
    if Path(path).suffix.casefold() in (".parquet", ".pq"):
        if not Path(path).is_file():
            raise MissingData(f"no file {str(path)!r}; check the path")
        there, rows = import_extra("bursar.replay.parquet").rows(Path(path), called)
        return Log.checked(Path(path).name, rows, "row", "time" in there, called)
    return _of_csv(read_content(path), Path(path).name, called, columns or {})


def _of_csv(data: bytes, name: str, called: dict[str, str], given: Mapping[str, str]) -> Log:
    required = [called[key] for key in COLUMNS if key in NEEDED or key in given]
    table = parse_table(data, name, required)
    found = {key: table.position(called[key]) for key in COLUMNS}
    positions = {key: at for key, at in found.items() if at is not None}
    broken = Exclusions()

    def rows() -> Iterator[tuple[int, LogRow]]:
        for row in table.rows:
            if table.is_complete(row):
                fields: dict[str, Any] = {key: row.fields[at] for key, at in positions.items()}
                yield row.line, LogRow(**fields)
            else:
                broken.add(row.line, BROKEN)

    log = Log.checked(name, rows(), "line", "time" in positions, called)
    log.left_out.counts.update(broken.counts)
    log.left_out.lines.update(broken.lines)
    return log


def _called(columns: Mapping[str, str]) -> dict[str, str]:
    for key, name in columns.items():
        if key not in COLUMNS:
            raise UnknownParameter(f"a log has no column {key!r}{suggest(key, COLUMNS)}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the column of {key} must have a name, got {name!r}")
    return {key: columns.get(key, key) for key in COLUMNS}
