"""The map between a user's units and the [0, 1] of the formulas, and what a game tells a policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bursar.errors import InvalidInput

if TYPE_CHECKING:
    from bursar.policies.base import Policy

__all__ = ["Facts", "Range", "Scale"]

Range = tuple[float, float]
_LEAST, _MOST = 1e-100, 1e100  # so that no quotient of two ranges overflows


class Facts(NamedTuple):
    """What a game tells a policy before the first play; ``None`` for what nobody knows."""

    arms: int
    budget: float | None = None
    min_cost: float | None = None
    scale: Scale | None = None


@dataclass(frozen=True)
class Scale:
    """Shift and width of rewards and costs.

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
        reward_range = _checked("reward_range", reward_range)
        cost_range = _checked("cost_range", cost_range)
        if cost_range[0] < 0.0:
            raise InvalidInput(
                f"cost_range must start at 0 or above, got {cost_range!r}; costs cannot be negative"
            )
        if policy.any_range:
            return cls(
                reward_range[0],
                reward_range[1] - reward_range[0],
                cost_range[0],
                cost_range[1] - cost_range[0],
            )
        if reward_range[0] < 0.0:
            raise InvalidInput(
                f"{policy.name}: reward_range must start at 0 or above, got {reward_range!r};"
                " omega-ucb and omega-star-ucb take any range"
            )
        return cls(0.0, float(reward_range[1]), 0.0, float(cost_range[1]))

    def reward_in(self, reward: Any) -> Any:
        """Map rewards into [0, 1]."""
        return (reward - self.reward_low) / self.reward_width

    def cost_in(self, cost: Any) -> Any:
        """Map costs into [0, 1]."""
        return (cost - self.cost_low) / self.cost_width

    def ratio_out(self, ratio: Any) -> Any:
        """Map reward per cost back into the user's units."""
        return ratio * (self.reward_width / self.cost_width)


def _checked(name: str, given: Any) -> Range:
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
