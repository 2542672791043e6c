"""Support: the rows of a log that can stand for plays of other policies, or why none can."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.csv_table import Exclusions
from bursar.errors import CannotAnswer, InvalidInput
from bursar.formatting import format_number, pluralize
from bursar.replay.log import ALL_ARMS, Log
from bursar.validation import check_number

_EXPLORE = "log 5% of the asks at random (explore=0.05), with the propensity of each choice"
_NOT_COMPARED = -1  # the arm of a row whose arm is not compared
_CERTAIN = "another arm had no chance (propensity 1)"
_RESTRICTED = "not every arm could be chosen"
_FALSE_ALARM = 1e-3  # probability that sound propensities are said to be wrong
_MOST_LIKELY = 4  # arms, of which it is tested whether their propensities add up to more than 1
_DRIFTED = 4.0  # standard errors; many arms are tested, hence more than 2
_DRIFT_ROWS = 30  # fewest rows of an arm whose halves are compared


@dataclass(frozen=True, eq=False, kw_only=True)
class Support:
    """The rows on which every compared arm could have been chosen."""

    arms: tuple[str, ...]  # those compared
    arm: NDArray[np.int32] = field(repr=False)  # of each row: the number in ``arms``; -1 for others
    number: NDArray[np.int64] = field(repr=False)  # of each row in the log
    propensity: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    floor: Floats  # the least propensity of each arm; a play of it takes 1/floor rows on average
    accept: Floats = field(repr=False)  # probability with which a row stands for a play of its arm
    left_out: Exclusions  # rows that cannot stand for plays, by reason
    notes: tuple[str, ...]  # reasons for caution, in sentences

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def weight(self) -> Floats:
        """The inverse propensity of each row, where clipped ones lie below the floor."""
        return np.where(self.arm >= 0, 1.0 / np.maximum(self.propensity, self.floor[self.arm]), 0.0)

    def count_effective(self) -> Floats:
        """Return how many rows of equal weight would carry as much information on each arm."""
        own, many = self.arm >= 0, len(self.arms)
        arm, weight = self.arm[own], self.weight[own]
        total = np.bincount(arm, weight, many)
        return np.asarray(total * total / np.bincount(arm, weight * weight, many))


def find_support(log: Log, arms: Sequence[str] | None = None, clip: float | None = None) -> Support:
    """Return the rows of a log that can stand for plays; raise CannotAnswer if none can.

    Parameters
    ----------
    log : Log
        The decisions.
    arms : sequence of str, optional
        Compare only these; by default every arm that was chosen or could be.
    clip : float, optional
        Treat lower propensities as this one, so that a single tiny propensity no longer makes an
        arm nearly unplayable. Rare rows then weigh too little, which biases estimates if an arm's
        outcomes went along with its propensity. Where choices depended only on earlier outcomes,
        as in campaigns, they hardly do: 0.9 counts nearly all rows of an arm alike.
    """
    if clip is not None and not 0.0 < check_number("clip", clip) < 1.0:
        raise InvalidInput(f"clip must be between 0 and 1, got {clip!r}; 0.01 is usual, or None")
    wanted = log.arms if arms is None else tuple(dict.fromkeys(arms))
    _check_arms(log, wanted)
    usable, left_out = _find_usable(log, wanted)
    if not usable.any():
        raise CannotAnswer(_explain_nothing(log, left_out))
    index = [wanted.index(a) if a in wanted else _NOT_COMPARED for a in log.arms]
    arm = np.array(index, np.int32)[log.arm[usable]]
    propensity, cost, reward = log.propensity[usable], log.cost[usable], log.reward[usable]
    _check_tried(log, wanted, arm)
    floor = np.array([propensity[arm == k].min() for k in range(len(wanted))])
    notes = _test_propensities(log, wanted, arm, propensity) + _test_drift(wanted, arm, reward)
    if clip is not None and (low := int((propensity < clip)[arm >= 0].sum())):
        floor = np.maximum(floor, clip)
        notes.append(
            f"Propensities below {clip:g} were clipped to {clip:g} on {pluralize(low, 'row')},"
            " which is right only if the outcomes of an arm do not depend on its propensity."
        )
    return Support(
        arms=wanted,
        arm=arm,
        number=np.flatnonzero(usable),
        propensity=propensity,
        cost=cost,
        reward=reward,
        floor=floor,
        accept=np.where(arm >= 0, np.minimum(1.0, floor[arm] / propensity), 0.0),
        left_out=left_out,
        notes=tuple(notes),
    )


def _check_arms(log: Log, wanted: tuple[str, ...]) -> None:
    if not len(log):
        why = _count_reasons(log.left_out) or "it has none"
        raise CannotAnswer(f"no {log.unit} of {log.name} can be used ({why})")
    if len(wanted) < 2:
        raise CannotAnswer(
            f"{log.name} has only the arm {_quote(wanted)};"
            " a policy needs two or more to choose from"
        )


def _find_usable(log: Log, wanted: tuple[str, ...]) -> tuple[NDArray[np.bool_], Exclusions]:
    """Return which rows gave every arm a chance, and the reasons against the others."""
    # the last entry is for an offer of ALL_ARMS, -1
    offers_all = np.array([set(wanted) <= those for those in log.offers] + [True])
    restricted = ~offers_all[log.offer] if log.offers else log.offer != ALL_ARMS
    known = ~np.isnan(log.propensity)
    certain = known & (log.propensity >= 1.0 - 1e-12)
    left_out = Exclusions(dict(log.unweighted.counts), dict(log.unweighted.lines))
    for reason, rows in ((_CERTAIN, certain & ~restricted), (_RESTRICTED, restricted & known)):
        for line in log.line[rows].tolist():
            left_out.add(line, reason)
    return known & ~restricted & ~certain, left_out


def _explain_nothing(log: Log, left_out: Exclusions) -> str:
    rows, why = f"{len(log):,} {log.unit}s", _count_reasons(left_out)
    if set(left_out.counts) == set(log.unweighted.counts):
        return (
            f"{log.name} has no propensities ({why} of {rows}), so it cannot tell what other"
            f" policies would have earned; {_EXPLORE}"
        )
    if set(left_out.counts) == {_CERTAIN}:
        return (
            f"every choice in {log.name} was certain (propensity 1 on all {rows}), so nothing is"
            f" known about the other arms; {_EXPLORE}"
        )
    return f"no {log.unit} of {log.name} gave every arm a chance ({why}); {_EXPLORE}"


def _count_reasons(left_out: Exclusions) -> str:
    return "; ".join(f"{reason}: {count:,}" for reason, count in left_out.counts.items())


def _quote(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


def _check_tried(log: Log, wanted: tuple[str, ...], arm: NDArray[np.int32]) -> None:
    tried = set(arm.tolist())
    untried = [name for k, name in enumerate(wanted) if k not in tried]
    if untried:
        rest = [name for name in wanted if name not in untried]
        raise CannotAnswer(
            f"{log.name} has no usable {log.unit} of {_quote(untried)}, which a policy would try;"
            f" compare only {_quote(rest)}, or {_EXPLORE}"
        )


def _test_propensities(
    log: Log, wanted: tuple[str, ...], arm: NDArray[np.int32], propensity: Floats
) -> list[str]:
    """Check that 1/propensity, counted where an arm was chosen, averages to 1, as it must.

    It averages to more than 1 only if propensities are wrong, and sound ones are refused with a
    probability of at most ``_FALSE_ALARM``. It averages to less if they are wrong, too, or if the
    arm had no chance, or one too small to show, in many decisions: that is no fault of the log.
    """
    notes = []
    needed = math.log((len(wanted) + _MOST_LIKELY) / _FALSE_ALARM)  # one test for each
    impossible = _find_excess(propensity) >= needed
    for k, name in enumerate(wanted):
        weight = np.where(arm == k, 1.0 / propensity, 0.0)
        mean = float(weight.mean())
        doubt = _weigh_evidence(weight, mean < 1.0 and float(propensity.min()))
        if abs(mean - 1.0) <= 0.02 or doubt < needed:
            continue
        average = f"1/propensity averages {format_number(mean, 4, keep_whole=True)} over the"
        if mean > 1.5 or (mean < 0.5 and impossible):
            raise CannotAnswer(
                f"the propensities of {name!r} in {log.name} do not match how often it was chosen:"
                f" {average} {log.unit}s instead of about 1; they are wrong, so correct them"
                " where they are recorded"
            )
        if mean < 1.0:
            notes.append(
                f"{name!r} had hardly a chance in many decisions, or its propensities are too"
                f" large: {average} {log.unit}s instead of about 1."
            )
        else:
            notes.append(
                f"The propensities of {name!r} do not quite match how often it was chosen:"
                f" 1/propensity averages {mean:.3f} instead of 1."
            )
    return notes


def _find_excess(propensity: Floats) -> float:
    """Return the log of the evidence that propensities are too large to add up to 1.

    At most n arms have a propensity above 1/(n+1) at a time, so 1/propensity, counted where it is,
    averages to n at most.
    """
    tests = (
        np.where(propensity * (many + 1) > 1.0, 1.0 / propensity, 0.0) / many
        for many in range(1, _MOST_LIKELY + 1)
    )
    return max(map(_weigh_evidence, tests))


def _weigh_evidence(weight: Floats, least: float = 0.0) -> float:
    r"""Return the log of the evidence that weights average to more than 1, or to less.

    An arm of small propensity is rarely chosen, so its weights have a tail that a log mostly does
    not show, and their standard deviation says nothing. But if each weight has a mean of at most 1
    given the rows before it, :math:`\prod(1+\lambda(w_t-1))` is not negative and has a mean of at
    most 1, and so has an average over several :math:`\lambda` in (0, 1): it exceeds x with a
    probability of at most 1/x (Markov). With ``least`` the other side is tested, that the mean is 1
    or more; then no weight may exceed 1/``least``.

    Waudby-Smith & Ramdas (2024). Estimating means of bounded random variables by betting. JRSS B.
    """
    bets = np.append(0.99, 0.5 ** np.arange(1, 20))
    if least:
        bets *= -least / (1.0 - least)
    seen, often = np.unique(weight, return_counts=True)
    gains = (np.log1p(bets[:, None] * (seen - 1.0)) * often).sum(axis=1)
    most = float(gains.max())
    return most + math.log(float(np.exp(gains - most).mean()))


def _test_drift(wanted: tuple[str, ...], arm: NDArray[np.int32], reward: Floats) -> list[str]:
    """Compare the halves of each arm's rows: a replay assumes one distribution."""
    notes = []
    for k, name in enumerate(wanted):
        own = reward[arm == k]
        if own.size < _DRIFT_ROWS:
            continue
        one, other = np.array_split(own, 2)
        error = (one.var() / one.size + other.var() / other.size) ** 0.5
        if abs(one.mean() - other.mean()) > max(_DRIFTED * float(error), 1e-12):
            first, second = (
                format_number(float(half.mean()), 4, keep_whole=True) for half in (one, other)
            )
            notes.append(
                f"{name!r} earned {first} per play in the first half of its rows and {second} in"
                " the second: the log drifts, and estimates mix both."
            )
    return notes
