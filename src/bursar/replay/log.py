"""A log: the decisions of a campaign with arm, propensity, cost and reward, in their order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bursar.checks import Floats
from bursar.errors import InvalidInput
from bursar.replay.row import COLUMNS, Row, checked_rows
from bursar.settings.ads import Exclusions

__all__ = ["Log"]

EVERY = -1  # the row does not say which arms could be chosen: all of them


@dataclass(frozen=True, eq=False)
class Log:
    """The decisions whose arm, cost and reward are known.

    Attributes
    ----------
    name : str
        The file, or what errors call it.
    arms : tuple of str
        Every arm that was chosen or could be, the first chosen first.
    arm : ndarray
        The number in ``arms`` of each decision.
    propensity : ndarray
        The probability with which the arm was chosen; NaN where the log has none.
    cost, reward : ndarray
        What each decision cost and brought.
    offer, offers : ndarray, tuple of frozenset
        Which arms could be chosen: a number in ``offers``, or -1 for all.
    line : ndarray
        Where each decision stands in the file; ``unit`` says what is counted, lines or rows.
    left_out : Exclusions
        Rows that cannot be used at all, by reason.
    unweighted : Exclusions
        Rows without a usable propensity: they count for what the log earned, not for replays.
    """

    name: str
    arms: tuple[str, ...]
    arm: NDArray[np.int32] = field(repr=False)
    propensity: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    reward: Floats = field(repr=False)
    offer: NDArray[np.int32] = field(repr=False)
    offers: tuple[frozenset[str], ...] = field(repr=False)
    line: NDArray[np.int64] = field(repr=False)
    unit: str
    left_out: Exclusions
    unweighted: Exclusions

    @classmethod
    def of(
        cls,
        *,
        arm: ArrayLike,
        propensity: ArrayLike,
        cost: ArrayLike,
        reward: ArrayLike,
        decision: ArrayLike | None = None,
        time: ArrayLike | None = None,
        available: Any = None,
        name: str = "the log",
    ) -> Log:
        """Make a log of columns: arrays or lists of equal length.

        Examples
        --------
        >>> log = Log.of(arm=["a", "b", "a"], propensity=[0.5, 0.5, 0.5], cost=[1, 2, 1],
        ...              reward=[0, 1, None])
        >>> len(log), log.spent, log.earned, log.left_out.counts
        (2, 3.0, 1.0, {'reward is empty': 1})
        """
        given = (arm, propensity, cost, reward, decision, time, available)
        columns = [None if c is None else list(cast("Iterable[Any]", c)) for c in given]
        sizes = {n: len(c) for n, c in zip(COLUMNS, columns, strict=True) if c is not None}
        if len(set(sizes.values())) > 1:
            raise InvalidInput(
                f"the columns of a log must be of one length, got {sizes}; one value a decision"
            )
        count = sizes["arm"]
        filled = [c if c is not None else [None] * count for c in columns]
        rows = ((i, Row(*values)) for i, values in enumerate(zip(*filled, strict=True), 1))
        return cls.checked(name, rows, "row", time is not None, {n: n for n in COLUMNS})

    @classmethod
    def checked(cls, name: str, rows: Any, unit: str, timed: bool, called: dict[str, str]) -> Log:
        """Make a log of raw rows; those that cannot be used are counted by reason."""
        left_out, unweighted = Exclusions(), Exclusions()
        kept = list(checked_rows(rows, timed, called, left_out, unweighted))
        if timed:
            kept.sort(key=lambda row: row.time)  # stable: equal times keep the order of the file
        codes: dict[str, int] = {}
        offers: dict[frozenset[str], int] = {}
        arm = [codes.setdefault(row.arm, len(codes)) for row in kept]
        offer = [
            EVERY if row.available is None else offers.setdefault(row.available, len(offers))
            for row in kept
        ]
        for those in offers:
            for other in sorted(those):
                codes.setdefault(other, len(codes))
        return cls(
            name,
            tuple(codes),
            np.array(arm, dtype=np.int32),
            np.array([row.propensity for row in kept], dtype=np.float64),
            np.array([row.cost for row in kept], dtype=np.float64),
            np.array([row.reward for row in kept], dtype=np.float64),
            np.array(offer, dtype=np.int32),
            tuple(offers),
            np.array([row.line for row in kept], dtype=np.int64),
            unit,
            left_out,
            unweighted,
        )

    def __len__(self) -> int:
        return int(self.arm.size)

    @property
    def spent(self) -> float:
        """What all decisions cost."""
        return float(self.cost.sum())

    @property
    def earned(self) -> float:
        """What all decisions brought: what the logging policy earned, exactly."""
        return float(self.reward.sum())

    def earned_by(self, spend: float) -> float | None:
        """Return what the log had earned when its spend reached ``spend``; None if it never did.

        Examples
        --------
        >>> log = Log.of(arm="aba", propensity=[0.5] * 3, cost=[1, 1, 1], reward=[1, 0, 1])
        >>> log.earned_by(2.0), log.earned_by(4.0)
        (1.0, None)
        """
        by = np.cumsum(self.cost)
        slack = 1e-9 * abs(spend)  # a sum in another order differs in its last digits
        at = int(np.searchsorted(by, spend - slack))
        return float(self.reward[: at + 1].sum()) if at < by.size else None
