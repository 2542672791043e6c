"""Games on real tables of tasks × models: what each policy earns of what the best arm would earn.

A table has a row per task and arm: what it earned and what it cost. In a game the policy picks an
arm, a row of that arm is drawn, and its reward and cost belong together. The tables are played as
they are and in variants in which a policy that relies on how they are would fail.

Costs are divided by the largest one in the table, which is the unit that a campaign finds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from bursar import csv_table
from bursar.arrays import Floats
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.extras import import_extra
from bursar.jit.arms import Arms, Game
from bursar.jit.compile import compiled, specialize
from bursar.jit.rng import Stream, below, new_stream, uniform
from bursar.parquet import read_columns
from bursar.policies import kernels, policy

# mypy: disable-error-code="name-defined, no-any-return"
# ruff: noqa: F821 - `specialize` binds a policy's functions

COLUMNS = {
    "table": ("benchmark", "table"),
    "arm": ("model", "arm"),
    "reward": ("reward", "score", "resolved"),
    "cost": ("cost_usd", "cost"),
}
"""The names that each column may have; a table may lack the first."""

POLICIES = (
    "sf-omega-ucb", "greedy", "greedy:2%", "greedy:5%", "pooled-gittins", "kube", "bts", "m-ucb",
    "ucb-sc-plus", "eps-first", "omega-star-ucb:rho=0.25",
)  # fmt: skip
CHOOSING = ("swe-bench-multimodal", "commit0", "routerbench_sample")
"""Tables on which constants were chosen; all others check them."""

BUDGETS = (3, 6, 30, 300)
"""Multiples of what one try of each arm costs."""

_FEWEST = 10  # rows of an arm
_MOST_WORK = 1e7  # plays × arms of all games of one policy in one world, but for two games
_OUTCOMES = 2  # the stream of a seed that draws rows
_GREEDY = {"greedy": 0.0, "greedy:2%": 0.02, "greedy:5%": 0.05}


@dataclass(frozen=True)
class Table:
    """Rewards and costs of each arm, from a file."""

    name: str
    arms: tuple[str, ...]
    rewards: tuple[Floats, ...]
    costs: tuple[Floats, ...]
    left_out: int = 0  # rows without a number, or with a cost of 0


@dataclass(frozen=True)
class World:
    """A table or a variant of it: what can be drawn, and the declared maxima."""

    table: str
    variant: str
    rewards: tuple[Floats, ...]
    costs: tuple[Floats, ...]
    maxima: Floats
    binary: bool = False  # a reward is the chance of a success

    @property
    def once(self) -> float:
        """What one try of each arm costs."""
        return float(sum(one.mean() for one in self.costs))

    @property
    def best_rate(self) -> float:
        """Reward per cost of the best arm."""
        pairs = zip(self.rewards, self.costs, strict=True)
        return float(max(reward.mean() / cost.mean() for reward, cost in pairs))


@dataclass(frozen=True, kw_only=True)
class WorldShares:
    """What a policy earned in the games of one world and budget, in shares of the best arm's."""

    table: str
    variant: str
    tries: int  # the budget, in tries of each arm
    policy: str
    shares: Floats

    @property
    def half_width(self) -> float:
        """Half of the 95% interval of the mean."""
        games = self.shares.size
        return 1.96 * float(self.shares.std(ddof=1)) / math.sqrt(games) if games > 1 else math.inf


@dataclass(frozen=True, kw_only=True)
class ShareSummary:
    """A policy over all worlds and budgets of the choosing or of the checking tables."""

    part: str  # choosing, checking
    policy: str
    worlds: int
    mean: float
    below_greedy: int  # worlds in which its mean is more than 0.03 below that of greedy
    largest_gap: float  # the lowest difference to greedy


def summarize(cells: Sequence[WorldShares]) -> list[ShareSummary]:
    """Return a summary of each policy, by the part that a table belongs to."""
    found = []
    means = {
        (one.table, one.variant, one.tries, one.policy): float(one.shares.mean()) for one in cells
    }
    for part in ("choosing", "checking"):
        for slug in dict.fromkeys(one.policy for one in cells):
            worlds = [
                key
                for key in means
                if key[3] == slug
                and (key[0] in CHOOSING) == (part == "choosing")
                and (*key[:3], "greedy") in means
            ]
            if worlds:
                gaps = [means[key] - means[*key[:3], "greedy"] for key in worlds]
                found.append(
                    ShareSummary(
                        part=part, policy=slug, worlds=len(worlds),
                        mean=float(np.mean([means[key] for key in worlds])),
                        below_greedy=sum(gap < -0.03 for gap in gaps), largest_gap=min(gaps),
                    )
                )  # fmt: skip
    return found


def read_tables(folder: Path) -> list[Table]:
    """Return all tables in the files of a folder that have the columns of one."""
    if not folder.is_dir():
        raise MissingData(f"no folder {str(folder)!r}; give the folder with your tables")
    found = []
    for file in sorted(folder.iterdir()):
        if file.name.endswith((".csv", ".csv.gz", ".zip", ".parquet")):
            found += _read_file(file)
    if not found:
        names = {key: " or ".join(map(repr, known)) for key, known in COLUMNS.items()}
        raise MissingData(
            f"no file in {str(folder)!r} is a table of evaluations: a CSV or Parquet file with the"
            f" columns {names['arm']}, {names['reward']} and {names['cost']}"
        )
    return found


def _read_file(file: Path) -> list[Table]:
    columns = _read_columns(file)
    if columns is None:
        return []
    name = file.name.partition(".")[0]
    groups: dict[str, dict[str, list[tuple[float, float]]]] = {}
    left_out: dict[str, int] = {}
    for table, arm, reward, cost in columns:
        label = name if table is None else csv_table.to_text(table)
        try:
            pair = _parse_reward(reward), csv_table.parse_number(cost, "cost")
        except csv_table.UnusableRow:
            pair = 0.0, 0.0
        if pair[1] > 0.0:  # a cost of 0 was not recorded
            groups.setdefault(label, {}).setdefault(csv_table.to_text(arm), []).append(pair)
        else:
            left_out[label] = left_out.get(label, 0) + 1
    # of a broken row it is not known to which table it belongs: it counts for the first
    rest = sum(count for label, count in left_out.items() if label not in groups)
    return [
        _make_table(label, arms, left_out.get(label, 0) + (rest if number == 0 else 0))
        for number, (label, arms) in enumerate(sorted(groups.items()))
    ]


def _make_table(name: str, rows: dict[str, list[tuple[float, float]]], left_out: int) -> Table:
    arms = tuple(arm for arm, pairs in rows.items() if len(pairs) >= _FEWEST)
    if len(arms) < 2:
        raise InvalidData(f"{name}: fewer than two arms have {_FEWEST} rows with a cost")
    pairs = [np.array(rows[arm]) for arm in arms]
    top = max(1.0, max(float(one[:, 0].max()) for one in pairs))
    rewards = tuple(np.ascontiguousarray(one[:, 0]) / top for one in pairs)
    return Table(name, arms, rewards, tuple(one[:, 1].copy() for one in pairs), left_out)


def _parse_reward(value: Any) -> float:
    text = str(value).casefold()
    if text in ("true", "false"):
        return float(text == "true")
    reward = csv_table.parse_number(value, "reward")
    if reward < 0.0:
        raise csv_table.UnusableRow("reward is negative")
    return reward


def _read_columns(file: Path) -> list[tuple[Any, ...]] | None:
    """Return the rows of a file, or None if it lacks a column that a table must have."""
    if file.suffix == ".parquet":
        known: Sequence[str] = import_extra("pyarrow.parquet").read_schema(file).names
    else:
        content = csv_table.read_content(file)
        head = content[:4096].decode("utf-8-sig", "replace").partition("\n")[0]
        known = [one.strip().strip('"') for one in re.split(r"[,;\t|]", head)]
    names = {
        key: next((one for one in choices if one in known), "") for key, choices in COLUMNS.items()
    }
    needed = [names[key] for key in ("arm", "reward", "cost")]
    if not all(needed):
        return None
    wanted = {key: name for key, name in names.items() if name}
    if file.suffix == ".parquet":
        columns = dict(read_columns(file, wanted, wanted))
        rows = len(columns["arm"])
        return list(
            zip(
                columns.get("table", [None] * rows),
                columns["arm"],
                columns["reward"],
                columns["cost"],
                strict=True,
            )
        )
    table = csv_table.parse_table(content, file.name, list(wanted.values()))
    places = table.positions(wanted.values())
    label = places[names["table"]] if names["table"] else None
    return [
        (
            None if label is None else row.fields[label],
            *(row.fields[places[name]] for name in needed),
        )
        if table.is_complete(row)
        else (None, "", "", "")  # counted as left out
        for row in table.rows
    ]


def make_worlds(table: Table, seed: int = 0) -> list[World]:
    """Return a table as it is and in its variants."""
    rng = np.random.default_rng([seed, *table.name.encode()])
    rewards, costs, name = table.rewards, table.costs, table.name
    maxima = np.array([1.2 * one.max() for one in costs])
    means = np.array([one.mean() for one in costs])
    count = len(costs)

    def weigh(power: float) -> tuple[Floats, ...]:
        weights = (means / means.max()) ** power
        return tuple(one * w for one, w in zip(rewards, weights, strict=True))

    worlds = [
        World(name, "as it is", rewards, costs, maxima),
        World(name, "equal maxima", rewards, costs, np.full(count, maxima.max())),
        World(name, "padded maxima", rewards, costs, maxima * 10.0 ** rng.random(count)),
        World(name, "dear is good, 0.8", weigh(0.8), costs, maxima),
        World(name, "dear is best, 1.2", weigh(1.2), costs, maxima),
        World(
            name, "rare rewards", tuple(0.001 + 0.019 * one for one in rewards), costs, maxima,
            binary=True,
        ),
        World(
            name, "graded", tuple(0.5 * (one + one.mean()) for one in rewards), costs, maxima
        ),
    ]  # fmt: skip
    for few in (2, 3, 10):
        if few < count:
            which = rng.choice(count, few, replace=False)
            worlds.append(_take_arms(worlds[0], f"{few} arms", which, np.ones(few), np.ones(few)))
    for many in (100, 1000):
        which = rng.integers(count, size=many)
        prices, quality = np.exp(rng.standard_normal(many)), 0.5 + 0.5 * rng.random(many)
        worlds.append(_take_arms(worlds[0], f"{many:,} arms", which, prices, quality))
    return worlds


def _take_arms(world: World, variant: str, which: Any, prices: Floats, quality: Floats) -> World:
    picks = list(zip(which, prices, quality, strict=True))
    return World(
        world.table,
        variant,
        tuple(world.rewards[k] * better for k, _, better in picks),
        tuple(world.costs[k] * price for k, price, _ in picks),
        np.array([world.maxima[k] * price for k, price, _ in picks]),
    )


def play_world(world: World, tries: int, slug: str, games: int, seed: int = 0) -> Floats:
    """Return what a policy earned in each game, as a share of what the best arm would earn."""
    count, unit = len(world.costs), max(float(one.max()) for one in world.costs)
    epsilon = _GREEDY.get(slug)
    rule = policy("uniform" if epsilon is not None else slug)
    budget, found = tries * world.once, np.empty(games)
    least = float(min(one.mean() for one in world.costs))
    for game in range(games):
        order = np.random.default_rng([seed, game]).permutation(count)
        learner = rule.learner(
            count, seed=(seed, game), budget=budget, min_cost=least, cost_range=(0.0, unit)
        )
        learner.arms["cap"] = world.maxima[order] / unit
        kernel = _kernel(cast(Any, type(rule)), epsilon is not None)
        memory = learner.memory
        if rule.choose_cached is not None:
            memory = np.zeros(rule.cache_size(count))
        found[game] = kernel(
            learner.kernel_params, learner.arms, learner.game, memory, learner.stream,
            new_stream(seed, game, _OUTCOMES), *_join(world, order, unit), world.binary,
            budget / unit, epsilon or 0.0,
        )  # fmt: skip
    return found / (budget * world.best_rate)


def _join(world: World, order: Any, unit: float) -> tuple[Any, ...]:
    sizes = np.array([world.costs[k].size for k in order])
    rewards = np.concatenate([world.rewards[k] for k in order])
    costs = np.concatenate([world.costs[k] for k in order]) / unit
    return rewards, costs, np.cumsum(sizes) - sizes, sizes


def _play(
    p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, rows: Stream, rewards: Floats,
    costs: Floats, first: Any, sizes: Any, binary: bool, budget: float, epsilon: float,
) -> float:  # fmt: skip
    """Play until the budget is spent; a play that exceeds it earns nothing."""
    earned = 0.0
    while game[0].spent < budget:
        k = pick(p, arms, game, memory, stream, epsilon)
        row = first[k] + below(rows, sizes[k])
        reward, cost = rewards[row], costs[row]
        if binary:
            reward = 1.0 if uniform(rows) < reward else 0.0
        update_arm(arms, game, k, reward, cost, stream)
        update_memory(p, arms, game, memory, k, reward, cost)
        if game[0].spent <= budget:
            earned += reward
    return earned


def _pick_chosen(
    p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, epsilon: float
) -> int:
    return choose(p, arms, game, memory, stream)


@compiled
def pick_greedily(
    p: Any, arms: Arms, game: Game, memory: Floats, stream: Stream, epsilon: float
) -> int:
    """Return each arm once, then the best ratio so far; with probability epsilon any arm."""
    for k in range(arms.size):
        if arms[k].n == 0.0:
            return k
    if epsilon > 0.0 and uniform(stream) < epsilon:
        return below(stream, arms.size)
    best, found = -1.0, 0
    for k in range(arms.size):
        ratio = arms[k].reward / arms[k].cost
        if ratio > best:
            best, found = ratio, k
    return found


@cache
def _kernel(cls: Any, greedy: bool) -> Any:
    found = kernels.functions(cls)
    choose = cls.choose_cached or found["choose"]
    pick = pick_greedily if greedy else specialize(_pick_chosen, cls.name, choose=choose)
    update_memory = cls.update_cache or found["update_memory"]
    own = {"pick": pick, "update_arm": found["update_arm"], "update_memory": update_memory}
    return specialize(_play, f"{cls.name}-{greedy}", **own)


def count_games(world: World, tries: int, games: int) -> int:
    """Return how many games of a world are played: fewer of long ones, none of the longest."""
    pairs = zip(world.rewards, world.costs, strict=True)
    cost = max(pairs, key=lambda pair: pair[0].mean() / pair[1].mean())[1].mean()
    work = tries * world.once / cost * len(world.costs)  # plays × arms
    return int(min(games, max(_MOST_WORK / work, 2.0))) if work < _MOST_WORK else 0


def play_tables(
    tables: Sequence[Table], slugs: Sequence[str], games: int, seed: int = 0,
    budgets: Sequence[int] = BUDGETS, workers: int = 2,
    advance: Callable[[int, int], None] = lambda done, of: None,
) -> Iterator[WorldShares]:  # fmt: skip
    """Play all policies in all worlds; yield a cell as soon as it is done, in a fixed order."""
    if games < 2:
        raise InvalidInput(f"games must be 2 or more, got {games!r}; intervals need two")
    plan = [
        (world, tries, slug, many)
        for table in tables
        for world in make_worlds(table, seed)
        for tries in budgets
        if (many := count_games(world, tries, games)) > 1
        for slug in slugs
    ]
    with ThreadPoolExecutor(workers) as pool:
        pending = [pool.submit(play_world, *one, seed) for one in plan]
        try:
            for done, ((world, tries, slug, _), future) in enumerate(
                zip(plan, pending, strict=True), 1
            ):
                shares = future.result()
                advance(done, len(plan))
                yield WorldShares(
                    table=world.table, variant=world.variant, tries=tries, policy=slug,
                    shares=shares,
                )  # fmt: skip
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
