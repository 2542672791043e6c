"""A campaign elsewhere, as if it were here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from bursar.campaign import Decision
from bursar.client.delivery import Delivery
from bursar.client.handle import Handle
from bursar.client.player import Player
from bursar.client.script import Blocking, Script
from bursar.client.settling import Settling
from bursar.errors import BudgetExhausted
from bursar.ledger import Event
from bursar.money import Amount

__all__ = ["RemoteCampaign"]

T = TypeVar("T")


class RemoteCampaign(Handle, Blocking):
    """A campaign of a service, with the verbs, results and errors of :class:`bursar.Campaign`.

    Made by :meth:`bursar.Client.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, player: Player, line: Delivery, name: str) -> None:
        super().__init__(line, name)
        self._player = player

    def play(self, script: Script[T]) -> T:
        """Play a script to its end."""
        return self._player.play(script)

    @overload
    def ask(
        self,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Decision: ...

    @overload
    def ask(
        self,
        n: int,
        *,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> list[Decision]: ...

    def ask(
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
        found: Decision | list[Decision] = self.play(script)
        return found

    @contextmanager
    def decide(self, **options: Any) -> Iterator[Settling]:
        """Ask, and settle by itself: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is told, or the hold is given back.
        """
        settling = self.play(Settling.begin(self.scripts, options))
        try:
            yield settling
        except BaseException as error:
            self.play(settling.abandon(error))
            raise
        self.play(settling.finish())

    def run(self, play: Callable[[str], tuple[Amount, float]], most: int | None = None) -> int:
        """Play until the budget is spent: ``play(arm)`` returns what it cost and brought."""
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
        """Yield what happened, in order."""
        place: int | None = after
        while place is not None:
            some, place = self.play(self.scripts.page(place))
            yield from some

    def close(self) -> None:
        """Give back connections, those of the client; the campaign itself goes on."""
        self._player.close()
