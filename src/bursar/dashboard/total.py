"""All campaigns together: sums by currency, and whether money is being lost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from bursar.dashboard.bar import Split, split
from bursar.dashboard.card import Card
from bursar.dashboard.look import Look
from bursar.dashboard.spelling import money

__all__ = ["Total", "answer", "totals"]


@dataclass(frozen=True)
class Total:
    """All campaigns of one currency together."""

    currency: str
    budget: str
    spent: str
    held: str
    available: str
    overdrawn: bool
    bar: Split
    campaigns: int


def totals(looks: list[Look]) -> list[Total]:
    """Return sums by currency; amounts of different currencies are never added."""
    found = []
    for currency in sorted({one.status.currency for one in looks}):
        mine = [one.status for one in looks if one.status.currency == currency]
        sums = [
            sum((getattr(one, name) for one in mine), start=Decimal(0))
            for name in ("budget", "spent", "held", "available")
        ]
        budget, spent, held, available = sums
        found.append(
            Total(
                currency,
                money(budget, currency),
                money(spent, currency),
                money(held, currency),
                money(available, currency),
                available < 0,
                split(budget, spent, held),
                len(mine),
            )
        )
    return found


def answer(cards: list[Card], broken: list[str]) -> tuple[str, str]:
    """Return whether money is being lost: a tone, and a sentence."""
    if broken:
        return "no", f"Look now: the ledger of {_listed(broken)} cannot be read."
    bad = [one.name for one in cards if any(trouble.tone == "no" for trouble in one.troubles)]
    doubtful = [one.name for one in cards if one.troubles and one.name not in bad]
    if bad:
        return "no", f"Look now: {_listed(bad)} {_needs(bad)} attention."
    if doubtful:
        return "part", f"Within budget, but look at {_listed(doubtful)}."
    running = sum(one.state == "Running" for one in cards)
    if not running:
        return "open", "No campaign is running; nothing is being spent."
    which = "The one campaign that runs is" if running == 1 else f"All {running} that run are"
    return "yes", f"No. {which} within budget, with nothing stuck and no overrun."


def _listed(names: list[str]) -> str:
    shown = names[:3] + ([f"{len(names) - 3} more"] if len(names) > 3 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _needs(names: list[str]) -> str:
    return "needs" if len(names) == 1 else "need"
