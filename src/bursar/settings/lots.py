"""Lots: the lines of one arm added up, and the groups that arms form."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from bursar.errors import InvalidData
from bursar.settings.ads import Exclusions
from bursar.settings.entries import Columns, Entry

__all__ = ["Groups", "Limit", "Lot", "added_up", "grouped", "refuse_amounts", "regrouped", "usable"]

Key = tuple[str, ...]
_SHOWN = 5  # groups named a reason


@dataclass(frozen=True)
class Lot:
    """One arm: its group, its name, its lines, and their sums."""

    group: Key
    name: str
    lines: tuple[int, ...]
    clicks: float
    cost: float
    reward: float

    def leave_out(self, out: Exclusions, reason: str) -> None:
        """Count each of its lines."""
        for line in self.lines:
            out.add(line, reason)


class Limit(NamedTuple):
    """The most that a click can bring, and what to say of arms that have more."""

    most: float
    reason: str


class Groups(NamedTuple):
    """Groups of two or more arms, and what to say of those left out."""

    members: dict[Key, list[Lot]]
    notes: list[str]


def added_up(kept: list[Entry]) -> list[Lot]:
    """Add up the lines of the same arm of the same group; a line without a name is an arm."""
    members: defaultdict[tuple[Key, Key], list[Entry]] = defaultdict(list)
    for entry in kept:
        members[entry.group, entry.arm or (f"line {entry.line}",)].append(entry)
    return [
        Lot(
            group,
            "/".join(arm),
            tuple(entry.line for entry in those),
            math.fsum(entry.clicks for entry in those),
            math.fsum(entry.cost for entry in those),
            math.fsum(entry.reward for entry in those),
        )
        for (group, arm), those in members.items()
    ]


def regrouped(lots: list[Lot]) -> list[Lot] | None:
    """Return groups as the arms of one problem if each has a single arm, else None."""
    groups = {lot.group for lot in lots}
    if len(groups) < 2 or len(groups) < len(lots):
        return None
    return [
        Lot((), "/".join(lot.group), lot.lines, lot.clicks, lot.cost, lot.reward) for lot in lots
    ]


def usable(lots: list[Lot], columns: Columns, limit: Limit | None, out: Exclusions) -> list[Lot]:
    """Return arms with clicks, spend and a possible reward; count the lines of others.

    Arms are judged, not lines: a day without clicks is part of what its arm cost and brought.
    """
    found = []
    for lot in lots:
        if lot.clicks == 0.0:
            lot.leave_out(out, f"no {columns.clicks}")
        elif lot.cost == 0.0:
            lot.leave_out(out, "nothing spent")
        elif limit is not None and lot.reward > limit.most * lot.clicks:
            lot.leave_out(out, limit.reason)
        else:
            found.append(lot)
    return found


def refuse_amounts(lots: list[Lot], columns: Columns, name: str) -> None:
    """Refuse rewards that are mostly above clicks: they cannot be counts."""
    clicked = [lot for lot in lots if lot.clicks > 0.0]
    above = sum(lot.reward > lot.clicks for lot in clicked)
    if 2 * above > len(clicked):
        raise InvalidData(
            f"{name}: {columns.reward} is more than {columns.clicks} in {above} of {len(clicked)}"
            " arms, so it counts something else; if it is money, give money=True (--money)"
        )


def grouped(lots: list[Lot], columns: Columns, out: Exclusions) -> Groups:
    """Return groups that can be compared, in the order of the file."""
    members: defaultdict[Key, list[Lot]] = defaultdict(list)
    for lot in lots:
        members[lot.group].append(lot)
    few, dull = "the only arm of its group", f"no arm of its group brought {columns.reward}"
    left: dict[str, list[str]] = {few: [], dull: []}
    kept = {}
    for group, those in members.items():
        reason = few if len(those) < 2 else dull if not any(lot.reward for lot in those) else ""
        if reason:
            left[reason].append("/".join(group) or "all")
            for lot in those:
                lot.leave_out(out, reason)
        else:
            kept[group] = those
    words = {few: "with a single usable arm", dull: f"whose arms brought no {columns.reward}"}
    return Groups(kept, [_said(names, words[why]) for why, names in left.items() if names])


def _said(names: list[str], why: str) -> str:
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    count = "1 group" if len(names) == 1 else f"{len(names)} groups"
    return f"Left out: {count} {why} ({shown})."
