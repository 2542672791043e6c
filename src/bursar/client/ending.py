"""Scripts of what else becomes of decisions: confirmed, given back, corrected."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.campaign import Decision
from bursar.campaign.words import words
from bursar.client.amount import amount_text
from bursar.client.call import Call
from bursar.client.scope import id_of
from bursar.client.script import Script
from bursar.client.telling import Telling, results
from bursar.errors import BursarError, InvalidInput
from bursar.money import Amount

__all__ = ["Ending"]

_BATCH = 1000  # of one request


class Ending(Telling):
    """The ends of decisions, beside outcomes."""

    def confirm(self, decision: Decision | str) -> Script[Decision]:
        """Say that the money of a decision is about to be spent (campaigns with ask_ttl)."""
        path = self.path("decisions", id_of(decision), "confirm")
        return (yield from self.line.call(Call("POST", path, self.decided, {})))

    def void(
        self, decision: Decision | str, reason: str = "not used", *, by: str = ""
    ) -> Script[Decision]:
        """Give the hold of a decision back: it was not used."""
        call = self.voiding(id_of(decision), words("reason", reason), words("by", by))
        return (yield from self.line.deliver(call))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> Script[list[Decision | BursarError]]:
        """Give many holds back; what a rule refuses comes back as the error in its place."""
        words("reason", reason)
        ids, done = [id_of(one) for one in decisions], []
        for start in range(0, len(ids), _BATCH):
            body = {"ids": ids[start : start + _BATCH], "reason": reason}
            body |= {"by": words("by", by)} if by else {}
            call = Call("POST", self.path("decisions", verb="void"), results, body)
            done += yield from self.line.call(call)
        return done

    def correct(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: float | None = None,
        reason: str = "",
        *,
        by: str = "",
    ) -> Script[Decision]:
        """Put an outcome right that was told wrongly; the first telling stays in the log."""
        if cost is None and reward is None:
            raise InvalidInput("correct must have a cost, a reward or both, got neither")
        self._learn(decision)
        body = self.outcome(None, reward) | {"reason": words("reason", reason)}
        if cost is not None:
            body["cost"] = amount_text("cost", cost, self.exponent)[0]
        path = self.path("decisions", id_of(decision), "correct")
        call = Call("POST", path, self.decided, body | ({"by": by} if by else {}), again=False)
        return (yield from self.line.call(call))

    def decision(self, id: str) -> Script[Decision]:
        """Return a decision as it stands now."""
        call = Call("GET", self.path("decisions", id_of(id)), self.decided)
        return (yield from self.line.call(call))
