"""Clients of a service: the verbs of campaigns and keys, blocking or awaited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import httpx2
import msgspec

from bursar.campaign.decision import DecisionBlock
from bursar.client.campaign import AsyncCampaign, CampaignVerbs, RemoteCampaign
from bursar.client.decode import decode_status
from bursar.client.script import AsyncRunner, Awaiting, Blocking, Runner, ScriptMethod
from bursar.client.spool import UndeliveredCall
from bursar.client.transport import Request, Retry, Transport, make_path, read_nothing
from bursar.errors import InvalidInput
from bursar.history import COLUMNS, read_history, split_arms
from bursar.money import Amount, Coin, find_exponent

if TYPE_CHECKING:
    from bursar.campaign import Status

HTTP = TypeVar("HTTP", httpx2.BaseTransport, httpx2.AsyncBaseTransport)
C = TypeVar("C", bound=CampaignVerbs)


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


class ServiceVerbs(Generic[HTTP, C]):
    """The verbs that concern no single campaign; each is a script."""

    _runner_type: Any
    _campaign_type: type[C]

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        spool: str | Path | None = None,
        retry: Retry | None = None,
        transport: HTTP | None = None,
    ) -> None:
        retry = retry or Retry()
        self._transport = Transport(url, key, timeout, retry, spool)  # first, as it may refuse
        self.runner = self._transport.runner = self._runner_type(transport, retry.sleep)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.address!r})"  # without the key

    def campaign(self, name: str) -> C:
        """Return a campaign; nothing is sent yet."""
        return self._campaign_type(self._transport, name)

    @ScriptMethod
    async def create(
        self,
        /,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None = None,
        **rules: Any,
    ) -> C:
        """Create a campaign as :class:`bursar.Campaign` does; an existing one must be the same."""
        if not isinstance(arms, Mapping):
            raise InvalidInput(f"arms must map each key to its maximum cost, got {arms!r}")
        caps = rules.get("caps") or {}
        exponent = rules.pop("exponent", None)
        if exponent is None:
            exponent = find_exponent(budget, arms, caps, rules.get("min_cost"))
        coin = Coin(exponent, rules.get("currency", ""))

        def encode(what: str, value: Amount) -> str:
            return coin.text(coin.units(what, value))

        history = rules.pop("history", None)
        if history is not None:  # refused before there is a campaign
            history = read_history(history, COLUMNS)
            split_arms(history, arms, history.name, "refuse")
        body = rules | {
            "exponent": exponent,
            "name": name,
            "budget": encode("budget", budget),
            "arms": [
                {"key": key, "max_cost": encode(f"the maximum cost of {key!r}", most)}
                for key, most in arms.items()
            ],
            "policy": policy,
            "caps": {scope: encode(f"the cap of {scope}", cap) for scope, cap in caps.items()},
        }
        await self._transport.send(Request("POST", make_path("campaigns"), read_nothing, body))
        created = self.campaign(name)
        if history is not None:
            await created._learn_from(history)
        return created

    @ScriptMethod
    async def campaigns(self) -> list[Status]:
        """Return the status of every campaign that the key may read."""
        path = make_path("campaigns")
        return await self._transport.load_list(path, "campaigns", decode_status, limit=500)

    @ScriptMethod
    async def keys(self) -> list[ApiKey]:
        """Return all keys, without their secrets."""
        return await self._transport.load_list(make_path("keys"), "keys", _read_key)

    @ScriptMethod
    async def create_key(
        self,
        scopes: Sequence[str],
        *,
        campaigns: Sequence[str] | None = None,
        note: str = "",
        expires: datetime | None = None,
    ) -> ApiKey:
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
        return await self._transport.send(request)

    @ScriptMethod
    async def revoke_key(self, id: str, *, only: bool = False) -> None:
        """Revoke a key and its descendants: the keys rotated from it or created by it.

        With ``only``, the descendants stay.
        """
        path = make_path("keys", id) + ("?only=true" if only else "")
        await self._transport.send(Request("DELETE", path, read_nothing))

    @ScriptMethod
    async def rotate_key(self, id: str, grace: float = 0.0) -> ApiKey:
        """Create a successor of a key, which expires after ``grace`` seconds."""
        path, body = make_path("keys", id, verb="rotate"), {"grace": grace}
        request = Request("POST", path, _read_key, body, repeatable=False)
        return await self._transport.send(request)

    @ScriptMethod
    async def flush(self) -> int:
        """Deliver what the spool holds; return the number of accepted outcomes.

        If some must wait, for example because the key may not report them, the others are delivered
        and then the first error is raised.
        """
        return await self._transport.flush()

    @ScriptMethod
    async def undelivered(self) -> list[UndeliveredCall]:
        """Return what waits in the spool, then what the service refused for good; send nothing."""
        return self._transport.list_undelivered()


def _read_key(data: Any) -> ApiKey:
    return msgspec.convert(data, ApiKey)


class Client(ServiceVerbs[httpx2.BaseTransport, RemoteCampaign], Blocking):
    """The campaigns of a service, with the verbs of embedded ones.

    Parameters
    ----------
    url : str
        Address of the service.
    key : str, optional
        The API key, ``bursar_…``.
    timeout : float
        Seconds within which a call must be answered, all attempts together.
    spool : path, optional
        A file for outcomes that could not be delivered. They are delivered when the service
        answers again, by :meth:`flush`, or by the next client with this file;
        :meth:`undelivered` lists them.
    retry : Retry, optional
        How to wait between attempts.
    transport : httpx2.BaseTransport, optional
        Another way to send requests: a proxy, client certificates, tests.

    Examples
    --------
    A program moves its campaign from a file to a service by changing one line::

        campaign = bursar.Campaign("llm", storage="sqlite:///spend.db")
        campaign = bursar.Client("http://127.0.0.1:8321", key=key).campaign("llm")
    """

    _runner_type, _campaign_type = Runner, RemoteCampaign

    def decide(self, name: str, **options: Any) -> AbstractContextManager[DecisionBlock]:
        """Ask a campaign, and report the outcome at the end of the block."""
        return self.campaign(name).decide(**options)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(ServiceVerbs[httpx2.AsyncBaseTransport, AsyncCampaign], Awaiting):
    """The campaigns of a service in an asyncio program; as :class:`bursar.Client`, awaited.

    Every verb and every number of a campaign is awaited, ``await campaign.ask()``,
    ``await campaign.spent``; blocks are ``async with campaign.decide() as decision:``. The
    parameters are those of :class:`bursar.Client`.
    """

    _runner_type, _campaign_type = AsyncRunner, AsyncCampaign

    def decide(self, name: str, **options: Any) -> AbstractAsyncContextManager[DecisionBlock]:
        """Ask a campaign, and report the outcome at the end of the block."""
        return self.campaign(name).decide(**options)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
