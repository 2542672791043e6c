"""The calls of a service: what each verb sends, and how its answer is read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from bursar import campaign
from bursar.campaign.ask_options import make_ask_options, new_id
from bursar.client.decode import (
    check_reward,
    decode_arm,
    decode_as,
    decode_decision,
    decode_explanation,
    decode_forecast,
    decode_result,
    decode_sent_event,
    encode_amount,
)
from bursar.client.script import Script
from bursar.client.transport import (
    Reply,
    Request,
    Transport,
    make_path,
    read_data,
    read_nothing,
)
from bursar.errors import (
    BursarError,
    Forbidden,
    InvalidInput,
    Overloaded,
    RateLimited,
    StorageUnavailable,
)
from bursar.money import Amount, Coin, Rounding
from bursar.validation import check_int, check_text

if TYPE_CHECKING:
    from bursar.campaign import ArmView, Config, Decision, Explanation, Forecast, Status
    from bursar.ledger import Event

T = TypeVar("T")

_BATCH = 1000  # entries of one request
_PAGE = 1000
_MOST_TOKENS = 10_000
_RELEASE_TIMEOUT = 2.0  # seconds that releasing a hold may delay a caller who was interrupted
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class CampaignCalls:
    """All calls of one campaign, and what their answers taught about it."""

    def __init__(self, transport: Transport, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInput(f"the name of a campaign must be a text, got {name!r}")
        self.transport = transport
        self.name = name
        self.exponent: int | None = None  # known after the first answer with an amount
        self.tokens: OrderedDict[str, str] = OrderedDict()  # of the newest decisions
        self._config: Config | None = None
        self._may_not_read = False

    def path(self, *parts: str, verb: str = "") -> str:
        """Return the path of a resource of this campaign."""
        return make_path("campaigns", self.name, *parts, verb=verb)

    # asks

    def ask(
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
            return (yield from self._ask_one(options, id))
        if id is not None:
            raise InvalidInput("give n or id, not both; each decision of a batch has its own id")
        count = check_int("n", n, 1, "how many decisions to ask for")
        return (yield from self._ask_many(options, count))

    def _ask_one(self, options: dict[str, Any], own: str | None) -> Script[Decision]:
        if own is not None and (
            not isinstance(own, str) or not 1 <= len(own) <= 128 or not own.isprintable()
        ):
            raise InvalidInput(f"id must be text of 1 to 128 printable characters, got {own!r}")
        key = own or new_id()
        body = options | {"id": key}
        request = Request("POST", self.path("decisions"), self._read_decision, body)
        return (yield from self._send_ask(request, [] if own is not None else [key]))

    def _ask_many(self, options: dict[str, Any], count: int) -> Script[list[Decision]]:
        granted: list[Decision] = []
        while len(granted) < count:
            keys = [new_id() for _ in range(min(count - len(granted), _BATCH))]
            body = options | {"ids": keys}
            request = Request("POST", self.path("decisions"), self._read_decisions, body)
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
            found = yield from self.transport.send(request)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):  # interrupted or cancelled
                yield from self._release(request, own_ids)
            elif self.transport.may_have_arrived(error):
                voids = [self.make_void(one, "no answer to the ask") for one in own_ids]
                self.transport.store(voids, error)
            raise
        yield from self.transport.deliver_stored()
        return found

    def _release(self, request: Request[Any], own_ids: list[str]) -> Script[None]:
        if not own_ids:
            return
        within = min(_RELEASE_TIMEOUT, self.transport.timeout)
        voids = [self.make_void(key, "stopped while asking") for key in own_ids]
        try:  # ask again first: the ask might otherwise be granted after its void
            yield from self.transport.send(request, within)
            while voids:
                yield from self.transport.send(voids[0], within)
                del voids[0]
        except BursarError as error:
            if self.transport.may_have_arrived(error):
                self.transport.store(voids, error)

    def make_void(self, key: str, reason: str, by: str = "") -> Request[Decision]:
        """Return the request that releases a hold."""
        body = {"reason": reason} | ({"by": by} if by else {})
        return Request("POST", self.path("decisions", key, "void"), self._read_decision, body)

    def _read_decision(self, reply: Reply) -> Decision:
        return self._learn_decision(reply.data, reply.replayed)

    def _read_decisions(self, reply: Reply) -> list[Decision]:
        return [self._learn_decision(one) for one in reply.data["decisions"]]

    def _learn_decision(self, data: dict[str, Any], replayed: bool = False) -> Decision:
        """Return a decision; remember its token and how many digits the campaign's money has."""
        found = decode_decision(data, replayed)
        self.exponent = found.coin.exponent
        token = data.get("token")
        if token is not None:
            if len(self.tokens) >= _MOST_TOKENS:
                self.tokens.popitem(last=False)
            self.tokens[found.id] = token
        return found

    # outcomes

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
        request = self.make_outcome(
            decision, cost, reward, report=report, rounding=rounding, token=token
        )
        return (yield from self.transport.deliver(request))

    def make_outcome(
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
        path = self.path("decisions", outcome["decision"], "outcome")
        body = {name: outcome[name] for name in outcome if name not in ("decision", "campaign")}
        return Request("POST", path, self._read_decision, body)

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
                results += yield from self.transport.deliver(request, parts)
            except (StorageUnavailable, Overloaded, RateLimited) as error:
                results += [error] * len(rest)
        return results

    def _check_outcome(self, outcome: Mapping[str, Any]) -> dict[str, Any]:
        if "decision" not in outcome or not _OUTCOME.issuperset(outcome):
            raise InvalidInput(
                "an outcome has decision, cost, reward, report, rounding and token,"
                f" got {', '.join(map(repr, outcome)) or 'nothing'}"
            )
        self._learn_exponent(outcome["decision"])
        key, report = _decision_id(outcome["decision"]), outcome.get("report")
        token = outcome.get("token") or self.tokens.get(key)
        checked = {
            "decision": key,
            "campaign": self.name,
            "report_id": (new_id() if report is None else check_text("report", report, 1, 128)),
        }
        checked |= self.encode_outcome(
            outcome.get("cost"), outcome.get("reward"), outcome.get("rounding")
        )
        return checked if token is None else checked | {"token": token}

    def encode_outcome(
        self, cost: Amount | None, reward: float | None, rounding: Rounding | None = None
    ) -> dict[str, Any]:
        """Return the checked members of a body that report cost and reward."""
        members: dict[str, Any] = {}
        if cost is not None:
            members["cost"], left = encode_amount("cost", cost, self.exponent, rounding)
            members |= {} if left is None else {"rounding": left}
        if reward is not None:
            members["reward"] = check_reward(reward)
        return members

    def _learn_exponent(self, decision: Decision | str) -> None:
        coin = getattr(decision, "coin", None)
        if coin is not None:
            self.exponent = coin.exponent

    def token(self, decision: Decision | str) -> Script[str]:
        """Return the token with which the decision can be settled after a restore."""
        key = _decision_id(decision)
        if key not in self.tokens:
            path = self.path("decisions", key)
            read = Request("GET", path, lambda reply: str(reply.data["token"]))
            return (yield from self.transport.send(read))
        return self.tokens[key]

    def confirm(self, decision: Decision | str) -> Script[Decision]:
        """Confirm that a decision is about to be carried out (campaigns with ask_ttl)."""
        path = self.path("decisions", _decision_id(decision), "confirm")
        return (yield from self.transport.send(Request("POST", path, self._read_decision, {})))

    def void(
        self, decision: Decision | str, reason: str = "not used", *, by: str = ""
    ) -> Script[Decision]:
        """Release the hold of a decision that was not used."""
        request = self.make_void(
            _decision_id(decision), check_text("reason", reason), check_text("by", by)
        )
        return (yield from self.transport.deliver(request))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> Script[list[Decision | BursarError]]:
        """Release many holds; a decision that is refused returns its error in its place."""
        check_text("reason", reason)
        ids, results = [_decision_id(one) for one in decisions], []
        for start in range(0, len(ids), _BATCH):
            body = {"ids": ids[start : start + _BATCH], "reason": reason}
            body |= {"by": check_text("by", by)} if by else {}
            request = Request("POST", self.path("decisions", verb="void"), _read_results, body)
            results += yield from self.transport.send(request)
        return results

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
        self._learn_exponent(decision)
        body = self.encode_outcome(None, reward) | {"reason": check_text("reason", reason)}
        if cost is not None:
            body["cost"] = encode_amount("cost", cost, self.exponent)[0]
        path = self.path("decisions", _decision_id(decision), "correct")
        body |= {"by": by} if by else {}
        request = Request("POST", path, self._read_decision, body, repeatable=False)
        return (yield from self.transport.send(request))

    def decision(self, id: str) -> Script[Decision]:
        """Return a decision in its present state."""
        request = Request("GET", self.path("decisions", _decision_id(id)), self._read_decision)
        return (yield from self.transport.send(request))

    # changes; ``by`` names the author beside the key, ``if_version`` refuses a change that crosses
    # another one

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add an arm; it is tried like any new arm, and what is known of the others stays."""
        most = yield from self._encode_money(f"the maximum cost of {key!r}", max_cost)
        body = {"key": key, "max_cost": most}
        path = self.path("arms")
        yield from self._change("POST", path, body, by, if_version, repeatable=False)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Stop choosing an arm for now; its open decisions go on."""
        body = {"state": "paused", "reason": reason}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Allow a paused arm to be chosen again."""
        body = {"state": "active"}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Stop choosing an arm for good; outcomes that are still to come are recorded."""
        yield from self._change("DELETE", self.path("arms", key), None, by, if_version)

    def set_budget(
        self, budget: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Raise or cut the budget; below what is spent and held, no more asks are granted."""
        yield from self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Limit spending per "day" or on "arm:KEY"; None removes the limit."""
        yield from self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> Script[None]:
        """Set the budget and caps together; an error leaves all of them as they were."""
        body: dict[str, Any] = {}
        if budget is not None:
            body["budget"] = yield from self._encode_money("budget", budget)
        limits: dict[str, str | None] = {}
        for scope, cap in (caps or {}).items():
            limits[scope] = None
            if cap is not None:
                limits[scope] = yield from self._encode_money(f"the cap of {scope}", cap)
        body |= {"caps": limits} if limits else {}
        if body:
            yield from self._change("PATCH", self.path(), body, by, if_version)

    def pause(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant no asks until the campaign is resumed; outcomes are still recorded."""
        yield from self._change("POST", self.path(verb="pause"), {}, by, if_version)

    def resume(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant asks again."""
        # not repeatable: an active campaign cannot be resumed
        path = self.path(verb="resume")
        yield from self._change("POST", path, {}, by, if_version, repeatable=False)

    def end(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """End the campaign for good; outcomes are still recorded."""
        yield from self._change("POST", self.path(verb="close"), {}, by, if_version)

    def reconcile(
        self, gap: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add what was spent since the restored backup, and grant asks again."""
        body = {"gap": (yield from self._encode_money("gap", gap))}
        path = self.path(verb="reconcile")
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
        query = {"by": by} if by and body is None else {}
        if by and body is not None:
            body = {**body, "by": by}
        # with a version, a repeat would collide with the first sending
        repeatable = repeatable and if_version is None
        request = Request(method, path, read_nothing, body, query, headers, repeatable)
        yield from self.transport.send(request)

    def _encode_money(self, name: str, value: Amount) -> Script[str]:
        if self.exponent is None:
            yield from self.load_rules()
        return encode_amount(name, value, self.exponent)[0]

    # views; each is a request, and status() has numbers of one moment

    def status(self) -> Script[Status]:
        """Return money, counts and rules of one moment."""
        return (yield from self._get("", lambda data: decode_as(campaign.Status, data)))

    def arms(self) -> Script[list[ArmView]]:
        """Return every arm with counts, money, and means with 95% intervals."""
        return (
            yield from self._get("arms", lambda data: [decode_arm(one) for one in data["arms"]])
        )

    def explain(self, decision: Decision | str) -> Script[Explanation]:
        """Return why a decision chose its arm, computed from the log of that moment."""
        path = self.path("decisions", _decision_id(decision))
        request = Request(
            "GET", path, lambda reply: decode_explanation(reply.data["why"]), query={"why": "true"}
        )
        return (yield from self.transport.send(request))

    def forecast(self, days: float | None = None) -> Script[Forecast]:
        """Return what the rest of the budget may earn, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until no arm is affordable.
        """
        return (yield from self._get("forecast", decode_forecast, days=days))

    def holds(self) -> Script[list[Decision]]:
        """Return the decisions whose money is held, oldest first."""
        found: list[Decision] = []
        after: Any = None
        while True:
            page = yield from self._get(
                "decisions", lambda data: data, open="true", limit=_PAGE, after=after
            )
            found += [decode_decision(one) for one in page["decisions"]]
            after = page.get("next")
            if after is None:
                return found

    def load_events(self, after: int) -> Script[tuple[list[Event], int | None]]:
        """Return a page of events, and the number after which the next begins, if any."""
        data = yield from self._get("events", lambda data: data, after=after, limit=_PAGE)
        return [decode_sent_event(one) for one in data["events"]], data.get("next")

    def _get(self, part: str, read: Callable[[Any], T], **query: Any) -> Script[T]:
        path = self.path(part) if part else self.path()
        request = Request("GET", path, lambda reply: read(reply.data), query=query)
        return (yield from self.transport.send(request))

    def config(self) -> Script[Config]:
        """Return the rules of the campaign; they never change and are loaded once."""
        if self._config is None:
            read = Request(
                "GET", self.path(), lambda reply: campaign.Config.from_body(reply.data["config"])
            )
            self._config = yield from self.transport.send(read)
            self.exponent = self._config.coin.exponent
        return self._config

    def load_rules(self) -> Script[Config | None]:
        """Return the rules, or None if the key may not read them."""
        try:
            return None if self._may_not_read else (yield from self.config())
        except Forbidden:
            self._may_not_read = True
            return None

    def coin(self) -> Script[Coin]:
        """Currency and smallest unit."""
        return (yield from self.config()).coin

    def budget(self) -> Script[Decimal]:
        """The total that may be spent."""
        return (yield from self.status()).budget

    def spent(self) -> Script[Decimal]:
        """Reported costs, and holds that lapsed."""
        return (yield from self.status()).spent

    def held(self) -> Script[Decimal]:
        """The total of open holds."""
        return (yield from self.status()).held

    def available(self) -> Script[Decimal]:
        """Budget less spent and held; negative after overruns or a budget cut."""
        return (yield from self.status()).available

    def overrun(self) -> Script[Decimal]:
        """The total by which costs exceeded their holds."""
        return (yield from self.status()).overrun

    def state(self) -> Script[str]:
        """active, paused, overdrawn, exhausted, unreconciled or closed."""
        return (yield from self.status()).state

    def open(self) -> Script[int]:
        """The number of decisions without an outcome."""
        return (yield from self.status()).open

    def version(self) -> Script[int]:
        """The number of the last change of rules, for ``if_version``."""
        return (yield from self.status()).version

    def alarms(self) -> Script[list[str]]:
        """Messages for an operator, such as a clock that was set or a policy that failed."""
        return (yield from self._get("", lambda data: list(data["alarms"])))


def _read_results(reply: Reply) -> list[Decision | BursarError]:
    return [decode_result(one) for one in reply.data["results"]]


def _decision_id(decision: Decision | str) -> str:
    """Return the id of a decision, of a decision in a block, or the id itself."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str) or not found:
        raise InvalidInput(f"decision must be what ask() returned, or its id, got {decision!r}")
    return found


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key of the service.

    Attributes
    ----------
    id : str
        Its public id.
    scopes : list of str
        Of ask, tell, read, admin, adjust, keys.
    campaigns : list of str or None
        The campaigns it may use; None means all.
    note : str
        A note for people.
    created, expires, revoked : datetime or None
        When it was created, when it expires, when it was revoked.
    token : str or None
        The secret that callers send; returned only when the key is created.
    """

    id: str
    scopes: list[str]
    campaigns: list[str] | None = None
    note: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    token: str | None = field(default=None, repr=False)


class ServiceCalls:
    """Calls that concern no single campaign."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None,
        rules: Mapping[str, Any],
    ) -> Script[None]:
        """Create a campaign; an existing one must be the same."""
        if not isinstance(arms, Mapping):
            raise InvalidInput(f"arms must map each key to its maximum cost, got {arms!r}")
        coin = Coin(rules.get("exponent", 6), rules.get("currency", ""))

        def encode(what: str, value: Amount) -> str:
            return coin.text(coin.units(what, value))

        caps = rules.get("caps") or {}
        body = dict(rules) | {
            "name": name,
            "budget": encode("budget", budget),
            "arms": [
                {"key": key, "max_cost": encode(f"the maximum cost of {key!r}", most)}
                for key, most in arms.items()
            ],
            "policy": policy,
            "caps": {scope: encode(f"the cap of {scope}", cap) for scope, cap in caps.items()},
        }
        yield from self.transport.send(Request("POST", make_path("campaigns"), read_nothing, body))

    def campaigns(self) -> Script[list[Status]]:
        """Return the status of every campaign that the key may read."""
        found: list[Status] = []
        after: Any = None
        while True:
            query = {"limit": 500, "after": after}
            request = Request("GET", make_path("campaigns"), read_data, query=query)
            page = yield from self.transport.send(request)
            found += [decode_as(campaign.Status, one) for one in page["campaigns"]]
            after = page.get("next")
            if after is None:
                return found

    def keys(self) -> Script[list[ApiKey]]:
        """Return all keys, without their secrets."""
        page = yield from self.transport.send(Request("GET", make_path("keys"), read_data))
        return [decode_as(ApiKey, one) for one in page["keys"]]

    def create_key(
        self,
        scopes: Sequence[str],
        *,
        campaigns: Sequence[str] | None = None,
        note: str = "",
        expires: datetime | None = None,
    ) -> Script[ApiKey]:
        """Create a key; its token is returned only now.

        Parameters
        ----------
        scopes : sequence of str
            Of ask, tell, read, admin, adjust, keys.
        campaigns : sequence of str, optional
            The campaigns it may use; by default all.
        note : str
            A note for people.
        expires : datetime, optional
            When it expires; with a time zone.
        """
        if isinstance(scopes, str):
            raise InvalidInput(f"scopes must be a list such as ['ask', 'tell'], got {scopes!r}")
        body = {
            "scopes": list(scopes),
            "campaigns": None if campaigns is None else list(campaigns),
            "note": note or None,
            "expires": None if expires is None else expires.isoformat(),
        }
        # not repeatable: it would create a second key whose token is lost
        request = Request("POST", make_path("keys"), _read_key, body, repeatable=False)
        return (yield from self.transport.send(request))

    def revoke_key(self, id: str) -> Script[None]:
        """Revoke a key."""
        yield from self.transport.send(Request("DELETE", make_path("keys", id), read_nothing))

    def rotate_key(self, id: str, grace: float = 0.0) -> Script[ApiKey]:
        """Create a successor of a key, which expires after ``grace`` seconds."""
        path, body = make_path("keys", id, verb="rotate"), {"grace": grace}
        request = Request("POST", path, _read_key, body, repeatable=False)
        return (yield from self.transport.send(request))

    def flush(self) -> Script[int]:
        """Deliver what the spool holds; return the number of accepted outcomes."""
        return (yield from self.transport.flush())


def _read_key(reply: Reply) -> ApiKey:
    return decode_as(ApiKey, reply.data)
