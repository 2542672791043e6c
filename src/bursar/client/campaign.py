"""A campaign of a service, with the verbs of :class:`bursar.Campaign`, blocking or awaited."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, overload

from bursar import campaign
from bursar.campaign.ask_options import AskKeywords, check_new_id, make_ask_options, new_id
from bursar.campaign.decision import DecisionBlock
from bursar.client.decode import (
    decode_arm,
    decode_decision,
    decode_explanation,
    decode_forecast,
    decode_result,
    decode_sent_event,
    decode_status,
    encode_amount,
)
from bursar.client.script import Awaiting, Blocking, Script, ScriptMethod, ScriptProperty
from bursar.client.transport import Request, Transport, make_path, read_nothing
from bursar.errors import (
    BudgetExhausted,
    BursarError,
    Forbidden,
    InvalidInput,
    Overloaded,
    RateLimited,
    StorageUnavailable,
)
from bursar.money import Amount, Coin, Rounding
from bursar.validation import check_int, check_number, check_text

if TYPE_CHECKING:
    from bursar.campaign import ArmView, Config, Decision, Explanation, Forecast, Status
    from bursar.ledger import Event

T = TypeVar("T")
One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)

_LOG = logging.getLogger("bursar.client")
_BATCH = 1000  # entries of one request
_PAGE = 1000
_MOST_TOKENS = 10_000
_RELEASE_TIMEOUT = 2.0  # seconds that releasing a hold may delay a caller who was interrupted
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class Ask(Protocol[One, Many]):
    """How ``ask`` is called: for one decision, or for a list of ``n``."""

    @overload
    def __call__(self, *, id: str | None = None, **options: Unpack[AskKeywords]) -> One: ...

    @overload
    def __call__(self, n: int, **options: Unpack[AskKeywords]) -> Many: ...


class StatusProperty(ScriptProperty[T]):
    """A member of a campaign's status, loaded each time."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.script = lambda verbs: verbs._load(lambda data: getattr(decode_status(data), name))


class CampaignVerbs:
    """The verbs and numbers of a campaign, and what answers taught about it.

    Each verb is a script; methods with an underscore are its parts.
    """

    def __init__(self, runner: Any, transport: Transport, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"the name of a campaign must be a text, got {name!r}")
        self.name = name
        self.runner = runner
        self._transport = transport
        self._exponent: int | None = None  # known after the first answer with an amount
        self._tokens: OrderedDict[str, str] = OrderedDict()  # of the newest decisions
        self._config: Config | None = None
        self._may_not_read = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self._transport.address!r})"

    def _path(self, *parts: str, verb: str = "") -> str:
        return make_path("campaigns", self.name, *parts, verb=verb)

    # asks

    def _ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Script[Any]:
        """Choose the arm to play next and reserve its cost; raise BudgetExhausted if none fits.

        Parameters
        ----------
        n : int, optional
            Make this many decisions at once; fewer are returned if the budget runs out.
        id : str, optional
            Your own id of the decision; asking again with it returns the same decision.
        among, exclude : sequence of str, optional
            Choose only among these arms; do not choose those.
        context : dict, optional
            Plain data of at most 16 KiB to record with the decision.
        """
        make_ask_options(among, exclude, context)  # refuse what no campaign accepts
        options = {
            "among": None if among is None else list(among),
            "exclude": None if exclude is None else list(exclude),
            "context": context,
        }
        if n is None:
            key = new_id() if id is None else check_new_id(id)
            body = options | {"id": key}
            request = Request("POST", self._path("decisions"), self._read_decision, body)
            return (yield from self._send_ask(request, [key] if id is None else []))
        if id is not None:
            raise InvalidInput("give n or id, not both; each decision of a batch has its own id")
        count = check_int("n", n, 1, "how many decisions to ask for")
        return (yield from self._ask_many(options, count))

    ask: Any = ScriptMethod(_ask)

    def _ask_many(self, options: dict[str, Any], count: int) -> Script[list[Decision]]:
        granted: list[Decision] = []
        while len(granted) < count:
            keys = [new_id() for _ in range(min(count - len(granted), _BATCH))]
            body = options | {"ids": keys}
            request = Request("POST", self._path("decisions"), self._read_decisions, body)
            try:
                some = yield from self._send_ask(request, keys)
            except BursarError:  # return what was granted before
                if not granted:
                    raise
                break
            granted += some
            if len(some) < len(keys):
                break
        return granted

    def _send_ask(self, request: Request[T], own_ids: list[str]) -> Script[T]:
        """Send an ask; if it fails, release holds under ids that only this call knows."""
        try:
            found = yield from self._transport.send(request)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):  # interrupted or cancelled
                yield from self._release(request, own_ids)
            elif self._transport.may_have_arrived(error):
                voids = [self._make_void(one, "no answer to the ask") for one in own_ids]
                self._transport.store([(void, error) for void in voids])
            raise
        yield from self._transport.deliver_stored()
        return found

    def _release(self, request: Request[Any], own_ids: list[str]) -> Script[None]:
        if not own_ids:
            return
        within = min(_RELEASE_TIMEOUT, self._transport.timeout)
        voids = [self._make_void(key, "stopped while asking") for key in own_ids]
        try:  # ask again first: the ask might otherwise be granted after its void
            yield from self._transport.send(request, within)
            while voids:
                yield from self._transport.send(voids[0], within)
                del voids[0]
        except BursarError as error:
            if self._transport.may_have_arrived(error):
                self._transport.store([(void, error) for void in voids])

    def _make_void(self, key: str, reason: str, by: str = "") -> Request[Decision]:
        path = self._path("decisions", key, "void")
        return Request("POST", path, self._read_decision, {"reason": reason, "by": by or None})

    def _read_decisions(self, data: dict[str, Any]) -> list[Decision]:
        return [self._read_decision(one) for one in data["decisions"]]

    def _read_decision(self, data: dict[str, Any]) -> Decision:
        """Return a decision; remember its token and how many digits the campaign's money has."""
        found = decode_decision(data)
        self._exponent = found.coin.exponent
        token = data.get("token")
        if token is not None:
            if len(self._tokens) >= _MOST_TOKENS:
                self._tokens.popitem(last=False)
            self._tokens[found.id] = token
        return found

    # outcomes

    @ScriptMethod
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
        """Report the cost and reward of a decision, in one call or two; repeats count once.

        Parameters
        ----------
        decision : Decision or str
            A decision that ask() returned, or its id.
        cost : amount, optional
            The cost, even if it exceeds the hold.
        reward : float, optional
            The reward; it may come days later.
        report : str, optional
            Your own id of this report, which tells a repeat from another report.
        rounding : {"up", "down", "nearest"}, optional
            For costs with more digits than the campaign keeps.
        token : str, optional
            The token of the decision, with which the outcome is recorded even if a restored backup
            does not know the decision. By default the one that came with the ask.
        """
        request = self._make_outcome(
            decision, cost, reward, report=report, rounding=rounding, token=token
        )
        return (yield from self._transport.deliver(request))

    @ScriptMethod
    def tell_many(
        self, outcomes: Sequence[Mapping[str, Any]]
    ) -> Script[list[Decision | BursarError]]:
        """Report many outcomes: mappings with decision, cost, reward, report, rounding, token.

        An outcome that is refused returns its error in its place; the others are recorded.
        """
        checked = [self._check_outcome(one) for one in outcomes]
        results: list[Decision | BursarError] = []
        while len(results) < len(checked):
            rest = checked[len(results) :]
            body = {"outcomes": rest[:_BATCH]}
            request = Request("POST", "/v1/outcomes:batch", _read_results, body)
            parts = [self._outcome_request(one) for one in rest]
            try:
                some = yield from self._transport.deliver(request, parts)
            except (StorageUnavailable, Overloaded, RateLimited) as error:
                results += [error] * len(rest)
            else:
                pairs = zip(parts, some, strict=False)
                failed = [(part, one) for part, one in pairs if isinstance(one, BursarError)]
                self._transport.store(failed)
                results += some
        return results

    def _make_outcome(
        self,
        decision: Decision | str,
        cost: Amount | None,
        reward: float | None,
        **more: Any,
    ) -> Request[Decision]:
        """Return the checked request that reports an outcome, with an id of its own."""
        if cost is None and reward is None:
            raise InvalidInput(
                "an outcome needs a cost, a reward or both; to release the hold, void it"
            )
        outcome = {"decision": decision, "cost": cost, "reward": reward, **more}
        return self._outcome_request(self._check_outcome(outcome))

    def _outcome_request(self, outcome: Mapping[str, Any]) -> Request[Decision]:
        path = self._path("decisions", outcome["decision"], "outcome")
        body = {name: outcome[name] for name in outcome if name not in ("decision", "campaign")}
        return Request("POST", path, self._read_decision, body)

    def _check_outcome(self, outcome: Mapping[str, Any]) -> dict[str, Any]:
        if "decision" not in outcome or not _OUTCOME.issuperset(outcome):
            raise InvalidInput(
                "an outcome has decision, cost, reward, report, rounding and token,"
                f" got {', '.join(map(repr, outcome)) or 'nothing'}"
            )
        key, report = self._id_of(outcome["decision"]), outcome.get("report")
        token = outcome.get("token") or self._tokens.get(key)
        checked = {
            "decision": key,
            "campaign": self.name,
            "report_id": new_id() if report is None else check_text("report", report, 1, 128),
        }
        checked |= self._encode_outcome(
            outcome.get("cost"), outcome.get("reward"), outcome.get("rounding")
        )
        return checked if token is None else checked | {"token": token}

    def _encode_outcome(
        self, cost: Amount | None, reward: float | None, rounding: Rounding | None = None
    ) -> dict[str, Any]:
        """Return the checked members of a body that report cost and reward."""
        members: dict[str, Any] = {}
        if cost is not None:
            members["cost"], left = encode_amount("cost", cost, self._exponent, rounding)
            members |= {} if left is None else {"rounding": left}
        if reward is not None:
            members["reward"] = check_number("reward", reward)
            if not math.isfinite(members["reward"]):
                raise InvalidInput(f"reward must be finite, got {reward!r}")
        return members

    def _id_of(self, decision: Decision | str) -> str:
        """Return the id of a decision, of a decision in a block, or the id itself."""
        coin = getattr(decision, "coin", None)
        if coin is not None:
            self._exponent = coin.exponent
        found = getattr(decision, "id", decision)
        if not isinstance(found, str) or not found:
            raise InvalidInput(f"decision must be what ask() returned, or its id, got {decision!r}")
        return found

    @ScriptMethod
    def token(self, decision: Decision | str) -> Script[str]:
        """Return the token with which the decision can be settled after a restore."""
        key = self._id_of(decision)
        if key not in self._tokens:
            return (yield from self._load(lambda data: str(data["token"]), "decisions", key))
        return self._tokens[key]

    @ScriptMethod
    def confirm(self, decision: Decision | str) -> Script[Decision]:
        """Confirm that a decision is about to be carried out (campaigns with ask_ttl)."""
        path = self._path("decisions", self._id_of(decision), "confirm")
        return (yield from self._transport.send(Request("POST", path, self._read_decision, {})))

    @ScriptMethod
    def void(
        self, decision: Decision | str, reason: str = "not used", *, by: str = ""
    ) -> Script[Decision]:
        """Release the hold of a decision that was not used."""
        request = self._make_void(
            self._id_of(decision), check_text("reason", reason), check_text("by", by)
        )
        return (yield from self._transport.deliver(request))

    @ScriptMethod
    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> Script[list[Decision | BursarError]]:
        """Release many holds; a decision that is refused returns its error in its place."""
        why = {"reason": check_text("reason", reason), "by": check_text("by", by) or None}
        ids, results = [self._id_of(one) for one in decisions], []
        for start in range(0, len(ids), _BATCH):
            body = {"ids": ids[start : start + _BATCH], **why}
            request = Request("POST", self._path("decisions", verb="void"), _read_results, body)
            results += yield from self._transport.send(request)
        return results

    @ScriptMethod
    def correct(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: float | None = None,
        reason: str = "",
        *,
        by: str = "",
    ) -> Script[Decision]:
        """Correct a recorded outcome; the first report stays in the log."""
        if cost is None and reward is None:
            raise InvalidInput("correct must have a cost, a reward or both, got neither")
        path = self._path("decisions", self._id_of(decision), "correct")
        body = self._encode_outcome(cost, reward)
        body |= {"reason": check_text("reason", reason), "by": by or None}
        request = Request("POST", path, self._read_decision, body, repeatable=False)
        return (yield from self._transport.send(request))

    @ScriptMethod
    def decision(self, id: str) -> Script[Decision]:
        """Return a decision in its present state."""
        return (yield from self._load(self._read_decision, "decisions", self._id_of(id)))

    # blocks

    def _begin_block(self, options: dict[str, Any]) -> Script[DecisionBlock]:
        """Ask, after loading the rules: an outcome that breaks them is refused in the block."""
        DecisionBlock.check_options(options)
        rules = yield from self._load_rules()
        decision = yield from self._ask(**options)

        def check(cost: Amount | None, reward: float | None) -> None:
            self._encode_outcome(cost, reward)
            if reward is not None and rules is not None:
                rules.check_reward(reward)

        return DecisionBlock(decision, check)

    def _end_block(self, block: DecisionBlock, error: BaseException | None = None) -> Script[None]:
        """Report the outcome of a block; if it raised before it had one, void the decision."""
        if error is None:
            block.check_settled()
        if error is None or block.outcome:
            cost, reward = block.outcome.get("cost"), block.outcome.get("reward")
            request = self._make_outcome(block.decision, cost, reward)
        else:
            request = self._make_void(block.decision.id, block.reason(error))
        try:
            yield from self._transport.send(request)
        except GeneratorExit:
            raise
        except BaseException as failure:
            stored = self._transport.store([(request, failure)])
            if not stored or not isinstance(failure, BursarError):
                raise
            # the work is done and its outcome is stored: an error would have it done twice
            _LOG.warning("the outcome of %s is kept for later: %s", block.decision.id, failure)
        else:
            yield from self._transport.deliver_stored()

    # changes; ``by`` names the author beside the key, ``if_version`` refuses a change that crosses
    # another one

    @ScriptMethod
    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add an arm; it is tried like any new arm, and what is known of the others stays."""
        most = yield from self._encode_money(f"the maximum cost of {key!r}", max_cost)
        body = {"key": key, "max_cost": most}
        path = self._path("arms")
        yield from self._change("POST", path, body, by, if_version, repeatable=False)

    @ScriptMethod
    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Stop choosing an arm for now; its open decisions go on."""
        body = {"state": "paused", "reason": reason}
        yield from self._change("PATCH", self._path("arms", key), body, by, if_version)

    @ScriptMethod
    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Allow a paused arm to be chosen again."""
        body = {"state": "active"}
        yield from self._change("PATCH", self._path("arms", key), body, by, if_version)

    @ScriptMethod
    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Stop choosing an arm for good; outcomes that are still to come are recorded."""
        yield from self._change("DELETE", self._path("arms", key), None, by, if_version)

    @ScriptMethod
    def set_budget(
        self, budget: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Raise or cut the budget; below what is spent and held, no more asks are granted."""
        yield from self._set_limits(budget, {}, by=by, if_version=if_version)

    @ScriptMethod
    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Limit spending per "day" or on "arm:KEY"; None removes the limit."""
        yield from self._set_limits(None, {scope: cap}, by=by, if_version=if_version)

    @ScriptMethod
    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> Script[None]:
        """Set the budget and caps together; an error leaves all of them as they were."""
        yield from self._set_limits(budget, caps or {}, by=by, if_version=if_version)

    def _set_limits(
        self, budget: Amount | None, caps: Mapping[str, Amount | None], **how: Any
    ) -> Script[None]:
        body: dict[str, Any] = {}
        if budget is not None:
            body["budget"] = yield from self._encode_money("budget", budget)
        limits: dict[str, str | None] = {}
        for scope, cap in caps.items():
            limits[scope] = None
            if cap is not None:
                limits[scope] = yield from self._encode_money(f"the cap of {scope}", cap)
        body |= {"caps": limits} if limits else {}
        if body:
            yield from self._change("PATCH", self._path(), body, **how)

    @ScriptMethod
    def pause(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant no asks until the campaign is resumed; outcomes are still recorded."""
        yield from self._change("POST", self._path(verb="pause"), {}, by, if_version)

    @ScriptMethod
    def resume(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant asks again."""
        # not repeatable: an active campaign cannot be resumed
        path = self._path(verb="resume")
        yield from self._change("POST", path, {}, by, if_version, repeatable=False)

    @ScriptMethod
    def end(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """End the campaign for good; outcomes are still recorded."""
        yield from self._change("POST", self._path(verb="close"), {}, by, if_version)

    @ScriptMethod
    def reconcile(
        self, gap: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add what was spent since the restored backup, and grant asks again."""
        body = {"gap": (yield from self._encode_money("gap", gap))}
        path = self._path(verb="reconcile")
        yield from self._change("POST", path, body, by, if_version, repeatable=False)

    def _change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        by: str,
        if_version: int | None,
        *,
        repeatable: bool = True,
    ) -> Script[None]:
        match = "*" if if_version is None else f'"{if_version}"'
        headers = {"if-match": match} if method == "PATCH" or if_version is not None else {}
        author = {"by": by} if by else {}
        query = author if body is None else {}
        body = None if body is None else {**body, **author}
        # with a version, a repeat would collide with the first sending
        repeatable = repeatable and if_version is None
        request = Request(method, path, read_nothing, body, query, headers, repeatable)
        yield from self._transport.send(request)

    def _encode_money(self, name: str, value: Amount) -> Script[str]:
        if self._exponent is None:
            yield from self._load_rules()
        return encode_amount(name, value, self._exponent)[0]

    # views; each is a request, and status() has numbers of one moment

    def _load(self, read: Callable[[Any], T], *parts: str, **query: Any) -> Script[T]:
        """Load a resource of the campaign."""
        request = Request("GET", self._path(*parts), read, query=query)
        return (yield from self._transport.send(request))

    @ScriptMethod
    def status(self) -> Script[Status]:
        """Return money, counts and rules of one moment."""
        return (yield from self._load(decode_status))

    @ScriptMethod
    def arms(self) -> Script[list[ArmView]]:
        """Return every arm with counts, money, and means with 95% intervals."""
        return (yield from self._transport.load_list(self._path("arms"), "arms", decode_arm))

    @ScriptMethod
    def explain(self, decision: Decision | str) -> Script[Explanation]:
        """Return why a decision chose its arm, computed from the log of that moment."""
        path = "decisions", self._id_of(decision)
        why = yield from self._load(lambda data: decode_explanation(data["why"]), *path, why="true")
        return why

    @ScriptMethod
    def forecast(self, days: float | None = None) -> Script[Forecast]:
        """Return what the rest of the budget may earn, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until no arm is affordable.
        """
        return (yield from self._load(decode_forecast, "forecast", days=days))

    @ScriptMethod
    def holds(self) -> Script[list[Decision]]:
        """Return the decisions whose money is held, oldest first."""
        query = {"open": "true", "limit": _PAGE}
        path = self._path("decisions")
        return (yield from self._transport.load_list(path, "decisions", decode_decision, **query))

    def _load_events(self, after: int) -> Script[tuple[list[Event], int | None]]:
        """Return a page of events, and the number after which the next begins, if any."""
        query = {"after": after, "limit": _PAGE}
        path = self._path("events")
        return (yield from self._transport.load_page(path, "events", decode_sent_event, **query))

    def _load_config(self) -> Script[Config]:
        """Return the rules of the campaign; they never change and are loaded once."""
        if self._config is None:
            self._config = yield from self._load(
                lambda data: campaign.Config.from_body(data["config"])
            )
            self._exponent = self._config.coin.exponent
        return self._config

    def _load_rules(self) -> Script[Config | None]:
        """Return the rules, or None if the key may not read them."""
        try:
            return None if self._may_not_read else (yield from self._load_config())
        except Forbidden:
            self._may_not_read = True
            return None

    config = ScriptProperty(_load_config)

    @ScriptProperty
    def coin(self) -> Script[Coin]:
        """Currency and smallest unit."""
        return (yield from self._load_config()).coin

    @ScriptProperty
    def alarms(self) -> Script[list[str]]:
        """Messages for an operator, such as a clock that was set or a policy that failed."""
        return (yield from self._load(lambda data: list(data["alarms"])))

    budget = StatusProperty[Decimal]("The total that may be spent.")
    spent = StatusProperty[Decimal]("Reported costs, and holds that lapsed.")
    held = StatusProperty[Decimal]("The total of open holds.")
    available = StatusProperty[Decimal](
        "Budget less spent and held; negative after overruns or a budget cut."
    )
    overrun = StatusProperty[Decimal]("The total by which costs exceeded their holds.")
    state = StatusProperty[str]("active, paused, overdrawn, exhausted, unreconciled or closed.")
    open = StatusProperty[int]("The number of decisions without an outcome.")
    version = StatusProperty[int]("The number of the last change of rules, for ``if_version``.")


def _read_results(data: dict[str, Any]) -> list[Decision | BursarError]:
    return [decode_result(one) for one in data["results"]]


class RemoteCampaign(CampaignVerbs, Blocking):
    """A campaign of a service, with the verbs, results and errors of :class:`bursar.Campaign`.

    Made by :meth:`bursar.Client.campaign`; nothing is sent before the first verb.
    """

    ask: Ask[Decision, list[Decision]]

    @contextmanager
    def decide(self, **options: Any) -> Iterator[DecisionBlock]:
        """Ask, and report at the end: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is reported, or the hold is released.
        """
        block = self.runner.run_script(self._begin_block(options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                self.runner.run_script(self._end_block(block, error))
            raise
        self.runner.run_script(self._end_block(block))

    def run(self, play: Callable[[str], tuple[Amount, float]], most: int | None = None) -> int:
        """Play until the budget is spent; ``play(arm)`` returns the cost and the reward."""
        done = 0
        while most is None or done < most:
            try:
                with self.decide() as decision:
                    cost, reward = play(decision.arm)
                    decision.settle(cost=cost, reward=reward)
            except BudgetExhausted:
                break
            done += 1
        return done

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events of the log in order."""
        start: int | None = after
        while start is not None:
            page, start = self.runner.run_script(self._load_events(start))
            yield from page

    def close(self) -> None:
        """Close the client's connections; the campaign itself goes on."""
        self.runner.close()


class AsyncCampaign(CampaignVerbs, Awaiting):
    """A campaign of a service; as :class:`RemoteCampaign`, with verbs and numbers awaited.

    Made by :meth:`bursar.AsyncClient.campaign`; nothing is sent before the first verb.
    """

    ask: Ask[Coroutine[Any, Any, Decision], Coroutine[Any, Any, list[Decision]]]

    @asynccontextmanager
    async def decide(self, **options: Any) -> AsyncIterator[DecisionBlock]:
        """Ask, and report at the end: ``async with campaign.decide() as d: d.settle(…)``.

        If the body raises or is cancelled, what it settled so far is reported, or the hold is
        released.
        """
        block = await self.runner.run_script(self._begin_block(options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                await self.runner.run_shielded(self._end_block(block, error))
            raise
        await self.runner.run_shielded(self._end_block(block))

    async def run(
        self, play: Callable[[str], Awaitable[tuple[Amount, float]]], most: int | None = None
    ) -> int:
        """Play until the budget is spent; awaiting ``play(arm)`` gives the cost and the reward."""
        done = 0
        while most is None or done < most:
            try:
                async with self.decide() as decision:
                    cost, reward = await play(decision.arm)
                    decision.settle(cost=cost, reward=reward)
            except BudgetExhausted:
                break
            done += 1
        return done

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Yield the events of the log in order."""
        start: int | None = after
        while start is not None:
            page, start = await self.runner.run_script(self._load_events(start))
            for event in page:
                yield event

    async def close(self) -> None:
        """Close the client's connections; the campaign itself goes on."""
        await self.runner.close()
