"""The command ``bursar replay``: what other policies would have earned on a logged campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bursar.cli.output import console, print_json, print_table
from bursar.cli.storage import parse_range
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.replay import ReplayEstimate, estimate_arms, find_support, read_log, replay
from bursar.replay.estimators import estimate_to_json
from bursar.replay.evaluate import describe_estimate, describe_log, format_value, suggest_budget


def replay_command(
    log: Path,
    policies: list[str],
    budget: float | None,
    *,
    arms: list[str] | None,
    columns: list[str],
    level: float,
    reward_range: str | None,
    cost_range: str | None,
    clip: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Print the estimated reward of each policy, or why the log does not determine it.

    ``options`` are further options of :func:`bursar.replay.replay`.
    """
    decisions = read_log(log, _parse_columns(columns))
    rows = find_support(decisions, arms, clip)
    found = replay(
        decisions,
        policies,
        budget,
        arms=arms,
        level=level,
        reward_range=None if reward_range is None else parse_range("--reward-range", reward_range),
        cost_range=None if cost_range is None else parse_range("--cost-range", cost_range),
        clip=clip,
        **options,
    )
    notes = describe_log(decisions, rows)
    if as_json:
        print_json(
            {
                "log": decisions.name,
                "rows": len(decisions),
                "replayable": len(rows),
                "logged": {"reward": decisions.earned, "spent": decisions.spent},
                "arms": [_arm_facts(one) for one in estimate_arms(rows, level)],
                "estimates": [e.to_json() | {"verdict": describe_estimate(e, rows)} for e in found],
                "notes": notes,
            }
        )
        return
    out = console()
    for line in notes:
        out.print(line)
    out.print()
    print_table(_COLUMNS, map(_cells, found), left=("policy",))
    out.print()
    for line in [*(describe_estimate(one, rows) for one in found), suggest_budget(found)]:
        if line:
            out.print(line)


_COLUMNS = (
    "policy", "reached", "spend", "reward", "interval", "one campaign", "per cost", "logged",
    "plays",
)  # fmt: skip


def _cells(one: ReplayEstimate) -> list[str]:
    reward = one.reward
    return [
        one.policy,
        "unknown" if reward is None else f"{one.reached:.0%}",
        "-" if reward is None else format_value(one.spend),
        "-" if reward is None else format_value(reward.value),
        _format_ends(reward),
        _format_ends(one.single),
        "-" if one.ratio is None else format_value(one.ratio.value),
        "-" if one.logged is None else format_value(one.logged),
        f"{one.plays:,.0f}",
    ]


def _format_ends(value: Estimate | None) -> str:
    return "-" if value is None else f"{format_value(value.low)} … {format_value(value.high)}"


def _arm_facts(one: Any) -> dict[str, Any]:
    return {
        key: estimate_to_json(value) if isinstance(value, Estimate) else value
        for key, value in vars(one).items()
    }


def _parse_columns(given: list[str]) -> dict[str, str]:
    found = {}
    for text in given:
        key, mark, name = text.partition("=")
        if not mark:
            raise InvalidInput(f"--column must be of the form arm=variant, got {text!r}")
        found[key.strip()] = name.strip()
    return found
