"""A campaign: a budget, arms and a policy, alive. Ask, spend, tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cached_property
from typing import Any, cast, overload

from bursar.campaign import events as kinds
from bursar.campaign.audit import Verification, verify_campaign
from bursar.campaign.commands import (
    ask_command,
    ask_many_command,
    confirm_command,
    correct_command,
    decision_command,
    decision_id,
    tell_command,
    void_command,
)
from bursar.campaign.committer import Clock, Command, Committer, PendingCommand, SystemClock
from bursar.campaign.config import Config, check_text
from bursar.campaign.creation import check_arm_key, create_campaign, open_store
from bursar.campaign.decision import Decision, DecisionBlock, make_decision
from bursar.campaign.explanation import Explanation, explain_decision
from bursar.campaign.forecast import Forecast, make_forecast, make_forecast_input
from bursar.campaign.outcomes import fits
from bursar.campaign.records import OPEN
from bursar.campaign.state import encode_snapshot
from bursar.campaign.tokens import Grant, TokenSigner
from bursar.campaign.transaction import Transaction, release_expired
from bursar.campaign.views import ArmView, Status, make_arm_views, make_status
from bursar.errors import BudgetExhausted, BursarError, InvalidInput, NotActive, StaleVersion
from bursar.ledger import Event, Store
from bursar.money import Amount, Coin, Rounding

__all__ = ["Campaign", "CampaignChanges", "CampaignViews"]

# ==== campaign.change
# Changes of a running campaign: arms, budget, caps, pauses. Each is an event, and so audited.


class CampaignChanges:
    """The part of a campaign that changes its rules.

    ``by`` says who asked for a change; ``if_version`` refuses it when others came in between.
    """

    name: str
    coin: Coin
    _committer: Committer

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Add an arm; it is tried like any new one, and what others learned stays."""
        units = self.coin.units(f"the most that {key!r} can cost", max_cost)
        check_arm_key(key)
        if units == 0:
            raise InvalidInput(f"arm {key!r} must be able to cost something, got {max_cost!r}")
        check_text("by", by)

        def work(transaction: Transaction) -> None:
            self._fresh(transaction, if_version)
            if key in transaction.state.keys:
                state = transaction.state.arms[transaction.state.keys[key]].state
                raise InvalidInput(
                    f"there is or was an arm {key!r} ({state}); keys are never used again"
                )
            transaction.append_event(kinds.ARM_ADDED, key=key, max_cost=units, by=by)

        self._committer.execute(work)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> None:
        """Choose an arm no more, for now; its open decisions go on."""
        self._arm(key, kinds.ARM_PAUSED, ("active",), if_version, by=by, reason=reason)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Let a paused arm be chosen again."""
        self._arm(key, kinds.ARM_RESUMED, ("paused",), if_version, by=by)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Choose an arm never again; outcomes that are still to come are booked."""
        self._arm(key, kinds.ARM_RETIRED, ("active", "paused"), if_version, by=by)

    def set_budget(self, budget: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """Raise or cut the budget; a cut below what is spent and held grants no more asks."""
        self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Set what may be spent a "day" or on "arm:KEY"; None: as much as the budget allows."""
        self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> None:
        """Set the budget and caps in one go: all of it, or nothing if something is wrong."""
        units = None if budget is None else self.coin.units("budget", budget)
        limits = {
            check_text("scope", scope): None
            if cap is None
            else self.coin.units(f"the cap of {scope}", cap)
            for scope, cap in (caps or {}).items()
        }
        check_text("by", by)
        for scope in limits:
            if scope != "day" and not scope.startswith("arm:"):
                raise InvalidInput(f"a cap is for 'day' or 'arm:KEY', got {scope!r}")

        def work(transaction: Transaction) -> None:
            self._fresh(transaction, if_version)
            for scope in limits:
                if scope != "day":
                    transaction.arm(scope.removeprefix("arm:"))  # there must be one
            if units is not None:
                transaction.append_event(
                    kinds.BUDGET_SET, budget=units, before=transaction.state.budget, by=by
                )
            for scope, cap in limits.items():
                transaction.append_event(kinds.CAP_SET, scope=scope, cap=cap, by=by)

        self._committer.execute(work)

    def pause(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant no asks until resumed; outcomes are still booked."""
        self._whole(kinds.PAUSED, ("active",), if_version, by=by)

    def resume(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant asks again."""
        self._whole(kinds.RESUMED, ("paused",), if_version, by=by)

    def end(self, *, by: str = "", if_version: int | None = None) -> None:
        """Close the campaign for good; outcomes are still booked."""
        self._whole(kinds.CLOSED, ("active", "paused", "unreconciled"), if_version, by=by)

    def reconcile(self, gap: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """After a restore: count what was spent since the backup, and go on."""
        units = self.coin.units("gap", gap)
        self._whole(kinds.RECONCILED, ("unreconciled",), if_version, gap=units, by=by)

    def _arm(
        self, key: str, kind: str, states: tuple[str, ...], if_version: int | None, **body: Any
    ) -> None:
        for name, text in (("key", key), *body.items()):
            check_text(name, text)

        def work(transaction: Transaction) -> None:
            self._fresh(transaction, if_version)
            arm = transaction.state.arms[transaction.arm(key)]
            if arm.state in states:
                transaction.append_event(kind, key=key, **body)
            elif arm.state == "retired":
                raise InvalidInput(f"arm {key!r} is retired for good; add another")

        self._committer.execute(work)

    def _whole(
        self, kind: str, states: tuple[str, ...], if_version: int | None, **body: Any
    ) -> None:
        check_text("by", body["by"])

        def work(transaction: Transaction) -> None:
            self._fresh(transaction, if_version)
            now = transaction.state.stored
            fits(transaction.state, body.get("gap", 0))
            if now in states:
                transaction.append_event(kind, **body)
            elif kind != now or kind not in (kinds.PAUSED, kinds.CLOSED):
                raise NotActive(f"{self.name} is {now}; it cannot be {kind} now")

        self._committer.execute(work)

    def _fresh(self, transaction: Transaction, if_version: int | None) -> None:
        if if_version is not None and if_version != transaction.state.version:
            raise StaleVersion(
                f"{self.name} has changed: its version is {transaction.state.version}, not {if_version};"
                " look again, then change it"
            )


# ==== campaign.views
# Looking at a campaign: its arms, why it decided so, what is to come, whether it adds up.


class CampaignViews:
    """The part of a campaign that looks and changes nothing."""

    name: str
    store: Store
    _committer: Committer

    def arms(self) -> list[ArmView]:
        """Return every arm: counts, money, means and reward per cost with 95% intervals."""
        return cast(
            "list[ArmView]",
            self._committer.execute(lambda transaction: make_arm_views(transaction.state)),
        )

    def status(self) -> Status:
        """Return how the campaign stands: money, counts and rules of one moment."""
        return cast(
            Status,
            self._committer.execute(
                lambda transaction: make_status(transaction.state, transaction.now)
            ),
        )

    def holds(self) -> list[Decision]:
        """Return the decisions whose money is held, the oldest first."""

        def work(transaction: Transaction) -> list[Decision]:
            found = [one for one in transaction.state.decisions.values() if one.money in OPEN]
            found.sort(key=lambda one: one.seq)
            return [make_decision(transaction.state, one, replayed=False) for one in found]

        return cast("list[Decision]", self._committer.execute(work))

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was what it was, from the log as it was then.

        The log before it is read again (from a snapshot if there is one that is old enough), and
        the choice made once more; ``str()`` of what is returned says it in two sentences.
        """
        key = decision if isinstance(decision, str) else decision.id
        return explain_decision(self.store, self.name, key)

    def forecast(self, days: float | None = None) -> Forecast:
        """Return what the rest of the budget may bring, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until nothing fits.
        """
        return make_forecast(self._committer.execute(make_forecast_input), days)

    def verify(self, *, choices: bool = False) -> Verification:
        """Check the whole log: hashes, money, snapshot, and the state in memory.

        Raises CorruptLedger with the first event that is wrong.

        Parameters
        ----------
        choices : bool
            Make every choice once more, too, and compare it with the log.
        """
        live = self._committer.execute(
            lambda transaction: (transaction.state.seq, encode_snapshot(transaction.state))
        )
        return verify_campaign(self.store, self.name, live, choices)


DEFAULT = "omega-star-ucb:rho=0.25"
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


class Campaign(CampaignChanges, CampaignViews):
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
        self.store = open_store(storage)
        self._owns_store = isinstance(storage, str)
        if (budget is None) != (arms is None):
            raise InvalidInput("a new campaign has a budget and arms; give both, or neither")
        if budget is not None and arms is not None:
            config = Config.made(policy, Coin(exponent, currency), reward_range, rules)
            create_campaign(
                self.store, name, config, budget, arms, caps or {}, self.clock.wall(), by
            )
            TokenSigner(self.store)  # so that every backup has the secret, even the first
        self._committer = Committer(self.store, name, self.clock)
        state = self._committer.state()
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
            one: Decision = self._committer.execute(ask_command(id, among, exclude, context))
            return one
        if id is not None:
            raise InvalidInput("give n or id, not both: a batch has an id for each decision")
        many: list[Decision] = self._committer.execute(ask_many_command(n, among, exclude, context))
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
        grant = None if token is None else self._open_token(decision, token)
        told: Decision = self._committer.execute(
            tell_command(self.config, decision, cost, reward, report, rounding, grant)
        )
        return told

    def token(self, decision: Decision) -> str:
        """Return a word that vouches for a decision, should an older backup be restored."""
        return self._signer.token(self.name, decision)

    def _open_token(self, decision: Decision | str, token: str) -> Grant:
        return self._signer.opened(self.name, decision_id(decision), token)

    @cached_property
    def _signer(self) -> TokenSigner:
        return TokenSigner(self.store)

    def tell_many(self, outcomes: Sequence[Mapping[str, Any]]) -> list[Decision | BursarError]:
        """Book many outcomes in one commit: mappings with decision, cost, reward and report.

        What a rule refuses comes back as the error in its place; the others are booked.
        """
        return self.execute_batch([self._told(one) for one in outcomes])

    def _told(self, one: Mapping[str, Any]) -> Command:
        if "decision" not in one or not _OUTCOME.issuperset(one):
            raise InvalidInput(
                "an outcome has decision, cost, reward, report, rounding and token,"
                f" got {', '.join(map(repr, one)) or 'nothing'}"
            )
        token, told = one.get("token"), {key: one[key] for key in one if key != "token"}
        grant = None if token is None else self._open_token(one["decision"], token)
        return tell_command(self.config, **told, grant=grant)

    def execute(self, command: Command) -> Any:
        """Run a command of :mod:`bursar.campaign.commands`, commit it and return its result."""
        return self._committer.execute(command)

    def submit(self, pending: PendingCommand, urgent: bool, limit: int) -> None:
        """Queue a command for a caller on an event loop; see :meth:`Committer.submit`."""
        self._committer.submit(pending, urgent, limit)

    @property
    def waiting(self) -> int:
        """How many commands are queued."""
        return len(self._committer)

    def execute_batch(self, commands: Sequence[Command]) -> list[Any]:
        """Run many commands in one commit; return the result of each, or the error it raised.

        If the commit fails, every place has that error.
        """
        return self._committer.execute_batch(commands)

    def confirm(self, decision: Decision | str) -> Decision:
        """Say that the money of a decision is about to be spent (campaigns with ask_ttl)."""
        return cast(Decision, self._committer.execute(confirm_command(decision)))

    def void(self, decision: Decision | str, reason: str = "not used", *, by: str = "") -> Decision:
        """Give the hold of a decision back: it was not used."""
        return cast(Decision, self._committer.execute(void_command(decision, reason, by)))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> list[Decision | BursarError]:
        """Give many holds back in one commit; what a rule refuses comes back as the error."""
        return self.execute_batch([void_command(one, reason, by) for one in decisions])

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
        work = correct_command(self.config, decision, cost, reward, reason, by)
        return cast(Decision, self._committer.execute(work))

    def decision(self, id: str) -> Decision:
        """Return a decision as it stands now."""
        return cast(Decision, self._committer.execute(decision_command(id)))

    def expire(self) -> int:
        """End what is overdue now, and return how many; every ask and tell does so as well."""
        return cast(int, self._committer.execute(release_expired))

    @contextmanager
    def decide(self, **options: Any) -> Iterator[DecisionBlock]:
        """Ask, and settle by itself: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is told, or the hold is given back.
        """
        settling = DecisionBlock(self, self.ask(**options))
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
        return self.coin.amount(self._committer.state().budget)

    @property
    def spent(self) -> Decimal:
        """What was spent: outcomes told, and holds that lapsed."""
        return self.coin.amount(self._committer.state().spent)

    @property
    def held(self) -> Decimal:
        """What open decisions hold."""
        return self.coin.amount(self._committer.state().held)

    @property
    def available(self) -> Decimal:
        """What is left; below 0 after overruns, or after the budget was cut."""
        return self.coin.amount(self._committer.state().available)

    @property
    def overrun(self) -> Decimal:
        """What costs exceeded their holds by."""
        return self.coin.amount(self._committer.state().overrun)

    @property
    def state(self) -> str:
        """active, paused, overdrawn, exhausted, unreconciled or closed."""
        return self._committer.state().state

    @property
    def open(self) -> int:
        """How many decisions wait for an outcome."""
        return len(self._committer.state().decisions)

    @property
    def version(self) -> int:
        """Number of the last change of rules, for changes that must not cross others."""
        return self._committer.state().version

    @property
    def alarms(self) -> list[str]:
        """What an operator should know: clocks that were set, policies that failed."""
        return [*self._committer.trusted.alarms, *self._committer.state().flags]

    def trust_clock(self) -> None:
        """Say that the time of day is right, after an alarm that it was set: holds expire again."""
        self._committer.trusted.trust()

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield what happened, in order."""
        for event, _ in self.store.read(self.name, after):
            kinds.check_kind(event)
            yield event

    def close(self) -> None:
        """Commit what is queued; close the store if this campaign opened it."""
        self._committer.close()
        if self._owns_store:
            self.store.close()
