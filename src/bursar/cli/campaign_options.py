"""Arguments and options that commands of campaigns share."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["By", "Cost", "Id", "IfVersion", "Key", "Name", "Reason", "Reward"]

Name = Annotated[str, typer.Argument(help="The campaign.")]
Id = Annotated[str, typer.Argument(metavar="DECISION", help="The id that ask printed.")]
Key = Annotated[str, typer.Argument(metavar="ARM", help="The arm.")]
Cost = Annotated[str | None, typer.Option(help="What it did cost, as in 0.0031.")]
Reward = Annotated[float | None, typer.Option(help="What it brought; may come later.")]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]
By = Annotated[str, typer.Option(envvar="USER", help="Who changes it, for the log.")]
IfVersion = Annotated[
    int | None, typer.Option(help="Refuse if the campaign is not at this version any more.")
]
