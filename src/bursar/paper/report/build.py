"""The results folder of a run: tables, figures, claims, how it was made, and the report.

The report is one HTML document, from a template that escapes everything it is given. Figures are
embedded as data, so the page is a single file that opens without a network.
"""

import csv
import json
import os
import platform
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bursar.errors import MissingData
from bursar.experiments import Experiment, ExperimentRun, format_experiment
from bursar.experiments.cells import code_digest
from bursar.files import replace_file
from bursar.formatting import format_elapsed, to_csv_cell
from bursar.paper.analysis.games import FAILED, describe_spread
from bursar.paper.claims import judge_claims
from bursar.paper.figures.comparison import seconds_per_million
from bursar.paper.figures.draw import DrawnFigure, draw_all
from bursar.paper.labels import format_label, format_sentence_label, is_omega, line_styles
from bursar.paper.report import data
from bursar.paper.report.data import ReportData
from bursar.problems import Problem
from bursar.simulation import arrow
from bursar.simulation.result import Result
from bursar.version import __version__

_BOX = re.compile(r'<svg\b[^>]*?\bviewBox="\s*[-\d.e]+[\s,]+[-\d.e]+[\s,]+([\d.e]+)[\s,]+([\d.e]+)')
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
    ads = plan.data if isinstance(plan.data, str | os.PathLike) else None
    claims: list[dict[str, Any]] = []
    if about_paper:
        progress("checking the claims")
        claims = [asdict(claim) for claim in judge_claims(result, ads)]
    _write_json(folder / "claims.json", claims)
    left_out: list[str] = []

    def report_figure(name: str, reason: str) -> None:
        progress(f"left out {name}: {reason}" if reason else f"drew {name}")
        if reason:
            left_out.append(f"The figure “{name}” is left out: {reason}.")

    figures = draw_all(
        result,
        folder / "figures",
        data=ads,
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


def _write_json(path: Path, value: Any) -> None:
    _write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_report(report: ReportData, path: Path) -> Path:
    """Write the report, complete or not at all; files in its folder are linked from it."""
    _write_text(path, render_report(report, path.parent))
    return path


def render_report(report: ReportData, folder: Path | None = None) -> str:
    """Return the report as HTML, with links to the files in ``folder``, where it will be."""
    result = report.result
    final = data.make_final_tables(result)
    return _template().render(
        report=report,
        summary=data.summarize(report),
        colours={slug: colour for slug, (colour, _) in line_styles(result.policies).items()},
        verdicts=data.count_verdicts(report.claims),
        sections=data.group_claims(report.claims),
        badges={verdict: badge for verdict, (_, badge) in data.VERDICTS.items()},
        settings=data.list_setting_rows(report),
        tables=final,
        matrix=data.make_matrix(result, final),
        speeds=seconds_per_million(report.timings),
        folder=folder,
        link=partial(_link, folder),
        plays=float(result.values[:, -1, 0].sum()),
        failed=FAILED,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("bursar.paper.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": data.format_value,
        "percent": data.format_share,
        "amount": data.format_amount,
        "points": data.format_points,
        "elapsed": format_elapsed,
        "start": _format_start,
        "policy": format_label,
        "sentence": format_sentence_label,
        "number_table": data.make_number_table,
        "embed": _embed,
    }
    environment.tests["omega"] = is_omega
    return environment.get_template("page.html.jinja")


def _embed(figure: DrawnFigure) -> dict[str, Any]:
    """Return the picture as an address that holds it, with its size."""
    try:
        content = figure.svg.read_bytes()
    except OSError as error:
        raise MissingData(
            f"figure {figure.name!r} has no file {str(figure.svg)!r}; draw the figures again"
        ) from error
    width, height = _size(content)
    address = f"data:image/svg+xml;base64,{b64encode(content).decode()}"
    return {"src": address, "width": width, "height": height}


def _size(content: bytes) -> tuple[int, int]:
    """Return width and height, so that nothing moves while the page loads."""
    found = _BOX.search(content[:4000].decode("utf-8", "replace"))
    if found is None:
        return 960, 600
    # matplotlib counts in points, a page in pixels
    return round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)


def _link(folder: Path | None, path: Path) -> str:
    """Return a link from the page to a file, or nothing if it is not in the page's folder."""
    if folder is None or not path.is_file():
        return ""
    here, there = folder.resolve(), path.resolve()
    return quote(there.relative_to(here).as_posix()) if there.is_relative_to(here) else ""


def _format_start(started: str) -> str:
    """Return an ISO time in words; anything else stays as it is."""
    try:
        return datetime.fromisoformat(started).strftime("%d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return started
