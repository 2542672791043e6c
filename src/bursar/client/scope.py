"""What all scripts of one campaign share: its line, its name, and what was learned of it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from bursar.campaign import Config, Decision
from bursar.client.amount import amount_text, reward_number
from bursar.client.call import Answer, Call, path_of
from bursar.client.delivery import Delivery
from bursar.client.reading import decision_of
from bursar.client.script import Script
from bursar.errors import Forbidden, InvalidInput
from bursar.money import Amount, Rounding

__all__ = ["Scope", "id_of"]

_TOKENS = 10_000  # kept at most


class Scope:
    """A campaign of a service, as far as it is known here."""

    def __init__(self, line: Delivery, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"a campaign has a name, got {name!r}")
        self.line = line
        self.name = name
        self.exponent: int | None = None  # the digits of its money, once an answer has shown them
        self.tokens: OrderedDict[str, str] = OrderedDict()  # of the newest decisions
        self._config: Config | None = None
        self._hidden = False  # the rules, from a key that may not read

    def path(self, *parts: str, verb: str = "") -> str:
        """Return the path of something in this campaign."""
        return path_of("campaigns", self.name, *parts, verb=verb)

    def config(self) -> Script[Config]:
        """Return the rules of the campaign; asked for once, since they never change."""
        if self._config is None:
            read = Call("GET", self.path(), lambda answer: Config.of(answer.data["config"]))
            self._config = yield from self.line.call(read)
            self.exponent = self._config.coin.exponent
        return self._config

    def rules(self) -> Script[Config | None]:
        """Return the rules, or None to a key that may not read them."""
        try:
            return None if self._hidden else (yield from self.config())
        except Forbidden:
            self._hidden = True
            return None

    def decided(self, answer: Answer) -> Decision:
        """Read a decision, and learn from it how many digits the money has."""
        return self.noted(answer.data, answer.replayed)

    def noted(self, data: dict[str, Any], replayed: bool = False) -> Decision:
        """Return a decision; note its token, which vouches for it after a restore."""
        found = decision_of(data, replayed)
        self.exponent = found.coin.exponent
        token = data.get("token")
        if token is not None:
            if len(self.tokens) >= _TOKENS:
                self.tokens.popitem(last=False)
            self.tokens[found.id] = token
        return found

    def outcome(
        self,
        cost: Amount | None,
        reward: float | None,
        rounding: Rounding | None = None,
    ) -> dict[str, Any]:
        """Return the members that say what a decision cost and brought, checked."""
        said: dict[str, Any] = {}
        if cost is not None:
            said["cost"], said["rounding"] = amount_text("cost", cost, self.exponent, rounding)
        if reward is not None:
            said["reward"] = reward_number(reward)
        return {name: value for name, value in said.items() if value is not None}

    def money(self, name: str, value: Amount) -> Script[str]:
        """Return an amount as text that this campaign can keep."""
        if self.exponent is None:
            yield from self.rules()
        return amount_text(name, value, self.exponent)[0]


def id_of(decision: Decision | str) -> str:
    """Return the id of a decision, of a decision in a block, or the id itself."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str) or not found:
        raise InvalidInput(f"a decision is what ask() returned, or its id, got {decision!r}")
    return found
