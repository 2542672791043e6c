"""All that a page needs to know; nothing on it comes from anywhere else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bursar.errors import BursarError
from bursar.paper.figures.style import label
from bursar.policies import policy as policy_of
from bursar.settings.catalog import SETTINGS
from bursar.simulation.result import Result

__all__ = [
    "Drawing",
    "ReportData",
    "Setup",
    "amount",
    "arms_range",
    "cell",
    "name",
    "number",
    "percent",
    "points",
    "setups",
    "spoken_label",
]


class Drawing(Protocol):
    """A figure that was drawn to files."""

    @property
    def name(self) -> str:
        """A short name."""

    @property
    def title(self) -> str:
        """What the figure shows, in a few words."""

    @property
    def caption(self) -> str:
        """How to read it, in sentences."""

    @property
    def png(self) -> Path:
        """The picture as pixels; linked if it lies beside the page."""

    @property
    def svg(self) -> Path:
        """The picture as lines; put into the page."""


@dataclass(frozen=True)
class ReportData:
    """What was asked, what came out, and how it was made.

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
    figures : sequence of Drawing
        In the order of the page.
    timings : sequence of mapping
        ``policy``, ``setting``, ``plays`` and ``seconds``.
    run : mapping
        ``started`` (ISO 8601), ``seconds``, ``cores``, ``machine``, ``python``, ``versions`` (a
        mapping), ``bursar``, ``digest``, ``command``, and units ``done``, ``cached``, ``failed``;
        perhaps ``engine`` and ``core_seconds``. The page leaves out what is not there.
    failures : sequence of mapping
        ``setting``, ``repetition``, ``policy``, ``error`` and ``traceback``.
    notes : sequence of str
        What the reader should know, for example what was left out and why.
    advice : sequence of str
        What to do; for runs on a person's own ads, shown first.
    """

    title: str
    experiment: Mapping[str, Any]
    result: Result
    claims: Sequence[Mapping[str, Any]] = ()
    figures: Sequence[Drawing] = ()
    timings: Sequence[Mapping[str, Any]] = ()
    run: Mapping[str, Any] = field(default_factory=dict)
    failures: Sequence[Mapping[str, Any]] = ()
    notes: Sequence[str] = ()
    advice: Sequence[str] = ()


# ==== report.setups
# The settings of a run: what is known of each.


@dataclass(frozen=True)
class Setup:
    """A row of the table of settings; unknown is empty."""

    name: str
    kind: str
    distribution: str
    arms: tuple[int, ...]
    source: str
    problems: int
    games: int

    @property
    def arms_text(self) -> str:
        """How many arms there are to choose from."""
        if not self.arms:
            return "–"
        low, high = min(self.arms), max(self.arms)
        return f"{low}" if low == high else f"{low} to {high}"


def setups(facts: ReportData) -> list[Setup]:
    """Return the settings of the result, in its order."""
    given = {_known(one)["name"]: _known(one) for one in facts.experiment.get("settings", ())}
    result = facts.result
    rows = []
    for code, name in enumerate(result.settings):
        known = {**_paper(name), **given.get(name, {})}
        here = result.setting == code
        rows.append(
            Setup(
                name,
                str(known.get("kind", "")),
                str(known.get("distribution", "")),
                _arms(known.get("arms", ())),
                str(known.get("source", "")),
                np.unique(result.problem[here]).size,
                int(here.sum()),
            )
        )
    return rows


def arms_range(facts: ReportData) -> tuple[int, int]:
    """Return the fewest and the most arms of a problem; ten where nothing is known."""
    arms = [k for setup in setups(facts) for k in setup.arms]
    return (min(arms), max(arms)) if arms else (10, 10)


def _arms(arms: Any) -> tuple[int, ...]:
    return (arms,) if isinstance(arms, int) else tuple(arms)


def _known(one: Any) -> Mapping[str, Any]:
    return one if isinstance(one, Mapping) else {"name": str(one)}


def _paper(name: str) -> dict[str, Any]:
    """Return what the paper says of a setting, with or without the authors' choices."""
    setting = SETTINGS.get(name.removesuffix(":authors"))
    if setting is None:
        return {}
    keys = ("kind", "distribution", "arms", "source")
    return {key: getattr(setting, key) for key in keys}


# ==== report.spelling
# How numbers, times and names are spelled on the page.


def name(slug: str) -> str:
    """Return what a policy is called; a slug that bursar does not know stays as it is."""
    try:
        policy_of(slug)
    except BursarError:
        return slug
    return label(slug)


def spoken_label(slug: str) -> str:
    """Return what a policy is called within a sentence.

    >>> spoken_label("omega-star-ucb:rho=0.25"), spoken_label("bts")
    ('ω*-UCB (ρ = 1/4)', 'BTS')
    """
    first, comma, rest = name(slug).partition(", ")
    return f"{first} ({rest})" if comma else first


def number(value: float) -> str:
    """Return a number as people read it.

    >>> number(10190.93), number(9.3012), number(0.0421), number(0.0), number(1e-7), number(-3.0)
    ('10,191', '9.3', '0.042', '0', '1e-07', '−3')
    """
    size = abs(value)
    if not math.isfinite(value):
        return "infinite" if size == math.inf else "unknown"
    if size >= 100.0 or value == int(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.3g}" if size >= 1.0 else f"{value:.2g}"
    return f"−{text[1:]}" if text.startswith("-") else text


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.22071), percent(0.0123), percent(0.00042), percent(0.0), percent(1e-6)
    ('22%', '1.2%', '0.04%', '0%', 'under 0.01%')
    """
    return f"{points(share)}%"


def points(share: float) -> str:
    """Return a share or a difference of shares in hundredths, without the sign for percent."""
    hundredths = 100.0 * share
    size = abs(hundredths)
    sign = "−" if hundredths < 0.0 else ""
    if size == 0.0:
        return "0"
    if size < 0.005:
        return f"{sign}0.00" if sign else "under 0.01"
    if size >= 9.95:
        return f"{sign}{size:.0f}"
    return f"{sign}{size:.1f}" if size >= 0.995 else f"{sign}{size:.2f}"


def amount(count: float) -> str:
    """Return a large count in words.

    >>> amount(13536), amount(2_400_000), amount(1.94e9)
    ('13,536', '2.4 million', '1.9 billion')
    """
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if count >= size:
            return (
                f"{count / size:.3g} {word}" if count >= 10 * size else f"{count / size:.1f} {word}"
            )
    return f"{count:,.0f}"


def cell(value: Any) -> str:
    """Return any value of a claim's numbers as the text of a cell."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(cell, value))
    return name(value) if isinstance(value, str) and value else str(value)
