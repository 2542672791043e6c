"""Tapes: what each arm yields at its first, second, … play, as running statistics.

The n-th outcome of an arm depends on (seed, repetition, arm, n) only: never on the policy, on the
order of plays or on the number of workers. So all policies of one repetition meet the same
outcomes, and what is expensive to draw is drawn once. Row n of an arm's tape holds its statistics
after n plays; to play an arm is to read the next row. Rows come in chunks, and of each chunk the
tape knows the least and largest mean reward and mean cost, so that a block of plays can be bounded
without reading it.
"""

import threading
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bursar.arrays import Floats
from bursar.errors import TapeTooLong
from bursar.jit.compile import specialize
from bursar.problems import Problem

SUMS, SQUARES, COLUMNS = 2, 4, 6
"""Columns of a row: sums of rewards and costs; their squared deviations; BTS's counts of trials."""
BYTES = 3_000_000_000
"""The most that one tape may hold; a game that needs more is refused, not swapped to disk."""
REUSED = 256_000_000
"""The largest block, in bytes, that a thread keeps for its next tape."""

_CHUNK_BITS, _FEW_BITS = 6, 3
_MANY_ARMS = 20_000
_FIRST, _LATER, _TRIALS = 1, 2, 3


class Tape:
    """The outcomes of one problem in one repetition, drawn as far as they were needed."""

    def __init__(
        self, problem: Problem, seed: tuple[int, ...], columns: int = COLUMNS, limit: int = BYTES
    ) -> None:
        self.problem = problem
        self.limit = limit // (8 * columns)
        self.bits = _CHUNK_BITS if problem.arms < _MANY_ARMS else _FEW_BITS
        self._seed = seed
        self._streams: dict[int, np.random.Generator] = {}
        self._spare: dict[int, list[int]] = {}
        arms, rows = problem.arms, 1 << self.bits
        self.start: NDArray[np.int64] = np.arange(arms, dtype=np.int64) * rows
        self.length: NDArray[np.int64] = np.full(arms, rows, dtype=np.int64)
        self.used = arms * rows
        self.seconds = 0.0  # of drawing
        self._block: Floats = take_block(self.used * columns)
        self.rows: Floats = self._table(self._block, columns)
        self.spans: Floats = np.empty((self.rows.shape[0] >> self.bits, 4))
        # after no plays; all other rows are written before they are read
        self.rows[self.start] = 0.0
        self._write(np.arange(arms, dtype=np.int64), 0, rows - 1, self._generator(0, _FIRST))

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops read; other arrays after the tape was extended."""
        return self.rows, self.spans, self.bits, self.start, self.length

    def close(self) -> None:
        """Give the memory back, for the next tape of this thread; this one is at its end."""
        kept: Floats | None = getattr(_own, "block", None)
        if self._block.nbytes <= REUSED and (kept is None or self._block.size > kept.size):
            _own.block = self._block
        self._block = self.rows = self.spans = np.empty((0, 0))

    def _table(self, flat: Floats, columns: int) -> Floats:
        rows = flat.size // columns >> self.bits << self.bits
        return flat[: rows * columns].reshape(rows, columns)

    def extend(self, arm: int) -> None:
        """Lengthen an arm's tape; its rows move to a larger place in the pool."""
        began = thread_time()
        have, old = int(self.length[arm]), int(self.start[arm])
        size = 4 * have if have < 4096 else (3 * have // 2) >> self.bits << self.bits
        new = self._room(arm, size)
        chunk, chunks = old >> self.bits, have >> self.bits
        self.rows[new : new + have] = self.rows[old : old + have]
        to = new >> self.bits
        self.spans[to : to + chunks] = self.spans[chunk : chunk + chunks]
        self._spare.setdefault(have, []).append(old)
        self.start[arm], self.length[arm] = new, size
        rng = self._streams.get(arm)
        if rng is None:
            rng = self._streams[arm] = self._generator(arm, _LATER)
        self._write(np.array([arm]), have - 1, size - have, rng)
        self.seconds += thread_time() - began

    def _room(self, arm: int, size: int) -> int:
        """Return where ``size`` rows are free; grow the pool if nowhere."""
        spare = self._spare.get(size)
        if spare:
            return spare.pop()
        if self.used + size > self.limit:
            raise TapeTooLong(
                f"{self.problem.name or 'the problem'}: arm {arm} needs more than"
                f" {self.length[arm] - 1:,} plays and all arms together more than"
                f" {self.limit * self.rows.itemsize * self.rows.shape[1] / 1e9:.1f} GB of outcomes;"
                " play with a smaller budget"
            )
        if self.used + size > self.rows.shape[0]:
            columns = self.rows.shape[1]
            grown = min(self.limit, max(self.used + size, 2 * self.rows.shape[0]))
            larger = take_block(grown * columns)
            larger[: self.used * columns] = self._block[: self.used * columns]
            self._block = larger
            self.rows = self._table(larger, columns)
            spans = np.empty((self.rows.shape[0] >> self.bits, 4))
            spans[: self.spans.shape[0]] = self.spans
            self.spans = spans
        self.used += size
        return self.used - size

    def _write(self, arms: Any, have: int, more: int, rng: np.random.Generator) -> None:
        reward, cost = self.problem.sample(rng, arms, more)
        trials = _NONE
        if self.rows.shape[1] == COLUMNS:  # a stream apart: outcomes must not depend on who plays
            draw = self._generator(int(arms[0]), _TRIALS, have)
            trials = draw.random((2, arms.size, more))
        drawn = reward, cost, trials
        append(self.rows, self.spans, self.bits, self.start[arms], have, *drawn)

    def _generator(self, arm: int, *part: int) -> np.random.Generator:
        seed, *position = self._seed
        key = np.random.SeedSequence(seed, spawn_key=(*position, *part, arm))
        return np.random.Generator(np.random.SFC64(key))


_NONE = np.empty((2, 0, 0))


def _append(
    rows: Floats, spans: Floats, bits: int, start: Any, have: int, reward: Floats, cost: Floats,
    trial: Floats,
) -> None:  # fmt: skip
    """Continue the running statistics of some arms after row ``have`` by new outcomes.

    New rows start a chunk, or are the first of all: no chunk is continued.
    """
    columns = rows.shape[1]
    inside = (1 << bits) - 1
    for a in range(start.size):
        at = start[a] + have
        n = float(have)
        sum_r, sum_c = rows[at, 0], rows[at, 1]
        mean_r, mean_c = (sum_r / n, sum_c / n) if have > 0 else (reward[a, 0], cost[a, 0])
        square_r, square_c = (rows[at, 2], rows[at, 3]) if columns >= 4 else (0.0, 0.0)
        wins_r, wins_c = (rows[at, 4], rows[at, 5]) if columns >= 6 else (0.0, 0.0)
        low_r = high_r = low_c = high_c = 0.0
        for i in range(reward.shape[1]):
            j = at + i + 1
            r, c = reward[a, i], cost[a, i]
            n += 1.0
            sum_r += r
            sum_c += c
            before_r, before_c = mean_r, mean_c
            mean_r, mean_c = sum_r / n, sum_c / n
            rows[j, 0], rows[j, 1] = sum_r, sum_c
            if columns >= 4:
                square_r += (r - before_r) * (r - mean_r)
                square_c += (c - before_c) * (c - mean_c)
                rows[j, 2], rows[j, 3] = square_r, square_c
            if columns >= 6:
                wins_r += 1.0 if trial[0, a, i] < r else 0.0
                wins_c += 1.0 if trial[1, a, i] < c else 0.0
                rows[j, 4], rows[j, 5] = wins_r, wins_c
            if j & inside == 0 or i == 0:
                low_r, high_r, low_c, high_c = mean_r, mean_r, mean_c, mean_c
            else:
                low_r, high_r = min(low_r, mean_r), max(high_r, mean_r)
                low_c, high_c = min(low_c, mean_c), max(high_c, mean_c)
            if j & inside == inside or i == reward.shape[1] - 1:
                span = spans[j >> bits]
                span[0], span[1], span[2], span[3] = low_r, high_r, low_c, high_c


append = specialize(_append, "tape")


# A tape grows by steps and is gone after its match. Fresh pages at each step cost more than what is
# written to them, and pages that a thread has touched before are the cheapest; so a thread keeps
# the block of its last tape for the next.
_own = threading.local()


def take_block(size: int) -> Floats:
    """Return room for at least ``size`` numbers of any value."""
    kept: Floats | None = getattr(_own, "block", None)
    if kept is not None and kept.size >= size:
        _own.block = None
        return kept
    return np.empty(size)
