r"""What a campaign did recently, how fast it spends now, and whether that changed suddenly.

The newest stretch of an unchanged rate is found by comparing the newest m decisions with all before
them, for m = 1, 2, … up to all but 30. If :math:`x_i` is the cost of a decision, :math:`g_i` the
time until the next one, and :math:`\lambda` the rate before, the residuals :math:`x_i - \lambda
g_i` have mean 0 while nothing changes. Their sum over the newest m is large if it exceeds

.. math:: s\sqrt{2 L (m + e^2/n)} + s L,

with n decisions before, e the number of decisions that were expected in the time of the newest, and
s the standard deviation of the residuals around the rate of each part, or the mean cost if that is
more: Bernstein's bound for a risk of :math:`e^{-L}`. Bursts make s large, so they are no changes;
of a long tail of costs only four times the mean counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bursar.arrays import Floats
from bursar.campaign.decision import to_datetime
from bursar.campaign.events import ASKED, RELEASED, VOIDED
from bursar.campaign.records import OPEN, DecisionRecord, make_record
from bursar.formatting import format_number
from bursar.ledger import Event, Store
from bursar.money import Coin

RECENT_DAYS = 7.0
RECENT_EVENTS = 10_000  # at most
DAY = 86_400_000_000  # µs
_RISK = 12.0  # L
_TALLEST = 4.0  # times the mean is the most that a cost counts in the search for changes
_OLDER = 30  # fewest decisions before a change
_ALIKE = 15.0  # fewest long gaps among them, twice as many if these are at random
_SUDDEN = 2.0  # times as fast, or as slow, is a change worth an alarm
_PAIRS = 30  # of cost and reward that count as uncorrelated
_MINUTE = 60.0 / 86_400.0  # days: the least time that tells a rate
_USUAL = 1, 7  # days ago: a rate that was the same at this time of a day is no news


def read_recent_events(store: Store, name: str, most: int = RECENT_EVENTS) -> list[Event]:
    """Return the newest events, those that a forecast looks at by default."""
    since = max(store.last_seq(name) - most, 0)
    return [event for event, _ in store.read(name, since)]


@dataclass(frozen=True)
class RateChange:
    """A sudden change of the rate of spending: since when (µs), and money per day."""

    since: int
    before: float
    after: float

    def describe(self, coin: Coin, now: int) -> str:
        """Return it as a sentence.

        >>> RateChange(50_700_000_000, 38.4, 912.0).describe(Coin(6, "USD"), 60_000_000_000)
        'it spends 38 USD/h since 14:05 UTC, 1.6 before'
        """
        form = "%H:%M UTC" if now // DAY == self.since // DAY else "%Y-%m-%d %H:%M UTC"
        after, before = (format_number(rate / 24.0, 2) for rate in (self.after, self.before))
        unit = f"{coin.currency}/h" if coin.currency else "per hour"
        return f"it spends {after} {unit} since {to_datetime(self.since):{form}}, {before} before"


class Pace(NamedTuple):
    """How fast a campaign goes now: money per day, days per decision, and their errors."""

    rate: float
    rate_error: float
    gap: float
    gap_error: float
    gap_variance: float


class RecentActivity:
    """Decisions of the last days that were not voided or released, the oldest first."""

    def __init__(self, events: Iterable[Event], now: int, days: float, unit: float) -> None:
        found: dict[str, DecisionRecord] = {}
        for event in events:
            if event.kind == ASKED and event.ts >= now - days * DAY:
                found[event.decision] = make_record(event)
            elif event.kind in (VOIDED, RELEASED):
                found.pop(event.decision, None)
            elif event.decision in found:
                found[event.decision].apply(event)
        kept = list(found.values())
        self.arm = np.array([one.arm for one in kept], dtype=np.intp)
        # until the next one, or until now; a stretch of decisions ends with the last of these
        self.ts = np.array([*(one.ts for one in kept), now], dtype=np.int64)
        self.ts[-1] = self.ts.max()
        self.gap: Floats = np.diff(self.ts) / DAY
        # in the user's units; NaN while it is unknown
        self.cost = np.array([np.nan if one.money in OPEN else one.charged * unit for one in kept])
        self.reward = np.array([np.nan if one.reward is None else one.reward for one in kept])

    @property
    def begins(self) -> int:
        """When the first of the decisions was made, in µs."""
        return int(self.ts[0])

    def correlation(self) -> float:
        """Return how rewards and costs of plays of the same arm go together, from -1 to 1."""
        known = ~np.isnan(self.cost) & ~np.isnan(self.reward)
        if not known.any():
            return 0.0
        arm = self.arm[known]
        cost, reward = (x - _arm_means(arm, x) for x in (self.cost[known], self.reward[known]))
        cost = cost / np.maximum(_arm_means(arm, np.abs(cost)), 1e-300)  # arms cost differently
        reward = reward / np.maximum(_arm_means(arm, np.abs(reward)), 1e-300)
        scale = float(np.sqrt((cost @ cost) * (reward @ reward)))
        if scale <= 0.0:
            return 0.0
        return float(cost @ reward / scale * arm.size / (arm.size + _PAIRS))

    def since(self, arm: int, ts: int) -> tuple[Floats, Floats]:
        """Return the rewards and the costs of an arm's decisions since a time that are known."""
        mine = (self.arm == arm) & (self.ts[:-1] >= ts)
        mine &= ~np.isnan(self.cost) & ~np.isnan(self.reward)
        return self.reward[mine], self.cost[mine]

    def pace(self, costs: Floats) -> Pace | None:
        """Return how fast it goes since the last change of the rate; None if nothing was spent.

        Decisions without a cost count with the mean ``costs`` of their arm. The errors are those of
        a ratio of two means, and never below those of as many independent decisions at random
        times: they see bursts, but neither nights nor weekends.
        """
        spent = self._fill(costs)
        if spent.size < 2 or spent.sum() <= 0.0 or self.gap.sum() <= 0.0:
            return None
        start = max(_find_start(spent, self.gap), _find_start(self._relative(spent), self.gap))
        spent, gap = spent[start:], self.gap[start:]
        if spent.size < 2 or spent.sum() <= 0.0 or gap.sum() <= 0.0:
            return None
        # the first decisions of a campaign come together, and say nothing of a whole day
        time = max(float(gap.sum()), _MINUTE)
        rate, mean = float(spent.sum()) / time, time / gap.size
        error = float(np.std(spent - rate * gap, ddof=1)) / mean
        least = rate / np.sqrt(spent.size)
        variance = float(np.var(gap, ddof=1))
        gap_error = max(float(np.sqrt(variance / gap.size)), mean / np.sqrt(gap.size))
        return Pace(rate, max(error / np.sqrt(spent.size), least), mean, gap_error, variance)

    def find_change(self, costs: Floats) -> RateChange | None:
        """Return the newest sudden change of the rate of spending.

        Costs count in units of the mean of their arm: that the policy turns to other arms is no
        sudden change. Nor is what lasted less than a minute, or a rate that was the same at this
        time a day or a week ago.
        """
        spent = self._fill(costs)
        start = _find_start(self._relative(spent), self.gap)
        if not start:
            return None
        earlier = _find_start(self._relative(spent[:start]), self.gap[:start])
        before = _rate_of(spent[earlier:start], self.gap[earlier:start])
        after = _rate_of(spent[start:], self.gap[start:])
        if not max(after, before) >= _SUDDEN * min(after, before):
            return None
        if min(self.gap[earlier:start].sum(), self.gap[start:].sum()) < _MINUTE:
            return None
        begin, end = int(self.ts[start]), int(self.ts[-1])
        for days in _USUAL:
            then = (self.ts[:-1] >= begin - days * DAY) & (self.ts[:-1] < end - days * DAY)
            if self.ts[0] <= begin - days * DAY and end > begin:
                usual = spent[then].sum() / ((end - begin) / DAY)
                if max(after, usual) < _SUDDEN * min(after, usual):
                    return None
        return RateChange(begin, before, after)

    def _fill(self, costs: Floats) -> Floats:
        return np.where(np.isnan(self.cost), costs[self.arm], self.cost)

    def _relative(self, spent: Floats) -> Floats:
        """Return costs over the mean of their arm."""
        mean = _arm_means(self.arm[: spent.size], spent)
        return np.where(mean > 0.0, spent / np.where(mean > 0.0, mean, 1.0), 1.0)


def _arm_means(arm: np.ndarray[tuple[int], np.dtype[np.intp]], values: Floats) -> Floats:
    """Return the mean of the values of an arm, in the place of each."""
    if not arm.size:
        return values
    means = np.bincount(arm, values) / np.maximum(np.bincount(arm), 1)
    return np.asarray(means[arm])


def _rate_of(spent: Floats, gap: Floats) -> float:
    return float(spent.sum() / max(gap.sum(), 1e-9))


def _find_start(spent: Floats, gap: Floats) -> int:
    """Return where the newest stretch of an unchanged rate begins; 0 for the first decision."""
    start = 0
    while split := _split(spent[start:], gap[start:]):
        start += split
    return start


def _split(spent: Floats, gap: Floats) -> int:
    """Return where the rate changed most, or 0 if it did not."""
    n = spent.size
    if n <= _OLDER:
        return 0
    x = np.minimum(spent, _TALLEST * float(spent.mean()))
    # the number of newer decisions grows by a tenth or by one
    newer = np.unique(np.geomspace(1, n - _OLDER, 100).astype(np.intp))
    older = n - newer
    sums = np.cumsum([x, gap, x**2, x * gap, gap**2], axis=1)
    before = sums[:, older - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.zeros(newer.size)
        for part in (before, sums[:, -1:] - before):  # around the rate of each part
            rate = np.where(part[1] > 0.0, part[0] / part[1], 0.0)
            squares += part[2] - 2.0 * rate * part[3] + rate**2 * part[4]
        deviation = np.maximum(np.sqrt(np.maximum(squares, 0.0) / n), x.mean())
        expected = before[0] / before[1] * (sums[1, -1] - before[1])  # of the newer
        residual = np.abs(sums[0, -1] - before[0] - expected)
        alike = before[1] ** 2 / before[4]
        # a burst says nothing of the time between bursts: there must be many gaps before that are
        # about equally long, and together they must be longer than the longest since
        longest = np.maximum.accumulate(gap[::-1])[newer - 1]
        bound = np.sqrt(2.0 * _RISK * (newer + (expected / x.mean()) ** 2 / older)) + _RISK
        score = np.nan_to_num(residual / (deviation * bound))
        score[~((alike >= _ALIKE) & (before[1] >= 2.0 * longest))] = 0.0
    best = int(np.argmax(score))
    if score[best] <= 1.0:
        return 0
    # the place between its neighbours where the two rates are most likely
    ends = older[[min(best + 1, older.size - 1), max(best - 1, 0)]]
    place = np.arange(ends[0], ends[1] + 1)
    early, late = sums[:2, place - 1], sums[:2, -1:] - sums[:2, place - 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        likely = sum(part[0] * np.log(part[0] / part[1]) for part in (early, late))
    return int(place[np.argmax(np.nan_to_num(likely, nan=-np.inf, posinf=-np.inf))])
