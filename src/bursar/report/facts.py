"""All that a page needs to know; nothing on it comes from anywhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bursar.result import Result

__all__ = ["Drawing", "Facts"]


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
class Facts:
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
