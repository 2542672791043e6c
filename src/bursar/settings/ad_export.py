"""Read a user's own ad export: any columns, named by the user, with every line accounted for.

Lines become rows, rows of one arm are added up, and the arms of each group form a setting. What
cannot be used is counted by reason; what is ambiguous is refused.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from bursar import csv_table
from bursar.arrays import Floats
from bursar.csv_table import UnusableRow, find_decimal_mark, is_blank, read_content
from bursar.errors import InvalidData, InvalidInput
from bursar.formatting import pluralize
from bursar.problems import Bernoulli, Problem
from bursar.problems.beta import Clicks
from bursar.settings.base import check_repetition, draw_click_costs
from bursar.settings.facebook import AdRow
from bursar.validation import check_positive

CostModel = Literal["bernoulli", "beta"]
_TOP = 0.99  # the largest mean cost of a group, as in the paper's settings of ads
_LISTED = 5  # groups named per reason
_TOTAL = re.compile(r"(grand |sub-?)?totals?(\s*[:(–-].*)?|gesamt(ergebnis|summe)?|summe", re.I)
_TOTALS = "a line of totals"
_FEWEST = 3  # lines that an unnamed line of totals must be the sum of


@dataclass(frozen=True, kw_only=True)
class AdExportSetting:
    """The arms of one group with their costs and rewards; every repetition has the same means.

    A play is one click. It earns ``prize`` or nothing, with the probability that gives the arm's
    reward per click. It costs ``coin`` or nothing (``bernoulli``), or an amount in between
    (``beta``, with parameters drawn for each repetition as in FB-Bt), with the arm's cost per click
    as the mean. Sums over the lines of each arm are in the user's units.
    """

    name: str  # the group, for example 916/30-34
    arm_names: tuple[str, ...]  # in the order of the file
    clicks: tuple[float, ...]
    cost: tuple[float, ...]
    reward: tuple[float, ...]
    prize: float = 1.0  # the reward of one success; 1 for counts
    model: CostModel = "bernoulli"
    source: str = field(default="", compare=False)  # the file
    trial: str = field(default="clicks", compare=False)  # what the file calls clicks
    unit: str = field(default="rewards", compare=False)  # what the file calls rewards

    kind: ClassVar[str] = "own"

    def __post_init__(self) -> None:
        sizes = {len(self.arm_names), len(self.clicks), len(self.cost), len(self.reward)}
        if sizes != {len(self.arm_names)} or len(self.arm_names) < 2:
            raise InvalidInput(f"{self.name}: pass clicks, cost and reward of two or more arms")
        _check_model(self.model)
        if min(self.clicks) <= 0.0 or min(self.cost) <= 0.0 or min(self.reward) < 0.0:
            raise InvalidInput(
                f"{self.name}: clicks and cost of every arm must be positive, rewards 0 or more"
            )
        most = float(self.reward_rate.max())
        if not most <= self.prize:
            raise InvalidInput(f"{self.name}: prize must be {most:g} or more, got {self.prize!r}")

    def __str__(self) -> str:
        return self.name

    @property
    def arms(self) -> tuple[int, ...]:
        """Number of arms of its only problem."""
        return (len(self.arm_names),)

    @property
    def distribution(self) -> str:
        """The distribution of costs."""
        return self.model.capitalize()

    @property
    def cost_rate(self) -> Floats:
        """Cost per click of each arm."""
        return np.asarray(np.divide(self.cost, self.clicks), dtype=np.float64)

    @property
    def reward_rate(self) -> Floats:
        """Reward per click of each arm, in the user's units."""
        return np.asarray(np.divide(self.reward, self.clicks), dtype=np.float64)

    @property
    def coin(self) -> float:
        """The money that a cost of 1 stands for."""
        return float(self.cost_rate.max()) / _TOP

    def identity(self, data: Any = None) -> str:
        """Return a text that changes when the problems may."""
        content = (self.arm_names, self.clicks, self.cost, self.reward, self.prize, self.model)
        return f"own {self.name} {sha256(repr(content).encode()).hexdigest()}"

    def problems(self, repetition: int, data: Any = None) -> list[Problem]:
        """Return the only problem of a repetition; ``data`` is ignored."""
        rng = np.random.default_rng(check_repetition(repetition))
        reward = np.minimum(self.reward_rate / self.prize, 1.0)
        cost = self.cost_rate / self.coin
        if self.model == "bernoulli":
            return [Bernoulli(reward, cost, self.name)]
        return [Clicks(reward, *draw_click_costs(rng, cost), self.name)]


def _check_model(model: str) -> None:
    if model not in ("bernoulli", "beta"):
        raise InvalidInput(f"model must be 'bernoulli' or 'beta', got {model!r}")


@dataclass(frozen=True, kw_only=True)
class AdExportOptions:
    """Which columns an export has and how they are read.

    Attributes
    ----------
    clicks, cost, reward : str
        Columns of trials, money spent and rewards, in any case.
    group : sequence of str
        Columns whose values form groups, each a problem with a budget of its own; without them
        there is one problem. If each group has one arm, the groups are the arms of one problem.
    arm : sequence of str
        Columns that name an arm within its group; its lines are added up. Without them each line
        is an arm.
    decimal : {".", ","}, optional
        The decimal mark, where the file leaves it open.
    blank_is_zero : bool
        Whether an empty number means 0; otherwise its line is left out.
    money : bool, optional
        Whether rewards are amounts of money, which may exceed clicks; by default, whether they bear
        a currency.
    prize : float or "largest", optional
        The reward of one success. By default 1 for counts; for money, and with "largest", the
        largest reward per click of a group / 0.99.
    model : {"bernoulli", "beta"}
        The distribution of costs; see :class:`AdExportSetting`.
    """

    clicks: str
    cost: str
    reward: str
    group: Sequence[str] = ()
    arm: Sequence[str] = ()
    decimal: csv_table.DecimalMark | None = None
    blank_is_zero: bool = False
    money: bool | None = None
    prize: float | Literal["largest"] | None = None
    model: CostModel = "bernoulli"

    def __post_init__(self) -> None:
        for name in ("group", "arm"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))
        if self.decimal not in (None, ".", ","):
            raise InvalidInput(f"decimal must be '.' or ',', got {self.decimal!r}")
        _check_model(self.model)
        if self.prize not in (None, "largest"):
            check_positive("prize", self.prize, "the reward of one success, or 'largest'")

    @property
    def numbers(self) -> tuple[str, str, str]:
        """The columns that contain numbers."""
        return self.clicks, self.cost, self.reward

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is needed, numbers first."""
        return (*self.numbers, *self.group, *self.arm)

    def reward_limit(self, currency: str) -> float | None:
        """Return the largest reward of a click; None if each group's largest average is used."""
        if self.prize is not None:
            return None if isinstance(self.prize, str) else float(self.prize)
        money = bool(currency) if self.money is None else self.money
        return None if money else 1.0

    @property
    def above_limit(self) -> str:
        """Why arms above the limit are left out."""
        if self.prize is None:
            return f"more {self.reward} than {self.clicks}"
        return f"more {self.reward} per click than the prize of {self.prize:g}"


@dataclass(frozen=True, kw_only=True)
class AdExport:
    """The arms of a file, one setting per group, and the lines that could not be used."""

    name: str  # of the file
    settings: tuple[AdExportSetting, ...]  # in the order of the file
    rows: int  # lines below the header that are not blank: in an arm, or counted in `left_out`
    left_out: csv_table.Exclusions = field(default_factory=csv_table.Exclusions)
    notes: tuple[str, ...] = ()  # what else a user should know, in sentences
    currency: str = ""  # the sign or code beside the costs, if there is one

    @property
    def used(self) -> int:
        """Lines that are part of an arm."""
        return self.rows - sum(self.left_out.counts.values())

    @property
    def arms(self) -> int:
        """Arms of all groups."""
        return sum(len(one.arm_names) for one in self.settings)

    def describe(self) -> list[str]:
        """Return what was read, what was left out and why, and the notes, in sentences."""
        groups = "" if len(self.settings) == 1 else f" in {len(self.settings)} groups"
        return [
            f"{self.name}: {self.used:,} of {self.rows:,} lines are used, for {self.arms:,}"
            f" arms{groups}.",
            *self.left_out.format_sentences(),
            *self.notes,
        ]


def read_ad_export(path: str | PathLike[str], **options: Any) -> AdExport:
    """Read the arms of a CSV file, or of a ZIP file that contains one, one setting per group.

    The options are the fields of :class:`AdExportOptions`.
    """
    return parse_ad_export(read_content(path), Path(path).name, AdExportOptions(**options))


def parse_ad_export(data: bytes, name: str, options: AdExportOptions) -> AdExport:
    r"""Read an export from the bytes of a file; see :func:`read_ad_export`.

    Examples
    --------
    >>> text = '''ad;clicks;spent;sales
    ... A;1.200;€ 300,50;24
    ... B;800;€ 100,00;20
    ... C;0;€ 0,00;0
    ... Total;2.000;€ 400,50;44
    ... '''
    >>> options = AdExportOptions(clicks="clicks", cost="spent", reward="sales", arm=("ad",))
    >>> export = parse_ad_export(text.encode(), "ads.csv", options)
    >>> print(*export.describe(), sep="\n")
    ads.csv: 2 of 4 lines are used, for 2 arms.
    Left out: 1 line, a line of totals (line 5).
    Left out: 1 line, no clicks (line 4).
    >>> export.settings[0].cost, export.currency
    ((300.5, 100.0), '€')
    """
    return _ExportReader(csv_table.parse_table(data, name, options.columns), options).read()


class _ExportReader:
    """The reading of one export: its table, its options, and the lines left out so far."""

    def __init__(self, table: csv_table.CsvTable, options: AdExportOptions) -> None:
        self.table, self.options, self.left_out = table, options, csv_table.Exclusions()
        self.positions = table.positions(options.columns)
        self.decimal = options.decimal or find_decimal_mark(self._number_cells(), table.name)
        # the first line of each currency; clicks have none
        self.currencies: dict[str, dict[str, int]] = {options.cost: {}, options.reward: {}}

    def _number_cells(self) -> Iterator[csv_table.CsvCell]:
        for row in filter(self.table.is_complete, self.table.rows):
            for column in self.options.numbers:
                yield row.line, column, row.fields[self.positions[column]]

    def read(self) -> AdExport:
        options, table, left_out = self.options, self.table, self.left_out
        rows = list(left_out.parse_rows(table.rows, self.parse_row))
        self.remove_unnamed_total(rows)
        currency = self.check_currency(options.cost)
        limit = options.reward_limit(self.check_currency(options.reward))
        arms, notes = _add_up(rows), []
        groups = {arm.group for arm in arms}
        if options.group and len(groups) > 1 and len(groups) == len(arms):
            arms = [arm._replace(group=(), arm=arm.group) for arm in arms]
            names = ", ".join(options.group)
            notes = [f"Each group ({names}) has one arm, so groups are compared with one another."]
        if limit is not None and options.prize is None:
            self.check_counts(arms)
        members, group_notes = self.group(self.select_usable(arms, limit))
        if not members:
            raise InvalidData(f"no two arms to compare in {table.name} ({self.explain_nothing()})")
        return AdExport(
            name=table.name,
            settings=_make_settings(members, options, limit, table.name),
            rows=len(table.rows),
            left_out=left_out,
            notes=(*notes, *group_notes, *self.suggest_options(limit)),
            currency=currency,
        )

    def parse_row(self, row: csv_table.CsvRow) -> AdRow:
        options = self.options
        if not self.table.is_complete(row):
            raise UnusableRow(csv_table.BROKEN)
        if any(_TOTAL.fullmatch(field) for field in row.fields):
            raise UnusableRow(_TOTALS)
        texts = {column: row.fields[position] for column, position in self.positions.items()}
        group, arm = (tuple(texts[c] for c in names) for names in (options.group, options.arm))
        for column in (*options.group, *options.arm):
            if is_blank(texts[column]):
                raise UnusableRow(f"{column} is empty")
        clicks, cost, reward = (
            self.parse_number(column, texts[column], row.line) for column in options.numbers
        )
        if not clicks.is_integer():
            raise UnusableRow(f"{options.clicks} is not a whole number")
        return AdRow((row.line,), group, arm, clicks, cost, reward)

    def parse_number(self, column: str, text: str, line: int) -> float:
        if is_blank(text):
            if self.options.blank_is_zero:
                return 0.0
            raise UnusableRow(f"{column} is empty")
        amount = csv_table.parse_amount(text, self.decimal)
        if amount is None:
            raise UnusableRow(f"{column} is not a number")
        if amount.value < 0.0:
            raise UnusableRow(f"{column} is negative")
        if amount.currency and column not in self.currencies:
            raise UnusableRow(f"{column} is an amount of money")
        if amount.currency:
            self.currencies[column].setdefault(amount.currency, line)
        return amount.value

    def remove_unnamed_total(self, rows: list[AdRow]) -> None:
        """Remove a first or last row that has no name and is the sum of all others."""
        fields = {row.line: row.fields for row in self.table.rows}
        numeric = {self.positions[column] for column in self.options.numbers}
        for at in (0, -1):
            if len(rows) <= _FEWEST:
                break
            (line,) = rows[at].lines
            unnamed = any(is_blank(t) for i, t in enumerate(fields[line]) if i not in numeric)
            if unnamed and _is_sum(rows[at], [row for row in rows if row is not rows[at]]):
                self.left_out.add(line, _TOTALS)
                del rows[at]

    def check_currency(self, column: str) -> str:
        """Return the only currency of a column, if it has any."""
        lines = self.currencies[column]
        if len(lines) > 1:
            (one, first), (other, second) = list(lines.items())[:2]
            raise InvalidData(
                f"{self.table.name}: {column} is in {one} on line {first} and in {other} on line"
                f" {second}; convert them to one currency"
            )
        return next(iter(lines), "")

    def check_counts(self, arms: list[AdRow]) -> None:
        """Refuse rewards that mostly exceed clicks: they cannot be counts."""
        clicked = [arm for arm in arms if arm.clicks > 0.0]
        above = sum(arm.reward > arm.clicks for arm in clicked)
        if 2 * above > len(clicked):
            raise InvalidData(
                f"{self.table.name}: {self.options.reward} exceeds {self.options.clicks} in"
                f" {above} of {len(clicked)} arms, so it does not count clicks;"
                " if it is money, set money=True (--money)"
            )

    def select_usable(self, arms: list[AdRow], limit: float | None) -> list[AdRow]:
        """Return arms with clicks, spend and a possible reward; count the lines of others.

        Arms are judged, not lines: a day without clicks is part of an arm's cost and reward.
        """
        usable = []
        for arm in arms:
            if arm.clicks == 0.0:
                self.leave_out(arm, f"no {self.options.clicks}")
            elif arm.cost == 0.0:
                self.leave_out(arm, "nothing spent")
            elif limit is not None and arm.reward > limit * arm.clicks:
                self.leave_out(arm, self.options.above_limit)
            else:
                usable.append(arm)
        return usable

    def leave_out(self, arm: AdRow, reason: str) -> None:
        for line in arm.lines:
            self.left_out.add(line, reason)

    def group(self, arms: list[AdRow]) -> tuple[list[list[AdRow]], list[str]]:
        """Return the groups that can be compared, in the order of the file, and notes on others."""
        members: defaultdict[tuple[str, ...], list[AdRow]] = defaultdict(list)
        for arm in arms:
            members[arm.group].append(arm)
        reward = self.options.reward
        single = ("the only arm of its group", "with a single usable arm")
        unrewarded = (f"no arm of its group earned {reward}", f"whose arms earned no {reward}")
        skipped: dict[tuple[str, str], list[str]] = {single: [], unrewarded: []}
        kept = []
        for group, those in members.items():
            if len(those) >= 2 and any(arm.reward for arm in those):
                kept.append(those)
                continue
            reason = single if len(those) < 2 else unrewarded
            skipped[reason].append("/".join(group) or "all")
            for arm in those:
                self.leave_out(arm, reason[0])
        notes = []
        for (_, words), names in skipped.items():
            if names:
                listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
                notes.append(f"Left out: {pluralize(len(names), 'group')} {words} ({listed}).")
        return kept, notes

    def explain_nothing(self) -> str:
        reasons = [
            f"{reason}: {count}, first on line {self.left_out.lines[reason][0]}"
            for reason, count in self.left_out.counts.items()
        ]
        return "; ".join(reasons) if self.table.rows else "no line below the header"

    def suggest_options(self, limit: float | None) -> Iterator[str]:
        options, reasons = self.options, self.left_out.counts
        if limit is None:
            yield (
                f"{options.reward} is read as an amount of money: a click earns the largest average"
                " of its group or nothing. If one success earns more, set the prize to that"
                " amount; policies then learn more slowly."
            )
        elif options.prize is None and options.above_limit in reasons:
            yield f"If {options.reward} is money, not a count, set money=True (--money)."
        if f"{options.reward} is empty" in reasons:
            yield (
                f"If an empty {options.reward} means none, set blank_is_zero=True"
                " (--blank-is-zero); check the lines first, because their columns may be shifted."
            )


def _is_sum(row: AdRow, others: list[AdRow]) -> bool:
    slack = 0.005 * len(others)  # cents are rounded line by line
    return (
        row.clicks == sum(other.clicks for other in others) > 0.0
        and abs(row.cost - sum(other.cost for other in others)) <= slack
        and abs(row.reward - sum(other.reward for other in others)) <= slack
    )


def _add_up(rows: list[AdRow]) -> list[AdRow]:
    """Add up the rows of the same arm of the same group; a row without a name is an arm."""
    members: defaultdict[tuple[Any, Any], list[AdRow]] = defaultdict(list)
    for row in rows:
        members[row.group, row.arm or (f"line {row.lines[0]}",)].append(row)
    sums = []
    for (group, arm), those in members.items():
        lines = tuple(line for row in those for line in row.lines)
        numbers = zip(*((row.clicks, row.cost, row.reward) for row in those), strict=True)
        sums.append(AdRow(lines, group, arm, *map(math.fsum, numbers)))
    return sums


def _make_settings(
    groups: list[list[AdRow]], options: AdExportOptions, limit: float | None, source: str
) -> tuple[AdExportSetting, ...]:
    names = _number_twins(["/".join(those[0].group) or "all" for those in groups])
    return tuple(
        AdExportSetting(
            name=name,
            arm_names=tuple(_number_twins(["/".join(arm.arm) for arm in those])),
            clicks=tuple(arm.clicks for arm in those),
            cost=tuple(arm.cost for arm in those),
            reward=tuple(arm.reward for arm in those),
            prize=limit or max(arm.reward / arm.clicks for arm in those) / _TOP,
            model=options.model,
            source=source,
            trial=options.clicks,
            unit=options.reward,
        )
        for name, those in zip(names, groups, strict=True)
    )


def _number_twins(names: list[str]) -> list[str]:
    """Number names that occur twice, as those of a/b and c, a and b/c do."""
    seen: defaultdict[str, int] = defaultdict(int)
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
