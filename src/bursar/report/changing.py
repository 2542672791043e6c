"""What a run on worlds that change came to, in sentences."""

from __future__ import annotations

from bursar.analysis.changing import PLAIN, Verdict, verdicts
from bursar.figures.labels import short
from bursar.result import Result

__all__ = ["said"]


def said(result: Result) -> list[str]:
    """Return from which speed on the plain policy loses, a sentence a way and policy."""
    found = [one for one in verdicts(result) if one.comparisons]
    asked = sum(len(one.comparisons) for one in found)
    note = (
        f"Each interval is for its comparison alone; {asked} were made, so a few are off by luck."
    )
    return [*map(_sentence, found), *([note] if found else [])]


def _sentence(one: Verdict) -> str:
    plain, other = short(PLAIN), short(one.other)
    words = f"{one.way.capitalize()} worlds: against {other} {plain} "
    since = one.since
    if since is not None:
        at = one.speeds[one.comparisons.index(since)]
        words += (
            f"loses from {_counted(at, one.unit)} on (there {since.difference:+,.0f} regret,"
            f" 95% {since.low:+,.0f} to {since.high:+,.0f})"
        )
    elif one.loses:
        words += (
            f"loses at {_listed(one.loses)} {one.unit} a budget and not clearly at all faster ones"
        )
    else:
        words += f"loses at no speed up to {_counted(max(one.speeds), one.unit)}"
    return words + (f", and wins at {_listed(one.wins)}." if one.wins else ".")


def _counted(amount: float, unit: str) -> str:
    return f"{amount:g} {unit.removesuffix('s') if amount == 1 else unit} a budget"


def _listed(speeds: list[float]) -> str:
    shown = [f"{speed:g}" for speed in speeds]
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"
