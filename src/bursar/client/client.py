"""Clients of a service: the verbs of campaigns and keys, blocking or awaited."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from bursar.campaign.decision import DecisionBlock
from bursar.client.calls import ServiceCalls
from bursar.client.campaign import AsyncCampaign, RemoteCampaign
from bursar.client.script import Awaiting, Blocking, ScriptMethod
from bursar.client.transport import AsyncRunner, Retry, Runner, Transport
from bursar.money import Amount

T = TypeVar("T")


class ServiceVerbs:
    """The verbs that are one call each."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.calls = ServiceCalls(transport)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._transport.url!r})"  # without the key

    campaigns = ScriptMethod(ServiceCalls.campaigns)
    keys = ScriptMethod(ServiceCalls.keys)
    create_key = ScriptMethod(ServiceCalls.create_key)
    revoke_key = ScriptMethod(ServiceCalls.revoke_key)
    rotate_key = ScriptMethod(ServiceCalls.rotate_key)
    flush = ScriptMethod(ServiceCalls.flush)


class Client(ServiceVerbs, Blocking):
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
        answers again, by :meth:`flush`, or by the next client with this file.
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
        super().__init__(Transport(url, key, timeout, retry, spool))
        self.runner = Runner(transport, retry.sleep)

    def campaign(self, name: str) -> RemoteCampaign:
        """Return a campaign; nothing is sent yet."""
        return RemoteCampaign(self.runner, self._transport, name)

    def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None = None,
        **rules: Any,
    ) -> RemoteCampaign:
        """Create a campaign as :class:`bursar.Campaign` does; an existing one must be the same."""
        self.runner.run_script(self.calls.create(name, budget, arms, policy, rules))
        return self.campaign(name)

    def decide(self, name: str, **options: Any) -> AbstractContextManager[DecisionBlock]:
        """Ask a campaign, and report the outcome at the end of the block."""
        return self.campaign(name).decide(**options)

    def close(self) -> None:
        """Close all connections."""
        self.runner.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(ServiceVerbs, Awaiting):
    """The campaigns of a service in an asyncio program; as :class:`bursar.Client`, awaited.

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
        super().__init__(Transport(url, key, timeout, retry, spool))
        self.runner = AsyncRunner(transport, retry.sleep)

    def campaign(self, name: str) -> AsyncCampaign:
        """Return a campaign; nothing is sent yet."""
        return AsyncCampaign(self.runner, self._transport, name)

    async def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None = None,
        **rules: Any,
    ) -> AsyncCampaign:
        """Create a campaign as :class:`bursar.Campaign` does; an existing one must be the same."""
        await self.runner.run_script(self.calls.create(name, budget, arms, policy, rules))
        return self.campaign(name)

    def decide(self, name: str, **options: Any) -> AbstractAsyncContextManager[DecisionBlock]:
        """Ask a campaign, and report the outcome at the end of the block."""
        return self.campaign(name).decide(**options)

    async def close(self) -> None:
        """Close all connections."""
        await self.runner.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
