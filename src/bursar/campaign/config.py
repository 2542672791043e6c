"""What a campaign is told when it is made: checked once, kept in its first event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from bursar.errors import InvalidInput, nearest
from bursar.money import Coin
from bursar.policies import Policy
from bursar.policies import policy as policy_of
from bursar.validation import check_int, check_number

__all__ = ["Config", "check_text", "printable"]

_DAY = 86_400.0


@dataclass(frozen=True)
class Config:
    """The rules of a campaign.

    Attributes
    ----------
    policy : str
        Slug of the policy that chooses.
    coin : Coin
        Currency and smallest unit.
    reward_range : (float, float)
        The least and most that one decision can bring, in the user's units.
    hold : str
        What an ask reserves: "max", the most its arm can cost, or "quantile:0.99", what its costs
        exceeded in 1% of cases so far (never more than the most).
    ask_ttl : float or None
        Seconds after which a decision that was not confirmed is released; None: no confirmation.
    hold_ttl : float
        Seconds after which a decision without its cost lapses.
    on_lapse : {"charge", "release"}
        Whether a lapsed hold counts as spent, the safe rule, or is given back.
    reward_ttl : float
        Seconds within which a reward is learned from.
    default_reward : float or None
        What counts as the reward if none came in time; None: nothing is learned.
    max_open : int
        Decisions that may wait for their outcome at the same time.
    overruns : int
        Costs above their hold after which an arm is paused; 0: never.
    on_failure : {"uniform", "refuse"}
        What an ask does when the policy fails: any arm that fits, or none.
    patience : float
        Seconds that the policy may take for a choice; a slower one stands, and is flagged.
    on_change : {"flag", "reset", "ignore"}
        What happens when the mean cost or reward of an arm is found to have changed: it is shown,
        or the arm is learned anew as well, or nobody looks.
    explore : float
        Share of asks that go to an arm at random, so that a replay can answer what-if questions.
    min_cost : str or None
        A lower bound of the mean costs, for the policies that need one.
    seed : int
        Same seed and same log, same choices.
    """

    policy: str
    coin: Coin = field(default_factory=Coin)
    reward_range: tuple[float, float] = (0.0, 1.0)
    hold: str = "max"
    ask_ttl: float | None = None
    hold_ttl: float = _DAY
    on_lapse: Literal["charge", "release"] = "charge"
    reward_ttl: float = 7 * _DAY
    default_reward: float | None = None
    max_open: int = 10_000
    overruns: int = 3
    on_failure: Literal["uniform", "refuse"] = "uniform"
    patience: float = 1.0
    on_change: Literal["flag", "reset", "ignore"] = "flag"
    explore: float = 0.0
    min_cost: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self._policy_fits(policy_of(self.policy))
        low, high = self.reward_range
        for name, kind in (("hold", str), ("policy", str), ("on_lapse", str)):
            if not isinstance(getattr(self, name), kind):
                raise InvalidInput(f"{name} must be a text, got {getattr(self, name)!r}")
        if self.default_reward is not None:
            check_number("default_reward", self.default_reward)
        if self.min_cost is not None:
            self.coin.units("min_cost", self.min_cost)
        if self.default_reward is not None and not low <= self.default_reward <= high:
            raise InvalidInput(
                f"default_reward must be in the reward_range [{low:g}, {high:g}],"
                f" got {self.default_reward!r}"
            )
        for name in ("ask_ttl", "hold_ttl", "reward_ttl", "patience"):
            value = getattr(self, name)
            if value is not None and not 0.0 < check_number(name, value) < 1e10:
                raise InvalidInput(f"{name} must be a number of seconds above 0, got {value!r}")
        if self.on_lapse not in ("charge", "release"):
            raise InvalidInput(f"on_lapse must be 'charge' or 'release', got {self.on_lapse!r}")
        if self.on_failure not in ("uniform", "refuse"):
            raise InvalidInput(f"on_failure must be 'uniform' or 'refuse', got {self.on_failure!r}")
        if self.on_change not in ("flag", "reset", "ignore"):
            raise InvalidInput(
                f"on_change must be 'flag', 'reset' or 'ignore', got {self.on_change!r}"
            )
        if not 0.0 <= check_number("explore", self.explore) <= 1.0:
            raise InvalidInput(f"explore must be a share in [0, 1], got {self.explore!r}")
        check_int("max_open", self.max_open, 1, "10,000 by default")
        check_int("overruns", self.overruns, 0, "3 by default")
        check_int("seed", self.seed, 0, "try 0")
        self.quantile  # noqa: B018 - is it one?

    @classmethod
    def made(cls, policy: str, coin: Coin, reward_range: Any, rules: Mapping[str, Any]) -> Config:
        """Return rules as a user gives them; what is no rule is refused by name."""
        known = [one.name for one in fields(cls)][3:]
        for name in rules:
            if name not in known:
                raise InvalidInput(f"a campaign has no rule {name!r}{nearest(name, known)}")
        try:
            low, high = (check_number("reward_range", end) for end in reward_range)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"reward_range must be two numbers, (low, high), got {reward_range!r}"
            ) from None
        return cls(policy, coin, (low, high), **rules)

    def _policy_fits(self, chosen: Policy) -> None:
        if chosen.memory_size(2) and chosen.round_size == 1:
            raise InvalidInput(
                f"{chosen.name} keeps notes between its choices that no log of outcomes can"
                " rebuild; choose another policy, for example omega-star-ucb:rho=0.25"
            )
        if chosen.round_size > 1:
            raise InvalidInput(
                f"{chosen.name} plays {chosen.round_size} arms at once; a campaign asks for one"
            )

    @property
    def quantile(self) -> float | None:
        """The quantile that holds are, or None for the most."""
        kind, _, text = self.hold.partition(":")
        if self.hold == "max":
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if kind != "quantile" or not 0.5 <= value < 1.0:
            raise InvalidInput(
                f"hold must be 'max' or 'quantile:q' with q from 0.5 to below 1, got {self.hold!r}"
            )
        return value

    def body(self) -> dict[str, Any]:
        """Return the rules as data for the first event."""
        return asdict(self)

    @classmethod
    def of(cls, body: dict[str, Any]) -> Config:
        """Return the rules that an event holds."""
        low, high = body["reward_range"]
        return cls(**(body | {"coin": Coin(**body["coin"]), "reward_range": (low, high)}))


# ==== campaign.words
# Words that users give: checked before they go into a log that must be readable for ever.


def check_text(name: str, value: str, least: int = 0, most: int = 1000) -> str:
    """Return a text that a log can keep; refuse what is none, is too long or cannot be written."""
    if not isinstance(value, str) or not least <= len(value) <= most or printable(value) != value:
        raise InvalidInput(f"{name} must be a text of {least} to {most} characters, got {value!r}")
    return value


def printable(text: str) -> str:
    r"""Return a text with whatever UTF-8 cannot write spelt out.

    >>> printable("half a pair: " + chr(0xD83D))
    'half a pair: \\ud83d'
    """
    return text.encode(errors="backslashreplace").decode()
