"""A campaign elsewhere, as if it were here."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, overload

from bursar.campaign import Decision
from bursar.campaign.decision import DecisionBlock
from bursar.client.admin_calls import ChangeCalls, ViewCalls
from bursar.client.decision_calls import EndCalls, OutcomeCalls
from bursar.client.script import AsyncRunner, Awaiting, Blocking, Runner, Script, Verb, View
from bursar.client.spool import SpoolingTransport
from bursar.errors import BudgetExhausted, BursarError
from bursar.ledger import Event
from bursar.money import Amount

__all__ = ["AsyncCampaign", "Handle", "RemoteCampaign", "Scripts"]

# ==== client.handle
# Handles of a campaign elsewhere: the verbs of :class:`bursar.Campaign`, at once or awaited.


class Scripts(EndCalls, ChangeCalls, ViewCalls):
    """All that can be done with one campaign."""


class Handle:
    """The verbs that are one script each."""

    def __init__(self, line: SpoolingTransport, name: str) -> None:
        self.name = name
        self.scripts = Scripts(line, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.scripts.line.url!r})"

    tell = Verb(Scripts.tell)
    tell_many = Verb(Scripts.tell_many)
    confirm = Verb(Scripts.confirm)
    void = Verb(Scripts.void)
    void_many = Verb(Scripts.void_many)
    correct = Verb(Scripts.correct)
    decision = Verb(Scripts.decision)
    token = Verb(Scripts.token)

    add_arm = Verb(Scripts.add_arm)
    pause_arm = Verb(Scripts.pause_arm)
    resume_arm = Verb(Scripts.resume_arm)
    retire_arm = Verb(Scripts.retire_arm)
    set_budget = Verb(Scripts.set_budget)
    set_cap = Verb(Scripts.set_cap)
    change = Verb(Scripts.change)
    pause = Verb(Scripts.pause)
    resume = Verb(Scripts.resume)
    end = Verb(Scripts.end)
    reconcile = Verb(Scripts.reconcile)

    status = Verb(Scripts.status)
    arms = Verb(Scripts.arms)
    holds = Verb(Scripts.holds)
    explain = Verb(Scripts.explain)
    forecast = Verb(Scripts.forecast)

    config = View(Scripts.config)
    coin = View(Scripts.coin)
    budget = View(Scripts.budget)
    spent = View(Scripts.spent)
    held = View(Scripts.held)
    available = View(Scripts.available)
    overrun = View(Scripts.overrun)
    state = View(Scripts.state)
    open = View(Scripts.open)
    version = View(Scripts.version)
    alarms = View(Scripts.alarms)


_LOG = logging.getLogger("bursar.client")


def _begin_block(scripts: OutcomeCalls, options: dict[str, Any]) -> Script[DecisionBlock]:
    """Ask, after reading the rules: an outcome that breaks them is refused in the block."""
    DecisionBlock.check_options(options)
    rules = yield from scripts.rules()
    decision = yield from scripts.ask(**options)

    def check(cost: Amount | None, reward: float | None) -> None:
        scripts.outcome(cost, reward)
        if reward is not None and rules is not None:
            rules.check_reward(reward)

    return DecisionBlock(decision, check)


def _end_block(
    scripts: OutcomeCalls, block: DecisionBlock, error: BaseException | None = None
) -> Script[None]:
    """Report the outcome of a block; if it raised before it had one, void the decision."""
    if error is None:
        block.check_settled()
    if error is None or block.outcome:
        call = scripts.told(block.decision, block.outcome.get("cost"), block.outcome.get("reward"))
    else:
        call = scripts.voiding(block.decision.id, block.reason(error))
    line = scripts.line
    try:
        yield from line.call(call)
    except GeneratorExit:
        raise
    except BaseException as failure:
        if not line.keep((call,), failure) or not isinstance(failure, BursarError):
            raise
        # the work is done and its outcome is safe: an error would have it done twice
        _LOG.warning("the outcome of %s is kept for later: %s", block.decision.id, failure)
    else:
        yield from line.catch_up()


T = TypeVar("T")


class RemoteCampaign(Handle, Blocking):
    """A campaign of a service, with the verbs, results and errors of :class:`bursar.Campaign`.

    Made by :meth:`bursar.Client.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, player: Runner, line: SpoolingTransport, name: str) -> None:
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
    def decide(self, **options: Any) -> Iterator[DecisionBlock]:
        """Ask, and settle by itself: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is told, or the hold is given back.
        """
        block = self.play(_begin_block(self.scripts, options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                self.play(_end_block(self.scripts, block, error))
            raise
        self.play(_end_block(self.scripts, block))

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


# ==== client.async_campaign
# A campaign elsewhere, awaited.


class AsyncCampaign(Handle, Awaiting):
    """A campaign of a service: as :class:`RemoteCampaign`, each verb and each number awaited.

    Made by :meth:`bursar.AsyncClient.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, player: AsyncRunner, line: SpoolingTransport, name: str) -> None:
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
    async def decide(self, **options: Any) -> AsyncIterator[DecisionBlock]:
        """Ask, and settle by itself: ``async with campaign.decide() as d: d.settle(…)``.

        If the body raises or is cancelled, what it settled so far is told, or the hold given back.
        """
        block = await self.play(_begin_block(self.scripts, options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                await self._player.play_out(_end_block(self.scripts, block, error))
            raise
        await self._player.play_out(_end_block(self.scripts, block))

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
