"""The command line. Data go to stdout, progress and errors to stderr.

Each command is declared here and implemented in a module that is imported when the command runs, so
that ``bursar --help`` does not load compiled code.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from bursar.cli.campaign import app as campaign_app
from bursar.cli.keys import app as keys_app
from bursar.cli.output import AsJSON
from bursar.cli.storage import Storage
from bursar.errors import BursarError, InvalidInput
from bursar.extras import import_extra
from bursar.simulation import BUDGET_PLAYS
from bursar.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    help="bursar: make the best use of a budget.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
data = typer.Typer(help="Check and store downloaded data sets.", no_args_is_help=True)
app.add_typer(data, name="data")
app.add_typer(campaign_app, name="campaign")
app.add_typer(keys_app, name="keys")


def main() -> None:
    """Run the command line; a BursarError becomes one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ω shows ?
    try:
        app()
    except BursarError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


def _command(module: str) -> Any:
    return import_module(f"bursar.cli.{module}")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bursar {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """bursar: make the best use of a budget."""


@app.command()
def policies(as_json: AsJSON = False) -> None:
    """List every policy: slug, name, year, source, parameters and what it needs to know."""
    _command("policies").policies_command(as_json)


@app.command()
def policy(
    slug: Annotated[str, typer.Argument(help="For example omega-star-ucb:rho=0.25")],
    as_json: AsJSON = False,
) -> None:
    """Show one policy: its formula, what it needs, and its index on an example of three arms."""
    _command("policies").policy_command(slug, as_json)


@app.command()
def settings(as_json: AsJSON = False) -> None:
    """List all settings: distribution, arms, problems per repetition, required data, source."""
    _command("simulate").settings_command(as_json)


@data.command("facebook-ads")
def facebook_ads(
    source: Annotated[str, typer.Option("--from", help="The CSV file, or a ZIP that holds it.")],
) -> None:
    """Check your copy of the Facebook ads and store it where FB-Br and FB-Bt find it."""
    _command("simulate").data_facebook_ads(source)


Repetitions = Annotated[int, typer.Option(min=1, help="Games of each policy.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same output.")]


@app.command()
def simulate(
    setting: Annotated[str, typer.Argument(help="For example S-Br-10; see bursar settings.")],
    policy: Annotated[
        list[str], typer.Option(help="The slug of a policy; repeat the option for more.")
    ],
    repetitions: Repetitions = 100,
    budget_plays: Annotated[
        float, typer.Option(help="The budget, in plays of the cheapest arm.")
    ] = BUDGET_PLAYS,
    data: Annotated[str | None, typer.Option(help="The Facebook ads, for FB-Br and FB-Bt.")] = None,
    seed: Seed = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of threads; all cores by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write every game to this Parquet file.")] = None,
    by_problem: Annotated[bool, typer.Option(help="Also print a row per ad campaign.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Play policies on a setting of the paper and print their regret."""
    _command("simulate").simulate_command(
        policy, setting, repetitions, budget_plays, data, seed, jobs=jobs, out=out, as_json=as_json,
        by_problem=by_problem,
    )  # fmt: skip


@app.command()
def demo(
    repetitions: Repetitions = 20,
    seed: Seed = 0,
    picture: Annotated[
        Path, typer.Option(help="The file for the picture: .png, .svg or .pdf.")
    ] = Path("bursar-demo.png"),
    as_json: AsJSON = False,
) -> None:
    """Compare a few policies on the paper's smallest setting: a table and a picture."""
    _command("simulate").demo_command(repetitions, seed, picture, as_json)


Full = Annotated[bool, typer.Option("--full", help="All 24 configurations, 100 repetitions.")]
Quick = Annotated[
    bool, typer.Option("--quick", help="The main policies, 30 repetitions; the default.")
]
Ads = Annotated[str | None, typer.Option("--data", help="The Facebook ads, for FB-Br and FB-Bt.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Number of threads; all cores by default.")]
Dask = Annotated[
    str | None, typer.Option(help="The address of a Dask scheduler whose workers compute.")
]
Out = Annotated[Path | None, typer.Option(help="Results folder; bursar-results/NAME by default.")]
Dry = Annotated[
    bool,
    typer.Option("--dry-run", help="Print what would run and how long it would take, then stop."),
]
Again = Annotated[bool, typer.Option("--rerun-failed", help="Repeat units that failed earlier.")]
Force = Annotated[bool, typer.Option("--force", help="Ignore the cache and recompute everything.")]
Times = Annotated[int | None, typer.Option(min=1, help="Games of each policy on each setting.")]


@app.command()
def reproduce(
    quick: Quick = False,
    full: Full = False,
    all_policies: Annotated[
        bool,
        typer.Option(
            "--all-policies", help="With --full: also the policies that the paper does not play."
        ),
    ] = False,
    changing: Annotated[
        bool, typer.Option("--changing", help="Nonstationary settings instead of the paper's.")
    ] = False,
    less_regret: Annotated[
        bool,
        typer.Option("--less-regret", help="Compare pooled-gittins with the paper's best policy."),
    ] = False,
    families: Annotated[
        bool, typer.Option("--families", help="The same comparison on other families of problems.")
    ] = False,
    data: Ads = None,
    repetitions: Times = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = None,
    dry_run: Dry = False,
    rerun_failed: Again = False,
    force: Force = False,
    as_json: AsJSON = False,
) -> None:
    """Run the paper's evaluation, draw its figures, check its claims, and write a report."""
    module = import_extra("bursar.cli.reproduce")
    options = module.RunOptions(
        out=out, jobs=jobs, dask=dask, dry_run=dry_run, rerun_failed=rerun_failed, force=force,
        as_json=as_json,
    )  # fmt: skip
    variants = {"--changing": changing, "--less-regret": less_regret, "--families": families}
    module.reproduce_command(
        options, quick=quick, full=full, all_policies=all_policies, variants=variants, data=data,
        repetitions=repetitions, seed=seed,
    )  # fmt: skip


@app.command()
def run(
    file: Annotated[Path | None, typer.Argument(help="An experiment as TOML.")] = None,
    ads: Annotated[str | None, typer.Option(help="Your own ad export, instead of FILE.")] = None,
    group: Annotated[
        str, typer.Option(help="Columns that separate campaigns, as in campaign,age.")
    ] = "",
    arm: Annotated[
        str, typer.Option(help="Columns that name an arm; by default each row is one.")
    ] = "",
    clicks: Annotated[str, typer.Option(help="The column with the clicks.")] = "clicks",
    cost: Annotated[str, typer.Option(help="The column with the amount spent.")] = "cost",
    reward: Annotated[str, typer.Option(help="The column with the reward.")] = "reward",
    budget: Annotated[float | None, typer.Option(help="The budget of each campaign.")] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="The decimal separator of the export, if it is ambiguous: . or ,"),
    ] = None,
    money: Annotated[
        bool, typer.Option("--money", help="Rewards are amounts of money, not counts.")
    ] = False,
    blank_is_zero: Annotated[
        bool, typer.Option("--blank-is-zero", help="Read empty numbers in the export as 0.")
    ] = False,
    prize: Annotated[
        str | None, typer.Option(help="The value of one success: a number, or largest.")
    ] = None,
    model: Annotated[str, typer.Option(help="How costs vary: bernoulli or beta.")] = "bernoulli",
    policy: Annotated[
        list[str] | None, typer.Option(help="The slug of a policy; repeat the option for more.")
    ] = None,
    repetitions: Times = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same output.")] = None,
    jobs: Jobs = None,
    dask: Dask = None,
    out: Out = None,
    dry_run: Dry = False,
    rerun_failed: Again = False,
    force: Force = False,
    as_json: AsJSON = False,
) -> None:
    """Run an experiment of your own: a TOML file, or your ad export with --ads."""
    if (file is None) == (ads is None):
        raise InvalidInput(
            "give either an experiment as a TOML file or an ad export with --ads FILE"
        )
    module = import_extra("bursar.cli.reproduce")
    changes = module.ExperimentOverrides(policy, repetitions, seed, budget)
    options = module.RunOptions(
        out=out, jobs=jobs, dask=dask, dry_run=dry_run, rerun_failed=rerun_failed, force=force,
        as_json=as_json,
    )  # fmt: skip
    if file is not None:
        module.run_file(file, changes, options)
        return
    columns = module.ColumnOptions(
        group=group, arm=arm, clicks=clicks, cost=cost, reward=reward, decimal=decimal,
        money=money, blank_is_zero=blank_is_zero, prize=prize, model=model,
    )  # fmt: skip
    module.run_ads(ads, columns, changes, options)


@app.command()
def replay(
    log: Annotated[Path, typer.Argument(help="The decisions, a .csv or .parquet file.")],
    policy: Annotated[
        list[str],
        typer.Option(help="The slug of a policy, or always:ARM; repeat the option for more."),
    ],
    budget: Annotated[
        float | None, typer.Option(help="The budget of each policy; by default what the log spent.")
    ] = None,
    arm: Annotated[
        list[str] | None, typer.Option(help="Compare only these arms; repeat the option for more.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="The name of a column in the file, as in arm=variant."),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=20, help="Number of resampled logs for the intervals.")
    ] = 200,
    level: Annotated[float, typer.Option(help="The level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same output.")] = 0,
    reward_range: Annotated[
        str | None, typer.Option(help="As in 0,1; by default from the log.")
    ] = None,
    cost_range: Annotated[
        str | None, typer.Option(help="As in 0,0.05; by default from the log.")
    ] = None,
    min_cost: Annotated[
        float | None, typer.Option(help="Lower bound on mean cost (required by some policies).")
    ] = None,
    clip: Annotated[
        float | None, typer.Option(help="Raise smaller propensities to this value.")
    ] = None,
    as_json: AsJSON = False,
) -> None:
    """Estimate the reward of other policies from the log of a campaign, if it allows that."""
    _command("replay").replay_command(
        log, policy, budget, arms=arm, columns=column or [], resamples=resamples, level=level,
        seed=seed, reward_range=reward_range, cost_range=cost_range, min_cost=min_cost, clip=clip,
        as_json=as_json,
    )  # fmt: skip


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(help="A results folder.")],
    other: Annotated[Path, typer.Argument(help="Another results folder.")],
    as_json: AsJSON = False,
) -> None:
    """Show two results folders side by side: regret, failures, claims, and how they were made."""
    import_extra("bursar.cli.reproduce").compare_command(one, other, as_json)


@app.command()
def serve(
    host: Annotated[
        str, typer.Option(envvar="BURSAR_HOST", help="The address; by default only this machine.")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(envvar="BURSAR_PORT", min=0, max=65535, help="The port; 0 for any free one."),
    ] = 8321,
    storage: Storage = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            envvar="BURSAR_ALLOW_HOST",
            help="A host name that requests may use, as in bursar.example; repeat for more.",
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(envvar="BURSAR_LOG_LEVEL", help="debug, info, warning or error.")
    ] = "info",
    reports: Annotated[
        Path | None, typer.Option(help="A folder with reports of bursar reproduce to show.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests per second and key; 0 for no limit.")
    ] = 0.0,
    secure_cookies: Annotated[
        bool,
        typer.Option("--secure-cookies", help="Send cookies over HTTPS only, as behind a proxy."),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve simulated campaigns, to try the dashboard.")
    ] = False,
) -> None:
    """Serve campaigns over HTTP; Ctrl-C or SIGTERM completes pending requests, then stops."""
    import_extra("bursar.cli.server", "service").run_server(
        storage, log_level, demo, host=host, port=port, allowed_hosts=tuple(allow_host or ()),
        reports=reports, rate=rate, secure_cookies=secure_cookies,
    )  # fmt: skip
