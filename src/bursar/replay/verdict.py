"""Verdicts: what a replay found, in sentences."""

from __future__ import annotations

from bursar.replay.estimate import Estimate
from bursar.replay.log import Log
from bursar.replay.support import Support
from bursar.replay.words import added, between, short
from bursar.settings.ads import Exclusions

__all__ = ["compared", "sentences", "verdict"]


def verdict(found: Estimate, rows: Support) -> str:
    """Return what one estimate says, and what would be needed where the log cannot say it."""
    if found.reward is None:
        return _silent(found, rows)
    earned = between(found.reward, found.level)
    if found.spend < found.budget:
        return (
            f"{found.policy}: the log reaches {_percent(found.reached)} of the budget of"
            f" {short(found.budget)}. By a spend of {short(found.spend)} it would have earned"
            f" {earned}{_beside(found, 'had earned')}. Beyond that the log cannot say: it ended"
            f" while waiting for {found.waited_for!r}; about"
            f" {short(_needed(found, rows))} rows like these would reach the whole budget."
        )
    return (
        f"{found.policy} would have earned {earned} for {short(found.budget)}"
        f"{_beside(found, 'earned')}."
    )


def _silent(found: Estimate, rows: Support) -> str:
    if found.method == "weights":
        return (
            f"{found.policy}: the log cannot say; the arm has {added(int(found.rows), 'row')}"
            " or costs nothing, so no budget limits it."
        )
    rare = int((rows.floor * len(rows)).argmin())
    return (
        f"{found.policy}: the log cannot say; it ended before every one of the"
        f" {len(rows.arms)} arms was played, waiting for {found.waited_for!r}."
        f" {rows.arms[rare]!r} has {added(int(rows.rows_per_arm[rare]), 'row')}, the least"
        f" propensity of them {short(float(rows.floor[rare]))}: log more rows, give the arm a"
        " larger share, or leave it out."
    )


def _beside(found: Estimate, verb: str) -> str:
    if found.logged is None or found.reward is None:
        return "; the logging policy never spent as much"
    said = f", where the logging policy {verb} {short(found.logged)}: "
    if found.reward.low > found.logged:
        return said + "more"
    return said + ("less" if found.reward.high < found.logged else "no clear difference")


def _needed(found: Estimate, rows: Support) -> float:
    """Return the rows that the budget takes if plays go on at the same cost and pace."""
    return len(rows) / found.reached


def _percent(share: float) -> str:
    return f"{100.0 * share:.2g}%" if share < 0.995 else f"{100.0 * share:.4g}%"


def compared(found: list[Estimate]) -> str:
    """Return how to compare policies that the log follows to different spends, or nothing."""
    spends = {one.spend for one in found if one.reward is not None}
    if len(spends) < 2:
        return ""
    return (
        "The rewards belong to different spends; to compare them at one, give"
        f" --budget {_floored(min(spends))}."
    )


def _floored(number: float) -> str:
    text = f"{number:.3g}"
    return text if float(text) <= number else f"{number * 0.99:.3g}"


def sentences(log: Log, rows: Support) -> list[str]:
    """Return what was read, what was left out and why, and what speaks against the answers."""
    seen = len(log) + sum(log.left_out.counts.values())
    said = [
        f"{log.name}: {len(rows):,} of {added(seen, log.unit)} can be replayed;"
        f" {len(rows.arms)} arms. The logging policy earned {short(log.earned)} for"
        f" {short(log.spent)}."
    ]
    said += _reasons(log.left_out, "Left out", log.unit)
    said += _reasons(rows.left_out, "Not replayed", log.unit)
    return said + list(rows.notes)


def _reasons(out: Exclusions, what: str, unit: str) -> list[str]:
    said = []
    for reason, count in out.counts.items():
        first = out.lines[reason]
        more = ", …" if count > len(first) else ""
        where = f"{unit}{'s' * (len(first) > 1)} {', '.join(map(str, first))}{more}"
        said.append(f"{what}: {added(count, unit)}, {reason} ({where}).")
    return said
