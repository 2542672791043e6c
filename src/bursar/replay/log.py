"""A log: the decisions of a campaign with arm, propensity, cost and reward, in their order.

Rows come from CSV, from Parquet (extra ``paper``) or from arrays. Rows that cannot be used are
counted by reason, never dropped silently.
"""

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

from bursar.arrays import Floats
from bursar.errors import InvalidInput, MissingData, UnknownParameter, suggest
from bursar.extras import import_extra
from bursar.settings.csv_table import BROKEN, Exclusions, is_blank, parse_table, read_content

REQUIRED = ("arm", "propensity", "cost", "reward")
COLUMNS = (*REQUIRED, "decision", "time", "available")
ALL_ARMS = -1  # the offer of a row that does not list the arms that could be chosen


def read_log(path: str | PathLike[str], columns: Mapping[str, str] | None = None) -> Log:
    """Read a log from a CSV file (or a ZIP file that contains one) or a Parquet file.

    Parameters
    ----------
    path : path
        One row per decision, with the columns arm, propensity, cost and reward, and optionally
        decision (an id: repeated rows are left out), time (rows are sorted by it) and available
        (the arms that could be chosen, as in ``small|large``).
    columns : mapping of str to str, optional
        Other names of these columns in the file, as in ``{"arm": "variant"}``.
    """
    names = _check_columns(columns or {})
    name = Path(path).name
    if Path(path).suffix.casefold() in (".parquet", ".pq"):
        if not Path(path).is_file():
            raise MissingData(f"no file {str(path)!r}; check the path")
        found, rows = import_extra("bursar.replay.parquet").read_rows(Path(path), names)
        return Log.from_rows(name, rows, "row", "time" in found, names)
    required = [names[key] for key in COLUMNS if key in REQUIRED or key in (columns or {})]
    table = parse_table(read_content(path), name, required)
    positions = table.positions(names.values())
    found = [key for key in COLUMNS if names[key] in positions]
    complete = (
        (row.line, LogRow(**{key: row.fields[positions[names[key]]] for key in found}))
        for row in table.rows
        if table.is_complete(row)
    )
    log = Log.from_rows(name, complete, "line", "time" in found, names)
    for row in table.rows:
        if not table.is_complete(row):
            log.left_out.add(row.line, BROKEN)
    return log


def _check_columns(columns: Mapping[str, str]) -> dict[str, str]:
    for key, name in columns.items():
        if key not in COLUMNS:
            raise UnknownParameter(f"a log has no column {key!r}{suggest(key, COLUMNS)}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the column of {key} must have a name, got {name!r}")
    return {key: columns.get(key, key) for key in COLUMNS}


class LogRow(NamedTuple):
    """A row as it was read: texts from CSV, any type from Parquet; None where there is no value."""

    arm: Any
    propensity: Any
    cost: Any
    reward: Any
    decision: Any = None
    time: Any = None
    available: Any = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """The decisions whose arm, cost and reward are known.

    Attributes
    ----------
    name : str
        The file, or another name for errors.
    arms : tuple of str
        Every arm that was chosen or could be, in the order of their first choice.
    arm : ndarray
        The number in ``arms`` of each decision.
    propensity : ndarray
        The probability with which the arm was chosen; NaN where the log has none.
    cost, reward : ndarray
        The cost and reward of each decision.
    offer, offers : ndarray, tuple of frozenset
        Which arms could be chosen: an index into ``offers``, or -1 for all.
    line : ndarray
        The line or row of each decision in the file; ``unit`` says which.
    left_out : Exclusions
        Rows that cannot be used at all, by reason.
    unweighted : Exclusions
        Rows without a usable propensity: they count towards what the log earned, not for replays.
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
    def from_columns(
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
        """Make a log from columns: arrays or lists of equal length.

        Examples
        --------
        >>> log = Log.from_columns(
        ...     arm=["a", "b", "a"], propensity=[0.5] * 3, cost=[1, 2, 1], reward=[0, 1, None]
        ... )
        >>> len(log), log.spent, log.earned, log.left_out.counts
        (2, 3.0, 1.0, {'reward is empty': 1})
        """
        given = (arm, propensity, cost, reward, decision, time, available)
        columns = [None if c is None else list(cast("Iterable[Any]", c)) for c in given]
        sizes = {n: len(c) for n, c in zip(COLUMNS, columns, strict=True) if c is not None}
        if len(set(sizes.values())) > 1:
            raise InvalidInput(
                f"the columns of a log must have one length, got {sizes};"
                " pass one value per decision"
            )
        count = sizes["arm"]
        filled = [c if c is not None else [None] * count for c in columns]
        rows = ((i, LogRow(*values)) for i, values in enumerate(zip(*filled, strict=True), 1))
        return cls.from_rows(name, rows, "row", time is not None, {n: n for n in COLUMNS})

    @classmethod
    def from_rows(cls, name: str, rows: Any, unit: str, timed: bool, names: dict[str, str]) -> Log:
        """Make a log from raw rows; those that cannot be used are counted by reason."""
        left_out, unweighted = Exclusions(), Exclusions()
        kept = list(_select_rows(rows, timed, names, left_out, unweighted))
        if timed:
            kept.sort(key=lambda row: row.time)  # stable: equal times keep the order of the file
        codes: dict[str, int] = {}
        offers: dict[frozenset[str], int] = {}
        arm = [codes.setdefault(row.arm, len(codes)) for row in kept]
        offer = [
            ALL_ARMS if row.available is None else offers.setdefault(row.available, len(offers))
            for row in kept
        ]
        for those in offers:
            for other in sorted(those):
                codes.setdefault(other, len(codes))
        return cls(
            name=name,
            arms=tuple(codes),
            arm=np.array(arm, dtype=np.int32),
            propensity=np.array([row.propensity for row in kept], dtype=np.float64),
            cost=np.array([row.cost for row in kept], dtype=np.float64),
            reward=np.array([row.reward for row in kept], dtype=np.float64),
            offer=np.array(offer, dtype=np.int32),
            offers=tuple(offers),
            line=np.array([row.line for row in kept], dtype=np.int64),
            unit=unit,
            left_out=left_out,
            unweighted=unweighted,
        )

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def spent(self) -> float:
        """The cost of all decisions."""
        return float(self.cost.sum())

    @property
    def earned(self) -> float:
        """The reward of all decisions: what the logging policy earned, exactly."""
        return float(self.reward.sum())

    def earned_by(self, spend: float) -> float | None:
        """Return the reward when the log had spent ``spend``; None if it never did.

        Examples
        --------
        >>> log = Log.from_columns(
        ...     arm="aba", propensity=[0.5] * 3, cost=[1, 1, 1], reward=[1, 0, 1]
        ... )
        >>> log.earned_by(2.0), log.earned_by(4.0)
        (1.0, None)
        """
        by = np.cumsum(self.cost)
        slack = 1e-9 * abs(spend)  # a sum in another order differs in its last digits
        at = int(np.searchsorted(by, spend - slack))
        return float(self.reward[: at + 1].sum()) if at < by.size else None


class _Decision(NamedTuple):
    """A usable row; its propensity is NaN if the log has none."""

    line: int
    arm: str
    propensity: float
    cost: float
    reward: float
    time: float
    available: frozenset[str] | None


def _select_rows(
    rows: Iterable[tuple[int, LogRow]],
    timed: bool,
    names: dict[str, str],
    left_out: Exclusions,
    unweighted: Exclusions,
) -> Iterator[_Decision]:
    """Yield the usable rows; count the others by reason, with the file's names of columns."""
    seen: set[str] = set()
    for line, row in rows:
        found = _parse_row(line, row, timed, names)
        if isinstance(found, str):
            left_out.add(line, found)
            continue
        decision = _to_text(row.decision)
        if decision and decision in seen:
            left_out.add(line, f"{names['decision']} is repeated")
            continue
        seen.add(decision)
        propensity = _parse_propensity(row.propensity, names["propensity"])
        if isinstance(propensity, str):
            unweighted.add(line, propensity)
            propensity = math.nan
        yield found._replace(propensity=propensity)


def _parse_row(line: int, row: LogRow, timed: bool, names: dict[str, str]) -> _Decision | str:
    """Return a decision without its propensity, or the reason to leave the row out."""
    arm = _to_text(row.arm)
    if not arm:
        return f"{names['arm']} is empty"
    cost = _parse_number(row.cost, names["cost"])
    if isinstance(cost, str):
        return cost
    if cost < 0.0:
        return f"{names['cost']} is negative"
    reward = _parse_number(row.reward, names["reward"])
    if isinstance(reward, str):
        return reward
    time = _parse_time(row.time) if timed else 0.0
    if time is None:
        return f"{names['time']} is not a time"
    available = _parse_arms(row.available)
    if available is not None and arm not in available:
        return f"{names['arm']} is not in {names['available']}"
    return _Decision(line, arm, math.nan, cost, reward, time, available)


def _parse_number(value: Any, column: str) -> float | str:
    """Return a finite number, or what is wrong with it."""
    if _is_missing(value):
        return f"{column} is empty"
    try:
        if isinstance(value, str) and ("_" in value or not value.isascii()):
            return f"{column} is not a number"  # float() accepts 1_000 and digits of any script
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return f"{column} is not a number"
    return number if math.isfinite(number) else f"{column} is not finite"


def _parse_propensity(value: Any, column: str) -> float | str:
    number = _parse_number(value, column)
    if isinstance(number, str):
        return number
    if number == 0.0:
        return f"{column} is 0, but the arm was chosen"
    return number if 0.0 < number <= 1.0 else f"{column} is not in (0, 1]"


def _parse_time(value: Any) -> float | None:
    """Return the seconds of a number, an ISO text or a datetime, in UTC if it has no zone."""
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


def _parse_arms(value: Any) -> frozenset[str] | None:
    """Return the arms of a list, or of a text such as ``a|b|c``; None if there are none."""
    if _is_missing(value):
        return None
    parts = value.split("|") if isinstance(value, str) else list(value)
    return frozenset(name for part in parts if (name := _to_text(part))) or None


def _to_text(value: Any) -> str:
    return "" if _is_missing(value) else str(value).strip()


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return is_blank(value.strip())
    return value is None or (isinstance(value, float) and math.isnan(value))
