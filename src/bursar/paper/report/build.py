"""The results folder of a run: table, summary, figures, claims, report, and how it was made."""

from __future__ import annotations

import csv
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bursar.experiments import Experiment, ExperimentRun, text
from bursar.experiments.cells import code_digest
from bursar.files import whole_file
from bursar.paper.analysis.games import spread
from bursar.paper.claims import as_json, claims
from bursar.paper.figures.draw import draw_all
from bursar.paper.report.facts import ReportData
from bursar.paper.report.page import page
from bursar.problems import Problem
from bursar.simulation import arrow
from bursar.simulation.result import Result
from bursar.version import __version__

__all__ = ["ReportBuilder", "build_report", "summary_rows", "write_report_file"]

# ==== report.write
# Write the page to a file that is whole or not there.


def write_report_file(facts: ReportData, path: Path) -> Path:
    """Write the report; figures and tables that lie in its folder are linked from it."""
    text = page(facts, path.parent)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


_LIBRARIES = ("numpy", "numba", "scipy", "pyarrow", "matplotlib")


@dataclass(frozen=True)
class ReportBuilder:
    """How a run was made: what was typed, when, and how long it took."""

    command: str
    started: datetime
    began: float  # on the clock that never goes back
    engine: str

    def facts(self, outcome: ExperimentRun) -> dict[str, Any]:
        """Return what the report says of the run."""
        core = sum(float(row["seconds"]) for row in outcome.timings)
        return {
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(time.monotonic() - self.began, 1),  # with all but the page itself
            "core_seconds": core,
            "cores": os.cpu_count() or 1,
            "engine": self.engine,
            "machine": _machine(),
            "python": platform.python_version(),
            "versions": {name: _version(name) for name in _LIBRARIES},
            "bursar": __version__,
            "digest": code_digest(),
            "command": self.command,
            "done": outcome.counts.done,
            "cached": outcome.counts.cached,
            "failed": outcome.counts.failed,
        }


def build_report(
    what: Experiment,
    outcome: ExperimentRun,
    folder: Path,
    making: ReportBuilder,
    *,
    about_paper: bool = True,
    advice: Sequence[str] = (),
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda doing: None,
) -> ReportData:
    """Write all that a run is kept for; the report last, since it shows the rest."""
    result = outcome.result
    progress("writing results.parquet and summary.csv")
    arrow.write(result, folder / "results.parquet")
    _csv(folder / "summary.csv", summary_rows(result))
    _text(folder / "experiment.toml", text(what))
    if about_paper:
        progress("checking the claims")
    data = what.plan.data if isinstance(what.plan.data, str | os.PathLike) else None
    found = [as_json(claim) for claim in claims(result, data)] if about_paper else []
    _text(folder / "claims.json", _json(found))
    left_out: list[str] = []

    def drawn(name: str, reason: str) -> None:
        progress(f"drew {name}" if not reason else f"left out {name}: {reason}")
        left_out.extend([f"The figure “{name}” is left out: {reason}."] if reason else [])

    figures = draw_all(
        result, folder / "figures", data=data, timings=outcome.timings, progress=drawn,
        about_paper=about_paper, places=what.plan.settings,
    )  # fmt: skip
    failures = [failure._asdict() for failure in outcome.failures]
    made = making.facts(outcome)
    facts = ReportData(
        what.title, _declared(what), result, found, figures, outcome.timings, made, failures,
        [*notes, *_gaps(what, outcome), *left_out], advice,
    )  # fmt: skip
    _text(folder / "run.json", _json({"experiment": _declared(what), "run": made}))
    progress("writing report.html")
    write_report_file(facts, folder / "report.html")
    return facts


def summary_rows(result: Result) -> list[dict[str, Any]]:
    """Return a row a setting and policy: final regret, its spread, and how often it failed."""
    rows = []
    for row in result.summary():
        if row["budget_share"] != float(result.shares[-1]):
            continue
        more = spread(result, row["setting"], row["policy"])
        quantiles = {f"regret_{key}": more[key] for key in ("p05", "p25", "p75", "p95", "max")}
        rows.append(row | quantiles | {"failed_share": more["failed"]})
    return rows


def _declared(what: Experiment) -> dict[str, Any]:
    """Return the experiment as the report shows it."""
    todo = what.plan
    places: list[Any] = []
    for place in todo.settings:
        if isinstance(place, Problem):
            kind = type(place).__name__
            facts = {"kind": "own", "distribution": kind, "arms": [place.arms], "source": "given"}
            places.append({"name": place.name or "problem", **facts})
        else:
            fields = ("name", "kind", "distribution", "source")
            places.append({f: getattr(place, f) for f in fields} | {"arms": list(place.arms)})
    return {
        "name": what.name,
        "settings": places,
        "policies": [str(policy) for policy in todo.policies],
        "repetitions": todo.repetitions,
        "budget_plays": todo.budget_plays if todo.budget is None else None,
        "budget": todo.budget,
        "shares": list(todo.shares),
        "seed": todo.seed,
        "overspend": todo.overspend,
        "data": Path(str(todo.data)).name if isinstance(todo.data, str | os.PathLike) else None,
    }


def _gaps(what: Experiment, outcome: ExperimentRun) -> list[str]:
    played = np.unique(outcome.result.setting).size
    notes = []
    if outcome.counts.failed:
        notes.append(
            f"{outcome.counts.failed} of {outcome.counts.total} units failed; what is shown is"
            " made of the others. Repeat them with --rerun-failed."
        )
    if played < len(what.plan.settings):
        notes.append(f"Only {played} of {len(what.plan.settings)} settings have any game.")
    return notes


def _machine() -> str:
    """Return processor and system in a few words; the processor's name is where Linux keeps it."""
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


def _csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    kept = list(rows)
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, kept[0] if kept else ["setting", "policy"])
        writer.writeheader()
        writer.writerows(kept)


def _text(path: Path, content: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(content, encoding="utf-8")


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
