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
from typer import Argument, Option

import bursar
from bursar.campaign.config import DEFAULT_POLICY, RULES
from bursar.cli import options, output
from bursar.cli.options import AsJSON, By, Storage, open_store_option, storage_url
from bursar.cli.output import print_result, show_campaign, show_outcome
from bursar.errors import BudgetExhausted, BursarError, CorruptLedger, InvalidInput, NewerSchema
from bursar.formatting import to_plain

if TYPE_CHECKING:
    from bursar.campaign import ArmView, Campaign, Decision, Explanation, Forecast
    from bursar.ledger.log import Event

Name = Annotated[str, Argument(help="The name of the campaign.")]
Id = Annotated[str, Argument(metavar="DECISION", help="The id that ask printed.")]
Key = Annotated[str, Argument(metavar="ARM", help="The arm.")]
Cost = Annotated[str | None, Option(help="The cost, as in 0.0031.")]
Reward = Annotated[float | None, Option(help="The reward; it may be reported later.")]
Reason = Annotated[str, Option(help="The reason, for the log.")]
IfVersion = Annotated[
    int | None, Option(help="Refuse the change if the campaign is no longer at this version.")
]

app = typer.Typer(
    help="Live campaigns: ask which arm to play, then tell its cost and reward.",
    no_args_is_help=True,
)
arm_app = typer.Typer(help="Change the arms of a running campaign.", no_args_is_help=True)
app.add_typer(arm_app, name="arm")

_NOT_IMPORTED = ("ArmView", "Campaign", "Decision", "Event", "Explanation", "Forecast")


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
            name: Name, *, storage: Storage = None, as_json: AsJSON = False, **own: Any
        ) -> None:
            with options.open_campaign(name, storage) as campaign:
                result = function(campaign, **own)
                show(campaign if result is None else result, as_json)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        types = dict.fromkeys(_NOT_IMPORTED, Any)
        _, *declared = inspect.signature(function, locals=types, eval_str=True).parameters.values()
        group.command(name)(options.add_options(declared)(run))
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


@app.command()
@options.add_options(_RULE_OPTIONS)
def create(
    name: Name,
    budget: Annotated[str, Option(help="The total budget, as in 25.00.")],
    arm: Annotated[
        list[str], Option(help="An arm and its maximum cost, as in small=0.004; repeat for more.")
    ],
    policy: Annotated[str, Option(help="The slug of the policy.")] = DEFAULT_POLICY,
    reward_range: Annotated[
        str, Option(help="The least and greatest reward of a decision.")
    ] = "0,1",
    cap: Annotated[
        list[str] | None,
        Option(help="A cap, as in day=5.00 (UTC) or arm:large=10.00; repeat for more."),
    ] = None,
    currency: Annotated[str, Option(help="The currency to display, as in EUR.")] = "",
    exponent: Annotated[int, Option(help="The number of decimals of an amount.")] = 6,
    *,
    storage: Storage = None,
    as_json: AsJSON = False,
    **rules: Any,
) -> None:
    """Create a campaign; running the same command again changes nothing."""
    arms, caps = _parse_amounts("--arm", arm), _parse_amounts("--cap", cap or [])
    ends = options.parse_range("--reward-range", reward_range)
    with open_store_option(storage, create=True) as store:
        campaign = bursar.Campaign(
            name, budget, arms, policy, storage=store, reward_range=ends, caps=caps,
            currency=currency, exponent=exponent, **rules,
        )  # fmt: skip
        show_campaign(campaign, as_json)


@app.command("list")
def list_(storage: Storage = None, as_json: AsJSON = False) -> None:
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
    n: Annotated[
        int | None, Option("--n", min=1, help="The number of decisions; 1 by default.")
    ] = None,
    decision: Annotated[
        str | None, Option("--id", help="Your own id; asking again returns the same decision.")
    ] = None,
    among: Annotated[
        list[str] | None, Option(help="Choose only this arm; repeat the option for more.")
    ] = None,
) -> Decision | list[Decision]:
    """Ask which arm to play and print id, arm and hold, separated by tabs.

    Exit code 3 means that no arm fits into the budget or a cap any more, so that
    a loop in a shell can stop; 2 is any other error.
    """
    if n is not None and decision is not None:
        raise InvalidInput("give --n or --id, not both: each decision of a batch has its own id")
    try:
        if n is None:
            return campaign.ask(id=decision, among=among)
        return campaign.ask(n, among=among)
    except BudgetExhausted as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3) from None


@_command(show_outcome)
def tell(
    campaign: Campaign,
    decision: Id,
    cost: Cost = None,
    reward: Reward = None,
    report: Annotated[
        str | None, Option(help="Your own id of this report, so that you can repeat it.")
    ] = None,
    rounding: Annotated[
        str | None, Option(help="How to round a cost with too many decimals: up, down or nearest.")
    ] = None,
) -> Decision:
    """Report the cost and the reward of a decision, together or in two calls."""
    mode: Any = rounding
    return campaign.tell(decision, cost, reward, report=report, rounding=mode)


@_command(show_outcome)
def void(campaign: Campaign, decision: Id, reason: Reason = "not used") -> Decision:
    """Release the hold of a decision that was not used."""
    return campaign.void(decision, reason)


@_command(show_outcome)
def confirm(campaign: Campaign, decision: Id) -> Decision:
    """Confirm that the money of a decision is about to be spent (with --ask-ttl)."""
    return campaign.confirm(decision)


@_command(show_outcome)
def correct(
    campaign: Campaign, decision: Id, cost: Cost = None, reward: Reward = None, reason: Reason = ""
) -> Decision:
    """Correct the outcome of a decision; the first report stays in the log."""
    return campaign.correct(decision, cost, reward, reason)


@_command(output.show_arms)
def arms(campaign: Campaign) -> list[ArmView]:
    """Show what was learned about each arm: counts, means, ratio and their intervals."""
    return campaign.arms()


@_command(output.show_view)
def explain(campaign: Campaign, decision: Id) -> Explanation:
    """Explain a decision: the index of each arm, and which arms did not fit."""
    return campaign.explain(decision)


@_command(output.show_view)
def forecast(
    campaign: Campaign,
    days: Annotated[
        float | None, Option(help="The number of days to look ahead; by default until no arm fits.")
    ] = None,
) -> Forecast:
    """Estimate plays, reward and the date when no arm will fit any more."""
    return campaign.forecast(days)


@_command(print_result)
def expire(campaign: Campaign) -> tuple[dict[str, int], str]:
    """Expire overdue decisions now and print their number; every ask and tell does it, too."""
    ended = campaign.expire()
    return {"ended": ended}, f"{ended} ended"


@_command(group=arm_app, name="add")
def arm_add(
    campaign: Campaign,
    key: Key,
    max_cost: Annotated[str, Argument(help="The maximum cost of a play.")],
    by: By = "",
) -> None:
    """Add an arm; what was learned about the others stays."""
    campaign.add_arm(key, max_cost, by=by)


@_command(group=arm_app, name="pause")
def arm_pause(campaign: Campaign, key: Key, reason: Reason = "", by: By = "") -> None:
    """Stop choosing an arm until it is resumed; its open decisions stay open."""
    campaign.pause_arm(key, by=by, reason=reason)


@_command(group=arm_app, name="resume")
def arm_resume(campaign: Campaign, key: Key, by: By = "") -> None:
    """Choose a paused arm again."""
    campaign.resume_arm(key, by=by)


@_command(group=arm_app, name="retire")
def arm_retire(campaign: Campaign, key: Key, by: By = "") -> None:
    """Stop choosing an arm for good; outcomes of its open decisions are still recorded."""
    campaign.retire_arm(key, by=by)


@_command()
def budget(
    campaign: Campaign,
    amount: Annotated[str, Argument(help="The new total budget.")],
    if_version: IfVersion = None,
    by: By = "",
) -> None:
    """Raise or cut the budget; below spent + held, no ask is granted."""
    campaign.set_budget(amount, by=by, if_version=if_version)


@_command()
def cap(
    campaign: Campaign,
    scope: Annotated[str, Argument(help="day (UTC) or arm:KEY.")],
    amount: Annotated[str, Argument(help="The most that may be spent there, or none.")],
    if_version: IfVersion = None,
    by: By = "",
) -> None:
    """Limit the spending per day or on one arm; the amount none removes the cap."""
    campaign.set_cap(scope, None if amount == "none" else amount, by=by, if_version=if_version)


@_command()
def pause(campaign: Campaign, by: By = "") -> None:
    """Grant no asks until the campaign is resumed; outcomes are still recorded."""
    campaign.pause(by=by)


@_command(name="trust-clock")
def trust_clock(campaign: Campaign) -> None:
    """Confirm that the system time is right after an alarm about it; holds expire again."""
    campaign.trust_clock()


@_command()
def resume(campaign: Campaign, by: By = "") -> None:
    """Grant asks again."""
    campaign.resume(by=by)


@_command()
def close(campaign: Campaign, by: By = "") -> None:
    """Close the campaign for good; outcomes are still recorded."""
    campaign.end(by=by)


@_command()
def reconcile(
    campaign: Campaign,
    gap: Annotated[str, Argument(help="The amount spent since the backup; 0 if none.")],
    by: By = "",
) -> None:
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
            body = ", ".join(f"{key}={_to_line(value)}" for key, value in event.body.items())
            typer.echo(f"{event.seq}\t{event.kind}\t{event.decision}\t{body}")


def _to_line(value: Any) -> str:
    """Return a value as text that stays on its line and does not control a terminal."""
    text = str(value)
    return text if text.isprintable() else repr(text)


@_command(_show_events)
def events(
    campaign: Campaign,
    after: Annotated[int, Option(min=0, help="Only events after this number.")] = 0,
    limit: Annotated[int | None, Option(min=1, help="The maximum number of events.")] = None,
    kind: Annotated[
        list[str] | None, Option(help="Only events of this kind; repeat for more.")
    ] = None,
) -> Iterable[Event]:
    """Print the events in order; --json prints one JSON object per line. Amounts are in units."""
    return islice((e for e in campaign.events(after) if not kind or e.kind in kind), limit)


@app.command()
def verify(
    name: Annotated[str | None, Argument(help="The name of the campaign; all by default.")] = None,
    choices: Annotated[
        bool, Option("--choices", help="Also repeat and compare every choice.")
    ] = False,
    storage: Storage = None,
    as_json: AsJSON = False,
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


@app.command()
def backup(
    target: Annotated[Path, Argument(help="The new file; it must not exist yet.")],
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Copy the ledger to a file while it is in use, and verify the copy."""
    _ledger_file(storage_url(storage))
    with open_store_option(storage) as store:
        ledger: Any = store
        count = ledger.backup(target)
    facts = {"file": str(target), "events": count}
    print_result((facts, f"copied {count:,} events to {target} and verified them"), as_json)


@app.command()
def restore(
    source: Annotated[Path, Argument(help="The backup.")],
    replace: Annotated[
        bool, Option("--replace", help="Replace an existing ledger; a copy of it is kept.")
    ] = False,
    storage: Storage = None,
    as_json: AsJSON = False,
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
def export(
    campaign: Campaign,
    target: Annotated[Path, Argument(help="The file to write: .parquet or .csv.")],
    raw: Annotated[
        bool, Option("--events", help="Write the raw events instead of the decisions.")
    ] = False,
) -> tuple[dict[str, Any], str]:
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
