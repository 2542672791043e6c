"""The results folder of a run: tables, figures, claims, report, and how it was made."""

import csv
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bursar.experiments import Experiment, ExperimentRun, format_experiment
from bursar.experiments.cells import code_digest
from bursar.files import replace_file
from bursar.formatting import to_csv_cell
from bursar.paper.analysis.games import describe_spread
from bursar.paper.claims import judge_claims
from bursar.paper.figures.draw import draw_all
from bursar.paper.report.data import ReportData
from bursar.paper.report.page import write_report
from bursar.problems import Problem
from bursar.simulation import arrow
from bursar.simulation.result import Result
from bursar.version import __version__

_LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "matplotlib")


@dataclass(frozen=True)
class RunRecord:
    """How a run was made: the command, when it started, and how long it took."""

    command: str
    started: datetime
    began: float  # on the monotonic clock
    engine: str

    def to_json(self, outcome: ExperimentRun) -> dict[str, Any]:
        """Return what the report says about the run."""
        return {
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.began, 1),  # all but the page itself
            "core_seconds": sum(float(row["seconds"]) for row in outcome.timings),
            "cores": os.cpu_count() or 1,
            "engine": self.engine,
            "machine": _describe_machine(),
            "python": platform.python_version(),
            "versions": {name: _version(name) for name in _LIBRARIES},
            "bursar": __version__,
            "digest": code_digest(),
            "command": self.command,
            "done": outcome.counts.done,
            "cached": outcome.counts.cached,
            "failed": outcome.counts.failed,
        }


def write_results(
    experiment: Experiment,
    outcome: ExperimentRun,
    folder: Path,
    record: RunRecord,
    *,
    about_paper: bool = True,
    advice: Sequence[str] = (),
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda doing: None,
) -> ReportData:
    """Write all results of a run to a folder; the report comes last, since it shows the rest."""
    result, plan = outcome.result, experiment.plan
    progress("writing results.parquet and summary.csv")
    arrow.write(result, folder / "results.parquet")
    _write_csv(folder / "summary.csv", summarize_games(result))
    _write_text(folder / "experiment.toml", format_experiment(experiment))
    data = plan.data if isinstance(plan.data, str | os.PathLike) else None
    claims: list[dict[str, Any]] = []
    if about_paper:
        progress("checking the claims")
        claims = [asdict(claim) for claim in judge_claims(result, data)]
    _write_json(folder / "claims.json", claims)
    left_out: list[str] = []

    def report_figure(name: str, reason: str) -> None:
        progress(f"left out {name}: {reason}" if reason else f"drew {name}")
        if reason:
            left_out.append(f"The figure “{name}” is left out: {reason}.")

    figures = draw_all(
        result,
        folder / "figures",
        data=data,
        timings=outcome.timings,
        progress=report_figure,
        about_paper=about_paper,
        settings=plan.settings,
    )
    report = ReportData(
        title=experiment.title,
        experiment=_describe_experiment(experiment),
        result=result,
        claims=claims,
        figures=figures,
        timings=outcome.timings,
        run=record.to_json(outcome),
        failures=[failure._asdict() for failure in outcome.failures],
        notes=[*notes, *_describe_gaps(experiment, outcome), *left_out],
        advice=advice,
    )
    _write_json(folder / "run.json", {"experiment": report.experiment, "run": report.run})
    progress("writing report.html")
    write_report(report, folder / "report.html")
    return report


def summarize_games(result: Result) -> list[dict[str, Any]]:
    """Return a row for each setting and policy: final regret, its spread, and failed games."""
    rows = []
    for row in result.summary():
        if row["budget_share"] != float(result.shares[-1]):
            continue
        more = describe_spread(result, row["setting"], row["policy"])
        quantiles = {f"regret_{key}": more[key] for key in ("p05", "p25", "p75", "p95", "max")}
        rows.append(row | quantiles | {"failed_share": more["failed"]})
    return rows


def _describe_experiment(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment as the report shows it."""
    plan = experiment.plan
    return {
        "name": experiment.name,
        "settings": [_describe_setting(setting) for setting in plan.settings],
        "policies": [str(policy) for policy in plan.policies],
        "repetitions": plan.repetitions,
        "budget_plays": plan.budget_plays if plan.budget is None else None,
        "budget": plan.budget,
        "shares": list(plan.shares),
        "seed": plan.seed,
        "overspend": plan.overspend,
        "data": Path(str(plan.data)).name if isinstance(plan.data, str | os.PathLike) else None,
    }


def _describe_setting(setting: Any) -> dict[str, Any]:
    if isinstance(setting, Problem):
        kind = type(setting).__name__
        own = {"kind": "own", "distribution": kind, "arms": [setting.arms], "source": "given"}
        return {"name": setting.name or "problem", **own}
    fields = ("name", "kind", "distribution", "source")
    return {f: getattr(setting, f) for f in fields} | {"arms": list(setting.arms)}


def _describe_gaps(experiment: Experiment, outcome: ExperimentRun) -> list[str]:
    notes = []
    if outcome.counts.failed:
        notes.append(
            f"{outcome.counts.failed} of {outcome.counts.total} units failed; the results show the"
            " others. Repeat the failed ones with --rerun-failed."
        )
    played, total = np.unique(outcome.result.setting).size, len(experiment.plan.settings)
    if played < total:
        notes.append(f"Only {played} of {total} settings have any game.")
    return notes


def _describe_machine() -> str:
    """Return processor and system in a few words; Linux has the processor's name in a file."""
    model = platform.processor() or platform.machine()
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        names = [line for line in listing.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {platform.system()}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    kept = list(rows)
    with replace_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, kept[0] if kept else ["setting", "policy"])
        writer.writeheader()
        writer.writerows({name: to_csv_cell(row[name]) for name in row} for row in kept)


def _write_text(path: Path, content: str) -> None:
    with replace_file(path) as partial:
        partial.write_text(content, encoding="utf-8")


def _write_json(path: Path, data: Any) -> None:
    _write_text(path, json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
