"""Support: the rows of a log that can stand for plays of other policies, or why none can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from bursar.errors import CannotAnswer, InvalidInput
from bursar.estimate import Estimate
from bursar.formatting import format_number, pluralize
from bursar.replay.log import EVERY, Log
from bursar.settings.csv_table import Exclusions
from bursar.validation import Floats, check_number

__all__ = [
    "EXPLORE",
    "Support",
    "estimate_to_json",
    "format_estimate",
    "format_value",
    "normal_value",
    "quantile_of",
    "support",
]

# ==== replay.value
# A number that was estimated, and the interval it lies in.


def quantile_of(level: float) -> float:
    """Return the normal quantile of a two-sided level, 1.96 for 0.95."""
    if not 0.0 < check_number("level", level) < 1.0:
        raise InvalidInput(f"level must be between 0 and 1, got {level!r}; 0.95 is usual")
    return NormalDist().inv_cdf((1.0 + level) / 2.0)


def normal_value(mean: float, error: float, level: float) -> Estimate:
    """Return a mean with the normal interval of a standard error."""
    half = quantile_of(level) * error
    return Estimate(mean, mean - half, mean + half)


def estimate_to_json(estimate: Estimate) -> dict[str, float]:
    """Return an estimate as JSON; replays call its value the mean."""
    return {"mean": estimate.value, "low": estimate.low, "high": estimate.high}


# ==== replay.words
# Words and numbers as the answers of a replay have them.

EXPLORE = "log 5% of the asks at random (explore=0.05), with the propensity of each choice"


def format_value(number: float) -> str:
    """Return a number with four significant digits, and all digits before the point.

    >>> format_value(12345.678), format_value(0.123456), format_value(812.0)
    ('12,346', '0.1235', '812')
    """
    return format_number(number, 4, keep_whole=True)


def format_estimate(value: Estimate, level: float) -> str:
    """Return an estimate with its interval.

    >>> format_estimate(Estimate(812.0, 790.0, 835.4), 0.95)
    '812 (95%: 790 … 835.4)'
    """
    ends = f"{format_value(value.low)} … {format_value(value.high)}"
    return f"{format_value(value.value)} ({100 * level:.4g}%: {ends})"


_ABSENT = -1  # a row of an arm that is not compared
_CERTAIN = "another arm had no chance (propensity 1)"
_PARTLY = "not every arm could be chosen"
_NOTED, _REFUSED = 4.0, 5.0  # standard errors; many arms are looked at, so beyond 2
_DRIFT = 30  # fewest rows of an arm whose halves are compared


@dataclass(frozen=True, eq=False)
class Support:
    """The rows on which every compared arm could have been chosen.

    Attributes
    ----------
    arms : tuple of str
        The arms compared.
    arm : ndarray
        The number in ``arms`` of each row; -1 for other arms.
    floor : ndarray
        Of each arm the least propensity; a play of it takes 1/floor rows on average.
    accept : ndarray
        The probability with which a row stands for a play of its arm.
    notes : tuple of str
        What speaks against trusting the answers, in sentences.
    """

    arms: tuple[str, ...]
    arm: NDArray[np.int32] = field(repr=False)
    propensity: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    floor: Floats
    accept: Floats = field(repr=False)
    left_out: Exclusions
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def rows_per_arm(self) -> NDArray[np.int64]:
        """Rows of each arm."""
        return np.bincount(self.arm[self.arm >= 0], minlength=len(self.arms))


def support(log: Log, arms: Sequence[str] | None = None, clip: float | None = None) -> Support:
    """Return the rows of a log that can stand for plays; raise CannotAnswer if none can.

    Parameters
    ----------
    log : Log
        The decisions.
    arms : sequence of str, optional
        Compare these only; by default every arm that was chosen or could be.
    clip : float, optional
        Take propensities below this as this. Rare rows then count too little, so the answer is no
        longer unbiased; but a single tiny propensity no longer makes an arm nearly unplayable.
    """
    if clip is not None and not 0.0 < check_number("clip", clip) < 1.0:
        raise InvalidInput(f"clip must be between 0 and 1, got {clip!r}; 0.01 is usual, or None")
    wanted = log.arms if arms is None else tuple(dict.fromkeys(arms))
    _refuse_hopeless(log, wanted)
    use, left_out = _usable(log, wanted)
    if not use.any():
        raise CannotAnswer(_nothing(log, left_out))
    place = np.array([wanted.index(a) if a in wanted else _ABSENT for a in log.arms], np.int32)
    arm = place[log.arm[use]]
    propensity, cost, reward = log.propensity[use], log.cost[use], log.reward[use]
    _refuse_unseen(log, wanted, arm)
    floor = np.array([propensity[arm == k].min() for k in range(len(wanted))])
    notes = _misfits(log, wanted, arm, propensity) + _drifts(wanted, arm, reward)
    if clip is not None and (low := int((propensity < clip)[arm >= 0].sum())):
        floor = np.maximum(floor, clip)
        notes.append(
            f"{pluralize(low, 'row')} of propensity below {clip:g} count as if it were {clip:g}:"
            " the estimates lean towards what the log did more often."
        )
    accept = np.where(arm >= 0, np.minimum(1.0, floor[arm] / propensity), 0.0)
    return Support(wanted, arm, propensity, cost, reward, floor, accept, left_out, tuple(notes))


def _refuse_hopeless(log: Log, wanted: tuple[str, ...]) -> None:
    if not len(log):
        why = "; ".join(f"{reason}: {n:,}" for reason, n in log.left_out.counts.items())
        raise CannotAnswer(f"no {log.unit} of {log.name} can be used ({why or 'it has none'})")
    if len(wanted) < 2:
        raise CannotAnswer(
            f"{log.name} has only the arm {', '.join(map(repr, wanted))};"
            " a policy needs two or more to choose from"
        )


def _usable(log: Log, wanted: tuple[str, ...]) -> tuple[NDArray[np.bool_], Exclusions]:
    """Return which rows gave every arm a chance, and the reasons of the others."""
    whole = np.array([set(wanted) <= those for those in log.offers] + [True])  # last: EVERY = -1
    partly = ~whole[log.offer] if log.offers else log.offer != EVERY
    known = ~np.isnan(log.propensity)
    certain = known & (log.propensity >= 1.0 - 1e-12)
    out = Exclusions(dict(log.unweighted.counts), dict(log.unweighted.lines))
    for reason, rows in ((_CERTAIN, certain & ~partly), (_PARTLY, partly & known)):
        for line in log.line[rows].tolist():
            out.add(line, reason)
    return known & ~partly & ~certain, out


def _nothing(log: Log, out: Exclusions) -> str:
    rows = len(log)
    if set(out.counts) == set(log.unweighted.counts):
        why = "; ".join(f"{reason}: {n:,}" for reason, n in out.counts.items())
        return (
            f"{log.name} has no propensities ({why} of {rows:,} {log.unit}s), so it cannot say what"
            f" other policies would have earned; {EXPLORE}"
        )
    if set(out.counts) == {_CERTAIN}:
        return (
            f"every choice in {log.name} was certain (propensity 1 on all {rows:,} {log.unit}s), so"
            f" nothing is known of what the other arms would have done; {EXPLORE}"
        )
    why = "; ".join(f"{reason}: {n:,}" for reason, n in out.counts.items())
    return f"no {log.unit} of {log.name} gave every arm a chance ({why}); {EXPLORE}"


def _refuse_unseen(log: Log, wanted: tuple[str, ...], arm: NDArray[np.int32]) -> None:
    seen = set(arm.tolist())
    unseen = [name for k, name in enumerate(wanted) if k not in seen]
    if unseen:
        rest = [name for name in wanted if name not in unseen]
        names = ", ".join(map(repr, unseen))
        raise CannotAnswer(
            f"{log.name} has no usable {log.unit} of {names}, which a policy would try;"
            f" compare the others, {', '.join(map(repr, rest))}, or {EXPLORE}"
        )


def _misfits(
    log: Log, wanted: tuple[str, ...], arm: NDArray[np.int32], propensity: Floats
) -> list[str]:
    """Check that 1/propensity, counted where an arm was chosen, averages to 1, as it must."""
    notes = []
    for k, name in enumerate(wanted):
        weight = np.where(arm == k, 1.0 / propensity, 0.0)
        mean = float(weight.mean())
        off = abs(mean - 1.0) / max(float(weight.std()) / arm.size**0.5, 1e-300)
        if off > _REFUSED and not 0.5 < mean < 2.0:
            raise CannotAnswer(
                f"the propensities of {name!r} in {log.name} do not fit how often it was chosen:"
                f" 1/propensity averages {format_value(mean)} over the {log.unit}s, and must be near 1;"
                " they are wrong, or most decisions gave the arm next to no chance"
            )
        if off > _NOTED and abs(mean - 1.0) > 0.02:
            notes.append(
                f"The propensities of {name!r} do not quite fit how often it was chosen:"
                f" 1/propensity averages {mean:.3f} in place of 1."
            )
    return notes


def _drifts(wanted: tuple[str, ...], arm: NDArray[np.int32], reward: Floats) -> list[str]:
    """Compare the halves of each arm's rows: a replay takes them as of one distribution."""
    notes = []
    for k, name in enumerate(wanted):
        own = reward[arm == k]
        one, other = np.array_split(own, 2)
        if own.size < _DRIFT:
            continue
        error = (one.var() / one.size + other.var() / other.size) ** 0.5
        if abs(one.mean() - other.mean()) > max(_NOTED * float(error), 1e-12):
            notes.append(
                f"{name!r} brought {format_value(float(one.mean()))} a play in the first half of its rows"
                f" and {format_value(float(other.mean()))} in the second: the log drifts, and estimates"
                " mix both."
            )
    return notes
