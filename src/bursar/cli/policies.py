"""The commands ``bursar policies`` and ``bursar policy``."""

from __future__ import annotations

import inspect
from typing import Any

import bursar
from bursar.cli.options import interpret_kernels
from bursar.cli.output import console, print_json, print_rows, print_table
from bursar.errors import InvalidParameter
from bursar.formatting import join_words

_DRAWS = 1000
_SET_LIMIT = 20  # arms of a round that the example can show
_BUDGET, _MIN_COST = 200.0, 0.1
# three arms after 100 plays: expensive and good, cheap and fair, rarely played
_N, _REWARDS, _COSTS = (50, 40, 10), (36, 12, 4), (25, 8, 5)


def policies(*, as_json: bool = False) -> None:
    """List every policy: slug, name, year, source, parameters and what it needs to know."""
    columns = ("slug", "name", "year", "parameters and defaults", "needs to know", "source")
    rows = [policy_facts(cls) for cls in bursar.POLICIES.values()]
    print_rows(rows, as_json, columns, _policy_cells, left=columns)


def _policy_cells(row: dict[str, Any]) -> list[str]:
    defaults = ", ".join(f"{k}={'-' if v is None else v}" for k, v in row["parameters"].items())
    needs = ", ".join(row["needs"]) or "nothing"
    return [row["slug"], row["name"], str(row["year"] or "-"), defaults, needs, row["source"]]


def policy(slug: str, *, as_json: bool = False) -> None:
    """Show one policy: its formula, what it needs, and its index on an example of three arms."""
    with interpret_kernels():
        card = policy_card(bursar.policy(slug))
    if as_json:
        print_json(card)
        return
    out, example = console(), card["example"]
    formula = card["formula"].replace("\n", "\n         ")
    out.print(f"[bold]{card['name']}[/bold]  {card['slug']}", markup=True)
    out.print(f"{card['source']}\n\n{card['about']}\n")
    out.print(f"Formula  {formula}")
    out.print(f"Knows    {', '.join(card['needs']) or 'nothing in advance'}")
    out.print(f"\nExample, after {example['plays']} plays:")
    print_table(
        [name.replace("_", " ") for name in example["arms"][0]],
        (
            [f"{value:.4g}" if isinstance(value, float) else str(value) for value in arm.values()]
            for arm in example["arms"]
        ),
    )
    out.print(f"\n{example['verdict']}")


def policy_facts(cls: type[bursar.Policy]) -> dict[str, Any]:
    """Return the row of a policy in the table of policies."""
    return {
        "slug": cls.name,
        "name": cls.title,
        "year": cls.year,
        "source": cls.source,
        "parameters": {name: default for name, (_, default) in cls().params().items()},
        "needs": list(cls.needs),
    }


def policy_card(policy: bursar.Policy) -> dict[str, Any]:
    """Return the description of one policy with an example of three arms."""
    given = {"min_cost": _MIN_COST} if "min_cost" in policy.unmet_needs else {}
    example = _example(policy.but(**given)) | ({"given": given} if given else {})
    return {
        **policy_facts(type(policy)),
        "slug": str(policy),
        "parameters": {name: value for name, (value, _) in policy.params().items()},
        "formula": policy.formula,
        "about": inspect.cleandoc(policy.__doc__ or "").split("\n")[0].replace("``", ""),
        "example": example,
    }


def _example(policy: bursar.Policy) -> dict[str, Any]:
    import numpy as np

    size = policy.round_size
    if size > _SET_LIMIT:
        raise InvalidParameter(
            f"{policy.name}: the example shows sets of up to {_SET_LIMIT} arms, got {size}"
        )
    count = max(3, size + 1)
    n, rewards, costs = (np.resize(column, count) for column in (_N, _REWARDS, _COSTS))
    plays = max(int(n.sum()) // size, int(n.max())) * size  # whole rounds, an arm at most once each
    r, c = rewards / n, costs / n
    columns: dict[str, list[Any]] = {
        "arm": list(range(count)), "n": n.tolist(),
        "mean_reward": r.tolist(), "mean_cost": c.tolist(),
    }  # fmt: skip
    if policy.index is not None:
        bias = n / (n - 1.0) if policy.ddof else 1.0
        columns["index"] = policy.indices(
            n=n, mean_reward=r, mean_cost=c, plays=plays // size, budget=_BUDGET,
            var_reward=bias * r * (1 - r), var_cost=bias * c * (1 - c),
        ).tolist()  # fmt: skip
    shares = _shares(policy, n, rewards, costs, plays)
    columns["chosen"] = [f"{share:.0%}" for share in shares]
    arms = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {"plays": plays, "arms": arms, "verdict": _verdict(shares)}


def _verdict(shares: list[float]) -> str:
    certain = [str(k) for k, share in enumerate(shares) if share == 1.0]
    if len(certain) != round(sum(shares)):
        return f"It draws: the last column is the share of {_DRAWS:,} draws."
    if len(certain) == 1:
        return f"It plays arm {certain[0]}."
    return f"It plays arms {join_words(certain)} together."


def _shares(policy: bursar.Policy, n: Any, rewards: Any, costs: Any, plays: int) -> list[float]:
    """Return how often each arm is chosen in repeated rounds from the example."""
    import numpy as np

    from bursar.jit.rng import new_stream

    learner = policy.learner(n.size, budget=_BUDGET, min_cost=_MIN_COST)
    for k in range(n.size):
        for play in range(n[k]):
            learner.record(k, float(play < rewards[k]), float(play < costs[k]))
    learner.game["plays"] = plays
    saved = [a.copy() for a in (learner.arms, learner.game, learner.memory)]
    counts = np.zeros(n.size)
    draws = _DRAWS // policy.round_size  # so that as many choices are made for every policy
    for draw in range(draws):
        learner.arms[:], learner.game[:], learner.memory[:] = saved
        learner.stream[:] = new_stream(draw)
        for _ in range(policy.round_size):
            counts[learner.choose()] += 1
            learner.game["plays"] += 1
    return [float(count) / draws for count in counts]
