"""Read a user's own ad export: any columns, named by the user; nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Literal

from bursar.errors import InvalidData
from bursar.settings.ads import Exclusions
from bursar.settings.amounts import Decimal
from bursar.settings.entries import Columns, entries
from bursar.settings.export import Export
from bursar.settings.listing import listing
from bursar.settings.lots import Limit, Lot, added_up, grouped, refuse_amounts, regrouped, usable
from bursar.settings.options import Options
from bursar.settings.own_setting import TOP, Model, OwnSetting
from bursar.settings.sheet import content

__all__ = ["Columns", "Export", "Options", "OwnSetting", "parse", "read"]


def read(
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
    columns = Columns(clicks, cost, reward, *names)
    options = Options(decimal, blank_is_zero, money, prize, model)
    return parse(content(path), Path(path).name, columns, options)


def parse(data: bytes, name: str, columns: Columns, options: Options | None = None) -> Export:
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
    >>> export = parse(text.encode(), "ads.csv", columns)
    >>> print(*export.words(), sep="\n")
    ads.csv: 2 of 4 lines are used: 2 arms.
    Left out: 1 line, a line of totals (line 5).
    Left out: 1 line, no clicks (line 4).
    >>> export.settings[0].cost, export.currency
    ((300.5, 100.0), '€')
    """
    options = options or Options()
    table = listing(data, name, columns.all())
    out = Exclusions()
    found = entries(table, columns, options.decimal, options.blank_is_zero, out)
    lots, notes = _lots(added_up(found.kept), columns)
    limit = options.limit(columns, found.reward_sign)
    if limit is not None and options.prize is None:
        refuse_amounts(lots, columns, name)
    groups = grouped(usable(lots, columns, limit, out), columns, out)
    if not groups.members:
        raise InvalidData(_nothing(name, out, bool(table.lines)))
    settings = _settings(list(groups.members.values()), columns, options, limit, name)
    notes += groups.notes + _hints(columns, options, limit, out)
    return Export(
        name, settings, len(table.lines), out.counts, out.lines, tuple(notes), found.cost_sign
    )


def _lots(lots: list[Lot], columns: Columns) -> tuple[list[Lot], list[str]]:
    single = regrouped(lots) if columns.group else None
    if single is None:
        return lots, []
    names = ", ".join(columns.group)
    return single, [f"Each group ({names}) has one arm, so groups are compared with one another."]


def _settings(
    groups: list[list[Lot]], columns: Columns, options: Options, limit: Limit | None, source: str
) -> tuple[OwnSetting, ...]:
    names = _distinct(["/".join(those[0].group) or "all" for those in groups])
    made = []
    for name, those in zip(names, groups, strict=True):
        largest = max(lot.reward / lot.clicks for lot in those) / TOP
        made.append(
            OwnSetting(
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


def _hints(columns: Columns, options: Options, limit: Limit | None, out: Exclusions) -> list[str]:
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
