"""What commands print: results to stdout as tables, plain lines or JSON, and progress to stderr.

Rich is imported by the functions that use it, so that commands that print only lines start faster.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

import bursar
from bursar.formatting import format_elapsed, to_plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from bursar.campaign import ArmView
    from bursar.experiments.runner import CellCounts

_LINE_SECONDS = 10.0  # between lines of progress without a terminal


def console() -> Console:
    """Return a console for stdout; a pipe gets 160 columns, so that no table is cut."""
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
    finite = json.loads(json.dumps(data), parse_constant=lambda name: str(float(name)))
    typer.echo(json.dumps(finite, indent=2, ensure_ascii=False, allow_nan=False))


def print_result(result: tuple[Any, str], as_json: bool) -> None:
    """Print a result, given as data and as text, in one of both forms."""
    data, text = result
    print_json(data) if as_json else typer.echo(text)


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
    caps = {"day": state.day_cap} | {f"arm:{arm.key}": arm.money.cap for arm in state.arms}
    names = ("name", "state", *_MONEY, "currency", "exponent", "open", "asks", "reward")
    rules = campaign.config.to_body()
    del rules["coin"]
    return {
        **{name: status[name] for name in names},
        "arms": {
            arm.key: {"state": arm.state, "max_cost": text(arm.max_cost)} for arm in state.arms
        },
        "caps": {scope: text(cap) for scope, cap in caps.items() if cap is not None},
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
    from bursar.campaign.decision import DecisionList

    every = asked if isinstance(asked, list) else [asked]
    rows = [decision_facts(one) for one in every]
    lines = [f"{one.id}\t{one.arm}\t{one.hold:f}" for one in every]
    print_result((rows if every is asked else rows[0], "\n".join(lines)), as_json)
    if isinstance(asked, DecisionList) and asked.reason is not None:
        typer.echo(
            f"warning: {asked.granted:,} of {asked.asked:,} were granted: {asked.reason}", err=True
        )


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
    counts = [f"{row[name]:,}" for name in ("asks", "open", "plays")]
    if row["history"] is not None:
        counts[-1] += f" + {row['history']['outcomes']:,} past"
    estimates = (
        "{value:.4g} ({low:.4g} … {high:.4g})".format(**row[name]) if row[name] else "-"
        for name in ("reward", "cost", "ratio")
    )
    return [*texts, *counts, *estimates, str(row["overruns"])]


def show_view(view: Any, as_json: bool) -> None:
    """Print a view of a campaign as data or as text."""
    print_result((view.as_dict(), str(view)), as_json)


# progress


class ProgressDisplay:
    """The progress of a run; call it after each unit."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._printed = clock()
        from rich import progress as bars
        from rich.console import Console

        columns = bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TimeElapsedColumn()
        self._bar = bars.Progress(
            *columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
        )

    def __enter__(self) -> ProgressDisplay:
        self._bar.start()
        self._task = self._bar.add_task("compiling (first run only)", total=None)
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, counts: CellCounts, unit: str) -> None:
        """Show the counts; ``unit`` is the setting of the finished unit, empty at the start."""
        if not unit:
            if self._bar.disable and counts.left:
                typer.echo(
                    f"{counts.left} units to compute, {counts.cached} cached, {counts.failed}"
                    " failed earlier; compiling (first run only)",
                    err=True,
                )
            return
        if counts.done + counts.failed == 1:  # the time before it was spent compiling
            first = sum(sum(units) for units in counts.took.values())
            self._began = max(self._began, self._clock() - first)
        line = self.format_line(counts)
        ended = counts.total - counts.left
        self._bar.update(self._task, description=line, total=counts.total, completed=ended)
        late = self._clock() - self._printed >= _LINE_SECONDS or not counts.left
        if self._bar.disable and late:
            self._printed = self._clock()
            typer.echo(line, err=True)

    def format_line(self, counts: CellCounts) -> str:
        """Return the units done, cached and failed, plays per second, and the time left."""
        passed = max(self._clock() - self._began, 1e-9)
        more = counts.share_left * passed
        left = f", {format_elapsed(more)} left" if counts.left and more else ""
        return (
            f"{counts.total - counts.left}/{counts.total} units"
            f" ({counts.done} done, {counts.cached} cached, {counts.failed} failed),"
            f" {counts.plays / passed / 1e6:,.1f} million plays per second{left}"
        )


def progress_bar() -> Progress:
    """Return a progress bar with the time elapsed and the time left."""
    from rich import progress as bars
    from rich.console import Console

    times = bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), bars.TimeRemainingColumn()
    columns = bars.TextColumn("{task.description:<26}"), bars.BarColumn(), *times
    return bars.Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def show_activity() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current activity: a spinner, or lines without a terminal."""
    from rich.console import Console

    err = Console(stderr=True)
    if err.is_terminal:
        with err.status("writing") as status:
            yield status.update
    else:
        yield lambda activity: typer.echo(activity, err=True)
