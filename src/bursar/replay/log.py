"""A log: the decisions of a campaign with arm, propensity, cost and reward, in their order.

Rows come from CSV, from Parquet (extra ``paper``) or from arrays. Rows that cannot be used are
counted by reason, never dropped silently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import count, repeat
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar import csv_table
from bursar.arrays import Floats
from bursar.csv_table import Exclusions, UnusableRow, is_missing, parse_number, to_text
from bursar.errors import InvalidInput, UnknownParameter, suggest
from bursar.formatting import from_csv_cell
from bursar.parquet import read_columns

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
        wanted = {key for key in COLUMNS if key in REQUIRED or names[key] != key}
        values = read_columns(Path(path), names, wanted)
        return _make_log(name, values, count(1), "row", names)
    required = [names[key] for key in COLUMNS if key in REQUIRED or key in (columns or {})]
    table = csv_table.parse_table(csv_table.read_content(path), name, required)
    positions = table.positions(names.values())
    complete = [row for row in table.rows if table.is_complete(row)]
    values = {
        key: [from_csv_cell(row.fields[positions[names[key]]]) for row in complete]
        for key in COLUMNS
        if names[key] in positions
    }
    log = _make_log(name, values, [row.line for row in complete], "line", names)
    for row in table.rows:
        if not table.is_complete(row):
            log.left_out.add(row.line, csv_table.BROKEN)
    return log


def _check_columns(columns: Mapping[str, str]) -> dict[str, str]:
    for key, name in columns.items():
        if key not in COLUMNS:
            raise UnknownParameter(f"a log has no column {key!r}{suggest(key, COLUMNS)}")
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the column of {key} must have a name, got {name!r}")
    return {key: columns.get(key, key) for key in COLUMNS}


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """The decisions whose arm, cost and reward are known."""

    name: str  # of the file, or another for errors
    arms: tuple[str, ...]  # all that were chosen or could be, in the order of their first choice
    arm: NDArray[np.int32] = field(repr=False)  # of each decision: the number in ``arms``
    propensity: Floats = field(repr=False)  # probability of the choice; NaN if the log has none
    cost: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    offer: NDArray[np.int32] = field(repr=False)  # the number in ``offers``; -1: all arms
    offers: tuple[frozenset[str], ...] = field(repr=False)  # sets of arms that could be chosen
    line: NDArray[np.int64] = field(repr=False)  # of each decision in the file
    unit: str  # what ``line`` counts: lines or rows
    left_out: Exclusions  # rows that cannot be used at all, by reason
    unweighted: Exclusions  # without a usable propensity: in what the log earned, not in replays

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
        given: Any = (arm, propensity, cost, reward, decision, time, available)
        columns = {k: list(v) for k, v in zip(COLUMNS, given, strict=True) if v is not None}
        sizes = {key: len(values) for key, values in columns.items()}
        if len(set(sizes.values())) > 1:
            raise InvalidInput(
                f"the columns of a log must have one length, got {sizes};"
                " pass one value per decision"
            )
        return _make_log(name, columns, count(1), "row", _check_columns({}))

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
        end = self.find_end(spend)
        return float(self.reward[:end].sum()) if end <= len(self) else None

    def find_end(self, spend: float) -> int:
        """Return the number of decisions after which ``spend`` was spent, one too many if never."""
        slack = 1e-9 * abs(spend)  # a sum in another order differs in its last digits
        return int(np.searchsorted(np.cumsum(self.cost), spend - slack)) + 1


class LogRow(NamedTuple):
    """A row as it was read, then with its values parsed; None where there is no value."""

    line: int
    arm: Any
    propensity: Any
    cost: Any
    reward: Any
    decision: Any
    time: Any
    available: Any


def _make_log(
    name: str,
    columns: Mapping[str, Iterable[Any]],
    lines: Iterable[int],
    unit: str,
    names: dict[str, str],
) -> Log:
    """Make a log from raw columns; rows that cannot be used are counted by reason."""
    left_out, unweighted = Exclusions(), Exclusions()
    rows = map(LogRow, lines, *(columns.get(key, repeat(None)) for key in COLUMNS))
    timed = "time" in columns
    parse = partial(_parse_row, names=names, timed=timed, decisions=set(), unweighted=unweighted)
    kept = list(left_out.parse_rows(rows, parse))
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
    return Log(
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


def _parse_row(
    row: LogRow, names: dict[str, str], timed: bool, decisions: set[str], unweighted: Exclusions
) -> LogRow:
    """Return a row with its values parsed; reasons to leave it out have the file's names."""
    arm = to_text(row.arm)
    if not arm:
        raise UnusableRow(f"{names['arm']} is empty")
    cost = parse_number(row.cost, names["cost"])
    if cost < 0.0:
        raise UnusableRow(f"{names['cost']} is negative")
    reward = parse_number(row.reward, names["reward"])
    time = _parse_time(row.time, names["time"]) if timed else None
    available = _parse_arms(row.available)
    if available is not None and arm not in available:
        raise UnusableRow(f"{names['arm']} is not in {names['available']}")
    decision = to_text(row.decision)
    if decision and decision in decisions:
        raise UnusableRow(f"{names['decision']} is repeated")
    decisions.add(decision)
    try:
        propensity = parse_number(row.propensity, names["propensity"])
        if propensity == 0.0:
            raise UnusableRow(f"{names['propensity']} is 0, but the arm was chosen")
        if not 0.0 < propensity <= 1.0:
            raise UnusableRow(f"{names['propensity']} is not in (0, 1]")
    except UnusableRow as reason:
        unweighted.add(row.line, str(reason))
        propensity = math.nan
    return row._replace(
        arm=arm, propensity=propensity, cost=cost, reward=reward, time=time, available=available
    )


def _parse_time(value: Any, column: str) -> float:
    """Return the seconds of a number, an ISO text or a datetime, in UTC if it has no zone."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            with suppress(ValueError):
                value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    elif isinstance(value, date):
        value = float(value.toordinal()) * 86400.0
    if isinstance(value, Real | Decimal) and math.isfinite(value):
        return float(value)
    raise UnusableRow(f"{column} is not a time")


def _parse_arms(value: Any) -> frozenset[str] | None:
    """Return the arms of a list, or of a text such as ``a|b|c``; None if there are none."""
    if is_missing(value):
        return None
    parts = value.split("|") if isinstance(value, str) else list(value)
    return frozenset(name for part in parts if (name := to_text(part))) or None
