"""An experiment: a named grid of settings, policies and repetitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bursar.errors import InvalidInput
from bursar.simulation.result import Plan, plan

FINE_SHARES = (
    0.001, 0.002, 0.005, *(i / 100 for i in range(1, 11)), 0.125, 0.15, 0.175, 0.2,
    *(i / 20 for i in range(5, 21)),
)  # fmt: skip
"""Shares of the budget at which experiments record regret, dense at the start for log axes."""


@dataclass(frozen=True)
class Experiment:
    """A named grid of settings, policies and repetitions; the paper's is one of them.

    Attributes
    ----------
    name : str
        A short name for tables and files.
    plan : Plan
        The grid, its budget and its seed, checked.
    title : str
        The title of the report.
    code : tuple of (str, bytes)
        Files that define the user's own policies, with their content, so that changed files are
        not mistaken for one another and workers on other machines can define the policies too.
    ads : mapping
        The options with which the user's own ads were read, for the TOML file.
    """

    name: str
    plan: Plan
    title: str = ""
    code: tuple[tuple[str, bytes], ...] = ()
    ads: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or not all(c.isalnum() or c in "-_." for c in self.name):
            raise InvalidInput(
                f"name must consist of letters, digits, '-', '_' and '.', got {self.name!r}"
            )

    def but(self, **changes: Any) -> Experiment:
        """Return the experiment with changed fields of its plan, such as ``repetitions=1000``."""
        return replace(self, plan=replace(self.plan, **changes))


def experiment(
    name: str, title: str = "", code: Any = (), ads: Mapping[str, Any] | None = None, **fields: Any
) -> Experiment:
    """Check the fields of an experiment and return it.

    Parameters
    ----------
    name, title, code, ads
        See :class:`Experiment`.
    **fields
        As in :func:`bursar.simulate`: policies, settings, repetitions, budget_plays or budget,
        shares, data, seed, overspend.

    Examples
    --------
    >>> mine = experiment("mine", policies=["bts", "m-ucb"], settings=["S-Br-10"], repetitions=5)
    >>> len(list(mine.plan.cells())), mine.plan.shares[0]
    (5, 0.001)
    """
    defaults: dict[str, Any] = {"repetitions": 100, "shares": FINE_SHARES}
    return Experiment(
        name, plan(**(defaults | fields)), title or name, tuple(code), dict(ads or {})
    )
