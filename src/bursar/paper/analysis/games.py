"""The games of a setting and policy, put in order: one number, or one curve, per repetition.

Repetitions are independent of each other, but the problems within one are not: the same ad
campaigns return in each. So problems are averaged first, and repetitions are the sample.

A game has *failed* if over the last half of its budget it loses more than a tenth of what the best
arm earns in that half. By then a policy that learns almost always plays the best arm, or one nearly
as good, and loses a few thousandths; a game that still loses a tenth plays a wrong arm most of the
time. Few games lie between the two, so the threshold matters little: of 1,000 games of ω-UCB with
rho = 1/4 on S-Br-10, 1.4% lose more than a tenth and 1.6% more than a twentieth; on S-Br-50 6.4%
and 7.8%.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.errors import InvalidInput, UnknownSetting, suggest
from bursar.paper.labels import main_policies
from bursar.settings import setting as setting_of
from bursar.simulation.result import Result

FAILED = 0.1  # the share of the best arm's reward that a failed game loses
_HALF = 0.5
_REGRET = 2  # the column of `Result.values`


def played_settings(result: Result) -> list[str]:
    """Return the settings that have games, in the order of the result."""
    return [result.settings[i] for i in np.unique(result.setting)]


def has_games(result: Result, setting: str, *policies: str) -> bool:
    """Whether all of these policies have a game on this setting."""
    return all(rows_of(result, setting, policy).size for policy in policies)


def rows_of(result: Result, setting: str, policy: str) -> Any:
    """Return the row numbers of the games of a policy on a setting; empty if there are none."""
    if setting not in result.settings or policy not in result.policies:
        return np.empty(0, dtype=np.intp)
    here = result.setting == result.settings.index(setting)
    return np.flatnonzero(here & (result.policy == result.policies.index(policy)))


def nearest_share(result: Result, share: float) -> int:
    """Return the position of the recorded share of the budget that is nearest to ``share``."""
    return int(np.abs(result.shares - share).argmin())


def final_regret(result: Result, setting: str, policy: str) -> Floats:
    """Return the final regret of each repetition, averaged over its problems."""
    return regret_curves(result, setting, policy)[:, -1]


def regret_curves(result: Result, setting: str, policy: str) -> Floats:
    """Return regret, repetitions x shares of the budget, averaged over problems."""
    return regret_by_repetition(result, setting, policy)[1]


def regret_by_repetition(
    result: Result, setting: str, policy: str, positions: Sequence[int] | None = None
) -> tuple[Any, Floats]:
    """Return the numbers of the repetitions, in rising order, and the regret curve of each.

    ``positions`` selects shares of the budget; all by default.
    """
    rows = rows_of(result, setting, policy)
    if rows.size == 0:
        raise InvalidInput(
            f"no game of {policy!r} on {setting!r} in this result;"
            f" it has {', '.join(result.policies)} on {', '.join(result.settings)}"
        )
    rows = rows[np.argsort(result.repetition[rows], kind="stable")]
    repetitions, first = np.unique(result.repetition[rows], return_index=True)
    wanted = range(result.shares.size) if positions is None else positions
    values = result.values[rows[:, np.newaxis], np.array(wanted), _REGRET]
    counts = np.diff(np.append(first, rows.size))[:, np.newaxis]
    return repetitions, np.add.reduceat(values, first, axis=0) / counts


def average_games(result: Result, values: Floats) -> tuple[Floats, Any]:
    """Return the mean of a number of each game by setting, policy and repetition.

    The second array tells where there are games.
    """
    repetitions = int(result.repetition.max(initial=-1)) + 1
    shape = (len(result.settings), len(result.policies), repetitions)
    total, count = np.zeros(shape), np.zeros(shape)
    where = (result.setting, result.policy, result.repetition)
    np.add.at(total, where, values)
    np.add.at(count, where, 1.0)
    return total / np.maximum(count, 1.0), count > 0.0


class PairedRegret(NamedTuple):
    """The regret of two policies in the repetitions that both have played."""

    one: Floats
    other: Floats
    repetitions: NDArray[Any]


def pair_regret(
    result: Result, setting: str, one: str, other: str, share: float = 1.0, since: float = 0.0
) -> PairedRegret:
    """Return the regret of two policies up to a share of the budget, or from ``since`` up to it."""
    positions = [nearest_share(result, at) for at in ((share, since) if since else (share,))]
    left, mine = regret_by_repetition(result, setting, one, positions)
    right, theirs = regret_by_repetition(result, setting, other, positions)
    both, i, j = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    mine, theirs = mine[i], theirs[j]
    if not since:
        return PairedRegret(mine[:, 0], theirs[:, 0], both)
    return PairedRegret(mine[:, 0] - mine[:, 1], theirs[:, 0] - theirs[:, 1], both)


def failed_games(result: Result, rows: Any = slice(None)) -> NDArray[np.bool_]:
    """Return for each game, or for those in ``rows``, whether it failed.

    If regret was not recorded at half of the budget, the nearest share below counts; if there is
    none below, all regret counts, including that of learning.
    """
    before = np.flatnonzero(result.shares <= _HALF)
    regret = result.values[rows, :, _REGRET]
    late, share = regret[:, -1], float(result.shares[-1])
    if before.size and result.shares.size > 1:
        late = late - regret[:, before[-1]]
        share -= float(result.shares[before[-1]])
    return np.asarray(late > FAILED * share * result.optimum[rows])


def failed_share(result: Result, setting: str, policy: str) -> float:
    """Return the share of games of a policy on a setting that failed; 0 if there are no games."""
    failed = failed_games(result, rows_of(result, setting, policy))
    return float(failed.mean()) if failed.size else 0.0


def describe_spread(result: Result, setting: str, policy: str) -> dict[str, float]:
    """Return how final regret is distributed over games; problems are not averaged."""
    values = result.values[rows_of(result, setting, policy), -1, _REGRET]
    names = ("p05", "p25", "median", "p75", "p95")
    quantiles = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()
    return {
        "games": int(values.size),
        "mean": float(values.mean()),
        **dict(zip(names, quantiles, strict=True)),
        "max": float(values.max()),
        "failed": failed_share(result, setting, policy),
    }


# which policies and settings a figure or page shows unless it is asked for others

_MANY = 12  # up to this number all policies are shown, beyond it those of the paper's figures


def select_policies(result: Result, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies to show: those asked for, or all, or of many those of the paper."""
    if policies is None:
        many = len(result.policies) > _MANY
        return list(main_policies(result.policies) if many else result.policies)
    for slug in policies:
        if slug not in result.policies:
            raise InvalidInput(f"the result has no policy {slug!r}{suggest(slug, result.policies)}")
    return list(policies)


def select_panel_policies(
    result: Result, setting: str, policies: Sequence[str] | None = None
) -> list[str]:
    """Return the policies of one panel: as in the paper, of many without ω* on Bernoulli arms."""
    chosen = [s for s in select_policies(result, policies) if has_games(result, setting, s)]
    if policies is None and len(result.policies) > _MANY and _is_bernoulli(setting):
        return [slug for slug in chosen if not slug.startswith("omega-star")]
    return chosen


def find_bernoulli_setting(result: Result, *policies: str, largest: bool) -> str:
    """Return the synthetic Bernoulli setting with the most or the fewest arms."""
    found = [
        name
        for name in played_settings(result)
        if _is_bernoulli(name) and has_games(result, name, *policies)
    ]
    if not found:
        raise InvalidInput(
            f"no Bernoulli setting was played by {' and '.join(policies)};"
            " add S-Br-10 and these policies to the run"
        )
    order = sorted(found, key=lambda name: setting_of(name).arms)
    return order[-1] if largest else order[0]


def _is_bernoulli(name: str) -> bool:
    try:
        setting = setting_of(name)
    except UnknownSetting:  # a problem of the user's own
        return False
    return setting.kind == "synthetic" and setting.distribution == "Bernoulli"
