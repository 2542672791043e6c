"""The books done again: sums of money straight from the log, beside those that a campaign keeps."""

from __future__ import annotations

from collections import defaultdict

from bursar.campaign.records import MADE
from bursar.campaign.state import State, day_of
from bursar.ledger import Event

__all__ = ["Audit"]


class Audit:
    """Follows the money of each decision, and checks every grant against budget and caps.

    Simple on purpose, and apart from the code it checks.
    """

    def __init__(self, first: Event) -> None:
        self.budget: int = first.body["budget"]
        self.caps: dict[str, int | None] = dict(first.body["caps"])
        self.keys: list[str] = [key for key, _ in first.body["arms"]]
        self.idle: set[str] = set()
        self.state = "active"
        self.gap = 0
        self.decisions = 0
        self.scopes: dict[str, list[str]] = {}  # of a decision: the day and the arm
        self.holds: dict[str, int] = {}  # open ones
        self.charges: dict[str, int] = {}
        self.spent: defaultdict[str, int] = defaultdict(int)  # by scope; "" for all
        self.held: defaultdict[str, int] = defaultdict(int)

    def follow(self, event: Event) -> str | None:
        """Take an event into account; return what is wrong with it, if anything is."""
        kind, body = event.kind, event.body
        if kind in MADE:
            return self._asked(event)
        if kind in ("told", "corrected") and "cost" in body:
            return self._charged(event.decision, body["cost"])
        if kind in ("voided", "released", "lapsed"):
            if event.decision not in self.holds:
                return "ends a hold that is not open"
            return self._charged(event.decision, body.get("charge", 0))
        if kind == "arm-added":
            if body["key"] in self.keys:
                return f"adds the arm {body['key']!r} a second time"
            self.keys.append(body["key"])
        elif kind in ("arm-paused", "arm-retired"):
            self.idle.add(body["key"])
        elif kind == "arm-resumed":
            self.idle.discard(body["key"])
        elif kind == "budget-set":
            self.budget = body["budget"]
        elif kind == "cap-set":
            self.caps[body["scope"]] = body["cap"]
        elif kind in ("paused", "closed", "restored"):
            self.state = kind
        elif kind in ("resumed", "reconciled"):
            self.state = "active"
            self.gap += body.get("gap", 0)
        return None

    def _asked(self, event: Event) -> str | None:
        decision, key = event.decision, self.keys[event.body["arm"]]
        if decision in self.scopes:
            return f"grants {decision!r} a second time"
        promised = event.kind == "asked"  # what was granted before a restore may exceed anything
        if promised and (self.state != "active" or key in self.idle):
            return f"grants {key!r} while " + ("it" if key in self.idle else "all") + " must wait"
        self.decisions += 1
        self.scopes[decision] = ["", f"day:{day_of(event.ts)}", f"arm:{key}"]
        self.holds[decision] = event.body["hold"]
        self.charges[decision] = 0
        for scope in self.scopes[decision]:
            self.held[scope] += event.body["hold"]
        limits = [self.budget - self.gap, self.caps.get("day"), self.caps.get(f"arm:{key}")]
        for scope, limit in zip(self.scopes[decision], limits, strict=True):
            total = self.spent[scope] + self.held[scope]
            if promised and limit is not None and total > limit:
                what = {"": "the budget", "d": "the day's cap", "a": "the cap of its arm"}[
                    scope[:1]
                ]
                return f"grants more than {what} allows ({total:,} of {limit:,} units)"
        return None

    def _charged(self, decision: str, cost: int) -> str | None:
        if decision not in self.scopes:
            return f"tells of {decision!r}, which was never asked"
        hold, before = self.holds.pop(decision, 0), self.charges[decision]
        self.charges[decision] = cost
        for scope in self.scopes[decision]:
            self.held[scope] -= hold
            self.spent[scope] += cost - before
        return None

    def differs(self, state: State) -> str | None:
        """Return which sum of a campaign is not that of the log, if one is."""
        sums = [
            ("spent", state.spent, self.spent[""] + self.gap),
            ("held", state.held, self.held[""]),
            ("the budget", state.budget, self.budget),
            ("asks", state.asks, self.decisions),
        ]
        for arm in state.arms:
            scope = f"arm:{arm.key}"
            sums.append((f"spent on {arm.key!r}", arm.money.spent, self.spent[scope]))
            sums.append((f"held for {arm.key!r}", arm.money.held, self.held[scope]))
        for day, cap in state.days.items():
            sums.append((f"spent on day {day}", cap.spent, self.spent[f"day:{day}"]))
            sums.append((f"held for day {day}", cap.held, self.held[f"day:{day}"]))
        for what, kept, found in sums:
            if kept != found:
                return f"{what} is {kept:,} units where the log adds up to {found:,}"
        return None
