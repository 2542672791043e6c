"""How commands print their results to stdout: as tables, plain lines or JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

import bursar
from bursar.formatting import to_plain

if TYPE_CHECKING:
    from rich.console import Console

    from bursar.campaign import ArmView


def console() -> Console:
    """Return a console for plain text on stdout; a pipe gets 160 columns so that no table is cut.

    Rich is imported here, so that commands that print only lines start faster.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False, markup=False)


def print_table(
    columns: Sequence[str], rows: Iterable[Iterable[str]], left: Sequence[str] = ()
) -> None:
    """Print a table; columns named in ``left`` are left-aligned, the others right-aligned."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_rows(
    rows: Sequence[Any],
    as_json: bool,
    columns: Sequence[str],
    cells: Callable[[Any], Iterable[str]],
    left: Sequence[str],
) -> None:
    """Print rows of data as JSON, or as a table with the cells of each row."""
    if as_json:
        print_json(rows)
    else:
        print_table(columns, map(cells, rows), left)


def print_json(data: Any) -> None:
    """Print JSON, with infinities as text because JSON has no number for them."""
    typer.echo(json.dumps(_replace_infinities(data), indent=2, ensure_ascii=False, allow_nan=False))


def print_result(result: tuple[Any, str], as_json: bool) -> None:
    """Print a result, given as data and as text, in one of both forms."""
    data, text = result
    print_json(data) if as_json else typer.echo(text)


def _replace_infinities(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _replace_infinities(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_replace_infinities(value) for value in data]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


_DECISION = (
    "id", "arm", "hold", "expires_at", "propensity", "constrained", "replayed", "money",
    "reward_state", "cost", "reward", "seq",
)  # fmt: skip
_MONEY = ("budget", "spent", "held", "available", "overrun")


def decision_facts(decision: bursar.Decision) -> dict[str, Any]:
    """Return a decision as data."""
    return {name: to_plain(getattr(decision, name)) for name in _DECISION}


def campaign_facts(campaign: bursar.Campaign) -> dict[str, Any]:
    """Return a campaign as data, all of it from one state."""
    from bursar.campaign.views import make_status

    state = campaign.execute(lambda transaction: transaction.state)
    status, text = make_status(state, now=0).as_dict(), campaign.coin.text
    caps = {} if state.day_cap is None else {"day": text(state.day_cap)}
    caps |= {
        f"arm:{arm.key}": text(arm.money.cap) for arm in state.arms if arm.money.cap is not None
    }
    names = ("name", "state", *_MONEY, "currency", "exponent", "open", "asks", "reward")
    rules = campaign.config.to_body()
    del rules["coin"]
    return {
        **{name: status[name] for name in names},
        "arms": {
            arm.key: {"state": arm.state, "max_cost": text(arm.max_cost)} for arm in state.arms
        },
        "caps": caps,
        "version": state.version,
        "events": state.seq,
        "alarms": campaign.alarms,
        "rules": to_plain(rules),
    }


def show_campaign(campaign: bursar.Campaign, as_json: bool) -> None:
    """Print one campaign."""
    facts = campaign_facts(campaign)
    if as_json:
        print_json(facts)
        return
    currency = f" {facts['currency']}" if facts["currency"] else ""
    lines = {
        facts["name"]: facts["state"],
        **{name: facts[name] + currency for name in _MONEY},
        "open": f"{facts['open']:,} of {facts['asks']:,} decisions await an outcome",
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


def show_campaigns(campaigns: list[bursar.Campaign], as_json: bool) -> None:
    """Print a row per campaign."""
    columns = ("name", "state", *_MONEY[:4], "currency", "open", "asks", "policy")

    def cells(row: dict[str, Any]) -> list[str]:
        return [*(str(row[column]) for column in columns[:-1]), row["rules"]["policy"]]

    left = ("name", "state", "currency", "policy")
    print_rows([campaign_facts(one) for one in campaigns], as_json, columns, cells, left)


def show_decisions(asked: bursar.Decision | list[bursar.Decision], as_json: bool) -> None:
    """Print a line per decision with id, arm and hold, for shells to read."""
    every = asked if isinstance(asked, list) else [asked]
    rows = [decision_facts(one) for one in every]
    lines = [f"{one.id}\t{one.arm}\t{one.hold:f}" for one in every]
    print_result((rows if every is asked else rows[0], "\n".join(lines)), as_json)


def show_outcome(decision: bursar.Decision, as_json: bool) -> None:
    """Print the outcome of a decision."""
    cost = "" if decision.cost is None else f" for {decision.cost:f}"
    reward = "" if decision.reward is None else f" {decision.reward:g}"
    again = "; already recorded" if decision.replayed else ""
    text = (
        f"{decision.id}\t{decision.arm}\t{decision.money}{cost},"
        f" reward {decision.reward_state}{reward}{again}"
    )
    print_result((decision_facts(decision), text), as_json)


def show_arms(arms: list[ArmView], as_json: bool) -> None:
    """Print a row per arm: its counts and money, and means with 95% intervals."""
    means = ("reward", "cost", "reward per cost")
    columns = ("arm", "state", "hold", "spent", "asks", "open", "plays", *means, "overruns")
    rows = [arm.as_dict() for arm in arms]
    print_rows(rows, as_json, columns, _arm_cells, left=("arm", "state"))


def _arm_cells(row: dict[str, Any]) -> list[str]:
    texts = (row[name] for name in ("key", "state", "hold", "spent"))
    counts = (f"{row[name]:,}" for name in ("asks", "open", "plays"))
    estimates = (_format_estimate(row[name]) for name in ("reward", "cost", "ratio"))
    return [*texts, *counts, *estimates, str(row["overruns"])]


def _format_estimate(one: dict[str, float] | None) -> str:
    return "-" if one is None else "{value:.4g} ({low:.4g} … {high:.4g})".format(**one)


def show_view(view: Any, as_json: bool) -> None:
    """Print a view of a campaign as data or as text."""
    print_result((view.as_dict(), str(view)), as_json)
