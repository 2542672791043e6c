"""A client of a service."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from bursar.campaign.decision import DecisionBlock
from bursar.client.admin_calls import ServiceCalls
from bursar.client.campaign import AsyncCampaign, RemoteCampaign
from bursar.client.script import AsyncRunner, Awaiting, Blocking, Runner, Script, Verb
from bursar.client.spool import SpoolingTransport
from bursar.client.transport import Retry
from bursar.money import Amount

__all__ = ["AsyncClient", "Client"]

T = TypeVar("T")


class Client(Blocking):
    """Campaigns of a service, as if they were here.

    Parameters
    ----------
    url : str
        Where the service is.
    key : str, optional
        The key to show, ``bursar_…``.
    timeout : float
        Seconds within which a call must have its answer, all tries together.
    spool : path, optional
        A file that keeps outcomes which could not be delivered; they are delivered as soon as the
        service answers again, by :meth:`flush`, or by the next client with this file.
    retry : Retry, optional
        How to wait between tries.
    transport : httpx2.BaseTransport, optional
        Another way to send requests: a proxy, client certificates, tests.

    Examples
    --------
    Change one line, and a program that has its campaign in a file has it in a service::

        campaign = bursar.Campaign("llm", storage="sqlite:///spend.db")
        campaign = bursar.Client("http://127.0.0.1:8321", key=key).campaign("llm")
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        spool: str | Path | None = None,
        retry: Retry | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        retry = retry or Retry()
        self._line = SpoolingTransport(url, key, timeout, retry, spool)
        self._player = Runner(transport, retry.sleep)
        self.scripts = ServiceCalls(self._line)

    def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        return self._player.play(script)

    def campaign(self, name: str) -> RemoteCampaign:
        """Return a campaign to ask and tell; nothing is sent yet."""
        return RemoteCampaign(self._player, self._line, name)

    def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None = None,
        **rules: Any,
    ) -> RemoteCampaign:
        """Make a campaign, as :class:`bursar.Campaign` does; one that is there must be the same."""
        self.play(self.scripts.create(name, budget, arms, policy, rules))
        return self.campaign(name)

    def decide(self, name: str, **options: Any) -> AbstractContextManager[DecisionBlock]:
        """Ask a campaign, and settle by itself at the end of the block."""
        return self.campaign(name).decide(**options)

    campaigns = Verb(ServiceCalls.campaigns)
    keys = Verb(ServiceCalls.keys)
    create_key = Verb(ServiceCalls.create_key)
    revoke_key = Verb(ServiceCalls.revoke_key)
    rotate_key = Verb(ServiceCalls.rotate_key)
    flush = Verb(ServiceCalls.flush)

    def close(self) -> None:
        """Close all connections."""
        self._player.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._line.url!r})"  # without the key


# ==== client.async_client
# A client of a service, for asyncio.


class AsyncClient(Awaiting):
    """Campaigns of a service in an asyncio program: as :class:`bursar.Client`, awaited.

    Every verb and every number of a campaign is awaited, ``await campaign.ask()``,
    ``await campaign.spent``; blocks are ``async with campaign.decide() as decision:``. The
    parameters are those of :class:`bursar.Client`.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        spool: str | Path | None = None,
        retry: Retry | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        retry = retry or Retry()
        self._line = SpoolingTransport(url, key, timeout, retry, spool)
        self._player = AsyncRunner(transport, retry.sleep)
        self.scripts = ServiceCalls(self._line)

    async def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        return await self._player.play(script)

    def campaign(self, name: str) -> AsyncCampaign:
        """Return a campaign to ask and tell; nothing is sent yet."""
        return AsyncCampaign(self._player, self._line, name)

    async def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None = None,
        **rules: Any,
    ) -> AsyncCampaign:
        """Make a campaign, as :class:`bursar.Campaign` does; one that is there must be the same."""
        await self.play(self.scripts.create(name, budget, arms, policy, rules))
        return self.campaign(name)

    def decide(self, name: str, **options: Any) -> AbstractAsyncContextManager[DecisionBlock]:
        """Ask a campaign, and settle by itself at the end of the block."""
        return self.campaign(name).decide(**options)

    campaigns = Verb(ServiceCalls.campaigns)
    keys = Verb(ServiceCalls.keys)
    create_key = Verb(ServiceCalls.create_key)
    revoke_key = Verb(ServiceCalls.revoke_key)
    rotate_key = Verb(ServiceCalls.rotate_key)
    flush = Verb(ServiceCalls.flush)

    async def close(self) -> None:
        """Close all connections."""
        await self._player.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._line.url!r})"  # without the key
