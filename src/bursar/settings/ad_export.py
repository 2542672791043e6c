"""Read a user's own ad export: any columns, named by the user; nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from bursar.errors import InvalidData, InvalidInput
from bursar.formatting import pluralize
from bursar.problems import Bernoulli, Problem
from bursar.problems.clicks import Clicks
from bursar.settings.ad_rows import (
    AdColumns,
    Limit,
    Lot,
    add_up_rows,
    entries,
    group_lots,
    refuse_amounts,
    regroup,
    usable_lots,
)
from bursar.settings.csv_table import Decimal, read_content, read_listing
from bursar.settings.facebook import Exclusions
from bursar.settings.setting import click_costs
from bursar.validation import Floats, check_positive

__all__ = [
    "TOP",
    "AdColumns",
    "AdExportSetting",
    "Export",
    "ImportOptions",
    "Model",
    "parse_ad_export",
    "read_ad_export",
]

# ==== settings.own_setting
# A setting of the user's own: the arms of one group of an ad export.

Model = Literal["bernoulli", "beta"]
TOP = 0.99  # the largest mean cost of a group, as in the paper's settings of ads
_MODELS = {"bernoulli": "Bernoulli", "beta": "Beta"}


@dataclass(frozen=True)
class AdExportSetting:
    """Arms with what they cost and brought; every repetition plays the same means.

    A play is one click. It brings ``prize`` or nothing, with the chance that gives the arm's reward
    a click. What it costs is ``coin`` or nothing (``bernoulli``) or anything between (``beta``,
    with parameters drawn anew each repetition as in FB-Bt), with the arm's cost a click as mean.

    Attributes
    ----------
    name : str
        The group, for example ``916/30-34``.
    arm_names : tuple of str
        The arms, in the order of the file.
    clicks, cost, reward : tuple of float
        Sums over the lines of each arm, in the user's units.
    prize : float
        What a reward of 1 stands for: 1 for counts.
    model : {"bernoulli", "beta"}
        How costs vary.
    source : str
        The file.
    trial, unit : str
        What the file calls clicks and rewards.
    """

    name: str
    arm_names: tuple[str, ...]
    clicks: tuple[float, ...]
    cost: tuple[float, ...]
    reward: tuple[float, ...]
    prize: float = 1.0
    model: Model = "bernoulli"
    source: str = field(default="", compare=False)
    trial: str = field(default="clicks", compare=False)
    unit: str = field(default="rewards", compare=False)

    kind: ClassVar[str] = "own"
    variant: ClassVar[str] = "bursar"
    needs_data: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sizes = {len(self.arm_names), len(self.clicks), len(self.cost), len(self.reward)}
        if sizes != {len(self.arm_names)} or len(self.arm_names) < 2:
            raise InvalidInput(f"{self.name}: give clicks, cost and reward of two arms or more")
        if self.model not in _MODELS:
            raise InvalidInput(f"model must be 'bernoulli' or 'beta', got {self.model!r}")
        if min(self.clicks) <= 0.0 or min(self.cost) <= 0.0 or min(self.reward) < 0.0:
            raise InvalidInput(
                f"{self.name}: every arm needs clicks and cost above 0, no reward below"
            )
        most = float(self.reward_rate.max())
        if not most <= self.prize:
            raise InvalidInput(f"{self.name}: prize must be {most:g} or more, got {self.prize!r}")

    def __str__(self) -> str:
        return self.name

    @property
    def arms(self) -> tuple[int, ...]:
        """Number of arms of its one problem."""
        return (len(self.arm_names),)

    @property
    def distribution(self) -> str:
        """Of costs."""
        return _MODELS[self.model]

    @property
    def cost_rate(self) -> Floats:
        """Money a click, of each arm."""
        return np.asarray(np.divide(self.cost, self.clicks), dtype=np.float64)

    @property
    def reward_rate(self) -> Floats:
        """Reward a click, of each arm, in the user's units."""
        return np.asarray(np.divide(self.reward, self.clicks), dtype=np.float64)

    @property
    def coin(self) -> float:
        """The money that a cost of 1 stands for."""
        return float(self.cost_rate.max()) / TOP

    def identity(self, data: Any = None) -> str:
        """Return a text that changes whenever the problems may."""
        content = (self.arm_names, self.clicks, self.cost, self.reward, self.prize, self.model)
        return f"own {self.name} {sha256(repr(content).encode()).hexdigest()}"

    def problems(self, repetition: int, data: Any = None) -> list[Problem]:
        """Return the one problem of a repetition; ``data`` is not looked at."""
        if int(repetition) != repetition or repetition < 0:
            raise InvalidInput(f"repetition must be a whole number, 0 or more, got {repetition!r}")
        reward = np.minimum(self.reward_rate / self.prize, 1.0)
        cost = self.cost_rate / self.coin
        if self.model == "bernoulli":
            return [Bernoulli(reward, cost, self.name)]
        rng = np.random.default_rng(int(repetition))
        return [Clicks(reward, *click_costs(rng, cost), self.name)]


# ==== settings.options
# How a user's own export is to be read.


@dataclass(frozen=True)
class ImportOptions:
    """How an export is read; see :func:`bursar.settings.ad_export.read_ad_export`."""

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
            check_positive("prize", self.prize, "what one success brings, or 'largest'")

    def limit(self, columns: AdColumns, sign: str) -> Limit | None:
        """Return the most that a click can bring; None if the largest of a group is to be it."""
        if isinstance(self.prize, str):
            return None
        if self.prize is not None:
            reason = f"more {columns.reward} a click than the prize of {self.prize:g}"
            return Limit(float(self.prize), reason)
        money = bool(sign) if self.money is None else self.money
        return None if money else Limit(1.0, f"more {columns.reward} than {columns.clicks}")


# ==== settings.export
# An export: what was read from a user's own file, and what was not, in numbers and words.


@dataclass(frozen=True)
class Export:
    """The arms of a file, a setting a group, and the lines that could not be used.

    Attributes
    ----------
    name : str
        The file.
    settings : tuple of OwnSetting
        One a group, in the order of the file.
    rows : int
        Lines below the header that are not blank; each is in an arm or counted in ``excluded``.
    excluded : dict of str to int
        How many lines were left out, by reason.
    lines : dict of str to list of int
        The first few lines left out, by reason.
    notes : tuple of str
        What else a user should know, in sentences.
    currency : str
        The sign or code beside the costs, if there is one.
    """

    name: str
    settings: tuple[AdExportSetting, ...]
    rows: int
    excluded: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    currency: str = ""

    @property
    def used(self) -> int:
        """Lines that are part of an arm."""
        return self.rows - sum(self.excluded.values())

    @property
    def arms(self) -> int:
        """Arms of all groups."""
        return sum(len(one.arm_names) for one in self.settings)

    def words(self) -> list[str]:
        """Return what was read, what was left out and why, and the notes, in sentences."""
        used = f"{self.name}: {self.used:,} of {self.rows:,} lines are used"
        groups = "" if len(self.settings) == 1 else f" in {len(self.settings)} groups"
        said = [f"{used}: {self.arms:,} arms{groups}."]
        return said + [self._left_out(reason) for reason in self.excluded] + list(self.notes)

    def _left_out(self, reason: str) -> str:
        count, first = self.excluded[reason], self.lines[reason]
        more = ", …" if count > len(first) else ""
        return f"Left out: {pluralize(count, 'line')}, {reason} ({_lines(first)}{more})."


def _lines(first: list[int]) -> str:
    return f"line{'s' * (len(first) > 1)} {', '.join(map(str, first))}"


def read_ad_export(
    path: str | PathLike[str],
    *,
    clicks: str,
    cost: str,
    reward: str,
    group: Sequence[str] = (),
    arm: Sequence[str] = (),
    decimal: Decimal | None = None,
    blank_is_zero: bool = False,
    money: bool | None = None,
    prize: float | Literal["largest"] | None = None,
    model: Model = "bernoulli",
) -> Export:
    """Read the arms of an ad export, a setting a group.

    Parameters
    ----------
    path : path
        A CSV file, or a ZIP file with one. Fields divided by comma, semicolon, tab or bar; UTF-8,
        or UTF-16 with a byte order mark; there may be lines before the header.
    clicks, cost, reward : str
        Columns of trials, money spent and what it brought, in any case.
    group : sequence of str
        Columns whose values make groups, each a problem with a budget of its own; none: one
        problem. If each group has one arm, the groups are the arms of one problem.
    arm : sequence of str
        Columns that name an arm within its group; its lines are added up. None: each line is an
        arm.
    decimal : {".", ","}, optional
        The decimal mark, where the file does not tell.
    blank_is_zero : bool
        Whether an empty number means none; otherwise its line is left out.
    money : bool, optional
        Whether rewards are amounts, and may exceed clicks; by default if they bear a currency.
    prize : float or "largest", optional
        What one success brings. By default 1 for counts, and for money the largest reward a click
        of a group / 0.99, which "largest" asks for in any case.
    model : {"bernoulli", "beta"}
        How costs vary; see :class:`OwnSetting`.
    """
    names = [(one,) if isinstance(one, str) else tuple(one) for one in (group, arm)]
    columns = AdColumns(clicks, cost, reward, *names)
    options = ImportOptions(decimal, blank_is_zero, money, prize, model)
    return parse_ad_export(read_content(path), Path(path).name, columns, options)


def parse_ad_export(
    data: bytes, name: str, columns: AdColumns, options: ImportOptions | None = None
) -> Export:
    r"""Read an export from the bytes of a file; see :func:`read`.

    Examples
    --------
    >>> text = '''ad;clicks;spent;sales
    ... A;1.200;€ 300,50;24
    ... B;800;€ 100,00;20
    ... C;0;€ 0,00;0
    ... Total;2.000;€ 400,50;44
    ... '''
    >>> columns = Columns("clicks", "spent", "sales", arm=("ad",))
    >>> export = parse_ad_export(text.encode(), "ads.csv", columns)
    >>> print(*export.words(), sep="\n")
    ads.csv: 2 of 4 lines are used: 2 arms.
    Left out: 1 line, a line of totals (line 5).
    Left out: 1 line, no clicks (line 4).
    >>> export.settings[0].cost, export.currency
    ((300.5, 100.0), '€')
    """
    options = options or ImportOptions()
    table = read_listing(data, name, columns.all())
    out = Exclusions()
    found = entries(table, columns, options.decimal, options.blank_is_zero, out)
    lots, notes = _lots(add_up_rows(found.kept), columns)
    limit = options.limit(columns, found.reward_sign)
    if limit is not None and options.prize is None:
        refuse_amounts(lots, columns, name)
    groups = group_lots(usable_lots(lots, columns, limit, out), columns, out)
    if not groups.members:
        raise InvalidData(_nothing(name, out, bool(table.lines)))
    settings = _settings(list(groups.members.values()), columns, options, limit, name)
    notes += groups.notes + _hints(columns, options, limit, out)
    return Export(
        name, settings, len(table.lines), out.counts, out.lines, tuple(notes), found.cost_sign
    )


def _lots(lots: list[Lot], columns: AdColumns) -> tuple[list[Lot], list[str]]:
    single = regroup(lots) if columns.group else None
    if single is None:
        return lots, []
    names = ", ".join(columns.group)
    return single, [f"Each group ({names}) has one arm, so groups are compared with one another."]


def _settings(
    groups: list[list[Lot]],
    columns: AdColumns,
    options: ImportOptions,
    limit: Limit | None,
    source: str,
) -> tuple[AdExportSetting, ...]:
    names = _distinct(["/".join(those[0].group) or "all" for those in groups])
    made = []
    for name, those in zip(names, groups, strict=True):
        largest = max(lot.reward / lot.clicks for lot in those) / TOP
        made.append(
            AdExportSetting(
                name,
                tuple(_distinct([lot.name for lot in those])),
                tuple(lot.clicks for lot in those),
                tuple(lot.cost for lot in those),
                tuple(lot.reward for lot in those),
                largest if limit is None else limit.most,
                options.model,
                source,
                columns.clicks,
                columns.reward,
            )
        )
    return tuple(made)


def _distinct(names: list[str]) -> list[str]:
    """Number names that are there twice: a/b and c, a and b/c."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _nothing(name: str, out: Exclusions, lines: bool) -> str:
    why = "; ".join(
        f"{reason}: {count}, first on line {out.lines[reason][0]}"
        for reason, count in out.counts.items()
    )
    return f"no two arms to compare in {name} ({why if lines else 'no line below the header'})"


def _hints(
    columns: AdColumns, options: ImportOptions, limit: Limit | None, out: Exclusions
) -> list[str]:
    said = []
    if limit is None:
        said.append(
            f"{columns.reward} is taken as an amount: a click brings its group's largest average or"
            " nothing. If a success brings more, give that as the prize: learning is then slower."
        )
    elif limit.reason in out.counts and options.prize is None:
        said.append(f"If {columns.reward} is money and no count, give money=True (--money).")
    if f"{columns.reward} is empty" in out.counts:
        said.append(
            f"If an empty {columns.reward} means none, give blank_is_zero=True"
            " (--blank-is-zero); look at the lines first, their columns may be shifted."
        )
    return said
