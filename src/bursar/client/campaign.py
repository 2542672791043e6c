"""A campaign of a service, with the verbs of :class:`bursar.Campaign`, blocking or awaited."""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Unpack, overload

import msgspec

from bursar import campaign, errors
from bursar.campaign.ask_options import AskKeywords, check_new_id, make_ask_options, new_id
from bursar.campaign.decision import (
    DecisionBlock,
    DecisionList,
    Playable,
    check_outcome_names,
)
from bursar.client.decode import (
    decode_arm,
    decode_decision,
    decode_explanation,
    decode_forecast,
    decode_learned,
    decode_result,
    decode_sent_event,
    decode_status,
    encode_amount,
)
from bursar.client.script import Awaiting, Blocking, Script, ScriptMethod, ScriptProperty
from bursar.client.transport import Request, Transport, make_path, read_nothing
from bursar.history import Skip, check_terms, read_history
from bursar.money import Amount, Coin, Rounding, count_decimals
from bursar.validation import Reward, check_int, check_text, parse_reward

if TYPE_CHECKING:
    from bursar.campaign import (
        ArmView,
        Config,
        Decision,
        Explanation,
        Forecast,
        LearnedHistory,
        Status,
    )
    from bursar.ledger import Event

T = TypeVar("T")
One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)

_LOG = logging.getLogger("bursar.client")
_BATCH = 1000  # entries of one request
_PAGE = 1000
_MOST_TOKENS = 10_000
_RELEASE_TIMEOUT = 2.0  # seconds that releasing a hold may delay a caller who was interrupted


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

    def __init__(self, transport: Transport, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise errors.InvalidInput(f"the name of a campaign must be a text, got {name!r}")
        self.name = name
        self.runner = transport.runner
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

    async def _ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
        hold: Amount | None = None,
    ) -> Any:
        """Choose the arm to play next and reserve its cost; raise BudgetExhausted if none fits.

        ``n``, ``id``, ``among``, ``exclude``, ``context`` and ``hold`` are those of
        :meth:`bursar.Campaign.ask`.
        """
        # refuses what no campaign accepts
        options = make_ask_options(among, exclude, context, hold)._asdict()
        del options["fingerprint"]
        if n is None:
            key = new_id() if id is None else check_new_id(id)
            body = options | {"id": key}
            request = Request("POST", self._path("decisions"), self._read_decision, body)
            return await self._send_ask(request, [key] if id is None else [])
        if id is not None:
            raise errors.InvalidInput(
                "give n or id, not both; each decision of a batch has its own id"
            )
        count = check_int("n", n, 1, "how many decisions to ask for")
        return await self._ask_many(options, count)

    ask: Any = ScriptMethod(_ask)

    async def _ask_many(self, options: dict[str, Any], count: int) -> DecisionList:
        granted = DecisionList(asked=count)
        while len(granted) < count:
            keys = [new_id() for _ in range(min(count - len(granted), _BATCH))]
            body = options | {"ids": keys}
            request = Request("POST", self._path("decisions"), self._read_decisions, body)
            try:
                some = await self._send_ask(request, keys)
            except errors.BursarError as error:  # return what was granted before
                if not granted:
                    raise
                granted.reason = str(error)
                break
            granted += some
            if len(some) < len(keys):
                granted.reason = some.reason
                break
        return granted

    async def _send_ask(self, request: Request[T], own_ids: list[str]) -> T:
        """Send an ask; if it fails, release holds under ids that only this call knows."""
        try:
            found = await self._transport.send(request)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):  # interrupted or cancelled
                await self._release(request, own_ids)
            elif self._transport.may_have_arrived(error):
                voids = [self._make_void(one, "no answer to the ask") for one in own_ids]
                self._transport.store([(void, error) for void in voids])
            raise
        await self._transport.deliver_stored()
        return found

    async def _release(self, request: Request[Any], own_ids: list[str]) -> None:
        if not own_ids:
            return
        within = min(_RELEASE_TIMEOUT, self._transport.timeout)
        voids = [self._make_void(key, "stopped while asking") for key in own_ids]
        try:  # ask again first: the ask might otherwise be granted after its void
            await self._transport.send(request, within)
            while voids:
                await self._transport.send(voids[0], within)
                del voids[0]
        except errors.BursarError as error:
            if self._transport.may_have_arrived(error):
                self._transport.store([(void, error) for void in voids])

    def _make_void(self, key: str, reason: str, by: str = "") -> Request[Decision]:
        path = self._path("decisions", key, "void")
        return Request("POST", path, self._read_decision, {"reason": reason, "by": by or None})

    def _read_decisions(self, data: dict[str, Any]) -> DecisionList:
        found = [self._read_decision(one) for one in data["decisions"]]
        return DecisionList(found, asked=len(found), reason=data.get("reason"))

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
    async def tell(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: Reward | None = None,
        *,
        report: str | None = None,
        rounding: Rounding | None = None,
        token: str | None = None,
    ) -> Decision:
        """Report the cost and reward of a decision, in one call or two; repeats count once.

        ``decision``, ``cost``, ``reward``, ``report``, ``rounding`` and ``token`` are those of
        :meth:`bursar.Campaign.tell`. By default the token is the one that came with the ask.
        """
        if cost is None and reward is None:
            raise errors.InvalidInput(
                "an outcome needs a cost, a reward or both; to release the hold, void it"
            )
        given: dict[str, Any] = {"decision": decision, "cost": cost, "reward": reward}
        given |= {"report": report, "rounding": rounding, "token": token}
        await self._load_rounding([given])
        return await self._transport.deliver(self._outcome_request(self._check_outcome(given)))

    @ScriptMethod
    async def tell_many(
        self, outcomes: Sequence[Mapping[str, Any]]
    ) -> list[Decision | errors.BursarError]:
        """Report many outcomes: mappings with decision, cost, reward, report, rounding, token.

        An outcome that is refused returns its error in its place; the others are recorded.
        """
        for one in outcomes:
            check_outcome_names(one)
        await self._load_rounding(outcomes)
        checked = [self._check_outcome(one) for one in outcomes]
        results: list[Decision | errors.BursarError] = []
        while len(results) < len(checked):
            rest = checked[len(results) :]
            body = {"outcomes": rest[:_BATCH]}
            request = Request("POST", "/v1/outcomes:batch", _read_results, body)
            parts = [self._outcome_request(one) for one in rest]
            try:
                some = await self._transport.deliver(request, parts)
            except (errors.StorageUnavailable, errors.Overloaded, errors.RateLimited) as error:
                results += [error] * len(rest)
            else:
                pairs = zip(parts, some, strict=False)
                failed = [(part, one) for part, one in pairs if isinstance(one, errors.BursarError)]
                self._transport.store(failed)
                results += some
        return results

    def _outcome_request(self, outcome: Mapping[str, Any]) -> Request[Decision]:
        path = self._path("decisions", outcome["decision"], "outcome")
        body = {name: outcome[name] for name in outcome if name not in ("decision", "campaign")}
        return Request("POST", path, self._read_decision, body)

    def _check_outcome(self, outcome: Mapping[str, Any]) -> dict[str, Any]:
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

    async def _load_rounding(self, outcomes: Sequence[Mapping[str, Any]]) -> None:
        """Load the rules if some cost does not fit: the campaign may say how it is rounded."""
        for one in outcomes:
            self._id_of(one["decision"])  # learns the exponent
        costs = [one.get("cost") for one in outcomes if one.get("rounding") is None]
        if self._config is None and not all(map(self._fits, costs)):
            with suppress(errors.BursarError):  # then the service says whether it rounds
                await self._load_rules()

    def _fits(self, cost: Amount | None) -> bool:
        """Return whether a cost has no more digits than the campaign keeps, as far as is known."""
        if cost is None or self._exponent is None:
            return True
        return count_decimals(cost) <= self._exponent

    def _encode_outcome(
        self, cost: Amount | None, reward: Reward | None, rounding: Rounding | None = None
    ) -> dict[str, Any]:
        """Return the checked members of a body that report cost and reward."""
        members: dict[str, Any] = {}
        if cost is not None:
            exponent = self._exponent
            if rounding is None and self._config is not None:
                rounding = self._config.rounding
            elif rounding is None and not self._fits(cost):
                exponent = None  # the service knows whether the campaign rounds it
            members["cost"], left = encode_amount("cost", cost, exponent, rounding)
            members |= {} if left is None else {"rounding": left}
        if reward is not None:
            members["reward"] = parse_reward("reward", reward)
            if not math.isfinite(members["reward"]):
                raise errors.InvalidInput(f"reward must be finite, got {reward!r}")
        return members

    def _id_of(self, decision: Decision | str) -> str:
        """Return the id of a decision, of a decision in a block, or the id itself."""
        coin = getattr(decision, "coin", None)
        if coin is not None:
            self._exponent = coin.exponent
        found = getattr(decision, "id", decision)
        if not isinstance(found, str) or not found:
            raise errors.InvalidInput(
                f"decision must be what ask() returned, or its id, got {decision!r}"
            )
        return found

    @ScriptMethod
    async def token(self, decision: Decision | str) -> str:
        """Return the token with which the decision can be settled after a restore."""
        key = self._id_of(decision)
        if key not in self._tokens:
            return await self._load(lambda data: str(data["token"]), "decisions", key)
        return self._tokens[key]

    @ScriptMethod
    async def confirm(self, decision: Decision | str) -> Decision:
        """Confirm that a decision is about to be carried out (campaigns with ask_ttl)."""
        path = self._path("decisions", self._id_of(decision), "confirm")
        return await self._transport.send(Request("POST", path, self._read_decision, {}))

    @ScriptMethod
    async def void(
        self, decision: Decision | str, reason: str = "not used", *, by: str = ""
    ) -> Decision:
        """Release the hold of a decision that was not used."""
        request = self._make_void(
            self._id_of(decision), check_text("reason", reason), check_text("by", by)
        )
        return await self._transport.deliver(request)

    @ScriptMethod
    async def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> list[Decision | errors.BursarError]:
        """Release many holds; a decision that is refused returns its error in its place."""
        why = {"reason": check_text("reason", reason), "by": check_text("by", by) or None}
        ids = [self._id_of(one) for one in decisions]
        results: list[Decision | errors.BursarError] = []
        for start in range(0, len(ids), _BATCH):
            body = {"ids": ids[start : start + _BATCH], **why}
            request = Request("POST", self._path("decisions", verb="void"), _read_results, body)
            some = await self._transport.send(request)
            results += some
        return results

    @ScriptMethod
    async def correct(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: Reward | None = None,
        reason: str = "",
        *,
        by: str = "",
    ) -> Decision:
        """Correct a recorded outcome; the first report stays in the log."""
        if cost is None and reward is None:
            raise errors.InvalidInput("correct must have a cost, a reward or both, got neither")
        path = self._path("decisions", self._id_of(decision), "correct")
        await self._load_rounding([{"decision": decision, "cost": cost}])
        body = self._encode_outcome(cost, reward)
        body.pop("rounding", None)  # a correction is rounded as the campaign says
        body |= {"reason": check_text("reason", reason), "by": by or None}
        request = Request("POST", path, self._read_decision, body, repeatable=False)
        return await self._transport.send(request)

    async def _learn_from(
        self,
        table: Any,
        *,
        weight: float = 1.0,
        source: str = "",
        arm: str = "arm",
        reward: str = "reward",
        cost: str = "cost",
        unknown: Skip = "refuse",
        missing: Skip = "refuse",
        by: str = "",
    ) -> LearnedHistory:
        """Let past outcomes count for the policy; no money moves, and a repeat changes nothing.

        The arguments are those of :meth:`bursar.Campaign.learn_from`. The table is read here; six
        numbers per arm are sent.
        """
        names, rules = {"arm": arm, "reward": reward, "cost": cost}, await self._load_rules()
        limits = {} if rules is None else {"reward_range": rules.reward_range}
        history = read_history(table, names, missing, **limits)
        body = {
            "arms": msgspec.to_builtins(history.arms), "weight": weight, "unknown": unknown,
            "source": check_terms(history, weight, source, unknown),
            "by": check_text("by", by) or None,
        }  # fmt: skip

        def read(data: dict[str, Any]) -> LearnedHistory:
            return replace(decode_learned(data), left_out=history.left_out)

        return await self._transport.send(Request("POST", self._path("history"), read, body))

    learn_from = ScriptMethod(_learn_from)

    @ScriptMethod
    async def decision(self, id: str) -> Decision:
        """Return a decision in its present state."""
        return await self._load(self._read_decision, "decisions", self._id_of(id))

    # blocks

    async def _begin_block(self, options: dict[str, Any]) -> DecisionBlock:
        """Ask, after loading the rules: an outcome that breaks them is refused in the block."""
        DecisionBlock.check_options(options)
        rules = await self._load_rules()
        decision = await self._ask(**options)

        def check(cost: Amount | None, reward: Reward | None) -> None:
            self._encode_outcome(cost, reward)
            if reward is not None and rules is not None:
                rules.check_reward(reward)

        return DecisionBlock(decision, check)

    async def _end_block(self, block: DecisionBlock, error: BaseException | None = None) -> None:
        """Report the outcome of a block; if it raised before it had one, void the decision."""
        if error is None:
            block.check_settled()
        if error is None or block.outcome:
            outcome = self._check_outcome({"decision": block.decision, **block.outcome})
            request = self._outcome_request(outcome)
        else:
            request = self._make_void(block.decision.id, block.reason(error))
        try:
            await self._transport.send(request)
        except GeneratorExit:
            raise
        except BaseException as failure:
            stored = self._transport.store([(request, failure)])
            if not stored or not isinstance(failure, errors.BursarError):
                raise
            # the work is done and its outcome is stored: an error would have it done twice
            _LOG.warning("the outcome of %s is kept for later: %s", block.decision.id, failure)
        else:
            await self._transport.deliver_stored()

    # changes; ``by`` names the author beside the key, ``if_version`` refuses a change that crosses
    # another one

    @ScriptMethod
    async def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Add an arm; it is tried like any new arm, and what is known of the others stays."""
        most = await self._encode_money(f"the maximum cost of {key!r}", max_cost)
        body = {"key": key, "max_cost": most}
        await self._change("POST", self._path("arms"), body, by, if_version, repeatable=False)

    @ScriptMethod
    async def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> None:
        """Stop choosing an arm for now; its open decisions go on."""
        body = {"state": "paused", "reason": reason}
        await self._change("PATCH", self._path("arms", key), body, by, if_version)

    @ScriptMethod
    async def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Allow a paused arm to be chosen again."""
        body = {"state": "active"}
        await self._change("PATCH", self._path("arms", key), body, by, if_version)

    @ScriptMethod
    async def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Stop choosing an arm for good; outcomes that are still to come are recorded."""
        await self._change("DELETE", self._path("arms", key), None, by, if_version)

    @ScriptMethod
    async def set_budget(
        self, budget: Amount, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Raise or cut the budget; below what is spent and held, no more asks are granted."""
        await self._set_limits(budget=budget, by=by, if_version=if_version)

    @ScriptMethod
    async def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Limit spending per "day" or on "arm:KEY"; None removes the limit."""
        await self._set_limits(caps={scope: cap}, by=by, if_version=if_version)

    async def _set_limits(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> None:
        """Set the budget and caps together; an error leaves all of them as they were."""
        body: dict[str, Any] = {}
        if budget is not None:
            body["budget"] = await self._encode_money("budget", budget)
        if caps:
            body["caps"] = {
                scope: None if cap is None else await self._encode_money(f"the cap of {scope}", cap)
                for scope, cap in caps.items()
            }
        if body:
            await self._change("PATCH", self._path(), body, by, if_version)

    change = ScriptMethod(_set_limits)

    @ScriptMethod
    async def pause(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant no asks until the campaign is resumed; outcomes are still recorded."""
        await self._change("POST", self._path(verb="pause"), {}, by, if_version)

    @ScriptMethod
    async def resume(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant asks again."""
        # not repeatable: an active campaign cannot be resumed
        await self._change("POST", self._path(verb="resume"), {}, by, if_version, repeatable=False)

    @ScriptMethod
    async def end(self, *, by: str = "", if_version: int | None = None) -> None:
        """End the campaign for good; outcomes are still recorded."""
        await self._change("POST", self._path(verb="close"), {}, by, if_version)

    @ScriptMethod
    async def reconcile(self, gap: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """Add what was spent since the restored backup, and grant asks again."""
        body = {"gap": await self._encode_money("gap", gap)}
        path = self._path(verb="reconcile")
        await self._change("POST", path, body, by, if_version, repeatable=False)

    async def _change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        by: str,
        if_version: int | None,
        *,
        repeatable: bool = True,
    ) -> None:
        match = "*" if if_version is None else f'"{if_version}"'
        headers = {"if-match": match} if method == "PATCH" or if_version is not None else {}
        author = {"by": by} if by else {}
        body, query = (None, author) if body is None else ({**body, **author}, {})
        # with a version, a repeat would collide with the first sending
        repeatable = repeatable and if_version is None
        request = Request(method, path, read_nothing, body, query, headers, repeatable)
        await self._transport.send(request)

    async def _encode_money(self, name: str, value: Amount) -> str:
        if self._exponent is None:
            await self._load_rules()
        return encode_amount(name, value, self._exponent)[0]

    # views; each is a request, and status() has numbers of one moment

    async def _load(self, read: Callable[[Any], T], *parts: str, **query: Any) -> T:
        """Load a resource of the campaign."""
        request = Request("GET", self._path(*parts), read, query=query)
        return await self._transport.send(request)

    @ScriptMethod
    async def status(self) -> Status:
        """Return money, counts and rules of one moment."""
        return await self._load(decode_status)

    @ScriptMethod
    async def arms(self) -> list[ArmView]:
        """Return every arm with counts, money, and means with 95% intervals."""
        return await self._transport.load_list(self._path("arms"), "arms", decode_arm)

    @ScriptMethod
    async def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision chose its arm, computed from the log of that moment."""
        path = "decisions", self._id_of(decision)
        return await self._load(lambda data: decode_explanation(data["why"]), *path, why="true")

    @ScriptMethod
    async def forecast(self, days: float | None = None) -> Forecast:
        """Return what the rest of the budget may earn within ``days``, and when it will be used up.

        By default it looks ahead until no arm is affordable.
        """
        return await self._load(decode_forecast, "forecast", days=days)

    @ScriptMethod
    async def holds(self) -> list[Decision]:
        """Return the decisions whose money is held, oldest first."""
        query = {"open": "true", "limit": _PAGE}
        path = self._path("decisions")
        return await self._transport.load_list(path, "decisions", decode_decision, **query)

    async def _load_events(self, after: int) -> tuple[list[Event], int | None]:
        """Return a page of events, and the number after which the next begins, if any."""
        query = {"after": after, "limit": _PAGE}
        path = self._path("events")
        return await self._transport.load_page(path, "events", decode_sent_event, **query)

    async def _load_config(self) -> Config:
        """Return the rules of the campaign; they never change and are loaded once."""
        if self._config is None:
            self._config = await self._load(lambda data: campaign.Config.from_body(data["config"]))
            self._exponent = self._config.coin.exponent
        return self._config

    async def _load_rules(self) -> Config | None:
        """Return the rules, or None if the key may not read them."""
        try:
            return None if self._may_not_read else await self._load_config()
        except errors.Forbidden:
            self._may_not_read = True
            return None

    config = ScriptProperty(_load_config)

    @ScriptProperty
    async def coin(self) -> Coin:
        """Currency and smallest unit."""
        return (await self._load_config()).coin

    @ScriptProperty
    async def alarms(self) -> list[str]:
        """Messages for an operator, such as a clock that was set or a policy that failed."""
        return await self._load(lambda data: list(data["alarms"]))

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


def _read_results(data: dict[str, Any]) -> list[Decision | errors.BursarError]:
    return [decode_result(one) for one in data["results"]]


class RemoteCampaign(CampaignVerbs, Blocking, Playable):
    """A campaign of a service, with the verbs, results and errors of :class:`bursar.Campaign`.

    Made by :meth:`bursar.Client.campaign`; nothing is sent before the first verb.
    """

    ask: Ask[Decision, DecisionList]

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

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events of the log in order."""
        start: int | None = after
        while start is not None:
            page, start = self.runner.run_script(self._load_events(start))
            yield from page


class AsyncCampaign(CampaignVerbs, Awaiting):
    """A campaign of a service; as :class:`RemoteCampaign`, with verbs and numbers awaited.

    Made by :meth:`bursar.AsyncClient.campaign`; nothing is sent before the first verb.
    """

    ask: Ask[Script[Decision], Script[DecisionList]]

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
        self, play: Callable[[str], Awaitable[tuple[Amount, Reward]]], most: int | None = None
    ) -> int:
        """Play until the budget is spent; awaiting ``play(arm)`` gives the cost and the reward."""
        done = 0
        while most is None or done < most:
            try:
                async with self.decide() as decision:
                    cost, reward = await play(decision.arm)
                    decision.settle(cost=cost, reward=reward)
            except errors.BudgetExhausted:
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
