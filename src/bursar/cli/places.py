"""The commands ``bursar settings`` and ``bursar data facebook-ads``."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from bursar.settings import Setting, settings
from bursar.settings.changing import CHANGING
from bursar.settings.facebook import load
from bursar.settings.families import FAMILIES
from bursar.settings.store import keep

__all__ = ["data_facebook_ads", "settings_command"]

_PAPER = (545, 19)  # ads and campaigns of the paper's file


def settings_command(as_json: bool) -> None:
    """Print every setting: name, distribution, arms, problems a repetition, needs data."""
    rows = [_facts(one) for one in (*settings(), *CHANGING.values(), *FAMILIES.values())]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("name", "distribution", "arms", "problems", "needs data", "source"):
        right = column in ("arms", "problems")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        low, high = min(row["arms"]), max(row["arms"])
        table.add_row(
            row["name"],
            row["distribution"],
            str(low) if low == high else f"{low}…{high}",
            str(row["problems"]),
            "Facebook ads" if row["needs_data"] else "no",
            row["source"],
        )
    # a pipe has no width; wide enough that no table is cut
    console = Console() if sys.stdout.isatty() else Console(width=160)
    console.print(table)


def _facts(one: Setting) -> dict[str, Any]:
    return {
        "name": one.name,
        "kind": one.kind,
        "distribution": one.distribution,
        "arms": list(one.arms),
        "problems": len(one.arms),
        "needs_data": one.needs_data,
        "source": one.source,
    }


def data_facebook_ads(source: str) -> None:
    """Check a file of Facebook ads, keep a copy, and print where it is and what is in it."""
    kept = keep(source)
    ads = load(kept)
    campaigns = ads.campaigns()
    typer.echo(f"kept in {kept}")
    typer.echo(f"{len(ads)} ads in {len(campaigns)} campaigns (campaign, age, gender)")
    if (len(ads), len(campaigns)) != _PAPER:
        typer.echo("not the file of the paper, which has {} ads in {} campaigns".format(*_PAPER))
    left_out = sum(ads.excluded.values())
    typer.echo(f"{left_out} lines left out{':' if left_out else ''}")
    for reason, count in ads.excluded.items():
        lines = ", ".join(map(str, ads.lines[reason]))
        more = ", …" if count > len(ads.lines[reason]) else ""
        one = "line" if count == 1 else "lines"
        typer.echo(f"  {count:>5}  {reason} ({one} {lines}{more})")
