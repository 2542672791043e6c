"""A projection: the policy of a campaign plays on in many worlds that its outcomes allow.

A world is a mean reward and a mean cost of every arm. Arms inform each other: a reward is drawn
from a Beta distribution, the inverse of a cost from a gamma distribution, whose priors are the
scatter of the arms (rewards: around a power of the price). Scatter and centre are themselves drawn,
so that few arms or few plays make worlds that differ. A few plays of the general scatter are added
to that of an arm, so an arm of few plays is neither certain nor absurd. Costs of arms without plays
are guessed from their maxima, if these tell more than the costs of the other arms do.

In each world the policy's own compiled choice goes on with a copy of what it knows, and learns. A
choice stands for many plays: an eighth of those that its arm has, and more where the budget is
long, so that the work is bounded; as many for each arm if the policy draws its arm. Sums of rewards
and of costs are drawn from Beta and gamma distributions of the right mean and variance. Holds, caps
and paused arms limit it as they do asks.
"""

from functools import cache
from typing import Any, NamedTuple, Self, cast

import numpy as np

from bursar.arrays import Floats
from bursar.campaign.learner import CampaignLearner
from bursar.campaign.views import Column
from bursar.jit.arms import Arms, Game, first_unplayed
from bursar.jit.compile import compiled, specialize
from bursar.jit.rng import Stream, below, gamma, new_stream, uniform
from bursar.policies import Policy, kernels
from bursar.policies.base import Range, Scale
from bursar.policies.uniform import Uniform

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `specialize` binds a policy's `choose`, and its cache

_WORLDS = 128
_WORK = 5_000_000  # indices of arms that a projection computes, about
_FEWEST_WORLDS, _FEWEST_CHOICES, _MOST_CHOICES = 32, 200, 2000
_TAIL = 0.25  # of what is left, at the end of which a unit of budget is valued
_REWARD_PLAYS, _COST_PLAYS = 3.0, 6.0  # of the general scatter that count in that of an arm
_ARMS = 2.0  # that count in the scatter between arms, beside those that were played
_FREE = 30.0  # plays of an arm that count in the scatter of all, at most
_STRENGTH = 0.5  # of a prior of means in [0, 1], at least, in trials
_COST_SHAPE = 1.5  # of such a prior of costs


class Worlds(NamedTuple):
    """Means of arms, world by arm, in [0, 1] and in the user's money; and the scatter of plays."""

    reward: Floats
    cost: Floats
    eta: Floats  # variance of the reward of a play, over the largest possible
    spread: Floats  # variance of the cost of a play, over its squared mean
    together: float  # the correlation of both


class Limits(NamedTuple):
    """What bounds the spending, in the user's units; ``plays`` and ``money`` by world."""

    left: float
    holds: Floats  # infinite for arms that may not be chosen
    rooms: Floats  # left of the caps of arms
    plays: Floats
    money: Floats
    explore: float


class Player(NamedTuple):
    """A policy with a copy of what it knows, and how rewards in [0, 1] look to it."""

    policy: Policy
    params: Any
    arms: Arms
    game: Game
    scale: Scale
    reward_range: Range
    declared: bool

    @classmethod
    def of(cls, learner: CampaignLearner) -> Self:
        """Return a player that begins where a learner is; open decisions count as plays."""
        arms, game = learner.seen.copy(), learner.game.copy()
        return cls(
            learner.policy, learner.kernel_params, arms, game, learner.scale,
            learner.reward_range, learner.declared,
        )  # fmt: skip


class Projection(NamedTuple):
    """What happens in each world: plays, their reward in [0, 1], and money spent.

    ``tail`` is the last part of the budget for which all arms fit: plays, their mean reward and,
    from the third column on, the money of each arm.
    """

    plays: Floats
    reward: Floats
    spent: Floats
    tail: Floats


def count_worlds(policy: Policy, arms: int) -> int:
    """Return in how many worlds a policy plays on; fewer if its choices take long."""
    return int(np.clip(30_000 / (arms * _effort(policy) + 1.0), _FEWEST_WORLDS, _WORLDS))


def _effort(policy: Policy) -> float:
    """Return how long a policy looks at an arm, about: in units of a simple index."""
    if policy.choose_cached is not None:  # it has a cache because that is dear
        return 10.0
    if policy.index is None:
        return 5.0 if policy.learns else 1.0
    if policy.scores is None:
        return 1.0
    # arms that are looked at together; more, if what is known of all is computed each time
    return 3.0 if policy.tries_all else 6.0


def draw_worlds(
    random: np.random.Generator, worlds: int, n: Floats, reward: Column, cost: Column,
    together: float,
) -> Worlds:  # fmt: skip
    """Return means of all arms as they may be, given their statistics."""
    width, top = float(np.max(reward.high)) - reward.low, np.broadcast_to(cost.high, n.shape)
    x, price = (reward.mean - reward.low) / width, cost.mean / top
    if _is_all_or_nothing(n, price, cost.variance / top**2):
        shares, own = _draw_shares(random, n, price, cost.variance / top**2, worlds, _COST_SHAPE)
        shares = np.maximum(shares, 1e-6)
        means_c, spread = top * shares, own * (1.0 - shares) / shares
    else:
        means_c, spread = _draw_prices(random, worlds, n, cost, top)
    middle = np.where(n > 0.0, np.maximum(cost.mean, 1e-9 * top), np.median(means_c, axis=0))
    level = float(n @ np.log(middle)) / max(float(n.sum()), 1.0)
    logs = np.log(middle) - level, np.log(means_c) - level
    means_r, eta = _draw_shares(random, n, x, reward.variance / width**2, worlds, 0.0, logs)
    return Worlds(np.maximum(means_r, 1e-9), means_c, eta, np.maximum(spread, 1e-9), together)


def _shrink(n: Floats, known: Any, own: Floats, start: Floats, plays: float) -> Floats:
    """Return a scatter of each arm, that of all arms in it; ``start`` if nothing is known."""
    free = np.where(known, np.maximum(n - 1.0, 0.0), 0.0)
    weight = np.minimum(free, _FREE)
    general = (start + float(weight @ own)) / (1.0 + weight.sum())
    return np.asarray((free * own + plays * general[:, None]) / (free + plays))


def _is_all_or_nothing(n: Floats, x: Floats, variance: Floats) -> bool:
    """Return whether costs are mostly nothing or the maximum of their arm."""
    most, weight = x * (1.0 - x), np.minimum(n - 1.0, _FREE)
    some = (n > 1.0) & (most > 0.0)
    full = float(n[x == 0.0].sum())  # of arms that cost nothing so far
    full += float((weight * variance)[some] @ (1.0 / most[some]))
    return full > 0.5 * (float(weight[some].sum()) + float(n[x == 0.0].sum()) + 1.0)


def _draw_shares(
    random: np.random.Generator, n: Floats, x: Floats, variance: Floats, worlds: int,
    shape: float, prices: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Draw means in [0, 1], and the variance of a play over the largest possible.

    The prior's first parameter is at least ``shape``, so that means near 0 are rare. Its mean is a
    power of ``prices``: their logarithms as known, and in each world.
    """
    most, plays = x * (1.0 - x), np.maximum(n, 1.0)
    some = (n > 1.0) & (most > 0.0)
    unbiased = variance * n / np.maximum(n - 1.0, 1.0)
    own = np.where(some, np.minimum(unbiased / np.where(some, most, 1.0), 1.0), 0.0)
    eta = np.clip(_shrink(n, some, own, random.random(worlds), _REWARD_PLAYS), 1e-6, 1.0)
    usual, weight = eta.mean(axis=0), n / (n + 2.0)
    logs, drawn = prices or (np.zeros_like(x), np.zeros((worlds, x.size)))
    m, line, doubt = _fit_line(n, x, usual, logs)
    arms = float(weight.sum())
    noise = (eta * m * (1.0 - m) / plays) @ weight
    found = (float(weight @ np.square(x - m)) - noise) / max(float(weight @ m**2), 1e-12)
    middle = float(np.exp(line[0]))
    scatter = _draw_scatter(random, found * arms, arms, min(1.0, (1.0 - middle) / (3.0 * middle)))
    ends = line + random.standard_normal((worlds, 2)) @ doubt.T
    centre = np.exp(ends[:, :1] + ends[:, 1:] * drawn)
    centre = np.clip(centre, 1e-6, 0.98)
    strength = (1.0 - centre) / (scatter[:, None] * centre) - 1.0
    strength = np.maximum(strength, np.maximum(_STRENGTH, shape / centre))
    a, b = strength * centre + n / eta * x, strength * (1.0 - centre) + n / eta * (1.0 - x)
    return random.beta(a, b), eta


def _fit_line(n: Floats, x: Floats, eta: Floats, logs: Floats) -> tuple[Floats, Floats, Floats]:
    """Fit means that are a power of prices; return them, the line, and the root of its covariance.

    Iterated least squares of the logarithm: a mean of n plays scatters by that of the arms, and by
    that of its plays. The slope begins as 0.3, give or take 0.8.
    """
    played = n > 0.0
    trials = np.where(played, np.minimum(n, _FREE), 0.0)
    start = (trials @ x + 0.5) / (trials.sum() + 1.0)
    line, scatter = np.array([np.log(max(min(start, 0.98), 1e-6)), 0.0]), 1.0
    design = np.column_stack((np.ones_like(logs), logs))
    prior = np.diag([0.25, 1.0 / 0.8**2])
    pull = prior @ np.array([line[0], 0.3])
    for _ in range(12):
        m = np.clip(np.exp(design @ line), 1e-6, 0.98)
        weight = np.where(played, 1.0 / (scatter + eta * (1.0 - m) / (np.maximum(n, 1.0) * m)), 0.0)
        precision = prior + (design.T * weight) @ design
        response = np.log(m) + np.clip((x - m) / m, -1.0, 3.0)
        line = np.linalg.solve(precision, pull + design.T @ (weight * response))
        residual = np.square(x - m) - eta * m * (1.0 - m) / np.maximum(n, 1.0)
        found = float((weight * residual) @ np.ones_like(x)) / max(float(weight @ m**2), 1e-12)
        least = min(1.0, (1.0 - start) / (3.0 * start))
        count = float((n / (n + 2.0)).sum())
        scatter = (_ARMS * least + count * max(found, 0.0)) / (_ARMS + count)
    m = np.clip(np.exp(design @ line), 1e-6, 0.98)
    return m, line, np.linalg.cholesky(np.linalg.inv(precision))


def _draw_scatter(random: np.random.Generator, found: Floats, arms: float, least: float) -> Floats:
    """Draw the variance between arms; ``found`` is its sum over about ``arms`` arms."""
    start = least * np.exp(0.7 * random.standard_normal(found.size))
    doubt = arms / np.maximum(random.chisquare(arms + 1e-9, found.size), 0.1 * arms + 1e-9)
    return np.asarray((_ARMS * start + np.maximum(found, 0.0) * doubt) / (_ARMS + arms))


def _draw_prices(
    random: np.random.Generator, worlds: int, n: Floats, known: Column, top: Floats
) -> tuple[Floats, Floats]:
    """Draw means, and the variance of a play over the squared mean."""
    plays, mean = np.maximum(n, 1.0), np.maximum(known.mean, 1e-9 * top)
    own = np.minimum(known.variance / np.square(mean) * n / np.maximum(n - 1.0, 1.0), n)
    start = np.exp(np.log(0.3) + 1.2 * random.standard_normal(worlds))
    spread = np.maximum(_shrink(n, n > 1.0, own, start, _COST_PLAYS), 1e-9)
    sizes = n / spread  # of samples of exponential costs that say as much
    weight, general = n / (n + 1.0), float(n @ known.mean) / max(float(n.sum()), 1.0)
    usual = np.mean(sizes, axis=0)
    log = np.log(np.maximum((usual * known.mean + 0.5 * general) / (usual + 0.5), 1e-9 * top))
    arms, error = float(weight.sum()), np.log1p(spread / plays)  # squared
    guesses = []
    for offset in (np.log(top), np.zeros_like(log)):  # shares of the maxima, or costs as such
        centre = float(weight @ (log - offset)) / (arms + 1e-9)
        guesses.append((float(weight @ np.square(log - offset - centre)), offset, centre))
    squares, offset, middle = min(guesses, key=lambda one: one[0])
    scatter = _draw_scatter(random, squares - error @ weight, arms, 1.0)
    doubt = np.sqrt((scatter + error @ weight / (arms + 1e-9)) / (arms + 0.5))
    centres = offset + (middle + doubt * random.standard_normal(worlds))[:, None]
    # the inverse of a mean is gamma distributed: its shape gives its logarithm that variance
    shape = ((1.0 + np.sqrt(1.0 + 2.0 * scatter)) / (2.0 * scatter))[:, None]
    digamma = (
        np.log1p(shape) - 0.5 / (shape + 1.0) - 1.0 / (12.0 * (shape + 1.0) ** 2) - 1.0 / shape
    )
    inverse = np.maximum(random.gamma(shape + sizes), 1e-300)
    drawn = (np.exp(centres + digamma) + sizes * known.mean) / inverse
    return np.clip(drawn, 1e-9 * top, top), spread


def project(player: Player, worlds: Worlds, limits: Limits, seed: int) -> Projection:
    """Let a player go on in each world until nothing fits, or a limit is reached."""
    policy, (count, size), scale = player.policy, worlds.reward.shape, player.scale
    sums = np.zeros((3, count))
    found = Projection(sums[0], sums[1], sums[2], np.zeros((count, size + 2)))
    low, high = player.reward_range
    seen = (low - scale.reward_low) / scale.reward_width, (high - low) / scale.reward_width
    work = _WORK / (_effort(policy) * count * size + 1.0)
    choices = int(np.clip(work, _FEWEST_CHOICES, _MOST_CHOICES))
    head, memory = policy.cache_size(0), np.zeros(policy.cache_size(size))
    arguments = (
        player.arms, player.game, memory, new_stream(seed, 1), worlds, limits, found, choices, seen,
        scale.cost_width, player.declared, policy.trials, policy.index is None,
        (head, policy.cache_size(1) - head),
    )  # fmt: skip
    # machine code, even where a few calls are interpreted: this is the work of millions
    try:
        _kernel(cast(Any, type(policy))).dispatcher(player.params, *arguments)
    except Exception:  # a policy may be anyone's code: as asks do, choose any arm that fits
        sums[:], found.tail[:] = 0.0, 0.0
        _kernel(Uniform).dispatcher((), *arguments)
    return found


@compiled
def _share(stream: Stream, mean: float, plays: float, eta: float) -> float:
    """Draw the mean reward of some plays."""
    trials = plays / eta - 1.0
    if mean <= 0.0 or mean >= 1.0:
        return mean
    if trials < 0.05:
        return 1.0 if uniform(stream) < mean else 0.0
    a, b = gamma(stream, trials * mean), gamma(stream, trials * (1.0 - mean))
    return a / (a + b) if a + b > 0.0 else mean


@compiled
def _price(stream: Stream, plays: float, spread: float, moved: float, together: float) -> float:
    """Draw the mean cost of some plays over its mean, given by how much their reward differs."""
    own = spread * (1.0 - together * together)
    follows = max(1.0 + together * np.sqrt(spread) * moved, 0.05)
    if own < 1e-8:
        return follows
    return follows * gamma(stream, plays / own) * own / plays


@compiled
def _learn(arm: Any, plays: float, r: float, c: float, squares_r: float, squares_c: float) -> None:
    """Add some plays to the statistics of an arm: their means and the squares within them."""
    n = arm.n
    part = n * plays / (n + plays)
    from_r = r - arm.reward / n if n > 0.0 else 0.0
    from_c = c - arm.cost / n if n > 0.0 else 0.0
    arm.reward_m2 += squares_r + part * from_r * from_r
    arm.cost_m2 += squares_c + part * from_c * from_c
    arm.n += plays
    arm.reward += plays * r
    arm.cost += plays * c


@compiled
def _shrink_costs(arms: Arms, game: Game, part: float) -> None:
    """Convert what was learned into a larger unit of costs."""
    for k in range(arms.size):
        arms[k].cost *= part
        arms[k].cost_m2 *= part * part
        arms[k].own_cost *= part
        arms[k].cap *= part
    game[0].spent *= part
    game[0].budget *= part


def _project(
    p: Any, known: Arms, start: Game, memory: Floats, stream: Stream,
    worlds: Worlds, limits: Limits, found: Projection, choices: int, seen: tuple[float, float],
    guess: float, declared: bool, trials: bool, even: bool, cache: tuple[int, int],
) -> None:  # fmt: skip
    size, holds = known.size, limits.holds
    few, which = np.empty_like(known), np.empty(size, np.int64)
    for w in range(worlds.reward.shape[0]):
        game, rooms, left, count = start.copy(), limits.rooms.copy(), limits.left, 0
        dearest, unit = 0.0, guess
        for k in range(size):
            if holds[k] <= min(left, rooms[k]):
                few[count] = known[k]
                which[count] = k
                count += 1
                dearest = max(dearest, holds[k])
        begin = max((1.0 - _TAIL) * (limits.left - dearest), 0.0)  # of the tail
        first, made, tried = dearest, 0, 0
        stale, kept_back = True, memory[:0]  # what a policy's cache holds
        while (
            count > 0 and found.plays[w] < limits.plays[w] and limits.left - left < limits.money[w]
        ):
            if stale and cache[1] > 0 and first_unplayed(few[:count]) < 0:
                kept_back, stale = memory[: cache[0] + cache[1] * count], False
                kept_back[:] = 0.0
                for j in range(count):
                    update_cache(p, few[:count], game, kept_back, j, 0.0, 0.0)
            if stale:
                i = choose(p, few[:count], game, memory[:0], stream)
            else:
                i = choose_cached(p, few[:count], game, kept_back, stream)
            if limits.explore > 0.0 and uniform(stream) < limits.explore:
                i = below(stream, count)
            k, free = which[i], not even and few[i].n == 0.0 and tried < 2 * choices
            tried, made = tried + free, made + (not free)
            r, c, eta, spread = (
                worlds.reward[w, k],
                worlds.cost[w, k],
                worlds.eta[w, k],
                worlds.spread[w, k],
            )
            fits = min(min(left, rooms[k]) - holds[k], limits.money[w] - limits.left + left) / c
            done = max(game[0].plays, 1)  # each choice adds as large a share of all plays
            growth = np.log1p(left / (c * done)) / max(choices - made, 1)
            plays = done * np.expm1(growth)
            if free:
                plays = 1.0  # a first play is one play, and not counted while these are few
            elif not even:
                plays = max(few[i].n * 0.125, plays)
            plays = min(min(plays, 0.7 * fits + 1.0), limits.plays[w] - found.plays[w])
            plays = max(np.floor(plays), 1.0)
            earned = _share(stream, r, plays, eta)
            most = r * (1.0 - r)
            moved = (earned - r) / np.sqrt(eta * most) if most > 1e-12 else 0.0
            paid = c * _price(stream, plays, spread, moved, worlds.together)
            spent = min(plays * paid, left)
            if paid > unit and not declared:  # as the learner does with the largest cost so far
                _shrink_costs(few[:count], game, unit / paid)
                unit, stale = paid, True
            cost = min(paid / unit, 1.0)
            shown = seen[0] + seen[1] * earned
            _learn(
                few[i], plays, shown, cost,
                (plays - 1.0) * eta * most * seen[1] ** 2, (plays - 1.0) * spread * cost * cost,
            )  # fmt: skip
            if trials:
                few[i].own_reward += plays * shown
                few[i].own_cost += plays * cost
            game[0].plays += int(plays)
            game[0].spent += plays * cost
            if not stale:
                update_cache(p, few[:count], game, kept_back, i, shown, cost)
            if left >= first and (limits.left - left >= begin or limits.left <= 2.0 * first):
                found.tail[w, 0] += plays
                found.tail[w, 1] += plays * r
                found.tail[w, 2 + k] += plays * c
            left -= spent
            rooms[k] -= spent
            found.plays[w] += plays
            found.reward[w] += plays * earned
            if left < dearest or rooms[k] < holds[k]:
                kept, dearest = 0, 0.0
                for j in range(count):
                    if holds[which[j]] <= min(left, rooms[which[j]]):
                        few[kept] = few[j]
                        which[kept] = which[j]
                        dearest = max(dearest, holds[which[j]])
                        kept += 1
                count, stale = kept, True
        found.spent[w] = limits.left - left


@cache
def _kernel(policy: Any) -> Any:
    choose = kernels.functions(policy)["choose"]
    return specialize(
        _project, policy.name, choose=choose, choose_cached=policy.choose_cached or choose,
        update_cache=policy.update_cache or kernels.no_memory,
    )  # fmt: skip
