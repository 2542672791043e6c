"""Scripts of looks: money, arms, why, what is to come, what happened."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from bursar.campaign import ArmView, Decision, Explanation, Forecast
from bursar.campaign.status import Status
from bursar.client.call import Call
from bursar.client.reading import (
    arm_of,
    decision_of,
    event_of,
    explanation_of,
    forecast_of,
    made,
)
from bursar.client.scope import Scope, id_of
from bursar.client.script import Script
from bursar.ledger import Event
from bursar.money import Coin

__all__ = ["Looking"]

T = TypeVar("T")

_PAGE = 1000


class Looking(Scope):
    """The looks at a campaign; each is a request: status() has numbers that fit together."""

    def status(self) -> Script[Status]:
        """Return how the campaign stands: money, counts and rules of one moment."""
        return (yield from self._get("", lambda data: made(Status, data)))

    def arms(self) -> Script[list[ArmView]]:
        """Return every arm: counts, money, means and reward per cost with 95% intervals."""
        return (yield from self._get("arms", lambda data: [arm_of(one) for one in data["arms"]]))

    def explain(self, decision: Decision | str) -> Script[Explanation]:
        """Return why a decision was what it was, from the log as it was then."""
        call = Call(
            "GET", self.path("decisions", id_of(decision)),
            lambda answer: explanation_of(answer.data["why"]), query={"why": "true"},
        )  # fmt: skip
        return (yield from self.line.call(call))

    def forecast(self, days: float | None = None) -> Script[Forecast]:
        """Return what the rest of the budget may bring, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until nothing fits.
        """
        return (yield from self._get("forecast", forecast_of, days=days))

    def holds(self) -> Script[list[Decision]]:
        """Return the decisions whose money is held, the oldest first."""
        found: list[Decision] = []
        after: Any = None
        while True:
            page = yield from self._get("decisions", _same, open="true", limit=_PAGE, after=after)
            found += [decision_of(one) for one in page["decisions"]]
            after = page.get("next")
            if after is None:
                return found

    def page(self, after: int) -> Script[tuple[list[Event], int | None]]:
        """Return events after one, and where the next page begins, or None at the end."""
        data = yield from self._get("events", _same, after=after, limit=_PAGE)
        return [event_of(one) for one in data["events"]], data.get("next")

    def _get(self, part: str, read: Callable[[Any], T], **query: Any) -> Script[T]:
        path = self.path(part) if part else self.path()
        call = Call("GET", path, lambda answer: read(answer.data), query=query)
        return (yield from self.line.call(call))

    # one number each

    def coin(self) -> Script[Coin]:
        """Currency and smallest unit."""
        return (yield from self.config()).coin

    def budget(self) -> Script[Decimal]:
        """What may be spent in all."""
        return (yield from self.status()).budget

    def spent(self) -> Script[Decimal]:
        """What was spent: outcomes told, and holds that lapsed."""
        return (yield from self.status()).spent

    def held(self) -> Script[Decimal]:
        """What open decisions hold."""
        return (yield from self.status()).held

    def available(self) -> Script[Decimal]:
        """What is left; below 0 after overruns, or after the budget was cut."""
        return (yield from self.status()).available

    def overrun(self) -> Script[Decimal]:
        """What costs exceeded their holds by."""
        return (yield from self.status()).overrun

    def state(self) -> Script[str]:
        """active, paused, overdrawn, exhausted, unreconciled or closed."""
        return (yield from self.status()).state

    def open(self) -> Script[int]:
        """How many decisions wait for an outcome."""
        return (yield from self.status()).open

    def version(self) -> Script[int]:
        """Number of the last change of rules, for changes that must not cross others."""
        return (yield from self.status()).version

    def alarms(self) -> Script[list[str]]:
        """What an operator should know: clocks that were set, policies that failed."""
        return (yield from self._get("", lambda data: list(data["alarms"])))


def _same(data: Any) -> Any:
    return data
