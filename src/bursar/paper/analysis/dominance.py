"""Who beat whom over all settings of a result, with significance.

Regret differs by orders of magnitude between settings, so one setting would dominate a pooled mean.
The matrix is therefore made of ratios: log(1 + regret), paired by setting and repetition, every
setting with the same weight. It describes the typical game. The mean, which a few failed games can
dominate, is counted beside it: on how many settings it is significantly lower.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.paper.analysis.compare import FEWEST, LEVEL, clear_sign, holm, sign_flip
from bursar.paper.analysis.games import average_games, played_settings
from bursar.paper.labels import main_policies
from bursar.simulation.result import Result

Entry = int | None  # 1: the row did better, -1: the column, 0: no clear difference, None: unknown


@dataclass(frozen=True)
class Dominance:
    """Who lost less than whom: tables of rows against columns, both in the order of ``names``.

    ``settings_won`` counts the settings on which the mean regret of the row is significantly lower,
    ``settings_shared`` those that both played.
    """

    names: tuple[str, ...]
    matrix: tuple[tuple[Entry, ...], ...]
    settings: tuple[str, ...] = ()  # empty for what was published
    settings_won: tuple[tuple[int, ...], ...] = ()
    settings_shared: tuple[tuple[int, ...], ...] = ()

    def entry(self, row: str, column: str) -> Entry:
        """Return the entry of two policies; None if one of them is not in the matrix."""
        if row not in self.names or column not in self.names:
            return None
        return self.matrix[self.names.index(row)][self.names.index(column)]


@cache
def load_published() -> Dominance:
    """Return the matrix of the paper's Figure 2."""
    file = files(__package__).joinpath("published_dominance.toml")
    rows = tomllib.loads(file.read_text(encoding="utf-8"))
    meaning: dict[str, Entry] = {"^": 1, "v": -1, "o": 0, "-": None}
    matrix = tuple(tuple(meaning[symbol] for symbol in row.split()) for row in rows.values())
    return Dominance(tuple(rows), matrix)


def measure_dominance(result: Result, policies: Sequence[str] | None = None) -> Dominance:
    """Compare all pairs of policies over all settings that both have played.

    The test is that of sign flips; the p-values of all pairs are corrected together (Holm).
    """
    names = tuple(main_policies(result.policies) if policies is None else policies)
    regret, played = average_games(result, result.values[:, -1, 2])
    codes = [result.policies.index(name) for name in names]
    pairs = list(combinations(range(len(names)), 2))
    means = np.zeros(len(pairs))
    p_values = np.ones(len(pairs))
    won = np.zeros((len(names), len(names)), dtype=int)
    shared = np.zeros_like(won)
    for k, (i, j) in enumerate(pairs):
        logs: list[Floats] = []
        for lost, there in zip(regret[:, codes], played[:, codes], strict=True):
            both = there[i] & there[j]
            if both.any():
                logs.append(np.log1p(lost[i, both]) - np.log1p(lost[j, both]))
                shared[i, j] += 1
                _count(won, i, j, lost[i, both] - lost[j, both])
        means[k], p_values[k] = _pooled(logs)
    matrix = np.full_like(shared, None, dtype=object)
    np.fill_diagonal(matrix, 0)
    for (i, j), mean, p in zip(pairs, means, holm(p_values), strict=True):
        if shared[i, j]:
            matrix[j, i] = clear_sign(p, mean)
            matrix[i, j] = -matrix[j, i]
    settings = tuple(played_settings(result))
    return Dominance(names, _plain(matrix), settings, _plain(won), _plain(shared + shared.T))


def _count(won: NDArray[np.int64], i: int, j: int, d: Floats) -> None:
    if d.size >= FEWEST and sign_flip(d) <= LEVEL:
        won[(i, j) if d.mean() < 0.0 else (j, i)] += 1


def _pooled(logs: list[Floats]) -> tuple[float, float]:
    """Return mean and p-value of log ratios; settings with few repetitions get more weight."""
    total = sum(d.size for d in logs)
    if total < FEWEST:
        return 0.0, 1.0
    d = np.concatenate([d * (total / (d.size * len(logs))) for d in logs])
    return float(d.mean()), sign_flip(d)


def _plain(table: NDArray[Any]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(tuple, table.tolist()))
