"""The command ``bursar replay``: what other policies would have earned on a logged campaign."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bursar.cli.options import parse_columns, parse_range
from bursar.cli.output import console, print_json, print_table
from bursar.formatting import format_number

if TYPE_CHECKING:
    from bursar.estimate import Estimate
    from bursar.replay import ReplayEstimate


def replay(
    log: Path,
    *,
    policy: list[str],
    budget: float | None = None,
    arm: list[str] | None = None,
    column: list[str] | None = None,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 0,
    reward_range: str | None = None,
    cost_range: str | None = None,
    min_cost: float | None = None,
    clip: float | None = None,
    as_json: bool = False,
) -> None:
    """Estimate the reward of other policies from the log of a campaign, if it allows that."""
    from bursar.replay import estimate_arms, find_support, read_log, replay
    from bursar.replay.estimators import to_json
    from bursar.replay.evaluate import describe_estimate, describe_log, suggest_budget

    decisions = read_log(log, parse_columns(column or []))
    rows = find_support(decisions, arm, clip)
    found = replay(
        decisions, policy, budget, arms=arm, level=level, clip=clip,
        reward_range=None if reward_range is None else parse_range("--reward-range", reward_range),
        cost_range=None if cost_range is None else parse_range("--cost-range", cost_range),
        resamples=resamples, seed=seed, min_cost=min_cost,
    )  # fmt: skip
    notes = describe_log(decisions, rows)
    if as_json:
        print_json(
            {
                "log": decisions.name,
                "rows": len(decisions),
                "replayable": len(rows),
                "logged": {"reward": decisions.earned, "spent": decisions.spent},
                "arms": [to_json(one) for one in estimate_arms(rows, level)],
                "estimates": [e.to_json() | {"verdict": describe_estimate(e, rows)} for e in found],
                "notes": notes,
            }
        )
        return
    out = console()
    out.print(*notes, "", sep="\n")
    print_table(_COLUMNS, map(_cells, found), left=("policy",))
    out.print()
    advice = [*(describe_estimate(one, rows) for one in found), suggest_budget(found)]
    out.print(*filter(None, advice), sep="\n")


_format = partial(format_number, digits=4, keep_whole=True)
_COLUMNS = (
    "policy", "reached", "spend", "reward", "interval", "one campaign", "per cost", "logged",
    "whole budget", "plays",
)  # fmt: skip


def _cells(one: ReplayEstimate) -> list[str]:
    reward = one.reward
    return [
        one.policy,
        "unknown" if reward is None else f"{one.reached:.0%}",
        "-" if reward is None else _format(one.spend),
        "-" if reward is None else _format(reward.value),
        _format_ends(reward),
        _format_ends(one.single),
        "-" if one.ratio is None else _format(one.ratio.value),
        "-" if one.logged is None else _format(one.logged),
        _format_ends(one.whole),
        f"{one.plays:,.0f}",
    ]


def _format_ends(value: Estimate | None) -> str:
    return "-" if value is None else f"{_format(value.low)} … {_format(value.high)}"
