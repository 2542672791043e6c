"""What all scripts of one campaign share: its line, its name, and what was learned of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from bursar.campaign import Config, Decision
from bursar.campaign.commands import new_id
from bursar.campaign.config import check_text
from bursar.campaign.holds import make_ask_options
from bursar.client.decode import amount_text, decode_decision, decode_result, reward_number
from bursar.client.script import Script
from bursar.client.spool import SpoolingTransport
from bursar.client.transport import Reply, Request, path_of
from bursar.errors import (
    BursarError,
    Forbidden,
    InvalidInput,
    Overloaded,
    RateLimited,
    StorageUnavailable,
)
from bursar.money import Amount, Rounding
from bursar.validation import check_int

__all__ = ["AskCalls", "EndCalls", "OutcomeCalls", "Scope", "check_decision_id", "read_results"]

_TOKENS = 10_000  # kept at most


class Scope:
    """A campaign of a service, as far as it is known here."""

    def __init__(self, line: SpoolingTransport, name: str) -> None:
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
            read = Request("GET", self.path(), lambda answer: Config.from_body(answer.data["config"]))
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

    def decided(self, answer: Reply) -> Decision:
        """Read a decision, and learn from it how many digits the money has."""
        return self.noted(answer.data, answer.replayed)

    def noted(self, data: dict[str, Any], replayed: bool = False) -> Decision:
        """Return a decision; note its token, which vouches for it after a restore."""
        found = decode_decision(data, replayed)
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


def check_decision_id(decision: Decision | str) -> str:
    """Return the id of a decision, of a decision in a block, or the id itself."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str) or not found:
        raise InvalidInput(f"a decision is what ask() returned, or its id, got {decision!r}")
    return found


# ==== client.asking
# Scripts of asks: ids are made first, and an ask that nobody waits for any more is given back.

T = TypeVar("T")

_BATCH = 1000  # of one request
_PATIENCE = 2.0  # seconds that giving back may hold up somebody who was told to stop


class AskCalls(Scope):
    """The asks of a campaign."""

    def ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Script[Any]:
        """Return the arm to play next, its money held; raise BudgetExhausted when nothing fits.

        Parameters
        ----------
        n : int, optional
            Ask for so many at once; fewer are returned if the budget ends on the way.
        id : str, optional
            A name of your own for the decision: asking again with it returns the same one.
        among, exclude : sequence of str, optional
            Choose only among these arms; not among those.
        context : dict, optional
            What to note with the decision: plain data of at most 16 KiB.
        """
        make_ask_options(among, exclude, context)  # refuses what no campaign takes
        said = {
            "among": None if among is None else list(among),
            "exclude": None if exclude is None else list(exclude),
            "context": context,
        }
        if n is None:
            return (yield from self._one(said, id))
        if id is not None:
            raise InvalidInput("give n or id, not both: a batch has an id for each decision")
        return (yield from self._many(said, check_int("n", n, 1, "how many decisions to ask for")))

    def _one(self, said: dict[str, Any], own: str | None) -> Script[Decision]:
        if own is not None and (
            not isinstance(own, str) or not 1 <= len(own) <= 128 or not own.isprintable()
        ):
            raise InvalidInput(f"id must be a text of 1 to 128 printable characters, got {own!r}")
        key = own or new_id()
        body = said | {"id": key}
        call = Request("POST", self.path("decisions"), self.decided, body)
        return (yield from self._granted(call, [] if own is not None else [key]))

    def _many(self, said: dict[str, Any], count: int) -> Script[list[Decision]]:
        granted: list[Decision] = []
        while len(granted) < count:
            keys = [new_id() for _ in range(min(count - len(granted), _BATCH))]
            call = Request("POST", self.path("decisions"), self._several, said | {"ids": keys})
            try:
                some = yield from self._granted(call, keys)
            except BursarError:  # those that were granted are not lost with those that were not
                if not granted:
                    raise
                break
            granted += some
            if len(some) < len(keys):
                break
        return granted

    def _several(self, answer: Reply) -> list[Decision]:
        return [self.noted(one) for one in answer.data["decisions"]]

    def _granted(self, call: Request[T], nameless: list[str]) -> Script[T]:
        """Ask; holds that may have been made under ids that nobody else knows are given back."""
        try:
            found = yield from self.line.call(call)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):  # told to stop, just now
                yield from self._give_back(call, nameless)
            elif self.line.unsure(error):
                self.line.keep(
                    [self.voiding(one, "no answer to the ask") for one in nameless], error
                )
            raise
        yield from self.line.catch_up()
        return found

    def _give_back(self, call: Request[Any], nameless: list[str]) -> Script[None]:
        if not nameless:
            return
        patience = min(_PATIENCE, self.line.timeout)
        rest = [self.voiding(key, "stopped while asking") for key in nameless]
        try:  # asked once more: else the first ask might be granted after it was given back
            yield from self.line.call(call, patience)
            while rest:
                yield from self.line.call(rest[0], patience)
                del rest[0]
        except BursarError as error:
            if self.line.unsure(error):
                self.line.keep(rest, error)

    def voiding(self, key: str, reason: str, by: str = "") -> Request[Decision]:
        """Return the call that gives a hold back."""
        body = {"reason": reason} | ({"by": by} if by else {})
        return Request("POST", self.path("decisions", key, "void"), self.decided, body)


# ==== client.telling
# Scripts of outcomes: told once however often they are sent, and kept if nobody hears them.

_LATER = (StorageUnavailable, Overloaded, RateLimited)
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class OutcomeCalls(AskCalls):
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
        key = check_decision_id(decision)
        if key not in self.tokens:
            read = Request(
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
    ) -> Request[Decision]:
        """Return the call that tells an outcome, checked and with a name of its own."""
        if cost is None and reward is None:
            raise InvalidInput(
                "an outcome needs a cost, a reward or both; to release the hold, void it"
            )
        one = {"decision": decision, "cost": cost, "reward": reward, "report": report}
        return self._telling(self._told(one | {"rounding": rounding, "token": token}))

    def _telling(self, one: Mapping[str, Any]) -> Request[Decision]:
        body = {name: one[name] for name in one if name not in ("decision", "campaign")}
        return Request(
            "POST", self.path("decisions", one["decision"], "outcome"), self.decided, body
        )

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
            call = Request("POST", "/v1/outcomes:batch", read_results, {"outcomes": rest[:_BATCH]})
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
        key, report = check_decision_id(one["decision"]), one.get("report")
        token = one.get("token") or self.tokens.get(key)
        return (
            {
                "decision": key,
                "campaign": self.name,
                "report_id": new_id() if report is None else check_text("report", report, 1, 128),
            }
            | self.outcome(one.get("cost"), one.get("reward"), one.get("rounding"))
            | ({} if token is None else {"token": token})
        )

    def _learn(self, decision: Decision | str) -> None:
        known = getattr(decision, "coin", None)
        if known is not None:
            self.exponent = known.exponent


def read_results(answer: Reply) -> list[Decision | BursarError]:
    """Read what became of many decisions, each in its place."""
    return [decode_result(one) for one in answer.data["results"]]


# ==== client.ending
# Scripts of what else becomes of decisions: confirmed, given back, corrected.


class EndCalls(OutcomeCalls):
    """The ends of decisions, beside outcomes."""

    def confirm(self, decision: Decision | str) -> Script[Decision]:
        """Say that the money of a decision is about to be spent (campaigns with ask_ttl)."""
        path = self.path("decisions", check_decision_id(decision), "confirm")
        return (yield from self.line.call(Request("POST", path, self.decided, {})))

    def void(
        self, decision: Decision | str, reason: str = "not used", *, by: str = ""
    ) -> Script[Decision]:
        """Give the hold of a decision back: it was not used."""
        call = self.voiding(
            check_decision_id(decision), check_text("reason", reason), check_text("by", by)
        )
        return (yield from self.line.deliver(call))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> Script[list[Decision | BursarError]]:
        """Give many holds back; what a rule refuses comes back as the error in its place."""
        check_text("reason", reason)
        ids, done = [check_decision_id(one) for one in decisions], []
        for start in range(0, len(ids), _BATCH):
            body = {"ids": ids[start : start + _BATCH], "reason": reason}
            body |= {"by": check_text("by", by)} if by else {}
            call = Request("POST", self.path("decisions", verb="void"), read_results, body)
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
            raise InvalidInput("a correction needs a cost, a reward or both, got neither")
        self._learn(decision)
        body = self.outcome(None, reward) | {"reason": check_text("reason", reason)}
        if cost is not None:
            body["cost"] = amount_text("cost", cost, self.exponent)[0]
        path = self.path("decisions", check_decision_id(decision), "correct")
        call = Request("POST", path, self.decided, body | ({"by": by} if by else {}), again=False)
        return (yield from self.line.call(call))

    def decision(self, id: str) -> Script[Decision]:
        """Return a decision as it stands now."""
        call = Request("GET", self.path("decisions", check_decision_id(id)), self.decided)
        return (yield from self.line.call(call))
