"""The page as text, from a template that escapes whatever it is given."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bursar.analysis.failures import FAILED
from bursar.figures.labels import colours, is_ours
from bursar.report.facts import Facts
from bursar.report.pictures import links, pictures
from bursar.report.setups import setups
from bursar.report.spelling import amount, duration, name, number, percent
from bursar.report.tables import finals, matrix, speeds
from bursar.report.verdicts import counts, sections
from bursar.report.words import words

__all__ = ["page"]


def page(facts: Facts, folder: Path | None = None) -> str:
    """Return the whole report as one HTML document.

    Parameters
    ----------
    facts : Facts
        What the page tells.
    folder : Path, optional
        Where it will lie; files in that folder are linked.
    """
    tables = finals(facts.result)
    return _template().render(
        facts=facts,
        words=words(facts),
        colours=colours(facts.result.policies),
        figures=pictures(facts.figures, folder),
        counts=counts(facts.claims),
        sections=sections(facts.claims),
        setups=setups(facts),
        tables=tables,
        matrix=matrix(facts.result, tables),
        speeds=speeds(facts.timings),
        made=_made(facts),
        links=links(folder),
        totals=_totals(facts),
        failed=FAILED,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("bursar.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "policy": name}
    environment.tests["ours"] = is_ours
    return environment.get_template("page.html.jinja")


def _totals(facts: Facts) -> dict[str, str]:
    result = facts.result
    return {
        "games": amount(len(result.setting)),
        "plays": amount(float(result.values[:, -1, 0].sum())),
        "policies": amount(len(result.policies)),
    }


def _made(facts: Facts) -> list[tuple[str, str]]:
    """Return what is needed to judge and repeat the run, as pairs; the unknown is left out."""
    run, asked = facts.run, facts.experiment
    units = [f"{run[key]:,} {key}" for key in ("done", "cached", "failed") if key in run]
    rows = [
        ("Experiment", asked.get("name")),
        ("Repetitions", asked.get("repetitions")),
        ("Seed", asked.get("seed")),
        ("Budget", _budget(asked)),
        ("Last pull", _OVERSPEND.get(str(asked.get("overspend")), asked.get("overspend"))),
        ("Data", asked.get("data")),
        ("Started", _moment(run.get("started"))),
        ("Took", _duration(run.get("seconds"))),
        ("Time of all cores, playing", _duration(run.get("core_seconds"))),
        ("Units of work", ", ".join(units)),
        ("Machine", run.get("machine")),
        ("Cores", run.get("cores")),
        ("Engine", run.get("engine")),
        ("bursar", run.get("bursar")),
        ("Digest of the code", run.get("digest")),
        ("Python", run.get("python")),
        ("Libraries", ", ".join(f"{k} {v}" for k, v in run.get("versions", {}).items())),
    ]
    return [(what, str(value)) for what, value in rows if value not in (None, "")]


_OVERSPEND = {
    "last": "may cost more than is left in the purse",
    "never": "is not made if it could cost more than is left in the purse",
}


def _budget(asked: Mapping[str, Any]) -> str | None:
    if asked.get("budget") is not None:
        return f"{number(asked['budget'])} for each problem"
    if asked.get("budget_plays") is None:
        return None
    return f"{number(asked['budget_plays'])} × the mean cost of the cheapest arm"


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else duration(seconds)


def _moment(started: Any) -> str | None:
    """Return an ISO time as people write it; anything else stays as it is."""
    try:
        return datetime.fromisoformat(str(started)).strftime("%d %B %Y, %H:%M %Z").strip()
    except ValueError:
        return None if started is None else str(started)
