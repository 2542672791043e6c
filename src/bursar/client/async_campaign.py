"""A campaign elsewhere, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, overload

from bursar.campaign import Decision
from bursar.client.delivery import Delivery
from bursar.client.handle import Handle
from bursar.client.player import AsyncPlayer
from bursar.client.script import Awaiting, Script
from bursar.client.settling import Settling
from bursar.errors import BudgetExhausted
from bursar.ledger import Event
from bursar.money import Amount

__all__ = ["AsyncCampaign"]

T = TypeVar("T")


class AsyncCampaign(Handle, Awaiting):
    """A campaign of a service: as :class:`RemoteCampaign`, each verb and each number awaited.

    Made by :meth:`bursar.AsyncClient.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, player: AsyncPlayer, line: Delivery, name: str) -> None:
        super().__init__(line, name)
        self._player = player

    async def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        return await self._player.play(script)

    @overload
    async def ask(
        self,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Decision: ...

    @overload
    async def ask(
        self,
        n: int,
        *,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> list[Decision]: ...

    async def ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Decision | list[Decision]:
        """Return the arm to play next, its money held; see :meth:`bursar.Campaign.ask`."""
        script = self.scripts.ask(n, id=id, among=among, exclude=exclude, context=context)
        found: Decision | list[Decision] = await self.play(script)
        return found

    @asynccontextmanager
    async def decide(self, **options: Any) -> AsyncIterator[Settling]:
        """Ask, and settle by itself: ``async with campaign.decide() as d: d.settle(…)``.

        If the body raises or is cancelled, what it settled so far is told, or the hold given back.
        """
        settling = await self.play(Settling.begin(self.scripts, options))
        try:
            yield settling
        except BaseException as error:
            await self._player.play_out(settling.abandon(error))
            raise
        await self._player.play_out(settling.finish())

    async def run(
        self, play: Callable[[str], Awaitable[tuple[Amount, float]]], most: int | None = None
    ) -> int:
        """Play until the budget is spent: awaiting ``play(arm)`` gives what it cost and brought."""
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
        """Yield what happened, in order."""
        place: int | None = after
        while place is not None:
            some, place = await self.play(self.scripts.page(place))
            for event in some:
                yield event

    async def close(self) -> None:
        """Give back connections, those of the client; the campaign itself goes on."""
        await self._player.close()
