"""Scripts of outcomes: told once however often they are sent, and kept if nobody hears them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bursar.campaign import Decision
from bursar.campaign.request import new_id
from bursar.campaign.words import words
from bursar.client.asking import Asking
from bursar.client.call import Answer, Call
from bursar.client.reading import result_of
from bursar.client.scope import id_of
from bursar.client.script import Script
from bursar.errors import BursarError, InvalidInput, Overloaded, RateLimited, StorageUnavailable
from bursar.money import Amount, Rounding

__all__ = ["Telling", "results"]

_BATCH = 1000  # of one request
_LATER = (StorageUnavailable, Overloaded, RateLimited)
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class Telling(Asking):
    """The outcomes of a campaign."""

    def tell(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: float | None = None,
        *,
        report: str | None = None,
        rounding: Rounding | None = None,
        token: str | None = None,
    ) -> Script[Decision]:
        """Book what a decision cost and brought, together or in two calls; twice is once.

        Parameters
        ----------
        decision : Decision or str
            What ask() returned, or its id.
        cost : amount, optional
            What it did cost, even if that is more than was held.
        reward : float, optional
            What it brought; may come days later.
        report : str, optional
            A name of your own for this report, so that sending it again is told from another one.
        rounding : {"up", "down", "nearest"}, optional
            For costs with more digits than the campaign keeps.
        token : str, optional
            What :meth:`token` gave for the decision: with it, an outcome is booked even if a
            restored backup does not know the decision. By default the one that the ask brought.
        """
        call = self.told(decision, cost, reward, report, rounding, token)
        return (yield from self.line.deliver(call))

    def token(self, decision: Decision | str) -> Script[str]:
        """Return what vouches for a decision, should a restored backup not know it."""
        key = id_of(decision)
        if key not in self.tokens:
            read = Call(
                "GET", self.path("decisions", key), lambda answer: str(answer.data["token"])
            )
            return (yield from self.line.call(read))
        return self.tokens[key]

    def told(
        self,
        decision: Decision | str,
        cost: Amount | None,
        reward: float | None,
        report: str | None = None,
        rounding: Rounding | None = None,
        token: str | None = None,
    ) -> Call[Decision]:
        """Return the call that tells an outcome, checked and with a name of its own."""
        if cost is None and reward is None:
            raise InvalidInput(
                "tell must have a cost, a reward or both, got neither; void() undoes"
            )
        one = {"decision": decision, "cost": cost, "reward": reward, "report": report}
        return self._telling(self._told(one | {"rounding": rounding, "token": token}))

    def _telling(self, one: Mapping[str, Any]) -> Call[Decision]:
        body = {name: one[name] for name in one if name not in ("decision", "campaign")}
        return Call("POST", self.path("decisions", one["decision"], "outcome"), self.decided, body)

    def tell_many(
        self, outcomes: Sequence[Mapping[str, Any]]
    ) -> Script[list[Decision | BursarError]]:
        """Book many outcomes: mappings with decision, cost, reward, report, rounding, token.

        What a rule refuses comes back as the error in its place; the others are booked.
        """
        parsed = [self._told(one) for one in outcomes]
        told: list[Decision | BursarError] = []
        while len(told) < len(parsed):
            rest = parsed[len(told) :]
            call = Call("POST", "/v1/outcomes:batch", results, {"outcomes": rest[:_BATCH]})
            parts = [self._telling(one) for one in rest]
            try:
                told += yield from self.line.deliver(call, parts)
            except _LATER as error:  # as when a commit fails: all of them have the error
                told += [error] * len(rest)
        return told

    def _told(self, one: Mapping[str, Any]) -> dict[str, Any]:
        if "decision" not in one or not _OUTCOME.issuperset(one):
            raise InvalidInput(
                "an outcome has decision, cost, reward, report, rounding and token,"
                f" got {', '.join(map(repr, one)) or 'nothing'}"
            )
        self._learn(one["decision"])
        key, report = id_of(one["decision"]), one.get("report")
        token = one.get("token") or self.tokens.get(key)
        return (
            {
                "decision": key,
                "campaign": self.name,
                "report_id": new_id() if report is None else words("report", report, 1, 128),
            }
            | self.outcome(one.get("cost"), one.get("reward"), one.get("rounding"))
            | ({} if token is None else {"token": token})
        )

    def _learn(self, decision: Decision | str) -> None:
        known = getattr(decision, "coin", None)
        if known is not None:
            self.exponent = known.exponent


def results(answer: Answer) -> list[Decision | BursarError]:
    """Read what became of many decisions, each in its place."""
    return [result_of(one) for one in answer.data["results"]]
