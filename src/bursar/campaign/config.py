"""The rules of a campaign: declared once here, checked once, and kept in its first event.

:data:`RULES` has the type, default, limits and help of each rule. The HTTP schema, the options of
``bursar campaign create`` and the dashboard's form are made from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import import_module
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from bursar.errors import InvalidInput, suggest
from bursar.money import Amount, Coin, Rounding
from bursar.validation import Reward, check_int, check_number, parse_reward

if TYPE_CHECKING:
    from bursar.policies import Policy

DEFAULT_POLICY = "sf-omega-ucb"
FORMER_DEFAULT_POLICY = "omega-star-ucb:rho=0.25"  # of logs whose scale is "declared"
NEW_SCALE = "seen"  # the scale of campaigns that are created now
_DAY = 86_400.0
_LARGEST = 2**63 - 1
# rules that the first logs did not have, with what they did
_LATER = (("rounding", None), ("scale", "declared"))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a campaign."""

    name: str = ""  # in Python, HTTP and the shell
    label: str  # in a form
    help: str  # a sentence for users
    type: Any = str  # or int, or float
    optional: bool = False  # whether it may be None
    choices: tuple[str, ...] = ()  # the values it may have; empty if there are too many to list
    default: Any = None
    limits: dict[str, float]  # as JSON Schema names them: ge, gt, le, lt, max_length
    most: int | None = None  # a limit of the HTTP API only

    def check(self, value: Any) -> None:
        """Raise InvalidInput if the rule cannot have this value."""
        if value is None and self.optional:
            return
        if self.choices:
            if value not in self.choices:
                *others, last = (repr(one) for one in self.choices)
                words = f"{', '.join(others)} or {last}"
                raise InvalidInput(f"{self.name} must be {words}, got {value!r}")
        elif self.type is str:
            if not isinstance(value, str):
                raise InvalidInput(f"{self.name} must be a text, got {value!r}")
        elif self.type is int:
            check_int(self.name, value, int(self.limits["ge"]), f"{self.default:,} by default")
        else:
            number, limits = check_number(self.name, value), self.limits
            if "gt" in limits and not limits["gt"] < number < limits["lt"]:
                raise InvalidInput(
                    f"{self.name} must be a number of seconds above 0, got {number!r}"
                )
            if "ge" in limits and not limits["ge"] <= number <= limits["le"]:
                raise InvalidInput(f"{self.name} must be a share in [0, 1], got {number!r}")

    def to_plain(self, value: Any) -> Any:
        """Return a value that a user gives as a log can keep it, or raise InvalidInput.

        Not for what is in a log already: earlier versions had no limit on integers.
        """
        self.check(value)
        if value is None or self.type is str:
            return value
        if self.type is int and value > _LARGEST:
            raise InvalidInput(f"{self.name} must be at most {_LARGEST:,}, got {value!r}")
        if type(value) is float or (type(value) is int and abs(value) <= _LARGEST):
            return value
        return self.type(value)


def _rule(default: Any, label: str, help: str, most: int | None = None, **limits: float) -> Any:
    rule = Rule(label=label, help=help, limits=limits, most=most)
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True)
class Config:
    """The rules of a campaign.

    All but ``scale`` are a user's choice. It is a fact of the log, so that a log written under an
    older rule keeps its choices.

    Attributes
    ----------
    policy : str
        Slug of the policy that chooses.
    coin : Coin
        Currency and smallest unit.
    reward_range : (float, float)
        The least and greatest reward of one decision, in the user's units.
    scale : str
        The unit of costs in which the policy learns: "seen", the largest cost learned so far, in
        new campaigns; "declared", the largest maximum cost of any arm, in logs that lack the key.

    All others are described in :data:`RULES`.
    """

    policy: str
    coin: Coin = field(default_factory=Coin)
    reward_range: tuple[float, float] = (0.0, 1.0)
    scale: str = "declared"
    hold: str = _rule(
        "max", "Hold of an ask",
        "What an ask reserves: max, the maximum cost of its arm, or quantile:0.99 of its costs.",
        max_length=50,
    )  # fmt: skip
    ask_ttl: float | None = _rule(
        None, "Seconds to confirm an ask",
        "Seconds until an unconfirmed decision is released; by default none needs confirmation.",
        gt=0, lt=1e10,
    )  # fmt: skip
    hold_ttl: float = _rule(
        _DAY, "Seconds until a hold lapses",
        "Seconds until the hold of a decision without a cost lapses; 86400 is one day.",
        gt=0, lt=1e10,
    )  # fmt: skip
    on_lapse: Literal["charge", "release"] = _rule(
        "charge", "A lapsed hold",
        "What a lapsed hold does: charge counts it as spent, the safe rule; release frees it.",
    )  # fmt: skip
    reward_ttl: float = _rule(
        7 * _DAY, "Seconds to report a reward",
        "Seconds within which a reward is learned from; 604800 is seven days.",
        gt=0, lt=1e10,
    )  # fmt: skip
    default_reward: float | None = _rule(
        None, "Default reward",
        "Reward that counts if none was reported in time; by default nothing is learned.",
    )  # fmt: skip
    max_open: int = _rule(
        10_000, "Maximum of open decisions",
        "Decisions that may wait for their outcome at the same time.", most=1_000_000, ge=1,
    )  # fmt: skip
    overruns: int = _rule(
        3, "Overruns until an arm is paused",
        "Costs above their hold after which an arm is paused; 0 means never.",
        most=1_000_000, ge=0,
    )  # fmt: skip
    on_failure: Literal["uniform", "refuse"] = _rule(
        "uniform", "When the policy fails",
        "What an ask does if the policy fails: uniform chooses any arm that fits, refuse none.",
    )  # fmt: skip
    patience: float = _rule(
        1.0, "Seconds for a choice",
        "Seconds that the policy may take for a choice; a slower one counts, but is flagged.",
        gt=0, lt=1e10,
    )  # fmt: skip
    on_change: Literal["flag", "reset", "ignore"] = _rule(
        "flag", "When an arm changes",
        "If the mean cost or reward of an arm changes: flag it, reset what was learned, or ignore.",
    )  # fmt: skip
    rounding: Literal["up", "down", "nearest"] | None = _rule(
        None, "Rounding of costs",
        "How costs with more digits than the campaign keeps are rounded; by default they must fit.",
    )  # fmt: skip
    explore: float = _rule(
        0.0, "Share of random asks",
        "Share of asks that choose an arm at random, so that bursar replay can compare policies.",
        ge=0, le=1,
    )  # fmt: skip
    min_cost: str | None = _rule(
        None, "Lower bound on mean cost",
        "Lower bound on the mean cost of every arm (required by some policies).", max_length=50,
    )  # fmt: skip
    seed: int = _rule(
        0, "Seed", "The same seed and the same log give the same choices.", most=2**63 - 1, ge=0
    )

    def __post_init__(self) -> None:
        # policies need NumPy, which `bursar --help` does not
        _check_policy(import_module("bursar.policies").policy(self.policy))
        if self.scale not in ("declared", "seen"):
            raise InvalidInput(f"scale must be 'declared' or 'seen', got {self.scale!r}")
        for name, rule in RULES.items():
            rule.check(getattr(self, name))
        if self.default_reward is not None:
            self.check_reward(self.default_reward, "default_reward")
        if self.min_cost is not None:
            self.coin.units("min_cost", self.min_cost)
        _parse_quantile(self.hold)

    @classmethod
    def make(cls, policy: str, coin: Coin, reward_range: Any, rules: Mapping[str, Any]) -> Config:
        """Return the rules that a user gives; raise InvalidInput for an unknown one."""
        for name in rules:
            if name not in RULES:
                raise InvalidInput(f"a campaign has no rule {name!r}{suggest(name, RULES)}")
        try:
            low, high = (check_number("reward_range", end) for end in reward_range)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"reward_range must be two numbers, (low, high), got {reward_range!r}"
            ) from None
        if not math.isfinite(low) or not math.isfinite(high):  # JSON has neither inf nor NaN
            raise InvalidInput(
                f"reward_range must be two finite numbers, (low, high), got {reward_range!r}"
            )
        plain = {name: RULES[name].to_plain(value) for name, value in rules.items()}
        return cls(policy, coin, (low, high), NEW_SCALE, **plain)

    def check_reward(self, reward: Reward, name: str = "reward") -> None:
        """Raise InvalidInput if a reward is outside of the range of this campaign."""
        low, high = self.reward_range
        if not low <= parse_reward(name, reward) <= high:  # refuses NaN as well
            raise InvalidInput(
                f"{name} must be in the campaign's reward_range [{low:g}, {high:g}], got {reward!r}"
            )

    def units(self, name: str, value: Amount, rounding: Rounding | None = None) -> int:
        """Return a cost in units, rounded as the call says, or else as the campaign does."""
        return self.coin.units(name, value, rounding or self.rounding)

    @property
    def quantile(self) -> float | None:
        """The quantile of an arm's costs that an ask holds, or None for the maximum."""
        return _parse_quantile(self.hold)

    def to_body(self) -> dict[str, Any]:
        """Return the rules as data for the first event."""
        body = asdict(self)
        # a rule that came later is left out where it changes nothing, so that a log of today has
        # the bytes that it had before
        return {name: one for name, one in body.items() if (name, one) not in _LATER}

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> Config:
        """Return the rules that an event holds."""
        low, high = body["reward_range"]
        return cls(**(body | {"coin": Coin(**body["coin"]), "reward_range": (low, high)}))


def _list_rules() -> dict[str, Rule]:
    hints, found = get_type_hints(Config), {}
    for one in fields(Config):
        if "rule" in one.metadata:
            hint = hints[one.name]
            optional = NoneType in get_args(hint)
            [kind] = [one for one in get_args(hint) if one is not NoneType] if optional else [hint]
            choices = get_args(kind) if get_origin(kind) is Literal else ()
            found[one.name] = replace(
                one.metadata["rule"], name=one.name, default=one.default,
                type=str if choices else kind, choices=choices, optional=optional,
            )  # fmt: skip
    return found


RULES: dict[str, Rule] = _list_rules()
"""The rules of a campaign beside its policy, coin and range of rewards, by name."""


def _check_policy(chosen: Policy) -> None:
    if chosen.memory_size(2) and chosen.round_size == 1:
        raise InvalidInput(
            f"{chosen.name} keeps notes between its choices that a log of outcomes cannot"
            f" restore; choose another policy, for example {DEFAULT_POLICY}"
        )
    if chosen.round_size > 1:
        raise InvalidInput(
            f"{chosen.name} plays {chosen.round_size} arms at once; a campaign asks for one"
        )


def _parse_quantile(hold: str) -> float | None:
    if hold == "max":
        return None
    kind, _, text = hold.partition(":")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if kind != "quantile" or not 0.5 <= value < 1.0:
        raise InvalidInput(
            f"hold must be 'max' or 'quantile:q' with q from 0.5 to below 1, got {hold!r}"
        )
    return value
