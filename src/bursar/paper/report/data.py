"""The data of a report: what was asked, what came out, and how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bursar.formatting import format_number
from bursar.paper.figures.draw import DrawnFigure
from bursar.paper.labels import format_label
from bursar.policies import POLICIES
from bursar.settings.catalog import SETTINGS
from bursar.simulation.result import Result

__all__ = [
    "ReportData",
    "SettingRow",
    "format_amount",
    "format_cell",
    "format_points",
    "format_share",
    "format_value",
    "list_setting_rows",
]


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """All that a report shows.

    Attributes
    ----------
    title : str
        The heading of the page.
    experiment : mapping
        ``name``, ``settings``, ``policies``, ``repetitions``, ``budget_plays`` (or ``budget``),
        ``shares``, ``seed``, ``overspend`` and ``data`` (the name of the file, or None). An entry
        of ``settings`` is a name, or a mapping with ``name``, ``kind``, ``distribution``, ``arms``
        and ``source`` for a setting that is not one of the paper's.
    result : Result
        Every game.
    claims : sequence of mapping
        ``id``, ``section``, ``text``, ``numbers``, ``test``, ``verdict`` ("holds",
        "does not hold", "depends" or "not tested") and ``why``.
    figures : sequence of DrawnFigure
        In the order of the page.
    timings : sequence of mapping
        ``policy``, ``setting``, ``plays`` and ``seconds``.
    run : mapping
        ``started`` (ISO 8601), ``seconds``, ``cores``, ``machine``, ``python``, ``versions`` (a
        mapping), ``bursar``, ``digest``, ``command``, and units ``done``, ``cached``, ``failed``;
        optionally ``engine`` and ``core_seconds``. The page leaves out what is missing.
    failures : sequence of mapping
        ``setting``, ``repetition``, ``policy``, ``error`` and ``traceback``.
    notes : sequence of str
        What the reader should know, for example what was left out and why.
    advice : sequence of str
        What to do; shown first, for runs on a user's own ads.
    """

    title: str
    experiment: Mapping[str, Any]
    result: Result
    claims: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[DrawnFigure] = ()
    timings: Sequence[Mapping[str, Any]] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    failures: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    advice: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class SettingRow:
    """A row of the table of settings; what is unknown is empty."""

    name: str
    kind: str = ""
    distribution: str = ""
    arms: tuple[int, ...] = ()
    source: str = ""
    problems: int
    games: int

    @property
    def arms_text(self) -> str:
        """How many arms there are to choose from."""
        if not self.arms:
            return "–"
        low, high = min(self.arms), max(self.arms)
        return f"{low}" if low == high else f"{low} to {high}"


def list_setting_rows(report: ReportData) -> list[SettingRow]:
    """Return the settings of the result, in its order."""
    fields = ("kind", "distribution", "arms", "source")
    given = [s for s in report.experiment.get("settings", ()) if isinstance(s, Mapping)]
    described = {one["name"]: {key: one[key] for key in fields if key in one} for one in given}
    rows = []
    for code, name in enumerate(report.result.settings):
        paper = SETTINGS.get(name.removesuffix(":authors"))
        known = {} if paper is None else {key: getattr(paper, key) for key in fields}
        known |= described.get(name, {})
        arms = known.get("arms", ())
        known["arms"] = (arms,) if isinstance(arms, int) else tuple(arms)
        here = report.result.setting == code
        problems = np.unique(report.result.problem[here]).size
        rows.append(SettingRow(name=name, problems=problems, games=int(here.sum()), **known))
    return rows


def format_value(value: float) -> str:
    """Return a number for a table: two digits below 1, else three, and all before the point.

    >>> format_value(10190.93), format_value(9.3012), format_value(0.0421), format_value(1e-7)
    ('10,191', '9.3', '0.042', '1e-07')
    """
    size = abs(value)
    if 0.0 < size < 1e-4:  # a p-value
        return f"{value:.2g}"
    return format_number(value, 3 if size >= 1.0 else 2, keep_whole=True)


def format_share(share: float) -> str:
    """Return a share in percent, with at most two decimals.

    >>> format_share(0.22071), format_share(0.0123), format_share(0.00042), format_share(1e-6)
    ('22%', '1.2%', '0.04%', 'under 0.01%')
    """
    return f"{format_points(share)}%"


def format_points(share: float) -> str:
    """Return a share, or a difference of shares, in percentage points without a unit."""
    size = abs(100.0 * share)
    sign = "−" if share < 0.0 else ""
    if size == 0.0:
        return "0"
    if size < 0.005:
        return f"{sign}0.00" if sign else "under 0.01"
    return f"{sign}{size:.{0 if size >= 9.95 else 1 if size >= 0.995 else 2}f}"


def format_amount(count: float) -> str:
    """Return a count, a large one in words.

    >>> format_amount(13536), format_amount(2_400_000), format_amount(1.94e9)
    ('13,536', '2.4 million', '1.9 billion')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            digits = ".3g" if count >= 10 * size else ".1f"
            return f"{count / size:{digits}} {word}"
    return f"{count:,.0f}"


def format_cell(value: Any) -> str:
    """Return any value of a claim's numbers as the text of a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return format_value(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(format_cell, value))
    text = str(value)
    return format_label(text) if text.partition(":")[0] in POLICIES else text
