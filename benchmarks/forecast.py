"""How often forecasts hold: python benchmarks/forecast.py [--games N] [--policy SLUG] [--check].

Campaigns are played to their end in worlds of many kinds, with budgets of 6 and 30 tries of each
arm. At 10, 25, 50 and 75% of the budget the forecast of what the rest earns is compared with what
it then earned. The constants of the forecast were chosen on half of the worlds; --check plays the
other half, in games that were looked at only once all was set. The last columns are the median
width of the 80% interval over the truth, and how often the forecast was above the truth.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

import bursar
from bursar.arrays import Floats
from bursar.campaign.config import DEFAULT_POLICY
from bursar.settings.families import FAMILIES

SHARES = (0.1, 0.25, 0.5, 0.75)
POLICIES = tuple(
    dict.fromkeys((DEFAULT_POLICY, "omega-star-ucb:rho=0.25", "kube", "pooled-gittins"))
)
FRESH = 1000  # the first number of games that were not looked at before all constants were set
_MOST_ARMS, _MOST_PLAYS = 100, 3000

Outcomes = Callable[[int, int], tuple[Floats, Floats]]


class World(NamedTuple):
    """True mean costs, the most that each arm may cost, and rewards and costs of an arm."""

    cost: Floats
    most: Floats
    draw: Outcomes


def make_family(name: str, number: int) -> World:
    """Return a problem of a family; its costs are in [0, 1]."""
    problem = FAMILIES[name].problems(number)[0]
    rng = np.random.default_rng([7, number])

    def draw(arm: int, size: int) -> tuple[Floats, Floats]:
        rewards, costs = problem.sample(rng, [arm], size)
        return rewards[0], costs[0]

    return World(problem.cost, np.ones(problem.arms), draw)


def make_priced(
    number: int, arms: int, spread: float, rise: float, graded: bool, padded: bool
) -> World:
    """Return arms whose prices differ by orders of magnitude, with long tails of costs.

    Rewards rise with the price to the power of ``rise``: a dear arm is best if that is above 1.
    """
    rng = np.random.default_rng([arms, round(10 * rise), number])
    price = np.exp(rng.uniform(np.log(0.002), np.log(0.4), arms))
    quality = rng.beta(4.0, 2.0, arms) * (price / price.max()) ** rise
    top = price * rng.uniform(6.0, 18.0, arms)
    most = top * np.exp(rng.uniform(0.0, np.log(10.0), arms)) if padded else 1.2 * top

    def draw(arm: int, size: int) -> tuple[Floats, Floats]:
        costs = price[arm] * rng.lognormal(-0.5 * spread**2, spread, size)
        if graded:
            return rng.beta(6.0 * quality[arm], 6.0 * (1.0 - quality[arm]), size), np.minimum(
                costs, top[arm]
            )
        return (rng.random(size) < quality[arm]).astype(float), np.minimum(costs, top[arm])

    return World(price, most, draw)


PRICED = {
    "heavy tails, binary": (12, 1.2, 0.1, False, False),
    "heavy tails, graded": (30, 1.0, 0.2, True, True),
    "a dear arm is best": (20, 0.8, 1.2, False, False),
    "many arms": (90, 1.0, 0.15, False, True),
    "few arms": (3, 1.0, 0.3, True, False),
    "dear and graded": (8, 0.6, 1.2, True, True),
}


def list_worlds(check: bool) -> dict[str, Callable[[int], World]]:
    """Return the worlds on which constants were chosen, or the others."""
    found: dict[str, Callable[[int], World]] = {}
    for name, setting in FAMILIES.items():
        if setting.held_out == check and setting.arms[0] <= _MOST_ARMS:
            found[name] = lambda number, name=name: make_family(name, number)
    for place, (name, options) in enumerate(PRICED.items()):
        if place % 2 == check:
            found[name] = lambda number, options=options: make_priced(number, *options)
    return found


class Look(NamedTuple):
    """A forecast at a share of the budget, and what came: rewards."""

    share: float
    value: float
    low: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        """Whether the 80% interval contains the truth."""
        return self.low <= self.truth <= self.high


def play_campaign(world: World, policy: str, tries: float, seed: int) -> Iterator[Look]:
    """Play a campaign to its end; a budget pays for one try of each arm ``tries`` times."""
    arms = world.cost.size
    budget = tries * float(world.cost.sum())
    budget = min(budget, _MOST_PLAYS * float(np.sort(world.cost)[: max(arms // 4, 1)].mean()))
    budget = max(budget, 2.0 * float(world.most.max()))
    campaign = bursar.Campaign(
        "c", f"{budget:.6f}", {f"a{k}": f"{most:.6f}" for k, most in enumerate(world.most)},
        policy=policy, seed=seed,
    )  # fmt: skip
    tapes: list[Iterator[tuple[float, float]]] = [iter(()) for _ in range(arms)]
    due, earned, spent = list(SHARES), 0.0, 0.0
    looks: list[tuple[float, bursar.campaign.Estimate, float]] = []
    for _ in range(10 * _MOST_PLAYS):
        if due and spent >= due[0] * budget:
            found = campaign.forecast().reward_80
            looks.append((due.pop(0), found, earned))
        try:
            decision = campaign.ask()
        except bursar.BudgetExhausted:
            break
        arm = int(decision.arm[1:])
        if (outcome := next(tapes[arm], None)) is None:
            tapes[arm] = zip(*(one.tolist() for one in world.draw(arm, 256)), strict=True)
            outcome = next(tapes[arm])
        reward, cost = outcome
        campaign.tell(decision, cost=f"{cost:.6f}", reward=reward)
        earned, spent = earned + reward, spent + cost
    else:
        return  # it would go on for too long
    for share, found, before in looks:
        yield Look(share, found.value, found.low, found.high, earned - before)


def measure(
    worlds: dict[str, Callable[[int], World]], policies: tuple[str, ...], games: int, first: int = 0
) -> dict[tuple[str, str], list[Look]]:
    """Return all forecasts with what came, by world and policy."""
    return {
        (name, policy): [
            look
            for number in range(first, first + games)
            for look in play_campaign(make(number), policy, (6.0, 30.0)[number % 2], number)
        ]
        for name, make in worlds.items()
        for policy in policies
    }


def main() -> None:
    """Print how often 80% intervals held, by share of the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=10, help="games of each world")
    parser.add_argument("--policy", action="append", help="a policy; repeat it for more")
    parser.add_argument("--check", action="store_true", help="the other worlds, in other games")
    parser.add_argument("--details", action="store_true", help="a row for each world")
    options = parser.parse_args()
    policies = tuple(options.policy or POLICIES)
    found = measure(list_worlds(options.check), policies, options.games, options.check * FRESH)
    print(f"{'':<44}" + "".join(f"{share:>8.0%}" for share in SHARES) + "     all  width  above")
    for policy in policies:
        groups = {key[0]: looks for key, looks in found.items() if key[1] == policy}
        if options.details:
            for name, looks in groups.items():
                print(f"  {name:<42}" + _row(looks))
        print(f"{policy:<44}" + _row([look for looks in groups.values() for look in looks]))
    print(f"{'all':<44}" + _row([look for looks in found.values() for look in looks]))


def _row(looks: list[Look]) -> str:
    cells = [[look.holds for look in looks if look.share == share] for share in SHARES]
    cells.append([look.holds for look in looks])
    words = "".join(f"{np.mean(cell) if cell else np.nan:>8.2f}" for cell in cells)
    widths = [(look.high - look.low) / max(look.truth, 1e-9) for look in looks if look.truth > 0]
    above = np.mean([look.value > look.truth for look in looks]) if looks else np.nan
    return f"{words}{np.median(widths) if widths else np.nan:>7.2f}{above:>7.2f}"


if __name__ == "__main__":
    main()
