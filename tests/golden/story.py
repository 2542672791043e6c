"""Campaigns whose every event is known beforehand: a clock that is set by hand, ids that are given.

``make.py`` writes them with the code of one commit, ``test_golden.py`` writes them again with the
code of today and expects the same log.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from numba import njit

import bursar
from bursar import policies
from bursar.errors import BudgetExhausted, BursarError, PolicyFailed
from bursar.policies import base

DAY = 86_400
START = 19_676 * DAY + 6 * 3600  # 2023-11-15, 06:00 UTC
LATER = 40 * DAY  # when `go_on` goes on
DEFAULT_POLICY = "omega-star-ucb:rho=0.25"  # of that commit

Arms = dict[str, str]
CLI = Callable[..., str]


class Clock:
    """A clock that a story moves; one start of the machine for all of them."""

    def __init__(self, run: float = 0.0) -> None:
        self.run = run

    def wall(self) -> int:
        return round((START + self.run) * 1e6)

    def steady(self) -> int:
        return round(self.run * 1e6)

    def boot(self) -> str:
        return "golden"

    def go(self, seconds: float) -> None:
        self.run += seconds


@njit
def _fail(p, arms, game, memory, stream):
    """Choose the first arm, but fail at every fourth play."""
    if game[0].plays % 4 == 3:
        raise ValueError("golden failure")
    return 0


@dataclass(frozen=True)
class Failing(bursar.Policy):
    """A policy that fails now and then."""

    name = "golden-failing"
    title = "Failing"
    year = 2026
    source = "tests/golden/story.py"
    formula = "none"
    choose = staticmethod(_fail)


@contextmanager
def failing_policy() -> Iterator[None]:
    """Let slugs name the policy that fails."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "Failing", Failing, raising=False)
        patch.setitem(policies._TABLE, "golden-failing", "base.Failing")
        yield


def _made(name: str, storage: str, budget: str, arms: Arms, *slug: str, **more: Any) -> Any:
    slug = slug or (DEFAULT_POLICY,)
    return bursar.Campaign(name, budget, arms, *slug, storage=storage, clock=Clock(), **more)


def _played(campaign: Any, rounds: int, seed: int = 1, **options: Any) -> None:
    """Ask and tell at once; the cost and reward of an arm depend on its key and on chance."""
    chance = random.Random(seed)
    most = {arm.key: arm.max_cost for arm in campaign.arms()}
    before = sum(1 for _ in campaign.events())
    for number in range(before, before + rounds):
        campaign.clock.go(30)
        decision = campaign.ask(id=f"d{number}", **options)
        rank = sorted(most).index(decision.arm) + 1
        cost = (most[decision.arm] * Decimal(str(round(chance.uniform(0.2, 0.9), 2)))).quantize(
            Decimal("0.0001")
        )
        campaign.tell(decision, cost=cost, reward=float(chance.random() < 0.7 / rank))


def default(storage: str) -> None:
    """The default policy, settled at once."""
    arms = {"video": "0.60", "banner": "0.15", "search": "0.90"}
    _played(_made("default", storage, "100", arms, currency="EUR"), 300)


def explored(storage: str) -> None:
    """The default policy with a share of asks at random, and asks for some arms only."""
    arms = {"a": "1", "b": "2", "c": "3", "d": "4"}
    campaign = _made(
        "explored", storage, "1000", arms, explore=0.2, seed=11, by="ada", reward_range=(-1.0, 2.0)
    )
    _played(campaign, 100, 2)
    _played(campaign, 20, 3, among=["c", "d"])
    _played(campaign, 20, 4, exclude=["a"], context={"page": "ü", "n": [1, 2.5, None]})


def thompson(storage: str) -> None:
    """A policy that draws, rewards in a range of their own."""
    arms = {"a": "1", "b": "2", "c": "3"}
    _played(_made("thompson", storage, "500", arms, "bts", reward_range=(0.0, 3.0), seed=5), 150)


def knowing(storage: str) -> None:
    """A policy that has to know the least cost."""
    arms = {"a": "1", "b": "2", "c": "3"}
    _played(_made("knowing", storage, "500", arms, "ucb-bv1", min_cost="0.2", exponent=4), 150)


def at_random(storage: str) -> None:
    """No policy at all, until nothing fits."""
    campaign = _made("at_random", storage, "20", {"a": "1", "b": "2"}, "uniform", max_open=7)
    with suppress(BudgetExhausted):
        _played(campaign, 100, 6)
    assert campaign.state == "exhausted"


def late(storage: str) -> None:
    """Everything that can become of a decision, without a default for rewards."""
    arms = {"x": "1.00", "y": "2.00"}
    rules = {"ask_ttl": 60, "hold_ttl": DAY, "reward_ttl": 2 * DAY, "overruns": 3}
    campaign = _made("late", storage, "500", arms, exponent=2, currency="USD", **rules)
    clock = campaign.clock
    ids = [f"late-{number}" for number in range(12)]
    for id in ids:
        clock.go(1)
        campaign.ask(id=id, context={"for": id} if id.endswith("7") else None)
    for id in ids[:10]:
        campaign.confirm(id)
    campaign.tell(ids[0], cost="0.40", reward=1.0, report="first")
    campaign.tell(ids[1], cost="0.50", report="money")
    campaign.tell(ids[1], reward=0.25, report="result")
    campaign.tell(ids[2], cost="0.70")
    campaign.tell(ids[3], reward=0.5)
    campaign.void(ids[4], "never sent", by="ada")
    campaign.correct(ids[2], cost="0.60", reason="typing")
    clock.go(120)
    assert campaign.expire() == 2  # the two that were not confirmed are released
    clock.go(DAY)
    assert campaign.expire() == 6  # lapsed
    clock.go(DAY)
    campaign.expire()  # no reward came
    campaign.tell(ids[5], cost="0.10", reward=1.0, report="late")  # completed: "was" is told
    campaign.tell(ids[6], reward=0.75)
    campaign.tell(ids[10], cost="0.30", reward=0.5, report="though released")
    campaign.tell(ids[4], cost="0.20")  # though voided
    campaign.correct(ids[0], cost="0.45", reward=0.5, reason="bill", by="bob")
    campaign.correct(ids[1], reward=1.0)
    campaign.correct(ids[3], cost="0.55")
    for number in range(5):  # more than was held: the arm is paused
        campaign.ask(id=f"over-{number}", among=["x"])
        campaign.confirm(f"over-{number}")
        clock.go(1)
    told = [{"decision": f"over-{number}", "cost": "1.50", "reward": 1.0} for number in range(4)]
    booked = campaign.tell_many([*told, {"decision": "nobody", "cost": "1"}])
    assert [type(one).__name__ for one in booked].count("Decision") == 4
    clock.go(1)
    campaign.ask(id="open", context={"still": "open"})


def defaults(storage: str) -> None:
    """Rewards that are made up when none came, and holds that are given back."""
    rules = {"hold_ttl": 3600, "on_lapse": "release", "reward_ttl": 7200, "default_reward": 0.25}
    campaign = _made("defaults", storage, "90", {"x": "1", "y": "2"}, hold="quantile:0.9", **rules)
    _played(campaign, 70, 7)
    for number in range(6):
        campaign.clock.go(1)
        campaign.ask(id=f"w{number}")
    campaign.tell("w0", cost="0.5")
    campaign.tell("w1", cost="0.6", report="r")
    campaign.clock.go(3601)
    campaign.expire()
    campaign.clock.go(3601)
    campaign.expire()
    campaign.tell("w0", reward=1.0)  # replaces what was made up
    campaign.tell("w1", reward=0.5, report="s")
    campaign.tell("w2", cost="0.9")
    campaign.tell("w3", cost="0.8", reward=0.125)
    campaign.correct("w3", reward=0.25)


def changed(storage: str) -> None:
    """All changes of rules; closed at the end."""
    arms = {"small": "0.004", "large": "0.05"}
    campaign = _made("changed", storage, "25", arms, caps={"day": "5", "arm:large": "10"})
    _played(campaign, 12)
    campaign.add_arm("medium", "0.01", by="ada")
    campaign.pause_arm("large", by="ada", reason="too slow")
    campaign.set_budget("30", by="ada", if_version=campaign.version)
    campaign.set_cap("day", "4.5", by="bob")
    campaign.set_cap("arm:medium", "1", by="bob")
    campaign.set_cap("arm:large", None)
    campaign.change(budget="28.5", caps={"day": None, "arm:small": "2"}, by="eve")
    _played(campaign, 12, 8)
    campaign.resume_arm("large", by="ada")
    campaign.add_arm("huge", "0.2")  # costs are scaled anew
    campaign.retire_arm("small", by="ada")
    campaign.pause(by="ada")
    campaign.resume(by="ada")
    _played(campaign, 12, 9)
    campaign.ask(id="kept")
    campaign.end(by="ada")
    campaign.tell("kept", cost="0.003", reward=1.0)


def overdrawn(storage: str) -> None:
    """A budget that was cut below what is spent, and paused."""
    campaign = _made("overdrawn", storage, "20", {"x": "1"})
    _played(campaign, 8)
    campaign.set_budget("1.5", by="ada")
    assert campaign.state == "overdrawn"
    campaign.pause()


def failing(storage: str) -> None:
    """A policy that fails now and then: some arm, and an event."""
    _played(_made("failing", storage, "90", {"x": "1", "y": "2", "z": "1"}, "golden-failing"), 30)


def refusing(storage: str) -> None:
    """The same, but nothing is granted then."""
    arms = {"x": "1", "y": "2"}
    campaign = _made("refusing", storage, "9", arms, "golden-failing", on_failure="refuse")
    for number in range(5):
        try:
            campaign.tell(campaign.ask(id=f"r{number}"), cost="0.25", reward=0.5)
        except PolicyFailed:
            assert number >= 3


def slow(storage: str) -> None:
    """A choice that takes longer than it may; how long is not known beforehand."""
    _played(_made("slow", storage, "9", {"x": "1", "y": "2"}, patience=1e-9), 3)


def long(storage: str) -> None:
    """More than 10,000 events, so that there is a snapshot: with all that a state can have."""
    arms = {"small": "1", "large": "4", "other": "2", "gone": "3"}
    rules = {"hold": "quantile:0.9", "on_change": "reset", "overruns": 0, "explore": 0.05}
    campaign = _made(
        "long", storage, "4000", arms, reward_range=(0.0, 5.0), ask_ttl=3600, exponent=3,
        caps={"day": "900", "arm:other": "300"}, seed=7, **rules,
    )  # fmt: skip
    chance, clock = random.Random(12), campaign.clock
    low = {"small": 100, "large": 900, "other": 300, "gone": 800}
    for number in range(2560):
        clock.go(60)
        id = f"{number:x}"
        note = {"context": {"n": number}} if number % 40 == 39 else {}
        arm = campaign.ask(id=id, **note).arm
        campaign.confirm(id)
        if number % 80 == 79:
            continue  # stays open for a day
        price = 3 if arm == "small" and number > 1400 else 1
        cost = Decimal(price * low[arm] * chance.randrange(8, 13) // 10) / 1000
        report = {"report": "bill"} if number % 45 == 44 else {}
        campaign.tell(id, cost=cost, **report)
        if number % 90 != 89:
            campaign.tell(id, reward=float(chance.random() < 0.6) * 5)
        if number % 400 == 0:
            campaign.correct(id, cost=cost / 2, reward=2.5, reason="wrong")
        if number == 700:
            campaign.retire_arm("gone")


STORIES = (
    default, explored, thompson, knowing, at_random, late, defaults, changed, overdrawn, failing,
    refusing, slow, long,
)  # fmt: skip


def restored(path: Path, cli: CLI) -> dict[str, str]:
    """A ledger file that is set back to a backup; returns tokens of the decisions it lost."""
    storage, backup = f"sqlite:///{path}", path.with_suffix(".backup")
    campaign = _made("restored", storage, "40", {"x": "1", "y": "2"}, exponent=2)
    _played(campaign, 5, 3)
    cli("campaign", "backup", str(backup), "--storage", storage)
    tokens = {}
    for id in ("orphan", "lost"):
        campaign.clock.go(1)
        tokens[id] = campaign.token(campaign.ask(id=id))
    campaign.close()
    cli("campaign", "restore", str(backup), "--replace", "--storage", storage)
    again = bursar.Campaign("restored", storage=storage, clock=campaign.clock)
    again.tell("orphan", cost="0.50", reward=1.0, token=tokens["orphan"], report="after")
    again.reconcile("0.75", by="ada")
    _played(again, 5, 4)
    again.close()
    return tokens


def go_on(name: str, storage: str, tokens: dict[str, str]) -> dict[str, Any]:
    """Open a campaign long after its story and use it; return what happened and how it stands."""
    campaign = bursar.Campaign(name, storage=storage, clock=Clock(LATER))
    first = next(event.decision for event in campaign.events() if event.decision)
    errors = []
    calls: list[Callable[[], Any]] = [
        campaign.expire,
        lambda: campaign.tell("lost", cost="0.25", reward=0.5, token=tokens["lost"]),
        *[lambda id=f"on{number}": _asked(campaign, id) for number in range(8)],
        lambda: campaign.correct(first, cost="0.1", reward=0.5, reason="golden"),
        lambda: campaign.tell(first, cost="0.2"),
        lambda: campaign.ask(id="last"),
    ]
    for call in calls:
        campaign.clock.go(1)
        try:
            call()
        except BursarError as error:
            errors.append(type(error).__name__)
    found = {"errors": errors, "money": money(campaign), "hash": campaign.verify().hash}
    campaign.close()
    return found


def _asked(campaign: Any, id: str) -> None:
    arm = campaign.ask(id=id).arm
    campaign.tell(id, cost="0.001" if len(arm) > 4 else "0.01", reward=0.5)


def money(campaign: Any) -> dict[str, Any]:
    """Return how a campaign stands, amounts as texts."""
    names = ("budget", "spent", "held", "available", "overrun")
    amounts = {name: f"{getattr(campaign, name):f}" for name in names}
    others = {name: getattr(campaign, name) for name in ("state", "open", "version")}
    return amounts | others
