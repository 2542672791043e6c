"""Slow, obvious twins of the policies: the same choices from raw observations, in plain Python.

Every twin keeps the observations of each arm in lists, recomputes its statistics from them at every choice and writes
its formula as the paper (or the source that the paper cites) does. Nothing is cached, nothing is shared with the
package but the tuned constants of sf-omega-ucb, so that an error must be made twice to go unseen.

Conventions: K arms; N plays done before the choice, t = N + 1; for an arm n plays, r and c its mean reward and cost,
vr and vc their variances. Rewards and costs lie in [0, 1]. An infinite index means "play before any finite arm".
"""

import math
from collections.abc import Sequence
from itertools import combinations
from types import SimpleNamespace
from typing import Any, ClassVar

from numpy.random import Generator

from bursar.policies import sf_omega_ucb

INF = math.inf
TWINS: dict[str, type["Twin"]] = {}  # by slug, filled as the classes are defined


def mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """The biased one: (1/n) sum (x - mean)^2."""
    centre = mean(values)
    return math.fsum((x - centre) ** 2 for x in values) / len(values)


def ratio(reward: float, cost: float) -> float:
    """reward / cost; a free arm is worth inf, a free arm without reward 0."""
    if cost > 0:
        return reward / cost
    return INF if reward > 0 else 0.0


def pick(members: Sequence[int], places: int, first: bool, rng: Generator) -> list[int]:
    """`places` of the members, uniformly, by a partial Fisher-Yates shuffle; no draw without a choice."""
    members = list(members)
    if not first and len(members) > places:
        for j in range(places):
            i = j + int(rng.random() * (len(members) - j))
            members[i], members[j] = members[j], members[i]
    return members[:places]


class Twin:
    """What all twins share: the observations, the initialisation and the tie rule."""

    DEFAULTS: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, slug: str = "", **defaults: Any) -> None:
        """class Some(Twin, slug="some", alpha=1.0): its name, its parameters and their defaults."""
        cls.DEFAULTS = {**cls.DEFAULTS, **defaults}
        if slug:
            TWINS[slug] = cls

    def __init__(
        self, arms: int, budget: float, min_cost: float, first: bool, **params: Any
    ) -> None:
        unknown = set(params) - set(self.DEFAULTS)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no parameter {sorted(unknown)}")
        self.p = SimpleNamespace(**{**self.DEFAULTS, **params})
        self.authors = {"paper": False, "authors": True}[getattr(self.p, "variant", "paper")]
        self.arms, self.budget, self.min_cost, self.first = arms, budget, min_cost, first
        self.rewards: list[list[float]] = [[] for _ in range(arms)]
        self.costs: list[list[float]] = [[] for _ in range(arms)]
        self.spent = 0.0
        self.plays = 0

    def choose(self, rng: Generator) -> int:
        raise NotImplementedError

    def tied(self, ours: int, theirs: int) -> bool:
        """Whether two arms are equal but for rounding, where the tie is decided by it."""
        return False

    def record(self, arm: int, reward: float, cost: float, rng: Generator) -> None:
        self.rewards[arm].append(reward)
        self.costs[arm].append(cost)
        self.spent += cost
        self.plays += 1

    def unplayed(self) -> list[int]:
        return [k for k in range(self.arms) if not self.rewards[k]]

    def ratios(self) -> list[float]:
        """(sum of rewards) / (sum of costs) of every arm."""
        return [
            ratio(math.fsum(self.rewards[k]), math.fsum(self.costs[k])) for k in range(self.arms)
        ]

    def best(self, values: Sequence[float], among: Sequence[int], rng: Generator) -> int:
        """An arm of largest value: exact ties are broken uniformly, or by the lowest index if `first`."""
        assert not any(math.isnan(v) for v in values), "an index is NaN"
        top = max(values[k] for k in among)
        return pick([k for k in among if values[k] == top], 1, self.first, rng)[0]


class IndexTwin(Twin):
    """Each arm once in index order, then always an arm of largest index."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        raise NotImplementedError

    def variance(self, values: Sequence[float]) -> float:
        """The variance that the index uses; most use none."""
        return 0.0

    def indices(self) -> list[float]:
        return [
            self.index(len(x), mean(x), mean(y), self.variance(x), self.variance(y), self.plays)
            for x, y in zip(self.rewards, self.costs, strict=True)
        ]

    def choose(self, rng: Generator) -> int:
        if self.unplayed():
            return self.unplayed()[0]
        return self.best(self.indices(), range(self.arms), rng)


class OmegaUCB(IndexTwin, slug="omega-ucb", rho=0.25, min_samples=30, eta_min=0.0):
    """omega_+(r) / omega_-(c), omega_± = B/2A ± sqrt(B^2/4A^2 - C/A), A = n + z^2 eta, z^2 = 2 rho log t, eta = 1,
    and on [0, 1]: B = 2 n mu + z^2 eta, C = n mu^2, so B^2 - 4AC = 4 n z^2 eta mu (1 - mu) + (z^2 eta)^2, and the
    product of the two ends is C/A.
    """

    def eta(self, n: int, mu: float, v: float) -> float:
        return 1.0

    def interval(self, n: int, mu: float, v: float, plays: int) -> tuple[float, float]:
        w = 2 * self.p.rho * math.log(plays + 1) * self.eta(n, mu, v)
        if w == 0:
            return mu, mu
        a, b, c = n + w, 2 * n * mu + w, n * mu**2
        upper = (b + math.sqrt(4 * n * w * mu * (1 - mu) + w**2)) / (2 * a)
        return c / a / upper, upper

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        if c == 0:
            return INF
        lower = self.interval(n, c, vc, plays)[0]
        return self.interval(n, r, vr, plays)[1] / lower if lower > 0 else INF


class OmegaStarUCB(OmegaUCB, slug="omega-star-ucb"):
    """omega-UCB with eta = v / ((1 - mu) mu), v the biased variance, from n = min_samples on (1 if mu is 0 or 1)."""

    def variance(self, values: Sequence[float]) -> float:
        return variance(values)

    def eta(self, n: int, mu: float, v: float) -> float:
        if n < self.p.min_samples or (1 - mu) * mu == 0:
            return 1.0
        return float(min(1.0, max(self.p.eta_min, v / ((1 - mu) * mu))))


class ForgetfulTwin(IndexTwin):
    """Weights of all plays, newest last; statistics are weighted sums over each arm's plays, afresh at every choice."""

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self.history: list[tuple[int, float, float]] = []

    def record(self, arm: int, reward: float, cost: float, rng: Generator) -> None:
        super().record(arm, reward, cost, rng)
        self.history.append((arm, reward, cost))

    def weight(self, age: int) -> float:
        raise NotImplementedError

    def time(self) -> float:
        """What stands for N: z^2 = 2 rho log(1 + time)."""
        raise NotImplementedError

    def indices(self) -> list[float]:
        found = []
        for k in range(self.arms):
            kept = [
                (self.weight(len(self.history) - 1 - i), r, c)
                for i, (arm, r, c) in enumerate(self.history)
                if arm == k
            ]
            n = math.fsum(w for w, _, _ in kept)
            if n == 0:
                found.append(INF)
                continue
            r, c = (math.fsum(row[0] * row[side] for row in kept) / n for side in (1, 2))
            vr = math.fsum(row[0] * (row[1] - r) ** 2 for row in kept) / n
            vc = math.fsum(row[0] * (row[2] - c) ** 2 for row in kept) / n
            found.append(self.index(n, r, c, vr, vc, self.time()))
        return found


class SlidingOmegaUCB(ForgetfulTwin, OmegaUCB, slug="sw-omega-ucb", rho=0.25, window=2000):
    """omega-UCB of the last w plays, z^2 = 2 rho log min(N + 1, w)."""

    def weight(self, age: int) -> float:
        return 1.0 if age < self.p.window else 0.0

    def time(self) -> float:
        return min(self.plays + 1, self.p.window) - 1


class SlidingOmegaStarUCB(
    SlidingOmegaUCB, OmegaStarUCB, slug="sw-omega-star-ucb", min_samples=30, eta_min=0.0
):
    """omega*-UCB of the last w plays."""


class DiscountedOmegaUCB(ForgetfulTwin, OmegaUCB, slug="d-omega-ucb", rho=0.25, gamma=0.999):
    """omega-UCB with weights gamma^age, z^2 = 2 rho log(1 + sum of all weights)."""

    def weight(self, age: int) -> float:
        return self.p.gamma**age

    def time(self) -> float:
        return math.fsum(self.weight(age) for age in range(self.plays))


class DiscountedOmegaStarUCB(
    DiscountedOmegaUCB, OmegaStarUCB, slug="d-omega-star-ucb", min_samples=30, eta_min=0.0
):
    """omega*-UCB with weights gamma^age."""


class PooledGittins(Twin, slug="pooled-gittins", horizon=2.0, pool=True):
    """The q at which G(q) = min over y of A kl(r~, q y) + C kl(c~, y) passes z^2/2, by bisection on log q.

    A = n/eta_r + 2 trials of mean r~ = (n/eta_r r + 2 centre) / A, C and c~ likewise; z for n + eta_r + eta_c plays
    done and horizon (B - spent) / c~ left. The sum is least where A (q y - r~) (1 - y) + C (y - c~) (1 - q y) = 0, a
    quadratic in y of which the smaller root counts.
    """

    # z at t = exp(-(i/4)^2), i = 0, 1, ...; test_horizon.py solves for them
    KNOTS: ClassVar[list[float]] = [
        0, 0.164, 0.330, 0.513, 0.718, 0.954, 1.227, 1.539, 1.889, 2.269, 2.667, 3.073, 3.479, 3.879, 4.273, 4.662,
        5.046, 5.427, 5.806, 6.183, 6.558,
    ]  # fmt: skip

    def hope(self, played: float, left: float) -> float:
        """The boundary at t = n / (n + m), straight between knots, less 0.5826 / sqrt(n); never below 0."""
        place = 4 * math.sqrt(math.log(1 + left / played))
        i = math.floor(place)
        assert i + 1 < len(self.KNOTS), "games of 300 rounds have no such horizon"
        z = self.KNOTS[i] * (i + 1 - place) + self.KNOTS[i + 1] * (place - i)
        return max(0.0, z - 0.5826 / math.sqrt(played))

    @staticmethod
    def rounded(x: float) -> float:
        """x, or 1 - x if that is smaller, as the nearest 2^(j/8)."""
        if x == 1:
            return 1.0
        near = min(0.5, 2 ** (round(8 * math.log2(min(x, 1 - x))) / 8))
        return near if x <= 0.5 else 1 - near

    def general(self, samples: list[list[float]]) -> tuple[float, float]:
        """Eta and mean of arms in general: unbiased eta with weight (n - 1) / (n + 2), and one more arm, a coin."""
        if not self.p.pool:
            return 1.0, 0.5
        weights, etas = [1.0], [1.0]
        for values in samples:
            n, m = len(values), mean(values)
            if n > 1 and 0 < m < 1:
                weights.append((n - 1) / (n + 2))
                etas.append(min(1.0, variance(values) * n / (n - 1) / (m * (1 - m))))
        average = math.fsum(w * e for w, e in zip(weights, etas, strict=True)) / math.fsum(weights)
        return self.rounded(average), self.rounded(mean([0.5, *map(mean, samples)]))

    @staticmethod
    def eta(values: list[float], general: float, centre: float) -> float:
        """The variance of an arm's plays and of `general` trials at the centre together, over m (1 - m), with three
        plays of the general eta: an unbiased one, from n + 2 general - 1 degrees of freedom.
        """
        n = len(values)
        m = (math.fsum(values) + general * centre) / (n + general)
        trials = general * (centre * (1 - m) ** 2 + (1 - centre) * m**2)
        found = (math.fsum((x - m) ** 2 for x in values) + trials) / (m * (1 - m))
        return min(1.0, max(1e-6, (found + 3 * general) / (n + 2 * general - 1 + 3)))

    @staticmethod
    def distance(weight_r: float, r: float, weight_c: float, c: float, q: float) -> float:
        a = (weight_r + weight_c) * q
        b = weight_r * (q + r) + weight_c * (1 + q * c)
        y = (b - math.sqrt(max(0.0, b**2 - 4 * a * (weight_r * r + weight_c * c)))) / (2 * a)
        return weight_r * divergence(r, min(1.0, q * y)) + weight_c * divergence(c, y)

    def index(self, weight_r: float, r: float, weight_c: float, c: float, z: float) -> float:
        if z == 0:
            return r / c
        low = math.log(r / c)
        high = low + 1
        while self.distance(weight_r, r, weight_c, c, math.exp(high)) < z**2 / 2:
            high += 1
        while low < (middle := (low + high) / 2) < high:
            if self.distance(weight_r, r, weight_c, c, math.exp(middle)) < z**2 / 2:
                low = middle
            else:
                high = middle
        return math.exp(low)

    def choose(self, rng: Generator) -> int:
        if self.unplayed():
            return self.unplayed()[0]
        general, found = [self.general(self.rewards), self.general(self.costs)], []
        for samples in zip(self.rewards, self.costs, strict=True):
            n, sides, etas = len(samples[0]), [], []
            for values, (spread, centre) in zip(samples, general, strict=True):
                etas.append(self.eta(values, spread, centre))
                weight = n / etas[-1] + 2
                sides.append((weight, (n / etas[-1] * mean(values) + 2 * centre) / weight))
            left = self.p.horizon * max(0.0, self.budget - self.spent) / sides[1][1]
            found.append(self.index(*sides[0], *sides[1], self.hope(n + sum(etas), left)))
        return self.best(found, range(self.arms), rng)


class ScaleFreeOmegaUCB(PooledGittins, slug="sf-omega-ucb", horizon=1.0, offset=0.0):
    """(u_r / u_c) sup x/y over the region of pooled-gittins, for rewards offset + [0, 1] with offset <= 0.

    Costs: relative variance eta, log-mean and precision after shrinking to the log-means of all arms; u_c = cost (1 +
    eta), q_c = 1 / (1 + eta), C = precision eta. Rewards: u_r = sum x² / sum x with half a success of the size that the
    line predicts; q_r = mean / u_r with A trials, of which the prior has (1 - q) / (q / 2) - 1. Without success n plays
    that cost nothing are a share of what others cost.
    """

    caps: Sequence[float] = ()  # declared maxima of costs, 0 for unknown

    def choose(self, rng: Generator) -> int:
        return self.best(self.indices(), range(self.arms), rng)

    def tied(self, ours: int, theirs: int) -> bool:
        """Arms with the same outcomes in another order differ in their last digits, or not."""
        values = self.indices()
        return math.isclose(values[ours], values[theirs], rel_tol=1e-10)

    def indices(self) -> list[float]:
        data = list(zip(self.rewards, self.costs, strict=True))
        known = [(x, y) for x, y in data if math.fsum(y) > 0]
        logs = [math.log(mean(y)) for _, y in known]
        self.centre, scatter = self.spread(logs)
        self.between = max(scatter, 1.0)
        few = sf_omega_ucb._PLAYS
        sums = [
            (few * (len(y) - 1) / (len(y) - 1 + few), self.relative(y))
            for _, y in known
            if len(y) > 1
        ]
        self.eta_all = (1 + math.fsum(w * e for w, e in sums)) / (1 + math.fsum(w for w, _ in sums))
        dots = [(x - self.centre, rewards) for x, (rewards, _) in zip(logs, known, strict=True)]
        self.size_line = self.line_of_sizes(dots)
        self.chance_line = self.line_of_chances(dots)
        left = self.p.horizon * max(0.0, self.budget - self.spent)
        out = [self.index_of(x, y, left) if x else -INF for x, y in data]
        untried = {k: self.guess(k, known, scatter) for k in self.unplayed()}
        if untried:
            least, share_scatter = (
                min(g for g, _ in untried.values()),
                next(iter(untried.values()))[1],
            )
            wide = math.sqrt(min(scatter, share_scatter) + self.eta_all / few)
            hoped = math.exp(self.hope(1, left / math.exp(least)) * wide - least)
            if self.plays == 0 or max(0.0, 1 + self.p.offset) * hoped > max(out):
                out = [
                    INF if k in untried and untried[k][0] == least else v for k, v in enumerate(out)
                ]
        return out

    @staticmethod
    def spread(values: list[float]) -> tuple[float, float]:
        """Mean and variance, with one more value that is off by 1."""
        if not values:
            return 0.0, 1.0
        return mean(values), (1 + len(values) * variance(values)) / (1 + len(values))

    @staticmethod
    def relative(values: list[float]) -> float:
        """The unbiased variance over the square of the mean."""
        return variance(values) * len(values) / (len(values) - 1) / mean(values) ** 2

    def guess(self, arm: int, known: list[Any], scatter: float) -> tuple[float, float]:
        """Logarithm of the cost of an arm: of those of others and of the shares of their maxima, by inverse squares."""
        caps = [
            (mean(self.costs[k]), cap)
            for k, cap in enumerate(self.caps)
            if cap and any(self.costs[k])
        ]
        share, share_scatter = self.spread([math.log(c / cap) for c, cap in caps])
        if not caps:
            share = self.centre - self.spread([math.log(cap) for cap in self.caps if cap])[0]
        if not self.caps or not self.caps[arm]:
            return self.centre, share_scatter
        a, b = scatter**-2, share_scatter**-2
        return (a * self.centre + b * (math.log(self.caps[arm]) + share)) / (a + b), share_scatter

    @staticmethod
    def line_of_sizes(dots: list[tuple[float, list[float]]]) -> tuple[float, float]:
        """Weighted least squares with a ridge; s successes weigh s / (s + 1)."""
        rows = []
        for x, rewards in dots:
            if any(rewards):
                size = math.fsum(r * r for r in rewards) / math.fsum(rewards)
                s = math.fsum(rewards) / size
                rows.append((s / (s + 1), x, math.log(size)))
        if not rows:
            return 0.0, 0.0
        total = math.fsum(w for w, _, _ in rows)
        mx, my = (math.fsum(row[0] * row[i] for row in rows) / total for i in (1, 2))
        ridge = sf_omega_ucb._RIDGE_SIZE
        slope = math.fsum(w * (x - mx) * (y - my) for w, x, y in rows)
        slope /= math.fsum(w * (x - mx) ** 2 for w, x, _ in rows) + ridge
        return my - slope * mx, slope

    @staticmethod
    def line_of_chances(dots: list[tuple[float, list[float]]]) -> tuple[float, float]:
        """Newton's steps, at most 1 long, for the zero of sum v (s - n q) (1, x), log q = min(0, a + b x), v = share of
        n that counts / (1.05 - q); half a success in one trial at the centre, and a ridge for b.
        """
        rows = [(0.0, 1.0, 0.5, 1.0)]
        for x, rewards in dots:
            n, squares = len(rewards), math.fsum(r * r for r in rewards)
            s = math.fsum(rewards) ** 2 / squares if squares else 0.0
            counted = min(n, sf_omega_ucb._MOST) / n
            rows.append((x, n * counted, s * counted, 1.05))
        a, b = (
            math.log(math.fsum(s for _, _, s, _ in rows) / math.fsum(n for _, n, _, _ in rows)),
            0.0,
        )
        for _ in range(sf_omega_ucb._STEPS):
            f, g = [], [-sf_omega_ucb._RIDGE_CHANCE * b]
            h: list[list[float]] = [[], [], [sf_omega_ucb._RIDGE_CHANCE]]
            for i, (x, n, s, top) in enumerate(rows):
                q = math.exp(min(0.0, a + b * x))
                v = 1 / (top - q) if i else 1.0
                f.append(v * (s - n * q))
                g.append(v * (s - n * q) * x)
                for power in range(3):
                    h[power].append(v * n * q * x**power)
            (h0, h1, h2), f0, f1 = map(math.fsum, h), math.fsum(f), math.fsum(g)
            determinant = h0 * h2 - h1**2
            a += min(1.0, max(-1.0, (h2 * f0 - h1 * f1) / determinant))
            b += min(1.0, max(-1.0, (h0 * f1 - h1 * f0) / determinant))
        return a, b

    def index_of(self, rewards: list[float], costs: list[float], left: float) -> float:
        n, c = len(costs), mean(costs)
        if c == 0:
            prior = self.eta_all / self.between  # plays
            log_cost, precision = self.centre + math.log(prior / (n + prior)), 1 / self.between
            eta = self.eta_all * (n + prior) / prior
        else:
            few = sf_omega_ucb._PLAYS
            eta = (few * self.eta_all + n * variance(costs) / c**2) / (few + n - 1)
            eta = max(eta, sf_omega_ucb._NEAR)
            precision = n / eta + 1 / self.between
            log_cost = (n / eta * math.log(c) + self.centre / self.between) / precision
        cost, x = math.exp(log_cost), log_cost - self.centre
        predicted = math.exp(min(0.0, self.size_line[0] + self.size_line[1] * x))
        weight = sf_omega_ucb._SHARE * min([predicted, *([mean(rewards)] if any(rewards) else [])])
        size = math.fsum(r * r for r in rewards) + weight * predicted
        size /= math.fsum(rewards) + weight
        usual = math.exp(min(-0.01, self.chance_line[0] + self.chance_line[1] * x))
        prior = max(sf_omega_ucb._FEWEST, (1 - usual) / usual / sf_omega_ucb._SPREAD - 1)
        trials = n + prior
        q = min((math.fsum(rewards) / size + prior * usual) / trials, 1 - sf_omega_ucb._NEAR)
        successes = left / cost * min(1.0, q / (1 - q))
        z = self.hope(n, left / cost * successes / (successes + sf_omega_ucb._SHORT))
        found = 1 / (1 + eta)
        sup = self.index(trials, q, precision * eta, found, z)
        a = z**2 / precision
        lower = cost * (1 + a / 2 - math.sqrt(a + a**2 / 4))
        most = max(0.0, 1 + self.p.offset) / lower
        if self.p.offset:
            return min((self.p.offset + min(1.0, size * sup * found)) / cost, most)
        return min(size * sup * found / cost, most)


class RadiusTwin(IndexTwin):
    """m-, c- and i-UCB: e = alpha sqrt(log(t - 1) / n), t - 1 = N; the authors have log(N - 1)."""

    def radius(self, n: int, plays: int) -> float:
        count = max(plays - 1, 1) if self.authors else plays
        return float(self.p.alpha * math.sqrt(math.log(count) / n))


class MUCB(RadiusTwin, slug="m-ucb", alpha=2**-4, variant="paper"):
    """min(r + e, 1) / max(c - e, 0)."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        e = self.radius(n, plays)
        return min(r + e, 1) / (c - e) if c - e > 0 else INF


class CUCB(RadiusTwin, slug="c-ucb", alpha=2**-3, variant="paper"):
    """(r + e) / c, inf if c = 0."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        return (r + self.radius(n, plays)) / c if c > 0 else INF


class IUCB(RadiusTwin, slug="i-ucb", alpha=2**-2, variant="paper"):
    """r / c + e, inf if c = 0."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        return r / c + self.radius(n, plays) if c > 0 else INF


class BudgetUCB(IndexTwin, slug="budget-ucb", factor=None, variant="paper"):
    """r/c + (e/c) (1 + min(r + e, 1) / max(c - e, lam)), e = sqrt(factor log(t - 1) / n).

    Paper: t - 1 = N, factor 1. Authors: log(N - 1), factor 2.
    """

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        factor = self.p.factor
        if factor is None:
            factor = 2 if self.authors else 1
        e = math.sqrt(factor * math.log(max(plays - 1, 1) if self.authors else plays) / n)
        lowest = max(c - e, self.min_cost)
        if c == 0 or lowest <= 0:
            return INF
        return r / c + (e / c) * (1 + min(r + e, 1) / lowest)


class UCBSCPlus(IndexTwin, slug="ucb-sc-plus", plus=True, variant="paper"):
    """(r + a c) / (c - a r) if c^2 > log(t/n) / 2n, else inf; a = sqrt(log(t/n) / (2 n (r^2 + c^2) - log(t/n))).

    Without plus log(t) instead of log(t/n). The authors have N instead of t = N + 1.
    """

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        t = plays if self.authors else plays + 1
        log = math.log(t / n) if self.p.plus else math.log(t)
        rest = 2 * n * (r**2 + c**2) - log
        if c**2 <= log / (2 * n) or rest <= 0:
            return INF
        a = math.sqrt(log / rest)
        return (r + a * c) / (c - a * r) if c > a * r else INF


def divergence(p: float, q: float) -> float:
    """Bernoulli kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)), as p H(p, q) + (1-p) H(1-p, 1-q) with
    H(p, q) = d - log(1 + d), d = (q - p) / p: both terms are >= 0, and nothing cancels when q is close to p.
    """

    def term(p: float, q: float, d: float) -> float:
        if p == 0:
            return d
        if q == 0:
            return INF
        x = d / p
        if abs(x) < 0.03:
            return p * math.fsum((-x) ** j / j for j in range(2, 16))
        return p * (x - math.log(q / p))

    return term(p, q, q - p) + term(1 - p, 1 - q, p - q)


class KLUCBSCPlus(IndexTwin, slug="kl-ucb-sc-plus", plus=True):
    """sup {mu/tau : kl(r, mu) + kl(c, tau) <= L}, L = log(t/n) / n (without plus: log(t) / n), inf if c = 0.

    That is the q at which G(q) = min over tau of kl(r, q tau) + kl(c, tau) passes L, found by bisection on log q. The
    derivative of the sum in tau, (q tau - r) / (1 - q tau) + (tau - c) / (1 - tau) = 0, is solved by the smaller root
    of 2 q tau^2 - S tau + (r + c) = 0, S = 1 + r + q (1 + c).
    """

    @staticmethod
    def distance(r: float, c: float, q: float) -> float:
        s = 1 + r + q * (1 + c)
        root = math.sqrt(max(0.0, 1 - 8 * (q / s) * ((r + c) / s)))
        tau = 2 * (r + c) / s / (1 + root)
        return divergence(r, min(1.0, q * tau)) + divergence(c, min(1.0, tau))

    def supremum(self, r: float, c: float, level: float) -> float:
        if c == 0:
            return INF
        if level <= 0:
            return r / c
        low, high = math.log(r / c) if r > 0 else -700.0, 709.0
        if low >= high or self.distance(r, c, math.exp(high)) <= level:
            return INF
        while low < (middle := (low + high) / 2) < high:
            if self.distance(r, c, math.exp(middle)) <= level:
                low = middle
            else:
                high = middle
        return math.exp(low)

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        t = plays + 1
        return self.supremum(r, c, (math.log(t / n) if self.p.plus else math.log(t)) / n)


class UCBB2(IndexTwin, slug="ucb-b2", alpha=2.01, variant="paper"):
    """rate + 1.4 (e + rate h) / c if 0 < h < c (lam - 1) / lam, lam = 1.28, else inf, where rate = r / max(c, c_min),
    e = sqrt(2 vr x/n) + 3 x/n, h = sqrt(2 vc x/n) + 3 x/n, x = alpha log N, v the unbiased variance (1/4 if n < 2).

    The authors test 0 < h < r instead, and divide by 1e-10 if c = 0.
    """

    def variance(self, values: Sequence[float]) -> float:
        n = len(values)
        return variance(values) * n / (n - 1) if n >= 2 else 0.25

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        x = float(self.p.alpha * math.log(plays))
        e = math.sqrt(2 * vr * x / n) + 3 * x / n
        h = math.sqrt(2 * vc * x / n) + 3 * x / n
        limit = r if self.authors else c * (1.28 - 1) / 1.28
        if not 0 < h < limit or max(c, self.min_cost) <= 0:
            return INF
        rate = r / max(c, self.min_cost)
        return rate + 1.4 * (e + rate * h) / max(c, 1e-10)


class UCBBV1(IndexTwin, slug="ucb-bv1"):
    """r/c + (1 + 1/lam) s / (lam - s), s = sqrt(log(t - 1) / n), t - 1 = N; inf if s >= lam or c = 0."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        s, lam = math.sqrt(math.log(plays) / n), self.min_cost
        if s >= lam or c == 0:
            return INF
        return r / c + (1 + 1 / lam) * s / (lam - s)


class UCBBV2(IndexTwin, slug="ucb-bv2"):
    """r/c + (s/lam_t) (1 + 1 / (lam_t - s)), lam_t the smallest mean cost; inf if s >= lam_t or c = 0."""

    def index(
        self,
        n: int,
        r: float,
        c: float,
        vr: float,
        vc: float,
        plays: int,
        lam_t: float | None = None,
    ) -> float:
        s = math.sqrt(math.log(plays) / n)
        if lam_t is None:
            lam_t = min(mean(costs) for costs in self.costs)
        if s >= lam_t or c == 0:
            return INF
        return r / c + (s / lam_t) * (1 + 1 / (lam_t - s))


class FractionalKUBE(IndexTwin, slug="fractional-kube"):
    """Density (r + sqrt(2 log t / n)) / c, inf if c = 0."""

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        return (r + math.sqrt(2 * math.log(plays + 1) / n)) / c if c > 0 else INF


class KUBE(FractionalKUBE, slug="kube"):
    """Fill the rest of the budget greedily by density, m_k = floor(rem / c_k) plays of arm k; play k with probability
    m_k / sum m. Free arms (density inf) first; the densest arm if none fits.
    """

    def choose(self, rng: Generator) -> int:
        if self.unplayed():
            return self.unplayed()[0]
        density, every = self.indices(), range(self.arms)
        if INF in density:
            return self.best(density, every, rng)
        price = [mean(costs) for costs in self.costs]
        left, m, rem = list(every), [0] * self.arms, self.budget - self.spent
        while fitting := [k for k in left if price[k] <= rem]:
            k = self.best(density, fitting, rng)
            m[k] = math.floor(rem / price[k])
            rem -= m[k] * price[k]
            left.remove(k)
        packed = [k for k in every if m[k] > 0]
        if not packed:
            return self.best(density, every, rng)
        if len(packed) == 1:
            return packed[0]
        u = rng.random() * sum(m)
        return next((k for k in every if sum(m[: k + 1]) > u), packed[-1])


class PDBwK(IndexTwin, slug="pd-bwk", c_rad=None, horizon=None):
    """u / l, u = min(1, r + rad(r)), l = max(0, c - rad(c)), rad(v) = sqrt(c_rad v / n) + c_rad / n, inf if l = 0.

    With a horizon T, time is a second resource: u / (v1 l + v2 B/T); v1 *= (1 + e)^l, v2 *= (1 + e)^(B/T) after each
    choice, e = sqrt(log(2) / B). Default c_rad = log(d T K), d resources, T = B / min_cost without horizon.
    """

    def __init__(
        self, arms: int, budget: float, min_cost: float, first: bool, **params: Any
    ) -> None:
        super().__init__(arms, budget, min_cost, first, **params)
        self.c_rad, resources, rounds = self.p.c_rad, 2, self.p.horizon
        if rounds is None:
            resources, rounds = 1, budget / min_cost if min_cost > 0 else budget
        if self.c_rad is None:
            self.c_rad = math.log(resources * rounds * arms)
        self.v1 = self.v2 = 1.0

    def bounds(self, n: int, r: float, c: float) -> tuple[float, float]:
        def radius(v: float) -> float:
            return float(math.sqrt(self.c_rad * v / n) + self.c_rad / n)

        return min(1.0, r + radius(r)), max(0.0, c - radius(c))

    def index(self, n: int, r: float, c: float, vr: float, vc: float, plays: int) -> float:
        up, low = self.bounds(n, r, c)
        if self.p.horizon is not None:
            return float(up / (self.v1 * low + self.v2 * self.budget / self.p.horizon))
        return up / low if low > 0 else INF

    def choose(self, rng: Generator) -> int:
        starting = bool(self.unplayed())
        arm = super().choose(rng)
        if self.p.horizon is not None and not starting:
            low = self.bounds(len(self.costs[arm]), mean(self.rewards[arm]), mean(self.costs[arm]))[
                1
            ]
            growth = 1 + math.sqrt(math.log(2) / self.budget)
            self.v1 *= growth**low
            self.v2 *= growth ** (self.budget / self.p.horizon)
        return arm


class EpsFirst(Twin, slug="eps-first", eps=0.1, update_in_exploitation=False):
    """Round robin until eps B is spent, then the arm of largest (sum reward) / (sum cost) among those whose mean cost
    fits what is left (all if none fits), estimates frozen at the end of phase 1 unless update_in_exploitation.
    """

    frozen: tuple[list[float], list[float]] | None = None

    def choose(self, rng: Generator) -> int:
        every = range(self.arms)
        if self.spent < self.p.eps * self.budget or self.unplayed():
            return min(every, key=lambda k: len(self.rewards[k]))
        if self.frozen is None or self.p.update_in_exploitation:
            self.frozen = self.ratios(), [mean(costs) for costs in self.costs]
        density, price = self.frozen
        fitting = [k for k in every if price[k] <= self.budget - self.spent]
        return self.best(density, fitting or every, rng)


class BGreedy(Twin, slug="b-greedy", alpha=1.0):
    """With probability min(1, alpha K / N) any arm, otherwise one of largest (sum reward) / (sum cost)."""

    def choose(self, rng: Generator) -> int:
        if self.unplayed():
            return self.unplayed()[0]
        if rng.random() < min(1, self.p.alpha * self.arms / self.plays):
            return int(rng.random() * self.arms)
        return self.best(self.ratios(), range(self.arms), rng)


class BTS(Twin, slug="bts"):
    """Largest theta_r / theta_c, theta ~ Beta(S + 1, n - S + 1), S the hits among n trials: an observation v strictly
    between 0 and 1 is recorded as a Bernoulli(v) trial. No initialisation.
    """

    def choose(self, rng: Generator) -> int:
        values = []
        for rewards, costs in zip(self.rewards, self.costs, strict=True):
            n, hits_r, hits_c = len(rewards), sum(rewards), sum(costs)
            theta_r = rng.beta(hits_r + 1, n - hits_r + 1)
            theta_c = rng.beta(hits_c + 1, n - hits_c + 1)
            values.append(theta_r / theta_c if theta_c > 0 else INF)
        return self.best(values, range(self.arms), rng)

    def record(self, arm: int, reward: float, cost: float, rng: Generator) -> None:
        def trial(v: float) -> float:
            return float(rng.random() < v) if 0 < v < 1 else v

        self.rewards[arm].append(trial(reward))
        self.costs[arm].append(trial(cost))
        self.spent += cost
        self.plays += 1


class MRCB(Twin, slug="mrcb", kappa=2**-8, set_size=1):
    """A round plays the set S of set_size arms with the largest sum_S u / sum_S l, u = min(1, r + e),
    l = max(0, c - e), e = sqrt(kappa log(t - 1) / n), t - 1 = completed rounds; its arms are played in index order.
    """

    def __init__(
        self, arms: int, budget: float, min_cost: float, first: bool, **params: Any
    ) -> None:
        super().__init__(arms, budget, min_cost, first, **params)
        if not 1 <= self.p.set_size <= arms:
            raise ValueError(f"set_size is 1 to {arms}, not {self.p.set_size}")
        self.playing: list[int] = []

    def bounds(self, n: int, r: float, c: float, rounds: int) -> tuple[float, float]:
        e = math.sqrt(self.p.kappa * math.log(rounds) / n)
        return min(1.0, r + e), max(0.0, c - e)

    def best_set(self, up: Sequence[float], low: Sequence[float], rng: Generator) -> list[int]:
        every, size = range(self.arms), self.p.set_size
        free = [k for k in every if low[k] == 0]
        if len(free) >= size:
            return pick(free, size, self.first, rng)
        theta = max(
            sum(up[k] for k in s) / sum(low[k] for k in s) for s in combinations(every, size)
        )
        score = [up[k] - theta * low[k] for k in every]
        boundary = sorted(score, reverse=True)[size - 1]
        certain = [k for k in every if score[k] > boundary]
        tied = [k for k in every if score[k] == boundary]
        return certain + pick(tied, size - len(certain), self.first, rng)

    def choose(self, rng: Generator) -> int:
        rounds, position = divmod(self.plays, int(self.p.set_size))
        if position == 0:
            if new := self.unplayed():
                chosen = (new + [k for k in range(self.arms) if k not in new])[: self.p.set_size]
            else:
                data = zip(self.rewards, self.costs, strict=True)
                up, low = zip(
                    *(self.bounds(len(x), mean(x), mean(y), rounds) for x, y in data), strict=True
                )
                chosen = self.best_set(up, low, rng)
            self.playing = sorted(chosen)
        return self.playing[position]


class Uniform(Twin, slug="uniform"):
    """Any arm, always."""

    def choose(self, rng: Generator) -> int:
        return int(rng.random() * self.arms)
