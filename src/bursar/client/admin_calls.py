"""Scripts of looks: money, arms, why, what is to come, what happened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from bursar.campaign import ArmView, Decision, Explanation, Forecast
from bursar.campaign.views import Status
from bursar.client.decision_calls import Scope, check_decision_id
from bursar.client.decode import (
    decode_arm,
    decode_as,
    decode_decision,
    decode_explanation,
    decode_forecast,
    decode_sent_event,
)
from bursar.client.script import Script
from bursar.client.spool import SpoolingTransport
from bursar.client.transport import Reply, Request, path_of
from bursar.errors import InvalidInput
from bursar.ledger import Event
from bursar.money import Amount, Coin

__all__ = ["ApiKey", "ChangeCalls", "ServiceCalls", "ViewCalls"]

T = TypeVar("T")

_PAGE = 1000


class ViewCalls(Scope):
    """The looks at a campaign; each is a request: status() has numbers that fit together."""

    def status(self) -> Script[Status]:
        """Return how the campaign stands: money, counts and rules of one moment."""
        return (yield from self._get("", lambda data: decode_as(Status, data)))

    def arms(self) -> Script[list[ArmView]]:
        """Return every arm: counts, money, means and reward per cost with 95% intervals."""
        return (
            yield from self._get("arms", lambda data: [decode_arm(one) for one in data["arms"]])
        )

    def explain(self, decision: Decision | str) -> Script[Explanation]:
        """Return why a decision was what it was, from the log as it was then."""
        call = Request(
            "GET", self.path("decisions", check_decision_id(decision)),
            lambda answer: decode_explanation(answer.data["why"]), query={"why": "true"},
        )  # fmt: skip
        return (yield from self.line.call(call))

    def forecast(self, days: float | None = None) -> Script[Forecast]:
        """Return what the rest of the budget may bring, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until nothing fits.
        """
        return (yield from self._get("forecast", decode_forecast, days=days))

    def holds(self) -> Script[list[Decision]]:
        """Return the decisions whose money is held, the oldest first."""
        found: list[Decision] = []
        after: Any = None
        while True:
            page = yield from self._get("decisions", _same, open="true", limit=_PAGE, after=after)
            found += [decode_decision(one) for one in page["decisions"]]
            after = page.get("next")
            if after is None:
                return found

    def page(self, after: int) -> Script[tuple[list[Event], int | None]]:
        """Return events after one, and where the next page begins, or None at the end."""
        data = yield from self._get("events", _same, after=after, limit=_PAGE)
        return [decode_sent_event(one) for one in data["events"]], data.get("next")

    def _get(self, part: str, read: Callable[[Any], T], **query: Any) -> Script[T]:
        path = self.path(part) if part else self.path()
        call = Request("GET", path, lambda answer: read(answer.data), query=query)
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


# ==== client.changing
# Scripts of changes: arms, budget, caps, pauses.


class ChangeCalls(Scope):
    """The changes of a campaign.

    ``by`` says who asked for a change, beside the key; ``if_version`` refuses it when others came
    in between. What would be another thing if it was done twice is not sent again after a failure
    that leaves open whether it arrived.
    """

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add an arm; it is tried like any new one, and what others learned stays."""
        most = yield from self.money(f"the most that {key!r} can cost", max_cost)
        body = {"key": key, "max_cost": most}
        yield from self._change("POST", self.path("arms"), body, by, if_version, again=False)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Choose an arm no more, for now; its open decisions go on."""
        body = {"state": "paused", "reason": reason}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Let a paused arm be chosen again."""
        body = {"state": "active"}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Choose an arm never again; outcomes that are still to come are booked."""
        yield from self._change("DELETE", self.path("arms", key), None, by, if_version)

    def set_budget(
        self, budget: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Raise or cut the budget; a cut below what is spent and held grants no more asks."""
        yield from self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Set what may be spent a "day" or on "arm:KEY"; None: as much as the budget allows."""
        yield from self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> Script[None]:
        """Set the budget and caps in one go: all of it, or nothing if something is wrong."""
        body: dict[str, Any] = {}
        if budget is not None:
            body["budget"] = yield from self.money("budget", budget)
        limits: dict[str, str | None] = {}
        for scope, cap in (caps or {}).items():
            limits[scope] = None
            if cap is not None:
                limits[scope] = yield from self.money(f"the cap of {scope}", cap)
        body |= {"caps": limits} if limits else {}
        if body:  # else it changes nothing
            yield from self._change("PATCH", self.path(), body, by, if_version)

    def pause(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant no asks until resumed; outcomes are still booked."""
        yield from self._change("POST", self.path(verb="pause"), {}, by, if_version)

    def resume(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant asks again."""
        # twice is an error: what is active cannot be resumed
        yield from self._change("POST", self.path(verb="resume"), {}, by, if_version, again=False)

    def end(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Close the campaign for good; outcomes are still booked."""
        yield from self._change("POST", self.path(verb="close"), {}, by, if_version)

    def reconcile(
        self, gap: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """After a restore: count what was spent since the backup, and go on."""
        body = {"gap": (yield from self.money("gap", gap))}
        path = self.path(verb="reconcile")
        yield from self._change("POST", path, body, by, if_version, again=False)

    def _change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        by: str,
        if_version: int | None,
        again: bool = True,
    ) -> Script[None]:
        match = "*" if if_version is None else f'"{if_version}"'
        headers = {"if-match": match} if method == "PATCH" or if_version is not None else {}
        query = {"by": by} if by and body is None else {}
        if by and body is not None:
            body = {**body, "by": by}
        # with a version the second sending would meet the first one's
        call = Request(method, path, _nothing, body, query, headers, again and if_version is None)
        yield from self.line.call(call)


def _nothing(answer: Reply) -> None:
    return None


# ==== client.apikey
# A key of a service, as its owner sees it.


@dataclass(frozen=True)
class ApiKey:
    """What a key may do, where, and until when.

    Attributes
    ----------
    id : str
        Its name; no secret.
    scopes : list of str
        ask, tell, read, admin, adjust, keys.
    campaigns : list of str or None
        Where; None: everywhere.
    note : str
        A word for people.
    created, expires, revoked : datetime or None
        When it was made, when it ends, when it was ended.
    token : str or None
        What callers show; told once, when the key is made.
    """

    id: str
    scopes: list[str]
    campaigns: list[str] | None = None
    note: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    token: str | None = field(default=None, repr=False)


# ==== client.managing
# Scripts of the whole service: its campaigns and its keys.

_MANAGING_PAGE = 500


class ServiceCalls:
    """What concerns no single campaign."""

    def __init__(self, line: SpoolingTransport) -> None:
        self.line = line

    def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None,
        rules: Mapping[str, Any],
    ) -> Script[None]:
        """Make a campaign; one that is there already must be the same."""
        if not isinstance(arms, Mapping):
            raise InvalidInput(f"arms is a mapping of keys to their most, got {arms!r}")
        coin = Coin(rules.get("exponent", 6), rules.get("currency", ""))

        def money(what: str, value: Amount) -> str:
            return coin.text(coin.units(what, value))

        caps = rules.get("caps") or {}
        body = dict(rules) | {
            "name": name,
            "budget": money("budget", budget),
            "arms": [
                {"key": key, "max_cost": money(f"the most that {key!r} can cost", most)}
                for key, most in arms.items()
            ],
            "policy": policy,
            "caps": {scope: money(f"the cap of {scope}", cap) for scope, cap in caps.items()},
        }
        yield from self.line.call(Request("POST", path_of("campaigns"), _nothing, body))

    def campaigns(self) -> Script[list[Status]]:
        """Return how every campaign stands that the key may read."""
        found: list[Status] = []
        after: Any = None
        while True:
            query = {"limit": _MANAGING_PAGE, "after": after}
            page = yield from self.line.call(
                Request("GET", path_of("campaigns"), lambda answer: answer.data, query=query)
            )
            found += [decode_as(Status, one) for one in page["campaigns"]]
            after = page.get("next")
            if after is None:
                return found

    def keys(self) -> Script[list[ApiKey]]:
        """Return all keys, without their secrets."""
        call = Request(
            "GET",
            path_of("keys"),
            lambda answer: [decode_as(ApiKey, one) for one in answer.data["keys"]],
        )
        return (yield from self.line.call(call))

    def create_key(
        self,
        scopes: Sequence[str],
        *,
        campaigns: Sequence[str] | None = None,
        note: str = "",
        expires: datetime | None = None,
    ) -> Script[ApiKey]:
        """Make a key; its token is told now and never again.

        Parameters
        ----------
        scopes : sequence of str
            Of ask, tell, read, admin, adjust, keys.
        campaigns : sequence of str, optional
            Where it may; by default everywhere.
        note : str
            A word for people.
        expires : datetime, optional
            When it ends; with a time zone.
        """
        if isinstance(scopes, str):
            raise InvalidInput(f"scopes must be a list such as ['ask', 'tell'], got {scopes!r}")
        body = {
            "scopes": list(scopes),
            "campaigns": None if campaigns is None else list(campaigns),
            "note": note or None,
            "expires": None if expires is None else expires.isoformat(),
        }
        # sent twice it would be two keys, one of them with a token that nobody has seen
        return (
            yield from self.line.call(Request("POST", path_of("keys"), _key, body, again=False))
        )

    def revoke_key(self, id: str) -> Script[None]:
        """End a key at once."""
        yield from self.line.call(Request("DELETE", path_of("keys", id), _nothing))

    def rotate_key(self, id: str, grace: float = 0.0) -> Script[ApiKey]:
        """Make a key like another, which ends after ``grace`` seconds."""
        call = Request(
            "POST", path_of("keys", id, verb="rotate"), _key, {"grace": grace}, again=False
        )
        return (yield from self.line.call(call))

    def flush(self) -> Script[int]:
        """Deliver what the spool keeps; return how many outcomes were taken."""
        return (yield from self.line.flush())


def _key(answer: Reply) -> ApiKey:
    return decode_as(ApiKey, answer.data)
