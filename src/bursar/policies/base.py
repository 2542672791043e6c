"""What every policy shares: parameters and their checks, the slug, a table of indices, a learner.

A policy file gives compiled functions; `kernels` turns them into whole decisions. Policies with an
index give ``index`` and ``clock``, those that draw at random give a ``choose`` of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from bursar import arrays, errors
from bursar.arrays import Floats, to_floats
from bursar.errors import InvalidInput, suggest
from bursar.jit.arms import Arms, new_arms, new_game
from bursar.jit.compile import dispatcher_of
from bursar.jit.rng import Stream, new_stream
from bursar.policies import kernels
from bursar.policies.slug import check_params, kinds_of
from bursar.validation import check_int, check_number, check_positive

Function = Callable[..., Any]
Examples = tuple[Mapping[str, Any], ...]
Range = tuple[float, float]

_KNOWLEDGE = {"budget": "the budget", "min_cost": "min_cost, a lower bound on the mean costs"}
_LEAST, _MOST = 1e-100, 1e100  # so that no quotient of two ranges overflows


class Domain(NamedTuple):
    """The values that a parameter may have, and the words for them."""

    text: str
    contains: Callable[[Any], bool]


Domains = tuple[tuple[str, Domain], ...]


def one_of(*values: str) -> Domain:
    """Return the domain of some texts."""
    return Domain(" or ".join(map(repr, values)), values.__contains__)


POSITIVE = Domain("positive", lambda value: 0.0 < value < math.inf)
VARIANT = one_of("paper", "authors")
"""As published, or as in the code of ω-UCB's authors."""


@dataclass(frozen=True)
class Policy:
    """A rule that chooses the next arm: immutable parameters, no state."""

    ties: str = field(default="random", kw_only=True)

    name: ClassVar[str]
    title: ClassVar[str]
    year: ClassVar[int | None]
    source: ClassVar[str]
    formula: ClassVar[str]
    domains: ClassVar[Domains] = (("ties", one_of("random", "first")),)
    example_params: ClassVar[Examples] = ({},)  # for tests of all policies
    needs: ClassVar[tuple[str, ...]] = ()  # what it must know: "budget", "min_cost"
    always_shown: ClassVar[tuple[str, ...]] = ()  # parameters that the slug names even at default
    monotone: ClassVar[bool] = False  # the index of an arm that is not played never falls
    any_range: ClassVar[bool] = False  # works on [low, high] itself, not on [0, high]
    scale_free: ClassVar[bool] = False  # needs no range of costs; rewards may be below 0
    tries_all: ClassVar[bool] = True  # each arm is played once before indices count
    uses_variance: ClassVar[bool] = True  # the index looks at variances
    ddof: ClassVar[int] = 0  # the index wants squared deviations over (n - ddof)
    trials: ClassVar[bool] = False  # counts Bernoulli trials in place of values between 0 and 1
    learns: ClassVar[bool] = True  # outcomes change its choices
    shortcut: ClassVar[str] = ""  # a simulation loop made for this policy: "greedy", "thompson"

    index: ClassVar[Function | None] = None  # (p, n, r, c, var_r, var_c, now) -> float
    clock: ClassVar[Function | None] = None  # (p, plays) -> now
    scores: ClassVar[Function | None] = None  # (p, arms, game) -> array, if not index by index
    choose: ClassVar[Function | None] = None  # (p, arms, game, memory, stream) -> arm
    update_arm: ClassVar[Function | None] = None  # (arms, game, arm, reward, cost, stream)
    update_memory: ClassVar[Function | None] = None  # (p, arms, game, memory, arm, reward, cost)
    worst: ClassVar[Function | None] = None  # (p, n, r, r_high, c_low, c, var_r, var_c, now)
    # the same choice for simulations, which looks only at arms that may be the best
    choose_cached: ClassVar[Function | None] = None  # (p, arms, game, memory, stream) -> arm
    update_cache: ClassVar[Function | None] = None  # (p, arms, game, memory, arm, reward, cost)

    def __post_init__(self) -> None:
        """Check types and domains of the parameters."""
        for key, kind in kinds_of(self).items():
            value = check_params(self.name, key, kind, getattr(self, key))
            object.__setattr__(self, key, value)  # an int where a float belongs becomes one
        for cls in reversed(type(self).__mro__):
            for key, domain in vars(cls).get("domains", ()):
                value = getattr(self, key)
                self._require(value is None or domain.contains(value), key, domain.text)

    @classmethod
    def examples(cls) -> Iterator[Policy]:
        """Yield policies with typical parameters, for the tests that all policies take."""
        yield from (cls(**params) for params in cls.example_params)

    def kernel_params(self, context: PolicyContext) -> tuple[float, ...]:
        """Return what the compiled functions get as ``p``: a named tuple of numbers."""
        return ()

    def memory_size(self, arms: int) -> int:
        """Return how many numbers of its own the policy keeps between choices."""
        return 0

    def cache_size(self, arms: int) -> int:
        """Return how many numbers ``choose_cached`` keeps; a choice without them is the same."""
        return 0

    @property
    def takes_largest_index(self) -> bool:
        """Whether the choice is the arm of the largest index, ties apart."""
        return self.index is not None and self.choose is None

    @property
    def lazy(self) -> bool:
        """Whether the choice is the argmax of a monotone index, which the lazy loop relies on."""
        return self.monotone and self.takes_largest_index

    @property
    def round_size(self) -> int:
        """Number of plays that are decided together; 1 but for policies that play sets of arms."""
        return 1

    @property
    def unmet_needs(self) -> tuple[str, ...]:
        """What it needs to know and no parameter of its own says."""
        return tuple(name for name in self.needs if getattr(self, name, None) is None)

    def learner(
        self,
        arms: int,
        *,
        seed: int | tuple[int, ...] = 0,
        budget: float | None = None,
        min_cost: float | None = None,
        reward_range: Range = (0.0, 1.0),
        cost_range: Range = (0.0, 1.0),
    ) -> Learner:
        """Start a game: return the object that chooses arms one by one and learns from outcomes."""
        arms = check_int("arms", arms, 1, "a game needs an arm to play")
        scale = Scale.of(self, reward_range, cost_range)
        context = self.make_context(arms, budget, min_cost, scale)
        stream = new_stream(*(seed if isinstance(seed, tuple) else (seed,)))
        return Learner(self, context, {"reward": reward_range, "cost": cost_range}, stream)

    def indices(
        self,
        *,
        n: ArrayLike,
        mean_reward: ArrayLike,
        mean_cost: ArrayLike,
        plays: int,
        var_reward: ArrayLike | None = None,
        var_cost: ArrayLike | None = None,
        reward_range: Range = (0.0, 1.0),
        cost_range: Range = (0.0, 1.0),
        budget: float | None = None,
    ) -> Any:
        """Return the index of each arm, in the units of the ranges: reward per cost.

        Parameters
        ----------
        n, mean_reward, mean_cost : array_like
            Plays and sample means of each arm. An arm without plays has an infinite index.
        plays : int
            Plays of all arms before the choice (the paper's t - 1).
        var_reward, var_cost : array_like, optional
            Sample variances, biased (divided by n) unless the policy says otherwise. ``None``:
            unknown, so the largest variance that is possible.
        reward_range, cost_range : (low, high)
            Ranges of rewards and costs.
        budget : float, optional
            For the policies that need to know it.
        """
        if self.index is None:
            raise errors.NoIndex(
                f"{self.name} draws its arm at random and has no index;"
                " ask policy.learner(arms).choose() for an arm"
            )
        scale = Scale.of(self, reward_range, cost_range)
        played = to_floats("n", n) > 0.0  # the mean of an arm that was not played is anything
        shape, (count, mean_r, mean_c) = arrays.broadcast_columns(
            n=n,
            mean_reward=np.where(played, to_floats("mean_reward", mean_reward), reward_range[0]),
            mean_cost=np.where(played, to_floats("mean_cost", mean_cost), cost_range[0]),
        )
        arrays.check_values("n", count, count >= 0.0, "0 or more plays")
        least = count.max(initial=0.0)
        if not least <= check_number("plays", plays) < np.inf:
            raise InvalidInput(
                f"plays must count the plays of all arms, here {least:g} or more, got {plays!r}"
            )
        mean_r = arrays.check_means("mean_reward", mean_r, *reward_range)
        mean_c = arrays.check_means("mean_cost", mean_c, *cost_range)
        vr = self._scale_variances("var_reward", var_reward, shape, mean_r, reward_range)
        vc = self._scale_variances("var_cost", var_cost, shape, mean_c, cost_range)
        r, c = scale.reward_in(mean_r), scale.cost_in(mean_c)
        p = self.kernel_params(self.make_context(count.size, budget, None, scale))
        arms = new_arms(count.size)
        arms["n"], arms["reward"], arms["cost"] = count, count * r, count * c
        free = np.maximum(count - self.ddof, 0.0)
        arms["reward_m2"], arms["cost_m2"] = free * vr, free * vc
        now = self._now(p, max(float(plays), 1.0), arms, float(arms["cost"].sum()))
        table = kernels.of(type(self), "tabulate")(p, count, r, c, vr, vc, now)
        return arrays.unwrap_scalar(scale.ratio_out(table).reshape(shape))

    def origin(self, ends: Range) -> float:
        """Return the value that is 0 in the policy's units, for values in a range."""
        low = ends[0]
        return low if self.any_range else min(low, 0.0) if self.scale_free else 0.0

    def choice_probability(self, arms: int) -> float | None:
        """Return the probability of a choice among ``arms`` arms, ties apart; None if unknown."""
        return 1.0 if self.takes_largest_index else None

    def describe_draw(self, arms: int) -> str:
        """Return how a policy that draws its arm does so, as a part of a sentence."""
        return f"{self.name} draws among {arms} arms, those that look good more often"

    def bounds(
        self, p: Any, n: float, r: float, c: float, vr: float, vc: float, now: Any
    ) -> tuple[float, float] | None:
        """Return the bounds of reward and cost whose quotient is the index, to explain a choice.

        The arguments are those of ``index``. None: the index is no such quotient.
        """
        return None

    def interval_eta_min(self) -> float | None:
        """Return the least eta of intervals shown beside the policy; None: they take eta as 1."""
        return None

    def params(self) -> dict[str, tuple[Any, Any]]:
        """Return each parameter with its value and default; the rule for ties comes last."""
        defaults = {f.name: f.default for f in fields(self)}
        return {name: (getattr(self, name), defaults[name]) for name in kinds_of(self)}

    def but(self, **changes: Any) -> Self:
        """Return the same policy with some parameters changed."""
        known = kinds_of(self)
        for key in changes:
            if key not in known:
                hint = suggest(key, known)
                raise errors.UnknownParameter(f"{self.name} has no parameter {key!r}{hint}")
        return replace(self, **changes)

    def make_context(
        self, arms: int, budget: float | None, min_cost: float | None, scale: Scale
    ) -> PolicyContext:
        """Return what is known, in units of the formulas; own parameters override the game's."""
        if budget is not None:
            check_positive("budget", budget, "give what may be spent")
        if min_cost is not None:
            check_positive("min_cost", min_cost, "give a lower bound on the mean costs, or None")
        own = getattr(self, "min_cost", None)
        known = own if own is not None else min_cost
        return PolicyContext(
            arms,
            None if budget is None else budget / scale.cost_width,
            None if known is None else known / scale.cost_width,
            scale,
        )

    def start_params(self, context: PolicyContext) -> tuple[float, ...]:
        """Return the kernel parameters of a game; raise if something needed is not known."""
        for name in self.needs:
            self._known(context, name)
        return self.kernel_params(context)

    def __str__(self) -> str:
        """Return the slug, from which :func:`bursar.policy` makes an equal policy."""
        shown = [
            f"{name}={_format_param(value)}"
            for name, (value, default) in self.params().items()
            if value != default or name in self.always_shown
        ]
        return f"{self.name}:{','.join(shown)}" if shown else self.name

    def _now(self, p: Any, plays: float, arms: Arms, spent: float) -> Any:
        """Return what the index sees of the game as a whole; the same for all arms."""
        return kernels.of(type(self), "clock")(p, plays)

    def _require(self, holds: bool, name: str, domain: str) -> None:
        if not holds:
            value = getattr(self, name)
            raise errors.InvalidParameter(f"{self.name}: {name} must be {domain}, got {value!r}")

    def _known(self, context: PolicyContext, name: str) -> float:
        value = getattr(context, name)
        if value is None:
            way = f"{name}=…" if name == "budget" else f"{name}=…, or {self.name}:{name}=…"
            raise errors.MissingKnowledge(
                f"{self.name} needs to know {_KNOWLEDGE[name]}, got None; give {way}"
            )
        return float(value)

    def _scale_variances(
        self, name: str, given: ArrayLike | None, shape: tuple[int, ...], mean: Floats, ends: Range
    ) -> Floats:
        """Return variances in units of the formulas; the largest possible ones if none given."""
        low, high = self.origin(ends), ends[1]
        width = high - low
        x = (mean - low) / width
        if given is None:
            return np.full(mean.size, 0.25) if self.ddof else x * (1.0 - x)
        full, (v, _) = arrays.broadcast_columns(**{name: given, "n": np.zeros(shape)})
        if full != shape:
            raise InvalidInput(f"{name} must fit the shape of n, {shape}, got {np.shape(given)}")
        arrays.check_values(name, v, v >= 0.0, "0 or more")
        v = v / (width * width)
        if self.any_range:
            # eta is v over x(1 - x), and 1 - x lost digits where the mean is near its upper end
            y = (high - mean) / width
            v = np.where(y > 0.0, v * ((1.0 - x) / np.where(y > 0.0, y, 1.0)), v)
        return np.asarray(v)


def _format_param(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


class Learner:
    """The state of one game: statistics of each arm, the game so far, the policy's random stream.

    Examples
    --------
    >>> import bursar
    >>> learner = bursar.policy("omega-star-ucb:rho=0.25").learner(arms=2)
    >>> for _ in range(6):
    ...     arm = learner.choose()
    ...     learner.record(arm, reward=[0.9, 0.4][arm], cost=[0.5, 0.5][arm])
    >>> learner
    <Learner omega-star-ucb:rho=0.25: 2 arms, 6 plays, spent 3, earned 4.4>
    >>> learner.plays_per_arm.tolist()
    [4, 2]
    """

    def __init__(
        self, policy: Policy, context: PolicyContext, ranges: Mapping[str, Range], stream: Stream
    ) -> None:
        self.policy, self.scale, self.stream = policy, context.scale, stream
        self._ranges = ranges
        self.kernel_params = policy.start_params(context)
        self.arms = new_arms(context.arms)
        self.game = new_game(math.inf if context.budget is None else context.budget, policy.ties)
        self.memory: Floats = np.zeros(policy.memory_size(context.arms))
        self._decide = dispatcher_of(kernels.of(type(policy), "decide"))
        self._learn = dispatcher_of(kernels.of(type(policy), "learn"))

    def choose(self) -> int:
        """Return the arm to play next; each call is a decision of its own: record its outcome."""
        return int(self._decide(self.kernel_params, self.arms, self.game, self.memory, self.stream))

    def record(self, arm: int, reward: float, cost: float) -> None:
        """Learn the reward and the cost of a play of an arm."""
        if check_int("arm", arm, 0, "give what choose() returned") >= self.arms.size:
            raise InvalidInput(f"arm must be in 0…{self.arms.size - 1}, got {arm!r}")
        for name, value in (("reward", reward), ("cost", cost)):
            low, high = self._ranges[name]
            if not low <= check_number(name, value) <= high:  # false for NaN too
                raise InvalidInput(
                    f"{name} must be in its range [{low:g}, {high:g}], got {value!r};"
                    f" start the learner with {name}_range=(low, high) that fits the data"
                )
        scaled = float(self.scale.reward_in(reward)), float(self.scale.cost_in(cost))
        self._learn(
            self.kernel_params, self.arms, self.game, self.memory, arm, *scaled, self.stream
        )

    @property
    def plays_per_arm(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Plays of each arm."""
        return self.arms["n"].astype(np.int64)

    @property
    def spent(self) -> float:
        """The cost of all plays, in the user's units."""
        per_arm = self.arms["cost"] * self.scale.cost_width + self.arms["n"] * self.scale.cost_low
        return float(per_arm.sum())

    @property
    def earned(self) -> float:
        """The reward of all plays, in the user's units."""
        scale = self.scale
        per_arm = self.arms["reward"] * scale.reward_width + self.arms["n"] * scale.reward_low
        return float(per_arm.sum())

    def __repr__(self) -> str:
        """Return the policy and how far the game is."""
        return (
            f"<Learner {self.policy}: {self.arms.size} arms, {self.plays_per_arm.sum():,} plays,"
            f" spent {self.spent:g}, earned {self.earned:g}>"
        )


@dataclass(frozen=True)
class Scale:
    """Shift and width of rewards and costs: the map between a user's units and [0, 1].

    Most policies are stated for [0, 1]: their data are divided by the upper end and not shifted,
    because a shift would change reward per cost. The omega policies take any [low, high] directly.
    """

    reward_low: float = 0.0
    reward_width: float = 1.0
    cost_low: float = 0.0
    cost_width: float = 1.0

    @classmethod
    def of(cls, policy: Policy, reward_range: Range, cost_range: Range) -> Scale:
        """Return the scale a policy uses for data in these ranges; refuse ranges it cannot take."""
        reward_range = _check_range("reward_range", reward_range)
        cost_range = _check_range("cost_range", cost_range)
        if cost_range[0] < 0.0:
            raise InvalidInput(
                f"cost_range must start at 0 or above, got {cost_range!r}; costs cannot be negative"
            )
        if reward_range[0] < 0.0 and not (policy.any_range or policy.scale_free):
            raise InvalidInput(
                f"{policy.name}: reward_range must start at 0 or above, got {reward_range!r};"
                " omega-ucb, omega-star-ucb and sf-omega-ucb take any range"
            )
        low, cost_low = policy.origin(reward_range), policy.origin(cost_range)
        return cls(low, reward_range[1] - low, cost_low, cost_range[1] - cost_low)

    def reward_in(self, reward: Any) -> Any:
        """Map rewards into [0, 1]."""
        return (reward - self.reward_low) / self.reward_width

    def cost_in(self, cost: Any) -> Any:
        """Map costs into [0, 1]."""
        return (cost - self.cost_low) / self.cost_width

    def ratio_out(self, ratio: Any) -> Any:
        """Map reward per cost back into the user's units."""
        return ratio * (self.reward_width / self.cost_width)


def _check_range(name: str, given: Any) -> Range:
    try:
        low, high = (float(end) for end in given)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"{name} must be two numbers, (low, high), got {given!r}; for example (0, 1)"
        ) from None
    if not (_LEAST < high - low < _MOST and abs(low) < _MOST and abs(high) < _MOST):
        raise InvalidInput(
            f"{name} must be two finite numbers, the lower first, got {(low, high)!r};"
            f" they may be {_LEAST:g} to {_MOST:g} apart"
        )
    return low, high


class PolicyContext(NamedTuple):
    """What a policy knows of a game before the first play; None stands for what is unknown."""

    arms: int
    budget: float | None = None
    min_cost: float | None = None
    scale: Scale = Scale()
