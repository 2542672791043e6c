"""A campaign elsewhere, as if it were here."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar, overload

from bursar.campaign import Config, Decision
from bursar.campaign.config import printable
from bursar.client.admin_calls import ChangeCalls, ViewCalls
from bursar.client.decision_calls import EndCalls, OutcomeCalls
from bursar.client.script import AsyncRunner, Awaiting, Blocking, Runner, Script, Verb, View
from bursar.client.spool import SpoolingTransport
from bursar.client.transport import Request
from bursar.errors import BudgetExhausted, BursarError, InvalidInput
from bursar.ledger import Event
from bursar.money import Amount

__all__ = ["AsyncCampaign", "Handle", "RemoteCampaign", "RemoteDecisionBlock", "Scripts"]

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


# ==== client.settling
# A decision in the hands of a block: settled or given back, whatever happens.

_LOG = logging.getLogger("bursar.client")


class RemoteDecisionBlock:
    """A decision and what the block says of it."""

    def __init__(self, scripts: OutcomeCalls, rules: Config | None, decision: Decision) -> None:
        self._scripts = scripts
        self._rules = rules
        self.decision = decision
        self._outcome: dict[str, Any] = {}

    @classmethod
    def begin(cls, scripts: OutcomeCalls, options: dict[str, Any]) -> Script[RemoteDecisionBlock]:
        """Ask, after a look at the rules: what breaks them is refused where it is said."""
        if options.get("n") is not None:
            raise InvalidInput("a block is for one decision; ask(n) gives many")
        rules = yield from scripts.rules()
        return cls(scripts, rules, (yield from scripts.ask(**options)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decision, name)

    def settle(self, cost: Amount | None = None, reward: float | None = None) -> None:
        """Say what it cost and brought; booked when the block ends. The last word counts."""
        self._scripts.outcome(cost, reward)  # refused here, where it was said
        if cost is not None:
            self._outcome["cost"] = cost
        if reward is not None:
            low, high = self._rules.reward_range if self._rules else (reward, reward)
            if not low <= reward <= high:
                raise InvalidInput(
                    f"reward must be in its range [{low:g}, {high:g}], got {reward!r}"
                )
            self._outcome["reward"] = reward

    def finish(self) -> Script[None]:
        """Book what was said; a block that said nothing of the cost leaves the hold to lapse."""
        if "cost" not in self._outcome:
            raise InvalidInput(
                f"the block of decision {self.decision.id!r} ended without settle(cost=…); its hold"
                " stays until it lapses: tell its cost, or void it"
            )
        yield from self._send(self._told())

    def abandon(self, error: BaseException) -> Script[None]:
        """Book what was said before the block raised, or give the hold back."""
        reason = printable(f"{type(error).__name__}: {error}"[:200])
        call = self._told() if self._outcome else self._scripts.voiding(self.decision.id, reason)
        try:
            yield from self._send(call)
        except BursarError as trouble:  # the block's own error is the one to see
            error.add_note(
                f"the outcome of decision {self.decision.id!r} was not delivered: {trouble}"
            )

    def _told(self) -> Request[Decision]:
        outcome = self._outcome
        return self._scripts.told(self.decision, outcome.get("cost"), outcome.get("reward"))

    def _send(self, call: Request[Decision]) -> Script[None]:
        line = self._scripts.line
        try:
            yield from line.call(call)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not line.keep((call,), error) or not isinstance(error, BursarError):
                raise
            # the work is done and its outcome is safe: an error would have it done twice
            _LOG.warning("the outcome of %s is kept for later: %s", self.decision.id, error)
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
    def decide(self, **options: Any) -> Iterator[RemoteDecisionBlock]:
        """Ask, and settle by itself: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is told, or the hold is given back.
        """
        settling = self.play(RemoteDecisionBlock.begin(self.scripts, options))
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
    async def decide(self, **options: Any) -> AsyncIterator[RemoteDecisionBlock]:
        """Ask, and settle by itself: ``async with campaign.decide() as d: d.settle(…)``.

        If the body raises or is cancelled, what it settled so far is told, or the hold given back.
        """
        settling = await self.play(RemoteDecisionBlock.begin(self.scripts, options))
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
