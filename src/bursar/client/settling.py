"""A decision in the hands of a block: settled or given back, whatever happens."""

from __future__ import annotations

import logging
from typing import Any

from bursar.campaign import Config, Decision
from bursar.campaign.words import safe
from bursar.client.call import Call
from bursar.client.script import Script
from bursar.client.telling import Telling
from bursar.errors import BursarError, InvalidInput
from bursar.money import Amount

__all__ = ["Settling"]

_LOG = logging.getLogger("bursar.client")


class Settling:
    """A decision and what the block says of it."""

    def __init__(self, scripts: Telling, rules: Config | None, decision: Decision) -> None:
        self._scripts = scripts
        self._rules = rules
        self.decision = decision
        self._outcome: dict[str, Any] = {}

    @classmethod
    def begin(cls, scripts: Telling, options: dict[str, Any]) -> Script[Settling]:
        """Ask, after a look at the rules: what breaks them is refused where it is said."""
        if options.get("n") is not None:
            raise InvalidInput("a block is for one decision; ask(n) gives many")
        rules = yield from scripts.rules()
        return cls(scripts, rules, (yield from scripts.ask(**options)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decision, name)

    def settle(self, cost: Amount | None = None, reward: float | None = None) -> None:
        """Say what it cost and brought; booked when the block ends. The last word counts."""
        self._scripts.outcome(cost, reward)  # refused here, where it was said
        if cost is not None:
            self._outcome["cost"] = cost
        if reward is not None:
            low, high = self._rules.reward_range if self._rules else (reward, reward)
            if not low <= reward <= high:
                raise InvalidInput(
                    f"reward must be in its range [{low:g}, {high:g}], got {reward!r}"
                )
            self._outcome["reward"] = reward

    def finish(self) -> Script[None]:
        """Book what was said; a block that said nothing of the cost leaves the hold to lapse."""
        if "cost" not in self._outcome:
            raise InvalidInput(
                f"the block of decision {self.decision.id!r} ended without settle(cost=…); its hold"
                " stays until it lapses: tell its cost, or void it"
            )
        yield from self._send(self._told())

    def abandon(self, error: BaseException) -> Script[None]:
        """Book what was said before the block raised, or give the hold back."""
        reason = safe(f"{type(error).__name__}: {error}"[:200])
        call = self._told() if self._outcome else self._scripts.voiding(self.decision.id, reason)
        try:
            yield from self._send(call)
        except BursarError as trouble:  # the block's own error is the one to see
            error.add_note(
                f"the outcome of decision {self.decision.id!r} was not delivered: {trouble}"
            )

    def _told(self) -> Call[Decision]:
        outcome = self._outcome
        return self._scripts.told(self.decision, outcome.get("cost"), outcome.get("reward"))

    def _send(self, call: Call[Decision]) -> Script[None]:
        line = self._scripts.line
        try:
            yield from line.call(call)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not line.keep((call,), error) or not isinstance(error, BursarError):
                raise
            # the work is done and its outcome is safe: an error would have it done twice
            _LOG.warning("the outcome of %s is kept for later: %s", self.decision.id, error)
        else:
            yield from line.catch_up()
