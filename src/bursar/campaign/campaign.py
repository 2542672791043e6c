"""A campaign: a budget, arms and a policy, alive. Ask, spend, tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from typing import Any, cast, overload

from bursar.campaign.change import Changes
from bursar.campaign.clock import Clock, SystemClock
from bursar.campaign.config import Config
from bursar.campaign.decision import Decision
from bursar.campaign.desk import Desk, Work
from bursar.campaign.opening import created, opened
from bursar.campaign.orphan import Orphan, Seal
from bursar.campaign.reaping import reap
from bursar.campaign.request import (
    ask_many_of,
    ask_of,
    confirm_of,
    correct_of,
    decision_of,
    id_of,
    tell_of,
    void_of,
)
from bursar.campaign.settling import Settling
from bursar.campaign.views import Views
from bursar.errors import BudgetExhausted, BursarError, InvalidInput
from bursar.ledger import Event, Store
from bursar.money import Amount, Coin, Rounding

__all__ = ["Campaign"]

DEFAULT = "omega-star-ucb:rho=0.25"
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class Campaign(Changes, Views):
    """A budget, arms and a policy: ask which arm to play, tell what it cost and brought.

    Parameters
    ----------
    name : str
        What the store knows it by. With the name alone an existing campaign is opened.
    budget : amount
        What may be spent in all. Amounts are texts or Decimals; floats only where they are exact.
    arms : mapping of str to amount
        The arms and the most that each can cost.
    policy : str
        Slug of the policy.
    reward_range : (float, float)
        The least and most that a decision can bring.
    storage : str or Store
        "memory", "sqlite:///file.db" or "postgresql://…".
    caps : mapping of str to amount
        "day" and "arm:KEY": what may be spent a day (UTC), or on an arm.
    currency, exponent
        See :class:`bursar.money.Coin`.
    clock : Clock
        Where the time comes from.
    by : str
        Who makes it, for the audit.
    **rules
        See :class:`bursar.campaign.config.Config`.

    Examples
    --------
    >>> campaign = Campaign("llm", budget="1.00", arms={"small": "0.004", "large": "0.05"})
    >>> decision = campaign.ask()
    >>> decision.arm, decision.hold
    ('small', Decimal('0.004000'))
    >>> done = campaign.tell(decision, cost="0.0031", reward=0.8)
    >>> campaign.spent, campaign.held, campaign.available
    (Decimal('0.003100'), Decimal('0.000000'), Decimal('0.996900'))
    """

    def __init__(
        self,
        name: str,
        budget: Amount | None = None,
        arms: Mapping[str, Amount] | None = None,
        policy: str = DEFAULT,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        storage: str | Store = "memory",
        caps: Mapping[str, Amount] | None = None,
        currency: str = "",
        exponent: int = 6,
        clock: Clock | None = None,
        by: str = "",
        **rules: Any,
    ) -> None:
        self.clock = clock or SystemClock()
        self.store = opened(storage)
        if (budget is None) != (arms is None):
            raise InvalidInput("a new campaign has a budget and arms; give both, or neither")
        if budget is not None and arms is not None:
            config = Config.made(policy, Coin(exponent, currency), reward_range, rules)
            created(self.store, name, config, budget, arms, caps or {}, self.clock.wall(), by)
            Seal(self.store)  # so that every backup has the secret, even the first
        self._desk = Desk(self.store, name, self.clock)
        state = self._desk.state()
        self.name, self.config, self.coin = name, state.config, state.config.coin

    # asking and telling

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
        """Return the arm to play next, its money held; raise BudgetExhausted when nothing fits.

        Parameters
        ----------
        n : int, optional
            Ask for so many at once, in one commit; fewer are returned if the budget ends on the
            way.
        id : str, optional
            A name of your own for the decision: asking again with it returns the same one.
        among, exclude : sequence of str, optional
            Choose only among these arms; not among those.
        context : dict, optional
            What to note with the decision: plain data of at most 16 KiB.
        """
        if n is None:
            one: Decision = self._desk.serve(ask_of(id, among, exclude, context))
            return one
        if id is not None:
            raise InvalidInput("give n or id, not both: a batch has an id for each decision")
        many: list[Decision] = self._desk.serve(ask_many_of(n, among, exclude, context))
        return many

    def tell(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: float | None = None,
        *,
        report: str | None = None,
        rounding: Rounding | None = None,
        token: str | None = None,
    ) -> Decision:
        """Book what a decision cost and brought, together or in two calls; twice is once.

        Parameters
        ----------
        decision : Decision or str
            What ask() returned, or its id.
        cost : amount, optional
            What it did cost, even if that is more than was held.
        reward : float, optional
            What it brought; may come days later.
        report : str, optional
            A name of your own for this report, so that sending it again is told from another one.
        rounding : {"up", "down", "nearest"}, optional
            For costs with more digits than the campaign keeps.
        token : str, optional
            What :meth:`token` gave for the decision: with it, an outcome is booked even if a
            restored backup does not know the decision any more.
        """
        orphan = None if token is None else self._orphan(decision, token)
        told: Decision = self._desk.serve(
            tell_of(self.config, decision, cost, reward, report, rounding, orphan)
        )
        return told

    def token(self, decision: Decision) -> str:
        """Return a word that vouches for a decision, should an older backup be restored."""
        return self._seal.token(self.name, decision)

    def _orphan(self, decision: Decision | str, token: str) -> Orphan:
        return self._seal.opened(self.name, id_of(decision), token)

    @cached_property
    def _seal(self) -> Seal:
        return Seal(self.store)

    def tell_many(self, outcomes: Sequence[Mapping[str, Any]]) -> list[Decision | BursarError]:
        """Book many outcomes in one commit: mappings with decision, cost, reward and report.

        What a rule refuses comes back as the error in its place; the others are booked.
        """
        return self.together([self._told(one) for one in outcomes])

    def _told(self, one: Mapping[str, Any]) -> Work:
        if "decision" not in one or not _OUTCOME.issuperset(one):
            raise InvalidInput(
                "an outcome has decision, cost, reward, report, rounding and token,"
                f" got {', '.join(map(repr, one)) or 'nothing'}"
            )
        token, told = one.get("token"), {key: one[key] for key in one if key != "token"}
        orphan = None if token is None else self._orphan(one["decision"], token)
        return tell_of(self.config, **told, orphan=orphan)

    def together(self, works: Sequence[Work]) -> list[Any]:
        """Do many works of :mod:`bursar.campaign.request` in one commit.

        Each place of what is returned has the result of that work, or the error it ended with; if
        the commit failed, all have that error.
        """
        return self._desk.together(works)

    def confirm(self, decision: Decision | str) -> Decision:
        """Say that the money of a decision is about to be spent (campaigns with ask_ttl)."""
        return cast(Decision, self._desk.serve(confirm_of(decision)))

    def void(self, decision: Decision | str, reason: str = "not used", *, by: str = "") -> Decision:
        """Give the hold of a decision back: it was not used."""
        return cast(Decision, self._desk.serve(void_of(decision, reason, by)))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> list[Decision | BursarError]:
        """Give many holds back in one commit; what a rule refuses comes back as the error."""
        return self.together([void_of(one, reason, by) for one in decisions])

    def correct(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: float | None = None,
        reason: str = "",
        *,
        by: str = "",
    ) -> Decision:
        """Put an outcome right that was told wrongly; the first telling stays in the log."""
        work = correct_of(self.config, decision, cost, reward, reason, by)
        return cast(Decision, self._desk.serve(work))

    def decision(self, id: str) -> Decision:
        """Return a decision as it stands now."""
        return cast(Decision, self._desk.serve(decision_of(id)))

    def expire(self) -> int:
        """End what is overdue now, and return how many; every ask and tell does so as well."""
        return cast(int, self._desk.serve(reap))

    @contextmanager
    def decide(self, **options: Any) -> Iterator[Settling]:
        """Ask, and settle by itself: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is told, or the hold is given back.
        """
        settling = Settling(self, self.ask(**options))
        try:
            yield settling
        except BaseException as error:
            settling.abandon(error)
            raise
        settling.finish()

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

    # looking

    @property
    def budget(self) -> Decimal:
        """What may be spent in all."""
        return self.coin.amount(self._desk.state().budget)

    @property
    def spent(self) -> Decimal:
        """What was spent: outcomes told, and holds that lapsed."""
        return self.coin.amount(self._desk.state().spent)

    @property
    def held(self) -> Decimal:
        """What open decisions hold."""
        return self.coin.amount(self._desk.state().held)

    @property
    def available(self) -> Decimal:
        """What is left; below 0 after overruns, or after the budget was cut."""
        return self.coin.amount(self._desk.state().available)

    @property
    def overrun(self) -> Decimal:
        """What costs exceeded their holds by."""
        return self.coin.amount(self._desk.state().overrun)

    @property
    def state(self) -> str:
        """active, paused, overdrawn, exhausted, unreconciled or closed."""
        return self._desk.state().state

    @property
    def open(self) -> int:
        """How many decisions wait for an outcome."""
        return len(self._desk.state().choices)

    @property
    def version(self) -> int:
        """Number of the last change of rules, for changes that must not cross others."""
        return self._desk.state().version

    @property
    def alarms(self) -> list[str]:
        """What an operator should know: clocks that were set, policies that failed."""
        return [*self._desk.alarms, *self._desk.state().flags]

    def trust_clock(self) -> None:
        """Say that the time of day is right, after an alarm that it was set: holds expire again."""
        self._desk.trust_clock()

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield what happened, in order."""
        for event, _ in self.store.read(self.name, after):
            yield event

    def close(self) -> None:
        """Give back files and connections; the campaign itself goes on."""
        self.store.close()
