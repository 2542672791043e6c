"""The commands ``bursar campaign …``: live campaigns from the shell.

Most commands are functions of an open campaign: :func:`_command` adds the arguments and options
that they share, opens the campaign, and prints the result.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

import bursar
from bursar.campaign.config import DEFAULT_POLICY, RULES
from bursar.cli import options, output
from bursar.cli.options import command, open_store_option, storage_url
from bursar.cli.output import print_result, show_campaign, show_outcome
from bursar.errors import BudgetExhausted, BursarError, CorruptLedger, InvalidInput, NewerSchema
from bursar.formatting import to_plain

if TYPE_CHECKING:
    from bursar.campaign import ArmView, Campaign, Decision, Explanation, Forecast, LearnedHistory
    from bursar.ledger.log import Event
else:  # typer evaluates annotations, but --help must not import these
    ArmView = Campaign = Decision = Event = Explanation = Forecast = LearnedHistory = Any

app = typer.Typer(
    help="Live campaigns: ask which arm to play, then tell its cost and reward.",
    no_args_is_help=True,
)
arm_app = typer.Typer(help="Change the arms of a running campaign.", no_args_is_help=True)
app.add_typer(arm_app, name="arm")


def _command(
    show: Callable[[Any, bool], None] = show_campaign,
    group: typer.Typer = app,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of an open campaign as a command that shows the function's result.

    If the function returns None, the campaign itself is shown.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(
            name: str, *, storage: str | None = None, as_json: bool = False, **own: Any
        ) -> None:
            with options.open_campaign(name, storage) as campaign:
                result = function(campaign, **own)
                show(campaign if result is None else result, as_json)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        _, *own = inspect.signature(function, eval_str=True).parameters.values()
        command(group, name, own)(run)
        return function

    return register


_RULE_OPTIONS = [
    inspect.Parameter(
        rule.name, inspect.Parameter.KEYWORD_ONLY, default=rule.default,
        annotation=Annotated[
            rule.type | None if rule.optional else rule.type, Option(help=rule.help)
        ],
    )
    for rule in RULES.values()
]  # fmt: skip


@command(app, more=_RULE_OPTIONS)
def create(
    name: str,
    *,
    budget: str,
    arm: list[str],
    policy: str = DEFAULT_POLICY,
    reward_range: str = "0,1",
    cap: list[str] | None = None,
    currency: str = "",
    exponent: int | None = None,
    history: Path | None = None,
    storage: str | None = None,
    as_json: bool = False,
    **rules: Any,
) -> None:
    """Create a campaign; running the same command again changes nothing."""
    arms, caps = _parse_amounts("--arm", arm), _parse_amounts("--cap", cap or [])
    ends = options.parse_range("--reward-range", reward_range)
    with open_store_option(storage, create=True) as store:
        campaign = bursar.Campaign(
            name, budget, arms, policy, storage=store, reward_range=ends, caps=caps,
            currency=currency, exponent=exponent, history=history, **rules,
        )  # fmt: skip
        show_campaign(campaign, as_json)


@command(app, "list")
def list_(*, storage: str | None = None, as_json: bool = False) -> None:
    """List the campaigns: state, budget, spent, held, available."""
    found, damaged = [], 0
    with open_store_option(storage) as store:
        for name in store.names():
            try:
                found.append(bursar.Campaign(name, storage=store))
            except (CorruptLedger, NewerSchema) as error:
                typer.echo(f"error: {name} cannot be read: {error}", err=True)
                damaged += 1
        output.show_campaigns(found, as_json)
    if damaged:
        raise typer.Exit(2)


@_command()
def show(campaign: Campaign) -> None:
    """Show one campaign: its money, arms, caps, rules and alarms."""


@_command(output.show_decisions)
def ask(
    campaign: Campaign,
    *,
    n: int | None = None,
    decision: str | None = None,
    among: list[str] | None = None,
    hold: str | None = None,
) -> Decision | list[Decision]:
    """Ask which arm to play and print id, arm and hold, separated by tabs.

    Exit code 3 means that no arm fits into the budget or a cap any more, so that
    a loop in a shell can stop; 2 is any other error.
    """
    if n is not None and decision is not None:
        raise InvalidInput("give --n or --id, not both: each decision of a batch has its own id")
    try:
        if n is None:
            return campaign.ask(id=decision, among=among, hold=hold)
        return campaign.ask(n, among=among, hold=hold)
    except BudgetExhausted as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3) from None


@_command(show_outcome)
def tell(
    campaign: Campaign,
    decision: str,
    *,
    cost: str | None = None,
    reward: float | None = None,
    report: str | None = None,
    rounding: str | None = None,
) -> Decision:
    """Report the cost and the reward of a decision, together or in two calls."""
    mode: Any = rounding
    return campaign.tell(decision, cost, reward, report=report, rounding=mode)


@_command(show_outcome)
def void(campaign: Campaign, decision: str, *, reason: str = "not used") -> Decision:
    """Release the hold of a decision that was not used."""
    return campaign.void(decision, reason)


@_command(show_outcome)
def confirm(campaign: Campaign, decision: str) -> Decision:
    """Confirm that the money of a decision is about to be spent (with --ask-ttl)."""
    return campaign.confirm(decision)


@_command(show_outcome)
def correct(
    campaign: Campaign,
    decision: str,
    *,
    cost: str | None = None,
    reward: float | None = None,
    reason: str = "",
) -> Decision:
    """Correct the outcome of a decision; the first report stays in the log."""
    return campaign.correct(decision, cost, reward, reason)


@_command(output.show_view)
def learn(
    campaign: Campaign,
    file: Path,
    *,
    weight: float = 1.0,
    source: str = "",
    column: list[str] | None = None,
    unknown: str = "refuse",
    missing: str = "refuse",
    by: str = "",
) -> LearnedHistory:
    """Let past outcomes count for the policy; no money moves, and a repeat changes nothing.

    The file, .csv, .csv.gz or .parquet, has the columns arm, reward and cost.
    """
    names: Any = options.parse_columns(column or [])
    for key in names:
        if key not in ("arm", "reward", "cost"):
            raise InvalidInput(f"--column names arm, reward or cost, got {key!r}")
    skip: Any = {"unknown": unknown, "missing": missing}
    return campaign.learn_from(file, weight=weight, source=source, by=by, **names, **skip)


@_command(output.show_arms)
def arms(campaign: Campaign) -> list[ArmView]:
    """Show what was learned about each arm: counts, means, ratio and their intervals."""
    return campaign.arms()


@_command(output.show_view)
def explain(campaign: Campaign, decision: str) -> Explanation:
    """Explain a decision: the index of each arm, and which arms did not fit."""
    return campaign.explain(decision)


@_command(output.show_view)
def forecast(campaign: Campaign, *, days: float | None = None) -> Forecast:
    """Estimate plays, reward and the date when no arm will fit any more."""
    return campaign.forecast(days)


@_command(print_result)
def expire(campaign: Campaign) -> tuple[dict[str, int], str]:
    """Expire overdue decisions now and print their number; every ask and tell does it, too."""
    ended = campaign.expire()
    return {"ended": ended}, f"{ended} ended"


@_command(group=arm_app, name="add")
def arm_add(campaign: Campaign, key: str, max_cost: str, *, by: str = "") -> None:
    """Add an arm; what was learned about the others stays."""
    campaign.add_arm(key, max_cost, by=by)


@_command(group=arm_app, name="pause")
def arm_pause(campaign: Campaign, key: str, *, reason: str = "", by: str = "") -> None:
    """Stop choosing an arm until it is resumed; its open decisions stay open."""
    campaign.pause_arm(key, by=by, reason=reason)


@_command(group=arm_app, name="resume")
def arm_resume(campaign: Campaign, key: str, *, by: str = "") -> None:
    """Choose a paused arm again."""
    campaign.resume_arm(key, by=by)


@_command(group=arm_app, name="retire")
def arm_retire(campaign: Campaign, key: str, *, by: str = "") -> None:
    """Stop choosing an arm for good; outcomes of its open decisions are still recorded."""
    campaign.retire_arm(key, by=by)


@_command()
def budget(campaign: Campaign, amount: str, *, if_version: int | None = None, by: str = "") -> None:
    """Raise or cut the budget; below spent + held, no ask is granted."""
    campaign.set_budget(amount, by=by, if_version=if_version)


@_command()
def cap(
    campaign: Campaign, scope: str, amount: str, *, if_version: int | None = None, by: str = ""
) -> None:
    """Limit the spending per day or on one arm; the amount none removes the cap."""
    campaign.set_cap(scope, None if amount == "none" else amount, by=by, if_version=if_version)


@_command()
def pause(campaign: Campaign, *, by: str = "") -> None:
    """Grant no asks until the campaign is resumed; outcomes are still recorded."""
    campaign.pause(by=by)


@_command(name="trust-clock")
def trust_clock(campaign: Campaign) -> None:
    """Confirm that the system time is right after an alarm about it; holds expire again."""
    campaign.trust_clock()


@_command()
def resume(campaign: Campaign, *, by: str = "") -> None:
    """Grant asks again."""
    campaign.resume(by=by)


@_command()
def close(campaign: Campaign, *, by: str = "") -> None:
    """Close the campaign for good; outcomes are still recorded."""
    campaign.end(by=by)


@_command()
def reconcile(campaign: Campaign, gap: str, *, by: str = "") -> None:
    """After a restore: record what was spent since the backup, and grant asks again."""
    campaign.reconcile(gap, by=by)


def _show_events(events: Iterable[Event], as_json: bool) -> None:
    for event in events:
        if as_json:
            row = {
                "seq": event.seq, "time": event.ts, "kind": event.kind,
                "decision": event.decision, "body": event.body,
            }  # fmt: skip
            typer.echo(json.dumps(to_plain(row), ensure_ascii=False))
        else:
            texts = {key: str(value) for key, value in event.body.items()}
            body = ", ".join(  # on one line, and without control characters for the terminal
                f"{key}={text if text.isprintable() else repr(text)}" for key, text in texts.items()
            )
            typer.echo(f"{event.seq}\t{event.kind}\t{event.decision}\t{body}")


@_command(_show_events)
def events(
    campaign: Campaign, *, after: int = 0, limit: int | None = None, kind: list[str] | None = None
) -> Iterable[Event]:
    """Print the events in order; --json prints one JSON object per line. Amounts are in units."""
    return islice((e for e in campaign.events(after) if not kind or e.kind in kind), limit)


@command(app)
def verify(
    name: str | None = None,
    *,
    choices: bool = False,
    storage: str | None = None,
    as_json: bool = False,
) -> None:
    """Check the log: hashes, order, and that money and state follow from the events."""
    found, damaged = {}, 0
    with open_store_option(storage) as store:
        for one in store.names() if name is None else [name]:
            try:
                found[one] = bursar.Campaign(one, storage=store).verify(choices=choices)
            except Exception as error:  # whatever a damaged log raises; the others are verified
                if name is not None and isinstance(error, BursarError):
                    raise
                reason = str(error) if isinstance(error, BursarError) else repr(error)
                typer.echo(f"error: {one} cannot be verified: {reason}", err=True)
                damaged += 1
    what = "events and choices" if choices else "events"
    lines = [
        f"{one}: {view.events:,} {what} verified; spent {view.spent:f}, held {view.held:f},"
        f" last hash {view.hash}"
        for one, view in found.items()
    ]
    facts = {one: view.as_dict() for one, view in found.items()}
    print_result((facts, "\n".join(lines)), as_json)
    if damaged:
        raise typer.Exit(2)


@command(app)
def backup(target: Path, *, storage: str | None = None, as_json: bool = False) -> None:
    """Copy the ledger to a file while it is in use, and verify the copy."""
    _ledger_file(storage_url(storage))
    with open_store_option(storage) as store:
        ledger: Any = store
        count = ledger.backup(target)
    facts = {"file": str(target), "events": count}
    print_result((facts, f"copied {count:,} events to {target} and verified them"), as_json)


@command(app)
def restore(
    source: Path, *, replace: bool = False, storage: str | None = None, as_json: bool = False
) -> None:
    """Replace the ledger by a backup; campaigns grant no asks until they are reconciled."""
    from bursar.ledger.sqlite_file import restore as restore_backup

    target = _ledger_file(storage_url(storage, create=True))
    epoch = restore_backup(source, target, replace=replace)
    with open_store_option(storage) as store:
        names = store.names()
    told = f"restored {len(names)} campaigns, epoch {epoch}; report what was spent since:"
    lines = [told, *(f"  bursar campaign reconcile {name} AMOUNT" for name in names)]
    print_result(({"epoch": epoch, "campaigns": names}, "\n".join(lines)), as_json)


def _ledger_file(url: str) -> Path:
    path = options.sqlite_path(url)
    if path is None:
        raise InvalidInput(
            "backup and restore work on SQLite files; for PostgreSQL use pg_dump and pg_restore,"
            " then reconcile each campaign with what was spent since the backup"
        )
    return path


@_command(print_result)
def export(campaign: Campaign, target: Path, *, raw: bool = False) -> tuple[dict[str, Any], str]:
    """Write the decisions with propensities, costs and rewards to a file for bursar replay."""
    from bursar.campaign.export import export_decisions, export_events

    count = (export_events if raw else export_decisions)(campaign, target)
    what = "events" if raw else "decisions"
    return {"file": str(target), "rows": count}, f"wrote {count:,} {what} to {target}"


def _parse_amounts(option: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, mark, amount = text.rpartition("=")
        if not mark or not key:
            raise InvalidInput(f"{option} must be of the form KEY=AMOUNT, got {text!r}")
        if key in found:
            raise InvalidInput(f"{option} has {key!r} twice; give it once")
        found[key] = amount
    return found
