"""A client of a service, for asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

import httpx2

from bursar.client.async_campaign import AsyncCampaign
from bursar.client.delivery import Delivery
from bursar.client.managing import Managing
from bursar.client.player import AsyncPlayer
from bursar.client.retry import Retry
from bursar.client.script import Awaiting, Script, Verb
from bursar.client.settling import Settling
from bursar.money import Amount

__all__ = ["AsyncClient"]

T = TypeVar("T")


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
        self._line = Delivery(url, key, timeout, retry, spool)
        self._player = AsyncPlayer(transport, retry.sleep)
        self.scripts = Managing(self._line)

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

    def decide(self, name: str, **options: Any) -> AbstractAsyncContextManager[Settling]:
        """Ask a campaign, and settle by itself at the end of the block."""
        return self.campaign(name).decide(**options)

    campaigns = Verb(Managing.campaigns)
    keys = Verb(Managing.keys)
    create_key = Verb(Managing.create_key)
    revoke_key = Verb(Managing.revoke_key)
    rotate_key = Verb(Managing.rotate_key)
    flush = Verb(Managing.flush)

    async def close(self) -> None:
        """Close all connections."""
        await self._player.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._line.url!r})"  # without the key
