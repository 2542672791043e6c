"""Who beat whom over all settings of a result, with significance.

Regret differs by orders of magnitude between settings, so one setting would dominate a pooled mean.
The matrix is therefore made of ratios: log(1 + regret), paired by setting and repetition, every
setting with the same weight. It describes the typical game. The mean, which a few failed games can
dominate, is counted beside it: on how many settings it is significantly lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.paper.analysis.compare import FEWEST
from bursar.paper.analysis.games import has_games, played_settings, regret_by_repetition
from bursar.paper.analysis.permutation import LEVEL, holm, sign_flip
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


_SHOWN_RHO = ("0.25", "1")  # the two of the paper's figures

Counts = NDArray[np.int64]
Runs = dict[tuple[str, str], tuple[Any, Floats]]  # repetitions and regret


def main_policies(result: Result) -> tuple[str, ...]:
    """Return all policies of a result, of the ω family only those with rho = 1/4 and 1."""
    return tuple(
        slug
        for slug in result.policies
        if not slug.startswith("omega") or slug.partition("rho=")[2] in _SHOWN_RHO
    )


def measure_dominance(result: Result, policies: Sequence[str] | None = None) -> Dominance:
    """Compare all pairs of policies over all settings that both have played.

    The test is that of sign flips; the p-values of all pairs are corrected together (Holm).
    """
    names = tuple(main_policies(result) if policies is None else policies)
    settings = played_settings(result)
    runs = {
        (setting, name): regret_by_repetition(result, setting, name, [-1])
        for setting in settings
        for name in names
        if has_games(result, setting, name)
    }
    pairs = list(combinations(range(len(names)), 2))
    means = np.zeros(len(pairs))
    p_values = np.ones(len(pairs))
    won = np.zeros((len(names), len(names)), dtype=int)
    shared = np.zeros_like(won)
    for k, (i, j) in enumerate(pairs):
        logs: list[Floats] = []
        for setting in settings:
            mine, theirs = _matched(runs, setting, names[i], names[j])
            if mine.size == 0:
                continue
            logs.append(np.log1p(mine) - np.log1p(theirs))
            shared[i, j] += 1
            _count(won, i, j, mine - theirs)
        means[k], p_values[k] = _pooled(logs)
    matrix = _matrix(len(names), pairs, means, holm(p_values), shared)
    shared += shared.T
    return Dominance(names, matrix, tuple(settings), _plain(won), _plain(shared))


def _matched(runs: Runs, setting: str, one: str, other: str) -> tuple[Floats, Floats]:
    """Return the regret of two policies in the repetitions that both have played."""
    if (setting, one) not in runs or (setting, other) not in runs:
        return np.empty(0), np.empty(0)
    (left, mine), (right, theirs) = runs[setting, one], runs[setting, other]
    _, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return mine[i, 0], theirs[j, 0]


def _count(won: Counts, i: int, j: int, d: Floats) -> None:
    if d.size >= FEWEST and sign_flip(d) <= LEVEL:
        won[(i, j) if d.mean() < 0.0 else (j, i)] += 1


def _pooled(logs: list[Floats]) -> tuple[float, float]:
    """Return mean and p-value of log ratios; settings with few repetitions get more weight."""
    total = sum(d.size for d in logs)
    if total < FEWEST:
        return 0.0, 1.0
    d = np.concatenate([d * (total / (d.size * len(logs))) for d in logs])
    return float(d.mean()), sign_flip(d)


def _matrix(
    count: int,
    pairs: list[tuple[int, int]],
    means: Floats,
    p_values: Floats,
    shared: Counts,
) -> tuple[tuple[Entry, ...], ...]:
    entries: list[list[Entry]] = [[None] * count for _ in range(count)]
    for i in range(count):
        entries[i][i] = 0
    for (i, j), mean, p in zip(pairs, means, p_values, strict=True):
        if shared[i, j]:
            clear = 0 if p > LEVEL else int(-np.sign(mean))
            entries[i][j], entries[j][i] = clear, -clear
    return tuple(map(tuple, entries))


def _plain(table: Counts) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(row) for row in table.tolist())


# The matrix of the paper's Figure 2. The paper has it only as a picture; these entries are those of
# the script that draws it (plot_competitors_dominance_matrix.py of github.com/heymarco/OmegaUCB): a
# pair counts as compared only if both of its entries say so. At the end the script swaps rows and
# columns of m-UCB and b-greedy while their labels stay. If the entries were right before, the
# figure shows each of the two under the name of the other: here b-greedy beats m-UCB, before that
# it was the reverse.
#
# ``^`` the row did better, ``v`` the column did, ``o`` about the same, ``-`` never compared.
_ROWS = """
eps-first       o v - - - v v v v v v - -
kube            ^ o v - - v v - - - - o -
ucb-bv1         - ^ o - v v - - - - - v v
pd-bwk          - - - o - v - v v v v o v
budget-ucb      - - ^ - o - - - - - - - -
bts             ^ ^ ^ ^ - o v v v v v o o
mrcb            ^ ^ - - - ^ o - v v v - -
m-ucb           ^ - - ^ - ^ - o v v v - -
b-greedy        ^ - - ^ - ^ ^ ^ o v v - -
c-ucb           ^ - - ^ - ^ ^ ^ ^ o o - -
i-ucb           ^ - - ^ - ^ ^ ^ ^ o o - -
kl-ucb-sc-plus  - o ^ o - o - - - - - o -
ucb-sc-plus     - - ^ ^ - o - - - - - - o
"""
_MEANING: dict[str, Entry] = {"^": 1, "v": -1, "o": 0, "-": None}


def _parse(rows: str) -> Dominance:
    lines = [line.split() for line in rows.strip().split("\n")]
    return Dominance(
        tuple(name for name, *_ in lines),
        tuple(tuple(_MEANING[symbol] for symbol in symbols) for _, *symbols in lines),
    )


PUBLISHED = _parse(_ROWS)
