"""The commands ``bursar campaign …``: live campaigns from the shell."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from bursar.campaign import Campaign
from bursar.campaign.config import DEFAULT_POLICY, RULES
from bursar.campaign.export import export_decisions, export_events
from bursar.cli.output import (
    AsJSON,
    print_json,
    show_arms,
    show_campaign,
    show_campaigns,
    show_decisions,
    show_outcome,
    show_view,
)
from bursar.cli.storage import (
    By,
    Cost,
    Id,
    IfVersion,
    Key,
    Name,
    Reason,
    Reward,
    Storage,
    make_backup,
    open_campaign,
    open_store_option,
    restore_backup,
)
from bursar.errors import BudgetExhausted, InvalidInput
from bursar.formatting import to_plain

__all__ = ["app"]

app = typer.Typer(
    help="Live campaigns: ask which arm to play, tell what it cost and brought.",
    no_args_is_help=True,
)
arm_app = typer.Typer(help="Change the arms of a running campaign.", no_args_is_help=True)
app.add_typer(arm_app, name="arm")


def _add_rules(command: Callable[..., None]) -> Callable[..., None]:
    """Replace ``**rules`` of a command by an option for each rule of a campaign."""
    options = [
        inspect.Parameter(
            rule.name, inspect.Parameter.KEYWORD_ONLY, default=rule.default,
            annotation=Annotated[
                rule.type | None if rule.optional else rule.type, typer.Option(help=rule.help)
            ],
        )
        for rule in RULES.values()
    ]  # fmt: skip
    own = [
        one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for one in inspect.signature(command, eval_str=True).parameters.values()
        if one.name != "rules"
    ]
    at = [one.name for one in own].index("storage")
    parameters = [*own[:at], *options, *own[at:]]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


@app.command()
@_add_rules
def create(
    name: Name,
    budget: Annotated[str, typer.Option(help="What may be spent in all, as in 25.00.")],
    arm: Annotated[
        list[str], typer.Option(help="An arm and the most it can cost, as in small=0.004.")
    ],
    policy: Annotated[str, typer.Option(help="The policy's slug.")] = DEFAULT_POLICY,
    reward_range: Annotated[
        str, typer.Option(help="The least and most that a decision can bring.")
    ] = "0,1",
    cap: Annotated[
        list[str] | None, typer.Option(help="As in day=5.00 (UTC) or arm:large=10.00.")
    ] = None,
    currency: Annotated[str, typer.Option(help="A word for people, as in EUR.")] = "",
    exponent: Annotated[int, typer.Option(help="Decimals that are kept.")] = 6,
    storage: Storage = None,
    as_json: AsJSON = False,
    **rules: Any,
) -> None:
    """Make a campaign; the same command again changes nothing."""
    low, high = _range(reward_range)
    with open_store_option(storage, create=True) as store:
        campaign = Campaign(
            name, budget, _pairs("--arm", arm), policy,
            reward_range=(low, high), storage=store, caps=_pairs("--cap", cap or []),
            currency=currency, exponent=exponent, **rules,
        )  # fmt: skip
        show_campaign(campaign, as_json)


@app.command("list")
def list_(storage: Storage = None, as_json: AsJSON = False) -> None:
    """List the campaigns: state, budget, spent, held, available."""
    with open_store_option(storage) as store:
        show_campaigns([Campaign(name, storage=store) for name in store.names()], as_json)


@app.command()
def show(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Show one campaign: its money, arms, caps, rules and alarms."""
    with open_campaign(name, storage) as campaign:
        show_campaign(campaign, as_json)


@app.command()
def ask(
    name: Name,
    n: Annotated[int | None, typer.Option("--n", min=1, help="So many at once.")] = None,
    decision: Annotated[
        str | None, typer.Option("--id", help="Your own id: asked again, the same answer.")
    ] = None,
    among: Annotated[
        list[str] | None, typer.Option(help="Only this arm; may be given many times.")
    ] = None,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Ask which arm to play: a line of id, arm and hold, separated by tabs.

    Exit code 3 means that nothing fits into the budget or a cap any more, so that
    a loop in a shell can stop; 2 is any other error.
    """
    with open_campaign(name, storage) as campaign:
        try:
            if n is None:
                show_decisions([campaign.ask(id=decision, among=among)], as_json)
            elif decision is not None:
                raise InvalidInput("give --n or --id, not both: a batch has an id for each")
            else:
                show_decisions(campaign.ask(n, among=among), as_json, batch=True)
        except BudgetExhausted as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(3) from None


@app.command()
def tell(
    name: Name,
    decision: Id,
    cost: Cost = None,
    reward: Reward = None,
    report: Annotated[
        str | None, typer.Option(help="Your own id of this report, to send it twice.")
    ] = None,
    rounding: Annotated[
        str | None, typer.Option(help="For costs with too many digits: up, down, nearest.")
    ] = None,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Tell what a decision cost and brought, together or in two calls."""
    mode: Any = rounding
    with open_campaign(name, storage) as campaign:
        told = campaign.tell(decision, cost, reward, report=report, rounding=mode)
        show_outcome(told, as_json)


@app.command()
def void(
    name: Name,
    decision: Id,
    reason: Reason = "not used",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Give the hold of a decision back: it was not used."""
    with open_campaign(name, storage) as campaign:
        show_outcome(campaign.void(decision, reason), as_json)


@app.command()
def confirm(name: Name, decision: Id, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Say that the money of a decision is about to be spent (with --ask-ttl)."""
    with open_campaign(name, storage) as campaign:
        show_outcome(campaign.confirm(decision), as_json)


@app.command()
def correct(
    name: Name,
    decision: Id,
    cost: Cost = None,
    reward: Reward = None,
    reason: Reason = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Put an outcome right that was told wrongly; the first telling stays in the log."""
    with open_campaign(name, storage) as campaign:
        show_outcome(campaign.correct(decision, cost, reward, reason), as_json)


@app.command()
def arms(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Show what was learned of each arm: counts, means, ratio and their intervals."""
    with open_campaign(name, storage) as campaign:
        show_arms(campaign.arms(), as_json)


@app.command()
def explain(name: Name, decision: Id, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Say why a decision went to its arm: the index of each, and what did not fit."""
    with open_campaign(name, storage) as campaign:
        show_view(campaign.explain(decision), as_json)


@app.command()
def forecast(
    name: Name,
    days: Annotated[
        float | None, typer.Option(help="How far to look; until nothing fits if not given.")
    ] = None,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Estimate plays, reward and the date when nothing will fit any more."""
    with open_campaign(name, storage) as campaign:
        show_view(campaign.forecast(days), as_json)


@app.command()
def expire(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """End what is overdue now, and say how many; every ask and tell does so as well."""
    with open_campaign(name, storage) as campaign:
        ended = campaign.expire()
        print_json({"ended": ended}) if as_json else typer.echo(f"{ended} ended")


@arm_app.command("add")
def arm_add(
    name: Name,
    key: Key,
    max_cost: Annotated[str, typer.Argument(help="The most it can cost.")],
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Add an arm; what was learned of others stays."""
    _change(name, storage, as_json, lambda campaign: campaign.add_arm(key, max_cost, by=by))


@arm_app.command("pause")
def arm_pause(
    name: Name,
    key: Key,
    reason: Reason = "",
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Choose an arm no more, for now; its open decisions go on."""
    _change(name, storage, as_json, lambda campaign: campaign.pause_arm(key, by=by, reason=reason))


@arm_app.command("resume")
def arm_resume(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Let a paused arm be chosen again."""
    _change(name, storage, as_json, lambda campaign: campaign.resume_arm(key, by=by))


@arm_app.command("retire")
def arm_retire(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Choose an arm never again; outcomes that are still to come are booked."""
    _change(name, storage, as_json, lambda campaign: campaign.retire_arm(key, by=by))


@app.command()
def budget(
    name: Name,
    amount: Annotated[str, typer.Argument(help="What may be spent in all from now on.")],
    if_version: IfVersion = None,
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Raise or cut the budget; after a cut below spent + held nothing is granted."""
    _change(
        name,
        storage,
        as_json,
        lambda campaign: campaign.set_budget(amount, by=by, if_version=if_version),
    )


@app.command()
def cap(
    name: Name,
    scope: Annotated[str, typer.Argument(help="day (UTC) or arm:KEY.")],
    amount: Annotated[str, typer.Argument(help="What may be spent there, or none.")],
    if_version: IfVersion = None,
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Set what may be spent a day or on an arm; none lifts the cap."""
    with open_campaign(name, storage) as campaign:
        limit = None if amount == "none" else amount
        campaign.set_cap(scope, limit, by=by, if_version=if_version)
        show_campaign(campaign, as_json)


@app.command()
def pause(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Grant no asks until resumed; outcomes are still booked."""
    _change(name, storage, as_json, lambda campaign: campaign.pause(by=by))


@app.command("trust-clock")
def trust_clock(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Say that the time of day is right, after an alarm that it was set: holds expire again."""
    _change(name, storage, as_json, lambda campaign: campaign.trust_clock())


@app.command()
def resume(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Grant asks again."""
    _change(name, storage, as_json, lambda campaign: campaign.resume(by=by))


@app.command()
def close(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Close the campaign for good; outcomes are still booked."""
    _change(name, storage, as_json, lambda campaign: campaign.end(by=by))


@app.command()
def reconcile(
    name: Name,
    gap: Annotated[str, typer.Argument(help="What was spent since the backup; 0 if nothing.")],
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """After a restore: count what was spent since the backup, and go on."""
    _change(name, storage, as_json, lambda campaign: campaign.reconcile(gap, by=by))


@app.command()
def events(
    name: Name,
    after: Annotated[int, typer.Option(min=0, help="Only events after this number.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="So many at most.")] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="Only of this kind; may be given many times.")
    ] = None,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Print what happened, in order; with --json a line of JSON an event. Money is in units."""
    with open_campaign(name, storage) as campaign:
        found = (e for e in campaign.events(after) if not kind or e.kind in kind)
        for event in islice(found, limit):
            row = {
                "seq": event.seq, "time": event.ts, "kind": event.kind,
                "decision": event.decision, "body": event.body,
            }  # fmt: skip
            if as_json:
                typer.echo(json.dumps(to_plain(row), ensure_ascii=False))
            else:
                body = ", ".join(f"{key}={value}" for key, value in event.body.items())
                typer.echo(f"{event.seq}\t{event.kind}\t{event.decision}\t{body}")


@app.command()
def verify(
    name: Annotated[str | None, typer.Argument(help="The campaign; all if not given.")] = None,
    choices: Annotated[
        bool, typer.Option("--choices", help="Make every choice once more, too.")
    ] = False,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Check the log: hashes, order, and that money and state follow from the events."""
    with open_store_option(storage) as store:
        names = store.names() if name is None else [name]
        found = {one: Campaign(one, storage=store).verify(choices=choices) for one in names}
    if as_json:
        print_json({one: view.as_dict() for one, view in found.items()})
        return
    for one, view in found.items():
        again = " and choices" if choices else ""
        typer.echo(
            f"{one}: {view.events:,} events{again} hold; spent {view.spent:f}, held {view.held:f},"
            f" last hash {view.hash}"
        )


@app.command()
def backup(
    target: Annotated[Path, typer.Argument(help="The file to make; it must not be there.")],
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Copy the ledger while it is in use, check the copy, then give it its name."""
    count = make_backup(storage, target)
    if as_json:
        print_json({"file": str(target), "events": count})
    else:
        typer.echo(f"{count:,} events are in {target}, checked")


@app.command()
def restore(
    source: Annotated[Path, typer.Argument(help="The backup.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Even if a ledger is there; a copy of it is kept.")
    ] = False,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Put a backup in place of the ledger; campaigns grant nothing until reconciled."""
    epoch, names = restore_backup(source, storage, replace)
    if as_json:
        print_json({"epoch": epoch, "campaigns": names})
        return
    typer.echo(
        f"restored {len(names)} campaigns, epoch {epoch}; what was spent since is not known:"
    )
    for name in names:
        typer.echo(f"  bursar campaign reconcile {name} AMOUNT")


@app.command()
def export(
    name: Name,
    target: Annotated[Path, typer.Argument(help="The file to make: .parquet or .csv.")],
    raw: Annotated[
        bool, typer.Option("--events", help="The raw events in place of the decisions.")
    ] = False,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Write the decisions with propensities, costs and rewards, as bursar replay reads them."""
    with open_campaign(name, storage) as campaign:
        count = export_events(campaign, target) if raw else export_decisions(campaign, target)
    if as_json:
        print_json({"file": str(target), "rows": count})
    else:
        typer.echo(f"{count:,} {'events' if raw else 'decisions'} are in {target}")


def _change(
    name: str, storage: str | None, as_json: bool, change: Callable[[Campaign], object]
) -> None:
    """Change a campaign, then show it."""
    with open_campaign(name, storage) as campaign:
        change(campaign)
        show_campaign(campaign, as_json)


def _pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, mark, amount = text.rpartition("=")
        if not mark or not key:
            raise InvalidInput(f"{option} must be of the form KEY=AMOUNT, got {text!r}")
        if key in found:
            raise InvalidInput(f"{option} has {key!r} twice; give it once")
        found[key] = amount
    return found


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--reward-range must be two numbers as in 0,1, got {text!r}") from None
    return low, high
