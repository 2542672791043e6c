"""Handles of a campaign elsewhere: the verbs of :class:`bursar.Campaign`, at once or awaited."""

from __future__ import annotations

from bursar.client.changing import Changing
from bursar.client.delivery import Delivery
from bursar.client.ending import Ending
from bursar.client.looking import Looking
from bursar.client.script import Verb, View

__all__ = ["Handle", "Scripts"]


class Scripts(Ending, Changing, Looking):
    """All that can be done with one campaign."""


class Handle:
    """The verbs that are one script each."""

    def __init__(self, line: Delivery, name: str) -> None:
        self.name = name
        self.scripts = Scripts(line, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.scripts.line.url!r})"

    tell = Verb(Scripts.tell)
    tell_many = Verb(Scripts.tell_many)
    confirm = Verb(Scripts.confirm)
    void = Verb(Scripts.void)
    void_many = Verb(Scripts.void_many)
    correct = Verb(Scripts.correct)
    decision = Verb(Scripts.decision)
    token = Verb(Scripts.token)

    add_arm = Verb(Scripts.add_arm)
    pause_arm = Verb(Scripts.pause_arm)
    resume_arm = Verb(Scripts.resume_arm)
    retire_arm = Verb(Scripts.retire_arm)
    set_budget = Verb(Scripts.set_budget)
    set_cap = Verb(Scripts.set_cap)
    change = Verb(Scripts.change)
    pause = Verb(Scripts.pause)
    resume = Verb(Scripts.resume)
    finish = Verb(Scripts.finish)
    reconcile = Verb(Scripts.reconcile)

    status = Verb(Scripts.status)
    arms = Verb(Scripts.arms)
    holds = Verb(Scripts.holds)
    explain = Verb(Scripts.explain)
    forecast = Verb(Scripts.forecast)

    config = View(Scripts.config)
    coin = View(Scripts.coin)
    budget = View(Scripts.budget)
    spent = View(Scripts.spent)
    held = View(Scripts.held)
    available = View(Scripts.available)
    overrun = View(Scripts.overrun)
    state = View(Scripts.state)
    open = View(Scripts.open)
    version = View(Scripts.version)
    alarms = View(Scripts.alarms)
