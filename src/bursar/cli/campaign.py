"""The commands ``bursar campaign …``: live campaigns from the shell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from bursar.campaign import Campaign
from bursar.campaign.campaign import DEFAULT
from bursar.cli import campaign_admin
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
    Cost,
    Id,
    Name,
    Reason,
    Reward,
    Storage,
    open_campaign,
    open_store_option,
)
from bursar.errors import BudgetExhausted, InvalidInput

__all__ = ["app"]

app = typer.Typer(
    help="Live campaigns: ask which arm to play, tell what it cost and brought.",
    no_args_is_help=True,
)


@app.command()
def create(
    name: Name,
    budget: Annotated[str, typer.Option(help="What may be spent in all, as in 25.00.")],
    arm: Annotated[
        list[str], typer.Option(help="An arm and the most it can cost, as in small=0.004.")
    ],
    policy: Annotated[str, typer.Option(help="The policy's slug.")] = DEFAULT,
    reward_range: Annotated[
        str, typer.Option(help="The least and most that a decision can bring.")
    ] = "0,1",
    cap: Annotated[
        list[str] | None, typer.Option(help="As in day=5.00 (UTC) or arm:large=10.00.")
    ] = None,
    currency: Annotated[str, typer.Option(help="A word for people, as in EUR.")] = "",
    exponent: Annotated[int, typer.Option(help="Decimals that are kept.")] = 6,
    hold: Annotated[str, typer.Option(help="What an ask reserves: max or quantile:0.99.")] = "max",
    ask_ttl: Annotated[
        float | None, typer.Option(help="Seconds until an unconfirmed ask is released.")
    ] = None,
    hold_ttl: Annotated[float, typer.Option(help="Seconds until a hold lapses.")] = 86_400.0,
    on_lapse: Annotated[
        str, typer.Option(help="What a lapsed hold does: charge or release.")
    ] = "charge",
    reward_ttl: Annotated[
        float, typer.Option(help="Seconds within which a reward is learned from.")
    ] = 604_800.0,
    default_reward: Annotated[
        float | None, typer.Option(help="What counts if no reward came in time.")
    ] = None,
    max_open: Annotated[int, typer.Option(help="Decisions that may wait at once.")] = 10_000,
    overruns: Annotated[
        int, typer.Option(help="Costs above their hold that pause an arm; 0: never.")
    ] = 3,
    on_failure: Annotated[
        str, typer.Option(help="What an ask does when the policy fails: uniform or refuse.")
    ] = "uniform",
    patience: Annotated[
        float, typer.Option(help="Seconds for a choice; a slower one is flagged.")
    ] = 1.0,
    on_change: Annotated[
        str, typer.Option(help="When costs or rewards of an arm change: flag, reset or ignore.")
    ] = "flag",
    explore: Annotated[
        float, typer.Option(help="Share of asks at random, so that bursar replay can answer.")
    ] = 0.0,
    min_cost: Annotated[
        str | None, typer.Option(help="A lower bound of the mean costs, for who needs it.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Same seed and same log, same choices.")] = 0,
    storage: Storage = None,
    as_json: AsJSON = False,
) -> None:
    """Make a campaign; the same command again changes nothing."""
    low, high = _range(reward_range)
    with open_store_option(storage, create=True) as store:
        campaign = Campaign(
            name, budget, _pairs("--arm", arm), policy,
            reward_range=(low, high), storage=store, caps=_pairs("--cap", cap or []),
            currency=currency, exponent=exponent, hold=hold, ask_ttl=ask_ttl, hold_ttl=hold_ttl,
            on_lapse=on_lapse, reward_ttl=reward_ttl, default_reward=default_reward,
            max_open=max_open, overruns=overruns, on_failure=on_failure, patience=patience,
            on_change=on_change, explore=explore, min_cost=min_cost, seed=seed,
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


app.add_typer(campaign_admin.app)
app.add_typer(campaign_admin.arm_app, name="arm")
app.add_typer(campaign_admin.app)


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
