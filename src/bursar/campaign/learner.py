"""The learner of a campaign: the statistics of its arms, and the policy that chooses by them.

Decisions without an outcome count as plays at the means of their arm so far. Without that, a
hundred asks in a row would all go to the arm that looked best before the first of them.

Policies are stated for costs in [0, 1], so costs are divided by a unit. That is the largest cost
learned so far, because a declared maximum is a limit for safety: how generous it is must not change
what is learned, neither of its arm nor of others. Only logs without that rule have the largest
declared maximum as their unit (``declared``).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from bursar.arrays import Floats
from bursar.history import PastOutcomes
from bursar.jit.arms import Arms, Game, new_arms, new_game
from bursar.jit.compile import compiled, direct, specialize
from bursar.jit.detector import Parts, feed, new_tests, parts, restart, with_room
from bursar.jit.rng import Stream, new_stream
from bursar.policies import Policy, kernels
from bursar.policies.base import Range, Scale

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `specialize` binds a policy's `choose`, `scores` and `update_arm`


COST, REWARD = 1, 2
"""What an outcome shows to the tests for changes; the bits are added up."""

_TESTS = {"cost": 0, "reward": 1}
_PLAYS = 1000.0  # that the budget pays for, as far as is known before anything was paid
_SHIFT = 32  # two lengths in one number: a tuple from compiled code costs more


class CampaignLearner:
    """Statistics of all arms in the policy's units, and its compiled choice.

    If it is ``watched``, every arm has a test for changes of its costs and one of its rewards, two
    columns of ``watch``. What they find stays in ``noticed``, by arm and "cost" or "reward", until
    an event records it.
    """

    def __init__(
        self,
        policy: Policy,
        reward_range: Range,
        seed: int,
        watched: bool = True,
        declared: bool = False,
    ) -> None:
        self.policy = policy
        self.declared = declared
        self.has_index = policy.takes_largest_index
        self.reward_range = reward_range
        self.arms: Arms = new_arms(0)
        self._seen: Arms = new_arms(0)
        self._uncounted = -1  # arm of the last ask, until its play is counted
        self.prior: Floats = np.zeros(0)  # cost that an arm without outcomes counts with
        self.open: list[int] = []
        self.costs: list[float] = []
        # in the user's units
        self.largest = 0.0  # cost learned so far or, if ``declared``, maximum of any arm
        self.most = 1.0  # the unit of costs: the largest or, before any was seen, a guess
        self._known: tuple[float, float | None] = 1.0, None  # budget and min_cost
        self.watched = watched
        self.watch: Floats = new_tests([], False)
        self.noticed: dict[tuple[int, str], Parts] = {}
        self._game = new_game(math.inf, policy.ties)
        self._stream = new_stream(seed)
        self._memory = np.zeros(0)
        self._kernel_params: Any = None
        self._choose, wait, take, watch, self._scores = _kernels(cast(Any, type(policy)))
        bind = self.arms, self._seen, self._game, self.prior
        self._wait = direct(wait, *bind, 0, 0, 0)
        shown = self.watch, 0.0, 0
        self._take = direct(take, *bind, self._stream, 0, 0, 0.0, 0.0, 0, 0, *shown)
        self._observe_cost = direct(watch, self.watch, 0, 0.0)
        self._pick: Callable[..., int]

    @property
    def seen(self) -> Arms:
        """The statistics of all arms with open decisions in them."""
        self._count_last_ask()
        return self._seen

    @property
    def game(self) -> Game:
        """Plays, money and budget, with open decisions among the plays."""
        self._count_last_ask()
        return self._game

    @property
    def kernel_params(self) -> Any:
        """What the compiled functions of the policy know beforehand."""
        return self._kernel_params

    def _count_last_ask(self) -> None:
        """Count the last ask as a play. That is put off, since often its outcome comes first."""
        arm, self._uncounted = self._uncounted, -1
        if arm >= 0:
            self._wait(self.arms, self._seen, self._game, self.prior, arm, self.open[arm], 1)

    def add_arms(self, max_costs: Sequence[float]) -> None:
        """Add arms. If ``declared`` and one can cost more than all others, costs are rescaled."""
        self._count_last_ask()
        before, many = len(self.open), len(max_costs)
        self.arms = np.append(self.arms, new_arms(many))
        self.open += [0] * many
        self.costs += max_costs
        self.watch = with_room(self.watch, 2 * len(self.open))
        for arm, cost in enumerate(max_costs, before):
            # the test takes twice the first mean as its unit unless that is beyond this, so that
            # twice the maximum leaves the maximum out of it
            restart(self.watch, 2 * arm, False, cost if self.declared else 2.0 * cost)
            restart(self.watch, 2 * arm + 1, True, 1.0)
        if self.declared:
            self._raise_largest(max(max_costs, default=0.0))
        self.update_unit()

    def _raise_largest(self, cost: float) -> None:
        """Rescale what was learned if a cost is the largest so far; `update_unit` must follow."""
        if cost > self.largest:
            shrink = self.largest / cost  # 0 the first time, when all that was learned is 0, too
            self.arms["cost"] *= shrink
            self.arms["cost_m2"] *= shrink * shrink
            self.arms["own_cost"] *= shrink
            self._game["spent"] *= shrink
            self.largest = cost

    def _take_unit(self, cost: float) -> None:
        """Make a cost that is larger than all before it the unit."""
        self._count_last_ask()
        self._raise_largest(cost)
        self.update_unit()
        self._convert_context()  # numbers of the same types, for which the choice is bound

    def update_unit(self) -> None:
        """Compute again all that depends on the unit of costs, but for what the policy knows."""
        # The guess has nothing to scale yet, for whatever was learned cost nothing. But policies
        # see the budget in this unit, and choose by it among arms with open decisions. So even the
        # guess is made without maxima: the budget pays for a thousand plays.
        self.most = self.largest or self._known[0] / _PLAYS
        caps = np.array(self.costs) / self.most
        self.arms["cap"] = caps
        # An arm without outcomes counts at half of the unit, whatever its maximum: it may cost
        # anything up to there, and half of its own maximum would make padded arms look dear.
        self.prior = 0.5 * caps if self.declared else np.full(caps.size, 0.5)
        self._seen = self.arms.copy()
        for arm, waiting in enumerate(self.open):
            if waiting:
                self._wait(self.arms, self._seen, self._game, self.prior, arm, waiting, 0)

    def set_context(self, budget: float, min_cost: float | None) -> None:
        """Give the policy what it may know beforehand; called again when that changes."""
        self._known = budget, min_cost
        if not self.largest:
            self.update_unit()
        self._convert_context()
        known = self._kernel_params, self._seen, self._game, self._memory, self._stream
        self._pick = direct(self._choose, *known, 0)

    def _convert_context(self) -> None:
        """Convert what the policy knows beforehand into the unit of costs."""
        budget, min_cost = self._known
        self.scale = Scale.of(self.policy, self.reward_range, (0.0, self.most))
        context = self.policy.make_context(self.arms.size, budget, min_cost, self.scale)
        self._kernel_params = self.policy.start_params(context)
        self._game["budget"] = math.inf if context.budget is None else context.budget

    def choose(self, allowed: Sequence[int] | None, seq: int) -> int:
        """Return the arm for decision ``seq`` among those allowed, all by default."""
        if self._uncounted >= 0:
            self._count_last_ask()
        arms = self._seen if allowed is None else self._seen[np.asarray(allowed, dtype=np.intp)]
        arm = self._pick(self._kernel_params, arms, self._game, self._memory, self._stream, seq)
        return arm if allowed is None else allowed[arm]

    def tied_arms(self, allowed: Sequence[int]) -> list[int]:
        """Return the arms of the largest index, among which an index policy draws."""
        few = self.seen[np.asarray(allowed, dtype=np.intp)]
        fresh = np.flatnonzero(few["n"] == 0.0)
        if fresh.size and self.policy.tries_all:
            return [allowed[int(fresh[0])]]
        scores = self._scores(self._kernel_params, few, self.game)
        return [allowed[int(i)] for i in np.flatnonzero(scores == scores.max())]

    def score(self, allowed: Sequence[int]) -> list[float]:
        """Return the scores by which the policy chooses among some arms, in its own units."""
        few = self.seen[np.asarray(allowed, dtype=np.intp)]
        scores: list[float] = self._scores(self._kernel_params, few, self.game).tolist()
        return scores

    def uniform(self, seq: int) -> tuple[float, float]:
        """Return two numbers in [0, 1) that belong to decision ``seq``."""
        words = np.random.Philox(key=self._stream[:2], counter=[0, seq, 2, 0]).random_raw(2)
        return float(words[0]) / 2.0**64, float(words[1]) / 2.0**64

    def add_waiting(self, arm: int) -> None:
        """Count a decision that waits for its outcome."""
        if self._uncounted >= 0:
            self._count_last_ask()
        self.open[arm] += 1
        self._uncounted = arm

    def remove_waiting(self, arm: int) -> None:
        """Stop to count a decision that ended without anything to learn from."""
        self._count_last_ask()
        self.open[arm] = waiting = self.open[arm] - 1
        self._wait(self.arms, self._seen, self._game, self.prior, arm, waiting, -1)

    def learn(
        self, arm: int, reward: float, cost: float, seq: int, waited: bool, news: int = 0
    ) -> None:
        """Learn an outcome, in the user's units; ``waited`` if its decision counted as waiting.

        ``news`` is what the tests for changes have not seen of it: COST, REWARD or their sum.
        """
        step = -1 if waited else 0
        if cost > self.largest and not self.declared:
            self._take_unit(cost)
        if self._uncounted == arm and waited:
            self._uncounted, step = -1, 0  # it was never counted
        elif self._uncounted >= 0:
            self._count_last_ask()
        self.open[arm] = waiting = self.open[arm] - waited
        r, c = self._scaled(reward, cost)
        found = self._take(
            self.arms, self._seen, self._game, self.prior, self._stream,
            arm, waiting, r, c, seq, step, self.watch, cost, news if self.watched else 0,
        )  # fmt: skip
        if found:
            self._notice(arm, "cost", found >> _SHIFT)
            self._notice(arm, "reward", found % (1 << _SHIFT))

    def observe_cost(self, arm: int, cost: float) -> None:
        """Show a cost to its test while the reward is not known yet."""
        if self.watched:
            self._notice(arm, "cost", self._observe_cost(self.watch, arm, cost))

    def _notice(self, arm: int, what: str, newer: int) -> None:
        if newer:
            found = parts(self.watch, 2 * arm + _TESTS[what], newer)
            if what == "reward":  # its test sees the policy's units
                low, width = self.scale.reward_low, self.scale.reward_width
                ends = low + width * found.before, low + width * found.after
                found = found._replace(before=ends[0], after=ends[1])
            self.noticed[arm, what] = found

    def restart_test(self, arm: int, what: str) -> None:
        """Begin a test for changes again, after the change that it found."""
        self.noticed.pop((arm, what), None)
        restart(self.watch, 2 * arm + _TESTS[what], what == "reward")

    def reset_arm(self, arm: int) -> None:
        """Forget all that was learned of an arm; its open decisions still count."""
        self._count_last_ask()
        self._game["plays"] -= int(self.arms[arm]["n"])
        self.arms[arm] = new_arms(1)[0]
        self.arms[arm]["cap"] = self.costs[arm] / self.most
        self._wait(self.arms, self._seen, self._game, self.prior, arm, self.open[arm], 0)

    def learn_history(self, arm: int, past: PastOutcomes, weight: float) -> None:
        """Learn past outcomes of an arm, in the user's units; each counts as ``weight`` plays.

        No money was spent on them. The tests for changes do not see them: they look for a change
        within this campaign.
        """
        if past.largest_cost > self.largest and not self.declared:
            self._take_unit(past.largest_cost)
        self._count_last_ask()
        scale, record = self.scale, self.arms[arm]
        columns = (
            ("reward", past.reward, past.reward_m2, scale.reward_low, scale.reward_width),
            ("cost", past.cost, past.cost_m2, scale.cost_low, scale.cost_width),
        )
        plays, before = float(past.plays), float(record["n"])
        n = plays * weight
        for name, total, squares, low, width in columns:
            # a mean beyond the range in which the policy works is clipped to it
            mapped = min(max((total - plays * low) / width, 0.0), plays)
            squares = weight * min(squares / width**2, mapped * (1.0 - mapped / plays))
            old = float(record[name])
            if before:
                gap = mapped / plays - old / before
                squares += gap * gap * before * n / (before + n)
            record[name] = old + weight * mapped
            record[f"{name}_m2"] += squares
            if self.policy.trials:  # as many of them succeed as can be expected
                record[f"own_{name}"] += weight * mapped
        record["n"] = before + n
        self._game["plays"] += math.ceil(n)  # at least what `reset_arm` takes away
        self._wait(self.arms, self._seen, self._game, self.prior, arm, self.open[arm], 0)

    def forget(self, arm: int, reward: float, cost: float, seq: int) -> None:
        """Undo the learning of an outcome at event ``seq``, which is corrected now."""
        r, c = self._scaled(reward, cost)
        self._count_last_ask()
        alone, game = new_arms(1), self._game.copy()
        # the trials of BTS are drawn again, from the same random numbers
        self._take(
            alone, new_arms(1), game, self.prior, self._stream, 0, 0, r, c, seq, 0,
            self.watch, cost, 0,
        )  # fmt: skip
        record = self.arms[arm]
        n = float(record["n"]) - 1.0
        for name, value in (("reward", r), ("cost", c)):
            total = float(record[name])
            with_it, without = total / (n + 1.0), (total - value) / n if n else value
            squares = float(record[f"{name}_m2"]) - (value - without) * (value - with_it)
            record[name] = total - value if n else 0.0
            record[f"{name}_m2"] = max(squares, 0.0) if n else 0.0
            own = float(record[f"own_{name}"] - alone[0][f"own_{name}"])
            record[f"own_{name}"] = max(own, 0.0)
        record["n"] = n
        self._game["plays"] -= 1
        self._game["spent"] -= c
        self._wait(self.arms, self._seen, self._game, self.prior, arm, self.open[arm], 0)

    def _scaled(self, reward: float, cost: float) -> tuple[float, float]:
        """Map an outcome into the policy's units, clipped to its range."""
        scale, (low, high) = self.scale, self.reward_range
        clipped = low if reward < low else high if reward > high else reward
        paid = cost if cost < self.most else self.most
        # as in Scale, without its calls
        r = (clipped - scale.reward_low) / scale.reward_width
        return r, (paid - scale.cost_low) / scale.cost_width


@compiled
def _see(arms: Arms, seen: Arms, prior: Floats, k: int, waiting: float) -> None:
    """Set how an arm looks if open decisions came in at its means, or at half of its maximum."""
    seen[k] = arms[k]
    if waiting <= 0.0:
        return
    n = arms[k].n
    if n > 0.0:
        grown = (n + waiting) / n
        seen[k].reward *= grown
        seen[k].cost *= grown
        seen[k].reward_m2 *= grown
        seen[k].cost_m2 *= grown
        seen[k].own_reward *= grown
        seen[k].own_cost *= grown
    else:
        seen[k].reward = seen[k].own_reward = 0.5 * waiting
        seen[k].cost = seen[k].own_cost = prior[k] * waiting
    seen[k].n = n + waiting


@compiled
def _at(stream: Stream, seq: int, purpose: int) -> None:
    """Set the random numbers to those of an event: a counter, no state between events."""
    stream[2], stream[3], stream[4], stream[5] = 0, seq, purpose, 0
    stream[10] = 4


def _pick(p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, seq: int) -> int:
    _at(stream, seq, 0)
    return choose(p, arms, game, memory, stream)


def _score(p: Any, arms: Arms, game: Game) -> Floats:
    return scores(p, arms, game)


def _wait(
    arms: Arms, seen: Arms, game: Game, prior: Floats, k: int, waiting: int, step: int
) -> None:
    game[0].plays += step
    _see(arms, seen, prior, k, float(waiting))


def _take(
    arms: Arms, seen: Arms, game: Game, prior: Floats, stream: Stream,
    k: int, waiting: int, reward: float, cost: float, seq: int, step: int,
    watch: Floats, paid: float, news: int,
) -> int:  # fmt: skip
    game[0].plays += step
    _at(stream, seq, 1)
    update_arm(arms, game, k, reward, cost, stream)
    _see(arms, seen, prior, k, float(waiting))
    found = 0
    if news & COST:
        found = feed(watch, 2 * k, paid) << _SHIFT
    if news & REWARD:
        found += feed(watch, 2 * k + 1, reward)
    return found


def _observe_cost(watch: Floats, k: int, paid: float) -> int:
    return feed(watch, 2 * k, paid)


@cache
def _kernels(policy: Any) -> tuple[Any, ...]:
    """Return what is compiled of a policy for campaigns: pick, wait, take, watch and scores."""
    found = kernels.functions(policy)
    score = None
    if "scores" in found:  # a policy's own is a leaf, which is not kept on the disk
        score = specialize(_score, policy.name, scores=found["scores"])
    return (
        specialize(_pick, policy.name, choose=found["choose"]),
        specialize(_wait, "campaign"),
        specialize(_take, policy.name, update_arm=found["update_arm"]),
        specialize(_observe_cost, "campaign"),
        score,
    )
