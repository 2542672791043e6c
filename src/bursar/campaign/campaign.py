"""A live campaign: a budget, arms and a policy. Ask which arm to play, then tell the outcome."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from functools import cached_property
from typing import Any, Unpack, overload

from bursar import errors
from bursar.campaign import commands
from bursar.campaign import events as kinds
from bursar.campaign.activity import DAY, read_recent_events
from bursar.campaign.ask_options import ANY, AskKeywords, make_ask_options
from bursar.campaign.audit import Verification, save_verification, verify_campaign
from bursar.campaign.committer import Clock, Command, Committer, SystemClock, T
from bursar.campaign.config import DEFAULT_POLICY, Config
from bursar.campaign.creation import (
    check_arm,
    check_scope,
    create_campaign,
    open_store,
)
from bursar.campaign.decision import (
    Decision,
    DecisionBlock,
    DecisionList,
    Grant,
    Playable,
    TokenSigner,
    check_outcome_names,
    html_table,
)
from bursar.campaign.explanation import Explanation, explain_decision
from bursar.campaign.forecast import Forecast, ForecastModel, make_forecast
from bursar.campaign.overruns import is_overrunning, list_overrun_alarms
from bursar.campaign.state import State, encode_snapshot
from bursar.campaign.transaction import Transaction, release_expired
from bursar.campaign.views import (
    ArmView,
    LearnedHistory,
    Status,
    copy_arms,
    make_arm_views,
    make_status,
)
from bursar.formatting import pluralize
from bursar.history import COLUMNS, Skip, read_history, split_arms
from bursar.ledger import Event, Store
from bursar.ledger.store import unknown_campaign
from bursar.money import Amount, Coin, Rounding, find_exponent
from bursar.validation import Reward, check_text

_ALARM_EVENTS = 4000  # that the search for a change of the rate reads
_RATE_AGE = 60_000_000  # µs until it is searched for again


class Campaign(Playable):
    """A budget, arms and a policy: ask which arm to play, then tell what it cost and earned.

    Parameters
    ----------
    name : str
        Its name in the store. With the name alone an existing campaign is opened.
    budget : amount
        What may be spent in all. Amounts are texts or Decimals; floats only if they are exact.
    arms : mapping of str to amount
        The arms and the maximum cost of each.
    policy : str
        Slug of the policy.
    reward_range : (float, float)
        The least and greatest reward of a decision.
    storage : str or Store
        "memory", "sqlite:///file.db" or "postgresql://…".
    caps : mapping of str to amount
        "day" and "arm:KEY": what may be spent per day (UTC), or on an arm.
    currency, exponent
        See :class:`bursar.money.Coin`. By default money has 6 decimals, or as many more as the
        amounts given here need.
    clock : Clock
        Where the time comes from.
    by : str
        Who creates it, for the audit.
    history : table, optional
        Past outcomes of its arms, see :meth:`learn_from`; what was learned before counts once.
    **rules
        See :data:`bursar.campaign.config.RULES`.

    Examples
    --------
    >>> campaign = Campaign("llm", budget="1.00", arms={"small": "0.004", "large": "0.05"})
    >>> decision = campaign.ask()
    >>> decision.arm, decision.hold
    ('small', Decimal('0.004000'))
    >>> done = campaign.tell(decision, cost="0.0031", reward=0.8)
    >>> campaign.spent, campaign.held, campaign.available
    (Decimal('0.003100'), Decimal('0.000000'), Decimal('0.996900'))
    >>> campaign
    Campaign('llm', spent 0.0031 of 1.00, 2 arms, sf-omega-ucb, active)
    """

    def __init__(
        self,
        name: str,
        budget: Amount | None = None,
        arms: Mapping[str, Amount] | None = None,
        policy: str = DEFAULT_POLICY,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        storage: str | Store = "memory",
        caps: Mapping[str, Amount] | None = None,
        currency: str = "",
        exponent: int | None = None,
        clock: Clock | None = None,
        by: str = "",
        history: Any = None,
        **rules: Any,
    ) -> None:
        self.clock = clock or SystemClock()
        self.store = open_store(storage)
        self._owns_store = isinstance(storage, str)
        if (budget is None) != (arms is None):
            raise errors.InvalidInput(
                "a new campaign needs a budget and arms; give both, or neither"
            )
        if budget is not None and arms is not None:
            if exponent is None:
                exponent = find_exponent(budget, arms, caps or {}, rules.get("min_cost"))
            config = Config.make(policy, Coin(exponent, currency), reward_range, rules)
            if history is not None:  # refused before there is a campaign
                history = read_history(history, COLUMNS, reward_range=config.reward_range)
                split_arms(history, arms, history.name, "refuse")
            create_campaign(
                self.store, name, config,
                budget=budget, arms=arms, caps=caps or {}, now=self.clock.wall(), by=by,
            )  # fmt: skip
            TokenSigner(self.store)  # so that every backup has the secret, even the first
        elif not isinstance(name, str) or not name.isprintable():  # a database might not take it
            raise unknown_campaign(name, self.store.url)
        self.committer = Committer(self.store, name, self.clock)
        self.name, self.config = name, self._state.config
        self.coin = self.config.coin
        if history is not None:
            self.learn_from(history, by=by)

    def __repr__(self) -> str:
        state, amount = self._state, self.coin.format
        return (
            f"Campaign({self.name!r}, spent {amount(state.spent)} of {amount(state.budget)},"
            f" {pluralize(len(state.arms), 'arm')}, {self.config.policy}, {state.state})"
        )

    def _repr_html_(self) -> str:
        state, amount = self._state, self.coin.format
        return html_table({
            "campaign": self.name, "state": state.state, "budget": amount(state.budget),
            "spent": amount(state.spent), "held": amount(state.held),
            "available": amount(state.available), "policy": self.config.policy,
            "arms": ", ".join(arm.key for arm in state.arms),
        })  # fmt: skip

    # asking

    @overload
    def ask(self, *, id: str | None = None, **options: Unpack[AskKeywords]) -> Decision: ...

    @overload
    def ask(self, n: int, **options: Unpack[AskKeywords]) -> DecisionList: ...

    def ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
        hold: Amount | None = None,
    ) -> Decision | DecisionList:
        """Return the arm to play next and hold its cost; raise BudgetExhausted if no arm fits.

        Parameters
        ----------
        n : int, optional
            Ask for n decisions in one commit; fewer are returned if the budget ends on the way,
            and ``.reason`` of the list says why.
        id : str, optional
            A name of your own for the decision: asking again with it returns the same one.
        among, exclude : sequence of str, optional
            Arms to choose among; arms to leave out.
        context : dict, optional
            What to record with the decision: plain data of at most 16 KiB. Exports have it; no
            policy sees it.
        hold : amount, optional
            The most that this decision should cost, if you know: it is held in place of what the
            campaign's rule says, and never more than the maximum of the arm.
        """
        options = ANY
        if among is not None or exclude is not None or context is not None or hold is not None:
            options = make_ask_options(among, exclude, context, hold)
        if n is None:
            return self.committer.execute(commands.ask_command(id, options))
        if id is not None:
            raise errors.InvalidInput("give n or id, not both: a batch has an id for each decision")
        return self.execute(commands.ask_many_command(n, options))

    @contextmanager
    def decide(self, **options: Any) -> Iterator[DecisionBlock]:
        """Ask in a block that reports: ``with campaign.decide() as d: d.settle(cost=…, reward=…)``.

        If the body raises, what it settled so far is reported, or the hold is released.
        """
        DecisionBlock.check_options(options)
        block = DecisionBlock(self.ask(**options), self._check_outcome)
        try:
            yield block
        except BaseException as error:
            with block.keep_error(error):
                if block.outcome:
                    self.tell(block.decision, **block.outcome)
                else:
                    self.void(block.decision, reason=block.reason(error))
            raise
        block.check_settled()
        self.tell(block.decision, **block.outcome)

    def _check_outcome(self, cost: Amount | None, reward: Reward | None) -> None:
        if cost is not None:
            self.config.units("cost", cost)
        if reward is not None:
            self.config.check_reward(reward)

    # outcomes

    def tell(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: Reward | None = None,
        *,
        report: str | None = None,
        rounding: Rounding | None = None,
        token: str | None = None,
    ) -> Decision:
        """Record what a decision cost and earned, in one call or two; a repeat counts once.

        Parameters
        ----------
        decision : Decision or str
            What ask() returned, or its id.
        cost : amount, optional
            What it cost, even if that is more than was held.
        reward : float or bool, optional
            What it earned; may come days later. True is 1, False is 0.
        report : str, optional
            A name of your own for this report, so that a retry is told from another report.
        rounding : {"up", "down", "nearest"}, optional
            For costs with more digits than the campaign keeps; by default as the campaign rounds.
        token : str, optional
            What :meth:`token` returned for the decision: with it, an outcome is recorded even if
            the ledger was restored from a backup that does not have the decision.
        """
        grant = None if token is None else self._open_token(decision, token)
        return self.committer.execute(
            commands.tell_command(self.config, decision, cost, reward, report, rounding, grant)
        )

    def tell_many(
        self, outcomes: Sequence[Mapping[str, Any]]
    ) -> list[Decision | errors.BursarError]:
        """Record many outcomes in one commit: mappings with decision, cost, reward and report.

        An outcome that is refused has its error in the list; the others are recorded.
        """
        return self.execute_batch([self._tell_command(one) for one in outcomes])

    def _tell_command(self, outcome: Mapping[str, Any]) -> Command[Decision]:
        check_outcome_names(outcome)
        given = dict(outcome)
        token = given.pop("token", None)
        grant = None if token is None else self._open_token(given["decision"], token)
        return commands.tell_command(self.config, **given, grant=grant)

    def confirm(self, decision: Decision | str) -> Decision:
        """Confirm that a decision is about to be used (campaigns with ask_ttl)."""
        return self.execute(commands.confirm_command(decision))

    def void(self, decision: Decision | str, reason: str = "not used", *, by: str = "") -> Decision:
        """Release the hold of a decision that was not used."""
        return self.execute(commands.void_command(decision, reason, by))

    def void_many(
        self, decisions: Sequence[Decision | str], reason: str = "not used", *, by: str = ""
    ) -> list[Decision | errors.BursarError]:
        """Release many holds in one commit; one that is refused has its error in the list."""
        return self.execute_batch([commands.void_command(one, reason, by) for one in decisions])

    def correct(
        self,
        decision: Decision | str,
        cost: Amount | None = None,
        reward: Reward | None = None,
        reason: str = "",
        *,
        by: str = "",
    ) -> Decision:
        """Replace an outcome that was wrong; the first report stays in the log."""
        return self.execute(
            commands.correct_command(self.config, decision, cost, reward, reason, by)
        )

    def learn_from(
        self,
        table: Any,
        *,
        weight: float = 1.0,
        source: str = "",
        arm: str = "arm",
        reward: str = "reward",
        cost: str = "cost",
        unknown: Skip = "refuse",
        missing: Skip = "refuse",
        by: str = "",
    ) -> LearnedHistory:
        """Let past outcomes count for the policy, so that it need not pay to learn them again.

        No money moves, and they are no decisions. The same table again changes nothing, also with
        its rows in another order or in another kind of file; arms that were added since are
        learned. A table with more rows is another table: pass the new rows only.

        Parameters
        ----------
        table : table
            One row per outcome: the path of a CSV (also .gz or .zip) or Parquet file, an Arrow
            table or a frame of pandas or polars, a mapping of columns, or a list of mappings.
        weight : float
            How many plays an outcome counts as, above 0 and at most 1: less for outcomes that are
            old, or from a similar task.
        source : str
            Where they come from, for explanations; by default the name of the file.
        arm, reward, cost : str
            The names of the columns.
        unknown, missing : {"refuse", "skip"}
            Whether a table with arms that the campaign does not have, or with rows that lack an
            arm, a reward or a cost, is refused or such rows are left out.
        by : str
            Who does it, for the audit.

        Examples
        --------
        >>> campaign = Campaign("llm", budget="1.00", arms={"small": "0.004", "large": "0.05"})
        >>> evals = {"arm": ["small", "small"], "reward": [1, 0], "cost": [0.002, 0.001]}
        >>> print(campaign.learn_from(evals, weight=0.5, source="evals of May"))
        Learned 2 past outcomes of 1 arm from evals of May with weight 0.5.
        >>> print(campaign.learn_from(evals, weight=0.5))
        the table was learned before, in event 2; nothing changed.
        >>> campaign.arms()[0].history.outcomes  # though it was never asked for here
        2
        """
        names = {"arm": arm, "reward": reward, "cost": cost}
        found = read_history(table, names, missing, self.config.reward_range)
        return self.execute(commands.learn_command(self.config, found, weight, source, unknown, by))

    def expire(self) -> int:
        """End overdue holds now, and return how many; every ask and tell does so as well."""
        return self.execute(release_expired)

    def token(self, decision: Decision) -> str:
        """Return a signed token with which the decision can be settled after a restore."""
        return self._signer.sign(self.name, decision)

    def _open_token(self, decision: Decision | str, token: str) -> Grant:
        return self._signer.open(self.name, commands.decision_id(decision), token)

    @cached_property
    def _signer(self) -> TokenSigner:
        return TokenSigner(self.store)

    # reading

    def decision(self, id: str) -> Decision:
        """Return a decision as it stands now."""
        return self.execute(commands.decision_command(id))

    def holds(self) -> list[Decision]:
        """Return the decisions whose money is held, the oldest first."""
        return self.execute(commands.list_holds)

    def arms(self) -> list[ArmView]:
        """Return every arm: counts, money, means and reward per cost with 95% intervals."""
        return make_arm_views(self.execute(lambda transaction: copy_arms(transaction.state)))

    def status(self) -> Status:
        """Return how the campaign stands: its money, counts and rules at one moment."""
        return self.execute(lambda transaction: make_status(transaction.state, transaction.now))

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was made, from the log as it was then.

        The log before it is read again (from a snapshot if there is an old enough one), and the
        choice is made once more; ``str()`` of the result explains it in two sentences.
        """
        return explain_decision(self.store, self.name, commands.decision_id(decision))

    def forecast(self, days: float | None = None) -> Forecast:
        """Return what the rest of the budget may earn, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until no arm fits.
        """
        recent = read_recent_events(self.store, self.name)
        return make_forecast(self.execute(lambda one: ForecastModel(one, recent)), days)

    def _check_rate(self) -> None:
        """Look for a sudden change of the rate of spending; it is an alarm for a day."""
        committer = self.committer
        committer.rate_checked = now = self.clock.wall()
        found, before = None, committer.rate_change
        if self._state.state == "active":
            recent = read_recent_events(self.store, self.name, _ALARM_EVENTS)
            model = self.execute(lambda one: ForecastModel(one, recent))
            found = model.find_change()
            if found is None and before is not None and model.recent.begins > before.since:
                found = before  # what was read does not reach back to it any more
        if found is not None and now - found.since > DAY:
            found = None
        committer.rate_change = found
        if found is None:
            committer.alarms.pop("rate", None)
        else:
            committer.alarms["rate"] = f"{self.name}: {found.describe(self.coin, now)}"

    def verify(
        self, *, choices: bool = False, pause: Callable[[], None] | None = None
    ) -> Verification:
        """Check the whole log: hashes, money, snapshot, and the state in memory.

        Raises CorruptLedger with the first event that is wrong. The store keeps when a campaign
        was verified last.

        Parameters
        ----------
        choices : bool
            Make every choice once more, too, and compare it with the log.
        pause : callable, optional
            Called after every 200 events, to let others work.
        """
        live = self.execute(
            lambda transaction: (transaction.state.seq, encode_snapshot(transaction.state))
        )
        alarms = self.committer.alarms
        try:
            found = verify_campaign(self.store, self.name, live, choices, pause)
        except errors.CorruptLedger as error:
            alarms["verification"] = f"the log is damaged: {error}"
            save_verification(self.store, self.name, self.clock.wall(), str(error))
            raise
        alarms.pop("verification", None)
        save_verification(self.store, self.name, self.clock.wall())
        return found

    def events(self, after: int = 0) -> Iterator[Event]:
        """Yield the events of the log after a number, in order."""
        for event, _ in self.store.read(self.name, after):
            kinds.check_kind(event)
            yield event

    @property
    def _state(self) -> State:
        return self.execute(lambda transaction: transaction.state)

    @property
    def budget(self) -> Decimal:
        """What may be spent in all."""
        return self.coin.amount(self._state.budget)

    @property
    def spent(self) -> Decimal:
        """What was spent: reported costs, and holds that lapsed."""
        return self.coin.amount(self._state.spent)

    @property
    def held(self) -> Decimal:
        """What open decisions hold."""
        return self.coin.amount(self._state.held)

    @property
    def available(self) -> Decimal:
        """What is left; below 0 after overruns, or after the budget was cut."""
        return self.coin.amount(self._state.available)

    @property
    def overrun(self) -> Decimal:
        """The sum by which costs exceeded their holds."""
        return self.coin.amount(self._state.overrun)

    @property
    def state(self) -> str:
        """active, paused, overdrawn, exhausted, unreconciled or closed."""
        return self._state.state

    @property
    def open(self) -> int:
        """The number of decisions that wait for an outcome."""
        return len(self._state.decisions)

    @property
    def version(self) -> int:
        """Number of the last change of rules, for changes that must not cross others."""
        return self._state.version

    @property
    def alarms(self) -> list[str]:
        """What an operator should know: overruns, failures, clocks set, and sudden changes."""
        flags = self.execute(  # first: reading it may raise an alarm
            lambda transaction: [*list_overrun_alarms(transaction.state), *transaction.state.flags]
        )
        committer = self.committer
        if abs(self.clock.wall() - committer.rate_checked) >= _RATE_AGE:
            with suppress(errors.BursarError):  # a damaged log has an alarm of its own
                self._check_rate()
        return [*committer.trusted.alarms, *committer.alarms.copy().values(), *flags]

    # changing rules: each is an event. `by` says who changes them, and `if_version` refuses
    # the change if there was another one since that version

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Add an arm; it is tried like any new one, and what others learned stays."""
        body = {"key": key, "max_cost": check_arm(self.coin, key, max_cost), "by": by}

        def command(transaction: Transaction) -> None:
            state = transaction.state
            if key in state.keys:
                raise errors.InvalidInput(
                    f"there is or was an arm {key!r} ({state.arms[state.keys[key]].state});"
                    " keys are never used again"
                )
            transaction.append_event(kinds.ARM_ADDED, body)

        self._change(command, by, if_version)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> None:
        """Stop choosing an arm for now; its open decisions go on."""
        self._change_arm(kinds.ARM_PAUSED, ("active",), if_version, key=key, by=by, reason=reason)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Let a paused arm be chosen again."""
        self._change_arm(kinds.ARM_RESUMED, ("paused",), if_version, key=key, by=by)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Stop choosing an arm for good; outcomes of its open decisions are still recorded."""
        self._change_arm(kinds.ARM_RETIRED, ("active", "paused"), if_version, key=key, by=by)

    def _change_arm(
        self, kind: str, states: tuple[str, ...], if_version: int | None, **body: str
    ) -> None:
        for name, text in body.items():
            check_text(name, text)

        def command(transaction: Transaction) -> None:
            state = transaction.state
            arm = state.arms[transaction.arm_number(body["key"])]
            if arm.state in states:
                # else its next cost above a hold would pause it again
                anew = kind == kinds.ARM_RESUMED and state.config.quantile is not None
                renewed = {"anew": True} if anew and is_overrunning(state, arm) else {}
                transaction.append_event(kind, body | renewed)
            elif arm.state == "retired":
                raise errors.InvalidInput(f"arm {arm.key!r} is retired for good; add another")

        self._change(command, body["by"], if_version)

    def set_budget(self, budget: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """Raise or cut the budget; below what is spent and held no more asks are granted."""
        self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Set what may be spent per "day" or on "arm:KEY"; None removes the cap."""
        self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> None:
        """Set the budget and caps in one commit: all of them, or none if one is refused."""
        units = None if budget is None else self.coin.units("budget", budget)
        limits = {
            check_scope(scope): None if cap is None else self.coin.units(f"the cap of {scope}", cap)
            for scope, cap in (caps or {}).items()
        }

        def command(transaction: Transaction) -> None:
            for scope in limits:
                if scope != "day":
                    transaction.arm_number(scope.removeprefix("arm:"))  # it must exist
            if units is not None:
                body = {"budget": units, "before": transaction.state.budget, "by": by}
                transaction.append_event(kinds.BUDGET_SET, body)
            for scope, cap in limits.items():
                transaction.append_event(kinds.CAP_SET, {"scope": scope, "cap": cap, "by": by})

        self._change(command, by, if_version)

    def pause(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant no asks until resumed; outcomes are still recorded."""
        self._change_state(kinds.PAUSED, ("active",), if_version, by=by)

    def resume(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant asks again."""
        self._change_state(kinds.RESUMED, ("paused",), if_version, by=by)

    def end(self, *, by: str = "", if_version: int | None = None) -> None:
        """End the campaign for good: its state is closed, and outcomes are still recorded."""
        self._change_state(kinds.CLOSED, ("active", "paused", "unreconciled"), if_version, by=by)

    def reconcile(self, gap: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """After a restore, count what was spent since the backup, and go on."""
        units = self.coin.units("gap", gap)
        self._change_state(kinds.RECONCILED, ("unreconciled",), if_version, gap=units, by=by)

    def _change_state(
        self, kind: str, states: tuple[str, ...], if_version: int | None, **body: Any
    ) -> None:

        def command(transaction: Transaction) -> None:
            now = transaction.state.stored
            commands.check_sum(transaction.state, body.get("gap", 0))
            if now in states:
                transaction.append_event(kind, body)
            elif kind != now or kind not in (kinds.PAUSED, kinds.CLOSED):  # a repeat is no error
                raise errors.NotActive(f"{self.name} is {now}; it cannot be {kind} now")

        self._change(command, body["by"], if_version)

    def _change(self, command: Command[None], by: str, if_version: int | None) -> None:
        """Run a command that changes rules, unless others changed since a version."""
        check_text("by", by)

        def change(transaction: Transaction) -> None:
            version = transaction.state.version
            if if_version is not None and if_version != version:
                raise errors.StaleVersion(
                    f"{self.name} has changed: its version is {version}, not {if_version};"
                    " look again, then change it"
                )
            command(transaction)

        self.execute(change)

    def trust_clock(self) -> None:
        """Trust the time of day after an alarm that it was set: holds expire again."""
        self.committer.trusted.trust()

    # commands

    def execute(self, command: Command[T]) -> T:
        """Run a command of :mod:`bursar.campaign.commands`, commit it and return its result."""
        return self.committer.execute(command)

    def execute_batch(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Run many commands in one commit; return the result of each, or the error it raised.

        If the commit fails, every place has that error.
        """
        return self.committer.execute_batch(commands)

    def close(self) -> None:
        """Commit what is queued; close the store if this campaign opened it."""
        self.committer.close()
        if self._owns_store:
            self.store.close()
