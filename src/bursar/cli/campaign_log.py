"""Commands on the log of campaigns: look at it, check it, copy it, export it."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from bursar.campaign import Campaign
from bursar.campaign.plain import plain
from bursar.cli.campaign_options import Name
from bursar.cli.exports import export_decisions, export_events
from bursar.cli.ledger import Storage, backup_of, campaign_of, restored, store_of
from bursar.cli.output import AsJSON, print_json

__all__ = ["app"]

app = typer.Typer()


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
    with campaign_of(name, storage) as campaign:
        found = (e for e in campaign.events(after) if not kind or e.kind in kind)
        for event in islice(found, limit):
            row = {
                "seq": event.seq, "time": event.ts, "kind": event.kind,
                "decision": event.decision, "body": event.body,
            }  # fmt: skip
            if as_json:
                typer.echo(json.dumps(plain(row), ensure_ascii=False))
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
    with store_of(storage) as store:
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
    count = backup_of(storage, target)
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
    epoch, names = restored(source, storage, replace)
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
    with campaign_of(name, storage) as campaign:
        count = export_events(campaign, target) if raw else export_decisions(campaign, target)
    if as_json:
        print_json({"file": str(target), "rows": count})
    else:
        typer.echo(f"{count:,} {'events' if raw else 'decisions'} are in {target}")
