"""Commands that change a running campaign: arms, budget, caps, pauses; each leaves an event."""

from __future__ import annotations

from typing import Annotated

import typer

from bursar.cli.campaign_options import By, IfVersion, Key, Name, Reason
from bursar.cli.ledger import Storage, campaign_of
from bursar.cli.output import AsJSON
from bursar.cli.shown import show_campaign

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
    with campaign_of(name, storage) as campaign:
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
    with campaign_of(name, storage) as campaign:
        campaign.pause_arm(key, by=by, reason=reason)
        show_campaign(campaign, as_json)


@arm_app.command("resume")
def arm_resume(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Let a paused arm be chosen again."""
    with campaign_of(name, storage) as campaign:
        campaign.resume_arm(key, by=by)
        show_campaign(campaign, as_json)


@arm_app.command("retire")
def arm_retire(
    name: Name, key: Key, by: By = "", storage: Storage = None, as_json: AsJSON = False
) -> None:
    """Choose an arm never again; outcomes that are still to come are booked."""
    with campaign_of(name, storage) as campaign:
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
    with campaign_of(name, storage) as campaign:
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
    with campaign_of(name, storage) as campaign:
        limit = None if amount == "none" else amount
        campaign.set_cap(scope, limit, by=by, if_version=if_version)
        show_campaign(campaign, as_json)


@app.command()
def pause(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Grant no asks until resumed; outcomes are still booked."""
    with campaign_of(name, storage) as campaign:
        campaign.pause(by=by)
        show_campaign(campaign, as_json)


@app.command("trust-clock")
def trust_clock(name: Name, storage: Storage = None, as_json: AsJSON = False) -> None:
    """Say that the time of day is right, after an alarm that it was set: holds expire again."""
    with campaign_of(name, storage) as campaign:
        campaign.trust_clock()
        show_campaign(campaign, as_json)


@app.command()
def resume(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Grant asks again."""
    with campaign_of(name, storage) as campaign:
        campaign.resume(by=by)
        show_campaign(campaign, as_json)


@app.command()
def close(name: Name, by: By = "", storage: Storage = None, as_json: AsJSON = False) -> None:
    """Close the campaign for good; outcomes are still booked."""
    with campaign_of(name, storage) as campaign:
        campaign.finish(by=by)
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
    with campaign_of(name, storage) as campaign:
        campaign.reconcile(gap, by=by)
        show_campaign(campaign, as_json)
