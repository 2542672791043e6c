"""Commands that change a running campaign: arms, budget, caps, pauses; each leaves an event."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from bursar.campaign import Campaign
from bursar.campaign.views import to_plain
from bursar.cli.exports import export_decisions, export_events
from bursar.cli.output import AsJSON, print_json, show_campaign
from bursar.cli.storage import (
    By,
    IfVersion,
    Key,
    Name,
    Reason,
    Storage,
    make_backup,
    open_campaign,
    open_store_option,
    restore_backup,
)

__all__ = ["app", "arm_app"]

app = typer.Typer()
arm_app = typer.Typer(help="Change the arms of a running campaign.", no_args_is_help=True)


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
    with open_campaign(name, storage) as campaign:
        campaign.add_arm(key, max_cost, by=by)
        show_campaign(campaign, as_json)


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
    with open_campaign(name, storage) as campaign:
        campaign.pause_arm(key, by=by, reason=reason)
        show_campaign(campaign, as_json)


@arm_app.command("resume")
def arm_resume(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Let a paused arm be chosen again."""
    with open_campaign(name, storage) as campaign:
        campaign.resume_arm(key, by=by)
        show_campaign(campaign, as_json)


@arm_app.command("retire")
def arm_retire(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Choose an arm never again; outcomes that are still to come are booked."""
    with open_campaign(name, storage) as campaign:
        campaign.retire_arm(key, by=by)
        show_campaign(campaign, as_json)


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
    with open_campaign(name, storage) as campaign:
        campaign.set_budget(amount, by=by, if_version=if_version)
        show_campaign(campaign, as_json)


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
    with open_campaign(name, storage) as campaign:
        campaign.pause(by=by)
        show_campaign(campaign, as_json)


@app.command("trust-clock")
def trust_clock(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Say that the time of day is right, after an alarm that it was set: holds expire again."""
    with open_campaign(name, storage) as campaign:
        campaign.trust_clock()
        show_campaign(campaign, as_json)


@app.command()
def resume(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Grant asks again."""
    with open_campaign(name, storage) as campaign:
        campaign.resume(by=by)
        show_campaign(campaign, as_json)


@app.command()
def close(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Close the campaign for good; outcomes are still booked."""
    with open_campaign(name, storage) as campaign:
        campaign.end(by=by)
        show_campaign(campaign, as_json)


@app.command()
def reconcile(
    name: Name,
    gap: Annotated[str, typer.Argument(help="What was spent since the backup; 0 if nothing.")],
    by: By = "",
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """After a restore: count what was spent since the backup, and go on."""
    with open_campaign(name, storage) as campaign:
        campaign.reconcile(gap, by=by)
        show_campaign(campaign, as_json)


# ==== cli.campaign_log
# Commands on the log of campaigns: look at it, check it, copy it, export it.


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
