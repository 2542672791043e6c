"""A campaign at a glance: its light, its money, where it goes, and what is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bursar.dashboard.bar import Split, split
from bursar.dashboard.earning import Earning, earning
from bursar.dashboard.look import Look
from bursar.dashboard.pace import burn, end
from bursar.dashboard.spelling import ago, count, moment, money, plural

__all__ = ["STATES", "Card", "Trouble", "card"]

STATES = {
    "active": ("yes", "Running"),
    "paused": ("part", "Paused"),
    "exhausted": ("open", "Budget used up"),
    "overdrawn": ("no", "Overdrawn"),
    "unreconciled": ("no", "To be reconciled"),
    "closed": ("open", "Closed"),
}
"""What states are called on the pages, and their colour."""


@dataclass(frozen=True)
class Trouble:
    """Something that an operator should look at; ``no`` is worse than ``part``."""

    tone: str
    text: str


@dataclass(frozen=True)
class Card:
    """A campaign at a glance, as texts."""

    name: str
    tone: str
    state: str
    currency: str
    budget: str
    spent: str
    held: str
    available: str
    overdrawn: bool
    bar: Split
    burn: str
    end: str
    end_note: str
    left: str
    earning: Earning
    stuck: int
    open: str
    overrun: str
    asks: str
    max_asks: str
    last: str
    last_at: str
    troubles: tuple[Trouble, ...]


def card(look: Look) -> Card:
    """Return a campaign at a glance."""
    status, ahead = look.status, look.forecast
    tone, word = STATES.get(status.state, ("open", status.state))
    shown = partial(money, currency=status.currency)
    earned = earning(look)
    until, note = end(look)
    return Card(
        name=status.name,
        tone=tone,
        state=word,
        currency=status.currency,
        budget=shown(status.budget),
        spent=shown(status.spent),
        held=shown(status.held),
        available=shown(status.available),
        overdrawn=status.available < 0,
        bar=split(status.budget, status.spent, status.held),
        burn=burn(look),
        end=until,
        end_note=note,
        left=shown(ahead.unusable),
        earning=earned,
        stuck=len(look.stuck),
        open=count(len(look.holds)),
        overrun=shown(status.overrun) if status.overrun else "",
        asks=count(status.asks),
        max_asks=count(max(status.max_asks, 0)),
        last=ago(status.at, look.now),
        last_at=moment(status.at),
        troubles=tuple(_troubles(look, earned)),
    )


def _troubles(look: Look, earned: Earning) -> list[Trouble]:
    status = look.status
    found = []
    if status.state == "overdrawn":
        over = money(-status.available, status.currency)
        found.append(Trouble("no", f"Overdrawn by {over}; nothing more is granted."))
    if status.state == "unreconciled":
        found.append(Trouble("no", "Restored from a backup: say what was spent since."))
    found.extend(Trouble("no", f"Alarm: {text}") for text in look.alarms)
    if status.overrun:
        over = money(status.overrun, status.currency)
        found.append(Trouble("part", f"Costs exceeded their holds by {over} in all."))
    if look.stuck:
        are = "is" if len(look.stuck) == 1 else "are"
        found.append(Trouble("part", f"{plural(len(look.stuck), 'hold')} {are} stuck."))
    if earned.tone == "no" and status.state == "active":
        found.append(Trouble("part", earned.words))
    return found
