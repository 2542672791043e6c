"""What commands print: tables and JSON to stdout, progress to stderr."""

from __future__ import annotations

import json
import math
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bursar.formatting import to_plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from bursar.campaign import ArmView, Campaign, Decision
    from bursar.estimate import Estimate

__all__ = [
    "AsJSON",
    "campaign_facts",
    "console",
    "decision_facts",
    "new_table",
    "print_json",
    "show_arms",
    "show_campaign",
    "show_campaigns",
    "show_decisions",
    "show_outcome",
    "show_view",
]

AsJSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def console() -> Console:
    """Return the console of stdout; a pipe gets 160 columns so that no table is cut.

    Rich is imported on first use, so that commands that print plain lines start faster.
    """
    found: Console = import_module("rich.console").Console(
        width=None if sys.stdout.isatty() else 160
    )
    return found


def new_table(*columns: str, left: tuple[str, ...] = ()) -> Table:
    """Make a plain table; columns named in ``left`` are left-aligned, the others right-aligned."""
    table: Table = import_module("rich.table").Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        justify: Any = "left" if column in left else "right"
        table.add_column(column, justify=justify, overflow="fold")
    return table


def print_json(data: Any) -> None:
    """Print valid JSON: infinities as text, because JSON has no number for them."""
    typer.echo(json.dumps(_valid(data), indent=2, ensure_ascii=False, allow_nan=False))


def _valid(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _valid(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_valid(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


_DECISION = (
    "id", "arm", "hold", "expires_at", "propensity", "constrained", "replayed", "money",
    "reward_state", "cost", "reward", "seq",
)  # fmt: skip
_MONEY = ("budget", "spent", "held", "available", "overrun")


def decision_facts(decision: Decision) -> dict[str, Any]:
    """Return a decision as data."""
    return {name: to_plain(getattr(decision, name)) for name in _DECISION}


def campaign_facts(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign as data, all of it from one state."""
    state = campaign.execute(lambda transaction: transaction.state)
    text = campaign.coin.text
    caps = {} if state.day_cap is None else {"day": text(state.day_cap)}
    caps |= {
        f"arm:{arm.key}": text(arm.money.cap) for arm in state.arms if arm.money.cap is not None
    }
    rules = campaign.config.to_body()
    coin = rules.pop("coin")
    return {
        "name": campaign.name,
        "state": state.state,
        **{name: text(getattr(state, name)) for name in _MONEY},
        **{key: coin[key] for key in ("currency", "exponent")},
        "open": len(state.decisions),
        "asks": state.asks,
        "reward": state.reward,
        "arms": {
            arm.key: {"state": arm.state, "max_cost": text(arm.max_cost)} for arm in state.arms
        },
        "caps": caps,
        "version": state.version,
        "events": state.seq,
        "alarms": campaign.alarms,
        "rules": to_plain(rules),
    }


def show_campaign(campaign: Campaign, as_json: bool) -> None:
    """Print one campaign."""
    facts = campaign_facts(campaign)
    if as_json:
        print_json(facts)
        return
    currency = f" {facts['currency']}" if facts["currency"] else ""
    lines = {
        facts["name"]: facts["state"],
        **{name: facts[name] + currency for name in _MONEY},
        "open": f"{facts['open']:,} of {facts['asks']:,} decisions wait for an outcome",
        "reward": f"{facts['reward']:,.6g}",
        "arms": ", ".join(
            f"{key} ≤ {arm['max_cost']}"
            + ("" if arm["state"] == "active" else f" ({arm['state']})")
            for key, arm in facts["arms"].items()
        ),
        "caps": ", ".join(f"{scope} {cap}" for scope, cap in facts["caps"].items()) or "none",
        "policy": facts["rules"]["policy"],
        "version": str(facts["version"]),
    }
    width = max(map(len, lines))
    for key, value in lines.items():
        typer.echo(f"{key:<{width}}  {value}")
    for alarm in facts["alarms"]:
        typer.echo(f"alarm: {alarm}", err=True)


def show_campaigns(campaigns: list[Campaign], as_json: bool) -> None:
    """Print a row per campaign."""
    rows = [campaign_facts(campaign) for campaign in campaigns]
    if as_json:
        print_json(rows)
        return
    columns = ("name", "state", *_MONEY[:4], "currency", "open", "asks", "policy")
    table = new_table(*columns, left=("name", "state", "currency", "policy"))
    for row in rows:
        cells = row | {"policy": row["rules"]["policy"]}
        table.add_row(*(str(cells[column]) for column in columns))
    console().print(table, highlight=False, markup=False)


def show_decisions(decisions: list[Decision], as_json: bool, batch: bool = False) -> None:
    """Print a line per decision with id, arm and hold, for shells to read."""
    if as_json:
        rows = [decision_facts(decision) for decision in decisions]
        print_json(rows if batch else rows[0])
        return
    for decision in decisions:
        typer.echo(f"{decision.id}\t{decision.arm}\t{decision.hold:f}")


def show_outcome(decision: Decision, as_json: bool) -> None:
    """Print the outcome of a decision."""
    if as_json:
        print_json(decision_facts(decision))
        return
    cost = "" if decision.cost is None else f" for {decision.cost:f}"
    reward = "" if decision.reward is None else f" {decision.reward:g}"
    again = "; already recorded" if decision.replayed else ""
    typer.echo(
        f"{decision.id}\t{decision.arm}\t{decision.money}{cost},"
        f" reward {decision.reward_state}{reward}{again}"
    )


def show_arms(arms: list[ArmView], as_json: bool) -> None:
    """Print a row per arm: its counts and money, and means with 95% intervals."""
    if as_json:
        print_json([arm.as_dict() for arm in arms])
        return
    means = ("reward", "cost", "reward per cost")
    columns = ("arm", "state", "hold", "spent", "asks", "open", "plays", *means, "overruns")
    table = new_table(*columns, left=("arm", "state"))
    for arm in arms:
        counts = (f"{count:,}" for count in (arm.asks, arm.open, arm.plays))
        estimates = (_interval(one) for one in (arm.reward, arm.cost, arm.ratio))
        hold, spent = (f"{amount:f}" for amount in (arm.hold, arm.spent))
        table.add_row(arm.key, arm.state, hold, spent, *counts, *estimates, str(arm.overruns))
    console().print(table, highlight=False, markup=False)


def _interval(one: Estimate | None) -> str:
    return "-" if one is None else f"{one.value:.4g} ({one.low:.4g} … {one.high:.4g})"


def show_view(view: Any, as_json: bool) -> None:
    """Print a view of a campaign as data or as text."""
    if as_json:
        print_json(view.as_dict())
    else:
        typer.echo(str(view))
