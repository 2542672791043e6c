"""The settings of a run: what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bursar.report.facts import Facts
from bursar.settings.table import SETTINGS

__all__ = ["Setup", "arms_range", "setups"]


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


def setups(facts: Facts) -> list[Setup]:
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


def arms_range(facts: Facts) -> tuple[int, int]:
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
