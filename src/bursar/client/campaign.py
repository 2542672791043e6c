"""A campaign of a service, with the verbs of :class:`bursar.Campaign`, blocking or awaited."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from bursar.campaign.decision import DecisionBlock
from bursar.client.calls import CampaignCalls
from bursar.client.script import Awaiting, Blocking, Script, ScriptMethod, ScriptProperty
from bursar.client.transport import AsyncRunner, Runner, Transport
from bursar.errors import BudgetExhausted, BursarError
from bursar.money import Amount

if TYPE_CHECKING:
    from bursar.campaign import Decision
    from bursar.ledger import Event

T = TypeVar("T")

_LOG = logging.getLogger("bursar.client")


class CampaignVerbs:
    """The verbs and numbers that are one call each."""

    def __init__(self, transport: Transport, name: str) -> None:
        self.name = name
        self.calls = CampaignCalls(transport, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.calls.transport.url!r})"

    tell = ScriptMethod(CampaignCalls.tell)
    tell_many = ScriptMethod(CampaignCalls.tell_many)
    confirm = ScriptMethod(CampaignCalls.confirm)
    void = ScriptMethod(CampaignCalls.void)
    void_many = ScriptMethod(CampaignCalls.void_many)
    correct = ScriptMethod(CampaignCalls.correct)
    decision = ScriptMethod(CampaignCalls.decision)
    token = ScriptMethod(CampaignCalls.token)

    add_arm = ScriptMethod(CampaignCalls.add_arm)
    pause_arm = ScriptMethod(CampaignCalls.pause_arm)
    resume_arm = ScriptMethod(CampaignCalls.resume_arm)
    retire_arm = ScriptMethod(CampaignCalls.retire_arm)
    set_budget = ScriptMethod(CampaignCalls.set_budget)
    set_cap = ScriptMethod(CampaignCalls.set_cap)
    change = ScriptMethod(CampaignCalls.change)
    pause = ScriptMethod(CampaignCalls.pause)
    resume = ScriptMethod(CampaignCalls.resume)
    end = ScriptMethod(CampaignCalls.end)
    reconcile = ScriptMethod(CampaignCalls.reconcile)

    status = ScriptMethod(CampaignCalls.status)
    arms = ScriptMethod(CampaignCalls.arms)
    holds = ScriptMethod(CampaignCalls.holds)
    explain = ScriptMethod(CampaignCalls.explain)
    forecast = ScriptMethod(CampaignCalls.forecast)

    config = ScriptProperty(CampaignCalls.config)
    coin = ScriptProperty(CampaignCalls.coin)
    budget = ScriptProperty(CampaignCalls.budget)
    spent = ScriptProperty(CampaignCalls.spent)
    held = ScriptProperty(CampaignCalls.held)
    available = ScriptProperty(CampaignCalls.available)
    overrun = ScriptProperty(CampaignCalls.overrun)
    state = ScriptProperty(CampaignCalls.state)
    open = ScriptProperty(CampaignCalls.open)
    version = ScriptProperty(CampaignCalls.version)
    alarms = ScriptProperty(CampaignCalls.alarms)


def _begin_block(calls: CampaignCalls, options: dict[str, Any]) -> Script[DecisionBlock]:
    """Ask, after loading the rules: an outcome that breaks them is refused in the block."""
    DecisionBlock.check_options(options)
    rules = yield from calls.load_rules()
    decision = yield from calls.ask(**options)

    def check(cost: Amount | None, reward: float | None) -> None:
        calls.encode_outcome(cost, reward)
        if reward is not None and rules is not None:
            rules.check_reward(reward)

    return DecisionBlock(decision, check)


def _end_block(
    calls: CampaignCalls, block: DecisionBlock, error: BaseException | None = None
) -> Script[None]:
    """Report the outcome of a block; if it raised before it had one, void the decision."""
    if error is None:
        block.check_settled()
    if error is None or block.outcome:
        cost, reward = block.outcome.get("cost"), block.outcome.get("reward")
        request = calls.make_outcome(block.decision, cost, reward)
    else:
        request = calls.make_void(block.decision.id, block.reason(error))
    transport = calls.transport
    try:
        yield from transport.send(request)
    except GeneratorExit:
        raise
    except BaseException as failure:
        if not transport.store((request,), failure) or not isinstance(failure, BursarError):
            raise
        # the work is done and its outcome is stored: an error would have it done twice
        _LOG.warning("the outcome of %s is kept for later: %s", block.decision.id, failure)
    else:
        yield from transport.deliver_stored()


class RemoteCampaign(CampaignVerbs, Blocking):
    """A campaign of a service, with the verbs, results and errors of :class:`bursar.Campaign`.

    Made by :meth:`bursar.Client.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, runner: Runner, transport: Transport, name: str) -> None:
        super().__init__(transport, name)
        self.runner = runner

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
        """Choose the arm to play next and reserve its cost; see :meth:`bursar.Campaign.ask`."""
        script = self.calls.ask(n, id=id, among=among, exclude=exclude, context=context)
        found: Decision | list[Decision] = self.runner.run_script(script)
        return found

    @contextmanager
    def decide(self, **options: Any) -> Iterator[DecisionBlock]:
        """Ask, and report at the end: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is reported, or the hold is released.
        """
        block = self.runner.run_script(_begin_block(self.calls, options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                self.runner.run_script(_end_block(self.calls, block, error))
            raise
        self.runner.run_script(_end_block(self.calls, block))

    def run(self, play: Callable[[str], tuple[Amount, float]], most: int | None = None) -> int:
        """Play until the budget is spent; ``play(arm)`` returns the cost and the reward."""
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
        """Yield the events of the log in order."""
        start: int | None = after
        while start is not None:
            page, start = self.runner.run_script(self.calls.load_events(start))
            yield from page

    def close(self) -> None:
        """Close the client's connections; the campaign itself goes on."""
        self.runner.close()


class AsyncCampaign(CampaignVerbs, Awaiting):
    """A campaign of a service; as :class:`RemoteCampaign`, with verbs and numbers awaited.

    Made by :meth:`bursar.AsyncClient.campaign`; nothing is sent before the first verb.
    """

    def __init__(self, runner: AsyncRunner, transport: Transport, name: str) -> None:
        super().__init__(transport, name)
        self.runner = runner

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
        """Choose the arm to play next and reserve its cost; see :meth:`bursar.Campaign.ask`."""
        script = self.calls.ask(n, id=id, among=among, exclude=exclude, context=context)
        found: Decision | list[Decision] = await self.runner.run_script(script)
        return found

    @asynccontextmanager
    async def decide(self, **options: Any) -> AsyncIterator[DecisionBlock]:
        """Ask, and report at the end: ``async with campaign.decide() as d: d.settle(…)``.

        If the body raises or is cancelled, what it settled so far is reported, or the hold is
        released.
        """
        block = await self.runner.run_script(_begin_block(self.calls, options))
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                await self.runner.run_shielded(_end_block(self.calls, block, error))
            raise
        await self.runner.run_shielded(_end_block(self.calls, block))

    async def run(
        self, play: Callable[[str], Awaitable[tuple[Amount, float]]], most: int | None = None
    ) -> int:
        """Play until the budget is spent; awaiting ``play(arm)`` gives the cost and the reward."""
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
        """Yield the events of the log in order."""
        start: int | None = after
        while start is not None:
            page, start = await self.runner.run_script(self.calls.load_events(start))
            for event in page:
                yield event

    async def close(self) -> None:
        """Close the client's connections; the campaign itself goes on."""
        await self.runner.close()
