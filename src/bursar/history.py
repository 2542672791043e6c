"""Past outcomes of arms: read from a table of any kind, and summed up for each arm.

A learner needs six numbers of the outcomes of an arm. They are rounded once, from exact sums, so
they do not depend on the order of the rows or on the kind of file, and neither does their digest.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from bursar import csv_table
from bursar.csv_table import UnusableRow
from bursar.errors import InvalidData, InvalidInput, MissingExtra, UnknownArm, suggest
from bursar.extras import import_extra
from bursar.formatting import from_csv_cell, pluralize
from bursar.parquet import read_columns
from bursar.validation import check_number, check_text

COLUMNS = {"arm": "arm", "reward": "reward", "cost": "cost"}
"""The columns of a table, by what they are, as they are usually called."""

Skip = Literal["refuse", "skip"]
"""What to do with rows that cannot be used: refuse the table, or leave them out."""

_MOST = 1e18  # of a cost, as of an amount of money
_SLACK = 1e-9  # relative; sums that others have rounded may be off in their last digits
_NAMED = 10  # unknown arms that an error lists
_TRUTH = {"true": 1.0, "false": 0.0}  # rewards, as frames write them to CSV
_DEFAULT_NAME = "the table"


class PastOutcomes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The past outcomes of an arm, summed up, in the user's units.

    ``reward_m2`` and ``cost_m2`` are sums of squared deviations from the mean: in SQL,
    ``COUNT(*) * VAR_POP(reward)``.
    """

    arm: Annotated[str, Meta(min_length=1, max_length=128)]
    plays: Annotated[int, Meta(ge=1, le=10**15)]
    reward: float
    cost: Annotated[float, Meta(ge=0)]
    reward_m2: Annotated[float, Meta(ge=0)]
    cost_m2: Annotated[float, Meta(ge=0)]
    largest_cost: Annotated[float, Meta(ge=0)]

    def check(self, reward_range: tuple[float, float]) -> None:
        """Raise InvalidInput if no outcomes within the range have these sums."""
        low, high = reward_range
        self._check_sums("reward", self.reward, self.reward_m2, low, high)
        self._check_sums("cost", self.cost, self.cost_m2, 0.0, self.largest_cost)

    def _check_sums(self, what: str, total: float, m2: float, low: float, high: float) -> None:
        where, mean = f"past outcomes of {self.arm!r}", total / self.plays
        slack = _SLACK * max(abs(low), abs(high))
        if not (low - slack <= mean <= high + slack and high < _MOST):
            source = "the reward_range" if what == "reward" else "0 to largest_cost"
            raise InvalidInput(
                f"{where}: the mean {what} must be in {source} [{low:g}, {high:g}], got {mean!r};"
                f" {what} is the sum over all plays"
            )
        # of all data in a range, those at its two ends deviate most
        most = self.plays * (high - mean) * (mean - low) + self.plays * slack * (high - low)
        if not 0.0 <= m2 <= most * (1.0 + _SLACK):
            raise InvalidInput(
                f"{where}: {what}_m2, the sum of squared deviations, must be from 0 to"
                f" {most!r}, the most for values in [{low:g}, {high:g}] with this mean, got {m2!r}"
            )


@dataclass(frozen=True)
class History:
    """Past outcomes of arms, in the order of their keys, and where they come from."""

    name: str
    arms: tuple[PastOutcomes, ...]
    left_out: int = 0  # rows without a reward, a cost or an arm

    @cached_property
    def digest(self) -> str:
        """The same for the same outcomes in any order."""
        return blake2b(msgspec.json.encode(self.arms), digest_size=16).hexdigest()


@dataclass(frozen=True)
class _Rows:
    """The three columns of a table, and what errors call its rows."""

    name: str
    unit: str  # line, row
    numbers: Iterable[int]
    columns: list[Iterable[Any]]  # arm, reward, cost


def read_history(
    table: Any,
    names: Mapping[str, str],
    missing: Skip = "refuse",
    reward_range: tuple[float, float] = (-math.inf, math.inf),
) -> History:
    """Return the past outcomes in a table: a path, a mapping, a frame, or a list of mappings.

    ``names`` has the columns of arm, reward and cost.
    """
    if isinstance(table, History):
        return table
    check_skip("missing", missing)
    for key, name in names.items():
        if not isinstance(name, str) or not name.strip():
            raise InvalidInput(f"the column of {key} must have a name, got {name!r}")
    rows = _read_rows(table, names)
    found: dict[str, tuple[list[float], list[float]]] = {}
    left_out = _collect(rows, names, missing, reward_range, found)
    if not found:
        raise InvalidData(f"{rows.name} has no outcomes to learn from; it has no rows with values")
    arms = (_sum_up(arm, *found[arm]) for arm in sorted(found))
    return History(rows.name, tuple(arms), left_out)


def split_arms(
    history: History, keys: Iterable[str], source: str, unknown: Skip
) -> tuple[list[PastOutcomes], tuple[str, ...]]:
    """Return past outcomes of known arms, and the keys of the others; refuse those if wanted."""
    known = set(keys)
    mine = [one for one in history.arms if one.arm in known]
    others = [one for one in history.arms if one.arm not in known]
    if others and (unknown == "refuse" or not mine):
        named = [f"{one.arm!r} ({pluralize(one.plays, 'outcome')})" for one in others[:_NAMED]]
        rest = len(others) - len(named)
        more = f" and {rest:,} more" if rest else ""
        raise UnknownArm(
            f"{source} has outcomes of arms that the campaign does not have:"
            f" {', '.join(named)}{more}; add them, rename them in the table, or leave them out with"
            " unknown='skip' (--unknown skip)"
        )
    return mine, tuple(one.arm for one in others)


def check_terms(history: History, weight: float, source: str, unknown: Skip) -> str:
    """Return where past outcomes come from; refuse what none can be learned with."""
    if not 0.0 < check_number("weight", weight) <= 1.0:
        raise InvalidInput(
            f"weight must be above 0 and at most 1, got {weight!r}; 0.5 counts two past outcomes as"
            " one play"
        )
    check_skip("unknown", unknown)
    return check_text("source", source or history.name, 1, 200)


def check_skip(name: str, value: str) -> None:
    """Raise InvalidInput unless a value is "refuse" or "skip"."""
    if value not in ("refuse", "skip"):
        raise InvalidInput(f"{name} must be 'refuse' or 'skip', got {value!r}")


def _sum_up(arm: str, rewards: list[float], costs: list[float]) -> PastOutcomes:
    plays, sums, squares = len(rewards), [], []
    for values in (rewards, costs):
        total = math.fsum(values)
        mean = total / plays
        sums.append(total)
        squares.append(math.fsum((value - mean) ** 2 for value in values))
    return PastOutcomes(
        arm=arm, plays=plays, reward=sums[0], cost=sums[1], reward_m2=squares[0],
        cost_m2=squares[1], largest_cost=max(costs),
    )  # fmt: skip


def _collect(
    rows: _Rows,
    names: Mapping[str, str],
    missing: Skip,
    reward_range: tuple[float, float],
    found: dict[str, tuple[list[float], list[float]]],
) -> int:
    """Add the rewards and costs of each arm; return how many rows have none."""
    first, left_out, (low, high) = "", 0, reward_range
    for number, key, reward, cost in zip(rows.numbers, *rows.columns, strict=False):
        given = {"arm": key, "reward": reward, "cost": cost}
        empty = [name for name, value in given.items() if _is_empty(name, value)]
        if empty:
            first = first or f"{rows.unit} {number}: {names[empty[0]]} is empty"
            left_out += 1
            continue
        name, value = "reward", reward
        if isinstance(reward, str):
            reward = _TRUTH.get(reward.strip().casefold(), reward)
        try:
            r = csv_table.parse_number(reward, names["reward"])
            if not low <= r <= high:
                raise UnusableRow(
                    f"{names['reward']} is not in the campaign's reward_range [{low:g}, {high:g}]"
                )
            name, value = "cost", cost
            c = csv_table.parse_number(cost, names["cost"])
            if not 0.0 <= c < _MOST:
                raise UnusableRow(
                    f"{names['cost']} {'is negative' if c < 0.0 else 'must be below 10^18'}"
                )
        except UnusableRow as reason:
            raise InvalidData(
                f"{rows.name}, {rows.unit} {number}: {reason}, got {value!r}; correct or remove"
                f" the {rows.unit}, or name another column as the {name}"
            ) from None
        rewards, costs = found.setdefault(key if isinstance(key, str) else str(key), ([], []))
        rewards.append(r)
        costs.append(c)
    if left_out and missing == "refuse":
        raise InvalidData(
            f"{rows.name}, {first}; {pluralize(left_out, rows.unit)} without an arm, a reward or a"
            " cost: complete them, or leave them out with missing='skip' (--missing skip)"
        )
    return left_out


def _is_empty(name: str, value: Any) -> bool:
    if name == "arm" and isinstance(value, str):  # an arm may be called "none"
        return not value.strip()
    return csv_table.is_missing(value)


def _read_rows(table: Any, names: Mapping[str, str]) -> _Rows:
    if isinstance(table, str | PathLike):
        return _read_file(Path(table), names)
    if isinstance(table, Mapping):
        columns = _take_columns(table, names, list(table))
    elif hasattr(table, "__arrow_c_stream__"):
        columns = _read_arrow(table, names)
    elif isinstance(table, Iterable) and not isinstance(table, bytes):
        columns = _split_mappings(table, names)
    else:
        raise InvalidInput(
            "past outcomes must be a path of a CSV or Parquet file, an Arrow table, a frame, a"
            f" mapping of columns or a list of mappings, got {type(table).__name__}"
        )
    return _Rows(_DEFAULT_NAME, "row", count(1), columns)


def _read_file(path: Path, names: Mapping[str, str]) -> _Rows:
    if path.suffix.casefold() in (".parquet", ".pq"):
        found = read_columns(path, names, names)
        return _Rows(path.name, "row", count(1), [found[key] for key in names])
    content = csv_table.read_content(path)
    table = csv_table.parse_table(content, path.name, list(names.values()))
    for row in table.rows:
        if not table.is_complete(row):
            raise InvalidData(
                f"{path.name}, line {row.line}: {csv_table.BROKEN}; correct or remove the line"
            )
    places = table.positions(names.values())
    columns: list[Iterable[Any]] = [
        [from_csv_cell(row.fields[places[name]]) for row in table.rows] for name in names.values()
    ]
    return _Rows(path.name, "line", [row.line for row in table.rows], columns)


def _read_arrow(table: Any, names: Mapping[str, str]) -> list[Iterable[Any]]:
    """Return columns of a frame or an Arrow table; a frame's own, if there is no pyarrow."""
    try:
        arrow = import_extra("pyarrow").table(table)
    except MissingExtra:
        if not (hasattr(table, "columns") and hasattr(table, "__getitem__")):
            raise
        return _take_columns(table, names, list(table.columns))
    known = arrow.column_names
    _check_columns(known, names)
    return [arrow.column(name).to_pylist() for name in names.values()]


def _take_columns(table: Any, names: Mapping[str, str], known: list[Any]) -> list[Iterable[Any]]:
    _check_columns(known, names)
    columns = {name: list(table[name]) for name in names.values()}
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInput(f"columns of past outcomes must have one length, got {sizes}")
    return list(columns.values())


def _split_mappings(rows: Iterable[Any], names: Mapping[str, str]) -> list[Iterable[Any]]:
    every = list(rows)
    for number, row in enumerate(every, 1):
        if not isinstance(row, Mapping):
            raise InvalidInput(
                f"row {number} of past outcomes must be a mapping with"
                f" {', '.join(names.values())}, got {row!r:.100}"
            )
    known = list(dict.fromkeys(key for row in every for key in row))
    if every:
        _check_columns(known, names)
    return [[row.get(name) for row in every] for name in names.values()]


def _check_columns(known: list[Any], names: Mapping[str, str]) -> None:
    texts = [str(one) for one in known]
    for key, name in names.items():
        if texts.count(name) != 1:
            hint = suggest(name, texts)
            close = hint if "did you mean" in hint else f"; it has {', '.join(texts) or 'none'}"
            what = "twice the" if name in texts else "no"
            raise InvalidData(
                f"the table has {what} column {name!r}{close};"
                f" name the column of the {key} with {key}='…' (--column {key}=…)"
            )
