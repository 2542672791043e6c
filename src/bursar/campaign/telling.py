"""The rules of outcomes: told once or twice, in parts, late, voided, corrected."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bursar.campaign.reaping import reap
from bursar.campaign.records import OPEN, Choice
from bursar.campaign.turn import Turn
from bursar.campaign.words import words
from bursar.errors import InvalidInput, OutcomeConflict

__all__ = ["confirm", "correct", "tell", "void"]


def tell(
    turn: Turn, decision: str, cost: int | None, reward: float | None, report: str | None
) -> tuple[Choice, bool]:
    """Book what a decision cost and brought; True if that was told before, in the same words."""
    if report is not None:
        words("report", report, 1, 128)
    state = turn.state
    if state.deadlines and state.deadlines[0][0] <= turn.now:
        reap(turn)
    if cost is None and reward is None:
        raise InvalidInput("tell must have a cost, a reward or both, got neither; void() undoes")
    _in_range(turn, reward)
    choice, recalled = turn.known(decision)
    fingerprint = "" if report is None else f"{cost}/{reward!r}"
    if report is not None and report in choice.reports:
        if choice.reports[report] != fingerprint:
            raise OutcomeConflict(
                f"the report {report!r} of {decision!r} said {choice.reports[report]!r} before,"
                f" now {fingerprint!r}; the first stands, correct() changes it"
            )
        return choice, True
    body: dict[str, Any] = {"report": report, "print": fingerprint} if report is not None else {}
    news = _cost_news(turn, choice, cost) | _reward_news(turn, choice, reward)
    if not news:
        return choice, True
    replaces = "reward" in news and choice.rewarded == "defaulted" and choice.reward is not None
    if recalled:
        body["was"] = asdict(choice)
    turn.emit("corrected" if replaces else "told", decision, **body, **news)
    if recalled:
        choice, _ = turn.known(decision)  # as it is now
    if "cost" in news:
        _pause_if_overrun(turn, choice)
    return choice, False


def _cost_news(turn: Turn, choice: Choice, cost: int | None) -> dict[str, Any]:
    if cost is None or choice.cost == cost:
        return {}
    if choice.cost is not None:
        coin = turn.state.config.coin
        raise OutcomeConflict(
            f"{choice.id!r} did cost {coin.shown(choice.cost)}, now {coin.shown(cost)};"
            " the first stands, correct() changes it"
        )
    return {"cost": cost}


def _reward_news(turn: Turn, choice: Choice, reward: float | None) -> dict[str, Any]:
    if reward is None:
        return {}
    if choice.rewarded in ("observed", "late"):
        if choice.reward == reward:
            return {}
        raise OutcomeConflict(
            f"{choice.id!r} did bring {choice.reward!r}, now {reward!r};"
            " the first stands, correct() changes it"
        )
    # what was made up, or will be as soon as somebody looks, is replaced by what is true
    default = turn.state.config.default_reward
    made_up = default is not None and choice.rewarded in ("pending", "defaulted")
    late = turn.now > choice.due and not made_up
    return {"reward": reward} | ({"late": True} if late else {})


def _in_range(turn: Turn, reward: float | None) -> None:
    low, high = turn.state.config.reward_range
    if reward is not None and not low <= reward <= high:  # false for NaN, too
        raise InvalidInput(
            f"reward must be in its range [{low:g}, {high:g}], got {reward!r};"
            " a campaign is made with the reward_range that fits"
        )


def _pause_if_overrun(turn: Turn, choice: Choice) -> None:
    state = turn.state
    arm, most = state.arms[choice.arm], state.config.overruns
    over = (choice.cost or 0) > choice.hold
    if over and most and arm.overruns >= most and arm.state == "active":
        turn.emit("arm-paused", key=arm.key, reason=f"{arm.overruns} costs above their hold")


def confirm(turn: Turn, decision: str) -> tuple[Choice, bool]:
    """Say that money is about to be spent, so that the hold is not released."""
    reap(turn)
    choice, _ = turn.known(decision)
    if choice.money == "confirmed":
        return choice, True
    if choice.money != "held":
        raise OutcomeConflict(f"{decision!r} is {choice.money}; ask again before you spend")
    expires = turn.now + round(turn.state.config.hold_ttl * 1e6)
    turn.emit("confirmed", decision, expires=expires)
    return choice, False


def void(turn: Turn, decision: str, reason: str) -> tuple[Choice, bool]:
    """Give a hold back: the decision was not used."""
    words("reason", reason)
    reap(turn)
    choice, _ = turn.known(decision)
    if choice.money in ("voided", "released"):
        return choice, True
    if choice.money not in OPEN:
        raise OutcomeConflict(
            f"{decision!r} is {choice.money} and cannot be voided; tell its cost, or correct() it"
        )
    turn.emit("voided", decision, reason=reason)
    return choice, False


def correct(
    turn: Turn, decision: str, cost: int | None, reward: float | None, reason: str
) -> Choice:
    """Put an outcome right that was told wrongly: a new event, the old one stays in the log."""
    words("reason", reason)
    reap(turn)
    if cost is None and reward is None:
        raise InvalidInput("correct must have a cost, a reward or both, got neither")
    _in_range(turn, reward)
    choice, recalled = turn.known(decision)
    body: dict[str, Any] = {"was": asdict(choice)} if recalled else {}
    if cost is not None:
        body["cost"] = cost
    if reward is not None:
        body["reward"] = reward
    turn.emit("corrected", decision, reason=reason, **body)
    if recalled:
        choice, _ = turn.known(decision)  # as it is now
    if cost is not None:
        _pause_if_overrun(turn, choice)
    return choice
