"""Two policies, all policies, or two results compared repetition by repetition, and the tests.

Policies meet the same problems and the same outcomes, so the difference within a repetition says
more than two means do. A few games that stay on a wrong arm can dominate the mean, so the typical
game is tested beside it.

Tests and intervals assume no shape of distribution. Everything is seeded: the same differences give
the same numbers. The sign-flip test is written by hand because SciPy's permutation test takes 300
times as long, and a report needs thousands.

Who beat whom over all settings is a matrix of ratios, because regret differs by orders of magnitude
between settings, so one setting would dominate a pooled mean: log(1 + regret), paired by setting
and repetition, every setting with the same weight. It describes the typical game. The mean, which a
few failed games can dominate, is counted beside it: on how many settings it is significantly lower.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import wilcoxon

from bursar.arrays import Floats
from bursar.errors import InvalidInput
from bursar.paper.analysis import games
from bursar.paper.labels import main_policies
from bursar.simulation.result import Result

Entry = int | None  # 1: the row did better, -1: the column, 0: no clear difference, None: unknown
_VERDICTS = {-1: "lower", 1: "higher", 0: "unclear"}
FEWEST = 6  # repetitions below which nothing can be significant at 5%
LEVEL = 0.05
_EXACT = 13  # up to 2^13 = 8,192 patterns of signs are all looked at
_FIRST, _FLIPS = 999, 9_999
_RESAMPLES = 2_000
_SEED = 20230607
_SIGNS = 1.0 - 2.0 * ((np.arange(256)[:, np.newaxis] >> np.arange(8)) & 1)  # bits as signs


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Regret of ``one`` against ``other``, paired by repetition; less is better.

    Differences are one - other; both p-values are 1 below 6 repetitions.
    """

    one: str
    other: str
    repetitions: int
    mean_one: float
    mean_other: float
    difference: float  # the mean
    low: float  # 95% interval of the mean (bootstrap over repetitions, BCa)
    high: float
    p: float  # of a mean difference of zero, two-sided (sign flips)
    median_difference: float
    p_typical: float  # Wilcoxon's signed rank test
    wins: float  # share of repetitions in which ``one`` lost less
    setting: str = ""
    share: float = 1.0  # of the budget, at which regret is compared
    since: float = 0.0  # share of the budget from which on losses count

    @property
    def verdict(self) -> str:
        """Whether the mean of ``one`` is ``lower``, ``higher``, or ``unclear``, at 5%."""
        return _VERDICTS[clear_sign(self.p, self.difference)]

    @property
    def typical(self) -> str:
        """The same for the typical game: Wilcoxon's test, and which side most games are on."""
        return _VERDICTS[clear_sign(self.p_typical, self.side)]

    @property
    def side(self) -> float:
        """On which side the typical game is: below 0 if ``one`` loses less in it."""
        return self.median_difference or 0.5 - self.wins


def compare(
    result: Result, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
) -> Comparison:
    """Compare the regret of two policies on a setting, at the nearest recorded share of the budget.

    With ``since`` only losses after that share count, which shows who is better in the long run.
    """
    pair = games.pair_regret(result, setting, one, other, share, since)
    if pair.repetitions.size == 0:
        raise InvalidInput(
            f"{one!r} and {other!r} share no repetition of {setting!r}; play both with equal seeds"
        )
    where = {
        "setting": setting,
        "share": float(result.shares[games.nearest_share(result, share)]),
        "since": since and float(result.shares[games.nearest_share(result, since)]),
    }
    return compare_samples(one, other, pair.one, pair.other, **where)


def compare_samples(one: str, other: str, mine: Floats, theirs: Floats, **where: Any) -> Comparison:
    """Compare two paired samples; samples without a value count as equal."""
    count = mine.size
    if count == 0:
        mine = theirs = np.zeros(1)
    d = mine - theirs
    unequal = d[d != 0.0]
    low, high = bootstrap_interval(d)
    enough = count >= FEWEST
    return Comparison(
        one=one,
        other=other,
        repetitions=count,
        mean_one=float(mine.mean()),
        mean_other=float(theirs.mean()),
        difference=float(d.mean()),
        low=low,
        high=high,
        p=sign_flip(d) if enough else 1.0,
        median_difference=float(np.median(d)),
        p_typical=float(wilcoxon(unequal).pvalue) if enough and unequal.size else 1.0,
        wins=float((d < 0.0).mean()),
        **where,
    )


def compare_results(a: Result, b: Result) -> Iterator[dict[str, Any]]:
    """Yield a row for each setting and policy of both results, paired by repetition."""
    for setting in a.settings:
        for policy in a.policies:
            if games.has_games(a, setting, policy) and games.has_games(b, setting, policy):
                yield _compare_policy(a, b, setting, policy)


def _compare_policy(a: Result, b: Result, setting: str, policy: str) -> dict[str, Any]:
    left, before = games.regret_by_repetition(a, setting, policy, [-1])
    right, after = games.regret_by_repetition(b, setting, policy, [-1])
    both, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    c = compare_samples("b", "a", after[j, 0], before[i, 0])
    means = (c.mean_other, c.mean_one) if both.size else (before.mean(), after.mean())
    return {
        "setting": setting,
        "policy": policy,
        "repetitions": int(both.size),
        "mean_a": float(means[0]),
        "mean_b": float(means[1]),
        "difference": c.difference,
        "low": c.low,
        "high": c.high,
        "failed_a": games.failed_share(a, setting, policy),
        "failed_b": games.failed_share(b, setting, policy),
        "verdict": _result_verdict(c) if both.size else "not the same games",
    }


def _result_verdict(c: Comparison) -> str:
    if c.difference == c.low == c.high == 0.0:
        return "identical"
    words = {"lower": "B lost less", "higher": "B lost more", "unclear": "no clear difference"}
    return words[c.verdict]


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
    regret, played = games.average_games(result, result.values[:, -1, 2])
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
                d = lost[i, both] - lost[j, both]
                if d.size >= FEWEST and sign_flip(d) <= LEVEL:
                    won[(i, j) if d.mean() < 0.0 else (j, i)] += 1
        means[k], p_values[k] = _pooled(logs)
    matrix = np.full_like(shared, None, dtype=object)
    np.fill_diagonal(matrix, 0)
    for (i, j), mean, p in zip(pairs, means, holm(p_values), strict=True):
        if shared[i, j]:
            matrix[j, i] = clear_sign(p, mean)
            matrix[i, j] = -matrix[j, i]
    settings = tuple(games.played_settings(result))
    return Dominance(names, _plain(matrix), settings, _plain(won), _plain(shared + shared.T))


def _pooled(logs: list[Floats]) -> tuple[float, float]:
    """Return mean and p-value of log ratios; settings with few repetitions get more weight."""
    total = sum(d.size for d in logs)
    if total < FEWEST:
        return 0.0, 1.0
    d = np.concatenate([d * (total / (d.size * len(logs))) for d in logs])
    return float(d.mean()), sign_flip(d)


def _plain(table: NDArray[Any]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(tuple, table.tolist()))


def sign_flip(differences: Floats) -> float:
    """Return the two-sided p-value of a mean of zero: the share of sign flips that reach this mean.

    Exact up to 13 differences, beyond that from up to 9,999 random flips. Where these cannot show
    how small the p-value is, Hoeffding's bound for sums of random signs is returned, which is never
    below it: otherwise no p-value could survive a correction for some hundreds of tests.

    The test assumes that differences are symmetric about their mean if the policies are equal; with
    many repetitions it needs less than that. No test sees a rare failure that is not in the sample.
    """
    d = differences[differences != 0.0]  # a flipped zero is a zero
    if d.size == 0:
        return 1.0
    d = d / np.abs(d).max()
    least = abs(float(d.sum())) * (1.0 - 1e-12) - 1e-12  # sums differ in their last digits
    if d.size <= _EXACT:
        return float((np.abs(_all_sums(d)) >= least).mean())
    bound = 2.0 * float(np.exp(-(d.sum() ** 2) / (2.0 * (d**2).sum())))
    if bound <= 1.0 / _FLIPS:
        return bound
    for flips in (_FIRST, _FLIPS):
        reached = int((np.abs(_random_sums(d, flips)) >= least).sum())
        if reached > _FIRST // 10:
            break  # far from significant: more flips would not change that
    return (reached + 1) / (flips + 1)


def bootstrap_interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the interval of a mean from 2,000 resamples, corrected for bias and skew (BCa)."""
    mean, deviations = float(values.mean()), values - values.mean()
    spread = float((deviations**2).sum())
    if values.size < 2 or spread <= 0.0:
        return mean, mean
    means = np.sort(bootstrap_weights(values.size) @ values)
    below = np.clip((means < mean).mean(), 1.0 / _RESAMPLES, 1.0 - 1.0 / _RESAMPLES)
    bias, skew = ndtri(below), float((deviations**3).sum()) / (6.0 * spread**1.5)
    z = bias + ndtri(np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0]))
    low, high = np.quantile(means, ndtr(bias + z / np.maximum(1.0 - skew * z, 1e-3)))
    return float(low), float(high)


@lru_cache(maxsize=8)
def bootstrap_weights(size: int) -> Floats:
    """Return the weights of each value in each resample of a sample of this size; rows sum to 1."""
    rng = np.random.default_rng([_SEED, size])
    drawn = rng.integers(size, size=(_RESAMPLES, size))
    cells = drawn + size * np.arange(_RESAMPLES)[:, np.newaxis]
    counts = np.bincount(cells.ravel(), minlength=_RESAMPLES * size)
    table: Floats = counts.reshape(_RESAMPLES, size) / size
    table.setflags(write=False)
    return table


def clear_sign(p: float, effect: float) -> int:
    """Return the sign of an effect, 1 or -1; 0 if it is not significant at 5%."""
    return 0 if p > LEVEL else int(np.sign(effect))


def holm(p_values: Sequence[float] | Floats) -> Floats:
    """Return p-values corrected for testing them all (Holm's step-down method).

    >>> holm([0.01, 0.04, 0.03]).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _all_sums(d: Floats) -> Floats:
    """Return the sums under every pattern of signs."""
    low, *high = _byte_sums(d)
    every = np.arange(2**d.size)
    return np.asarray(low[every % 256] + high[0][every // 256] if high else low[every])


def _random_sums(d: Floats, flips: int) -> Floats:
    """Return the sums under random signs: a random byte flips eight differences at once."""
    tables = _byte_sums(d)
    total = np.zeros(flips)
    for table, byte in zip(tables, _random_bytes(len(tables)), strict=True):
        total += table[byte[:flips]]
    return total


def _byte_sums(d: Floats) -> Floats:
    """Return the sums of each eight differences under all flips of their signs, 256 columns."""
    padded = np.zeros(-(-d.size // 8) * 8)
    padded[: d.size] = d
    return np.asarray(padded.reshape(-1, 8) @ _SIGNS.T)


@lru_cache(maxsize=64)
def _random_bytes(groups: int) -> Any:
    rng = np.random.default_rng([_SEED, groups])
    return rng.integers(256, size=(groups, _FLIPS), dtype=np.uint8)
