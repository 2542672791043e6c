"""The rules of outcomes: told once or twice, in parts, late, voided, corrected."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from bursar.campaign.config import check_text
from bursar.campaign.events import ARM_PAUSED, CONFIRMED, CORRECTED, TOLD, VOIDED
from bursar.campaign.records import OPEN, DecisionRecord
from bursar.campaign.state import State
from bursar.campaign.tokens import Grant, adopt_decision
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import InvalidInput, OutcomeConflict

__all__ = ["confirm", "correct", "fits", "tell", "void"]

_TOO_MUCH = 2**63  # units


def tell(
    turn: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    report: str | None,
    orphan: Grant | None = None,
) -> tuple[DecisionRecord, bool]:
    """Book what a decision cost and brought; True if that was told before, in the same words.

    ``orphan`` vouches for a decision that the log does not know.
    """
    if report is not None:
        check_text("report", report, 1, 128)
    state = turn.state
    if state.deadlines and state.deadlines[0][0] <= turn.now:
        release_expired(turn)
    if cost is None and reward is None:
        raise InvalidInput("tell must have a cost, a reward or both, got neither; void() undoes")
    if reward is not None and not state.low <= reward <= state.high:  # false for NaN, too
        raise _out_of_range(turn, reward)
    choice, recalled = state.choices.get(decision), False
    if choice is None:
        if orphan is not None and turn.find(decision)[0] is None:
            adopt_decision(turn, decision, orphan)
        choice, recalled = turn.known(decision)
    if report is not None and _said(choice, report, cost, reward):
        return choice, True
    news: dict[str, Any] = {}
    if cost is not None and choice.cost != cost:
        if choice.cost is not None:
            raise _costs_otherwise(turn, choice, cost)
        if cost > choice.hold:
            fits(state, cost)
        news["cost"] = cost
    if reward is not None:
        if choice.rewarded == "pending" and turn.now <= choice.due:
            news["reward"] = reward
        else:
            _reward_news(turn, choice, reward, news)
    if not news:
        return choice, True
    replaces = choice.rewarded == "defaulted" and choice.reward is not None and "reward" in news
    if report is not None:
        news["report"], news["print"] = report, _print(cost, reward)
    if recalled:
        news["was"] = asdict(choice)
    turn.happen(CORRECTED if replaces else TOLD, decision, news)
    if recalled:
        choice, _ = turn.known(decision)  # as it is now
    if cost is not None and cost > choice.hold and "cost" in news:
        _pause_if_overrun(turn, choice)
    return choice, False


def fits(state: State, more: int) -> None:
    """Refuse a cost after which the sum would be more than a database can keep."""
    if state.spent + more >= _TOO_MUCH:
        coin = state.config.coin
        raise InvalidInput(
            f"spent would be {coin.shown(state.spent + more)}, more than a ledger of"
            f" {coin.exponent} decimals can keep; is the cost right?"
        )


def _print(cost: int | None, reward: float | None) -> str:
    return f"{cost}/{reward!r}"


def _said(choice: DecisionRecord, report: str, cost: int | None, reward: float | None) -> bool:
    """Tell whether a report said this before; refuse one that said something else."""
    before = choice.reports.get(report)
    if before is not None and before != _print(cost, reward):
        raise OutcomeConflict(
            f"the report {report!r} of {choice.id!r} said {before!r} before,"
            f" now {_print(cost, reward)!r}; the first stands, correct() changes it"
        )
    return before is not None


def _costs_otherwise(turn: Transaction, choice: DecisionRecord, cost: int) -> OutcomeConflict:
    coin = turn.state.config.coin
    return OutcomeConflict(
        f"{choice.id!r} did cost {coin.shown(choice.cost or 0)}, now {coin.shown(cost)};"
        " the first stands, correct() changes it"
    )


def _reward_news(
    turn: Transaction, choice: DecisionRecord, reward: float, news: dict[str, Any]
) -> None:
    if choice.rewarded in ("observed", "late"):
        if choice.reward == reward:
            return
        raise OutcomeConflict(
            f"{choice.id!r} did bring {choice.reward!r}, now {reward!r};"
            " the first stands, correct() changes it"
        )
    # what was made up, or will be as soon as somebody looks, is replaced by what is true
    news["reward"] = reward
    if turn.now > choice.due:
        default = turn.state.config.default_reward
        if default is None or choice.rewarded not in ("pending", "defaulted"):
            news["late"] = True


def _out_of_range(turn: Transaction, reward: float) -> InvalidInput:
    low, high = turn.state.config.reward_range
    return InvalidInput(
        f"reward must be in its range [{low:g}, {high:g}], got {reward!r};"
        " a campaign is made with the reward_range that fits"
    )


def _pause_if_overrun(turn: Transaction, choice: DecisionRecord) -> None:
    state = turn.state
    arm, most = state.arms[choice.arm], state.config.overruns
    over = (choice.cost or 0) > choice.hold
    if over and most and arm.overruns >= most and arm.state == "active":
        turn.emit(ARM_PAUSED, key=arm.key, reason=f"{arm.overruns} costs above their hold")


def confirm(turn: Transaction, decision: str) -> tuple[DecisionRecord, bool]:
    """Say that money is about to be spent, so that the hold is not released."""
    release_expired(turn)
    choice, _ = turn.known(decision)
    if choice.money == "confirmed":
        return choice, True
    if choice.money != "held":
        raise OutcomeConflict(f"{decision!r} is {choice.money}; ask again before you spend")
    expires = turn.now + round(turn.state.config.hold_ttl * 1e6)
    turn.emit(CONFIRMED, decision, expires=expires)
    return choice, False


def void(
    turn: Transaction, decision: str, reason: str, by: str = ""
) -> tuple[DecisionRecord, bool]:
    """Give a hold back: the decision was not used."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(turn)
    choice, _ = turn.known(decision)
    if choice.money in ("voided", "released"):
        return choice, True
    if choice.money not in OPEN:
        raise OutcomeConflict(
            f"{decision!r} is {choice.money} and cannot be voided; tell its cost, or correct() it"
        )
    turn.emit(VOIDED, decision, reason=reason, **({"by": by} if by else {}))
    return choice, False


def correct(
    turn: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    reason: str,
    by: str = "",
) -> DecisionRecord:
    """Put an outcome right that was told wrongly: a new event, the old one stays in the log."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(turn)
    if cost is None and reward is None:
        raise InvalidInput("correct must have a cost, a reward or both, got neither")
    low, high = turn.state.low, turn.state.high
    if reward is not None and not low <= reward <= high:
        raise _out_of_range(turn, reward)
    choice, recalled = turn.known(decision)
    body: dict[str, Any] = {"was": asdict(choice)} if recalled else {}
    if cost is not None:
        fits(turn.state, cost)
        body["cost"] = cost
    if reward is not None:
        body["reward"] = reward
    if by:
        body["by"] = by
    turn.emit(CORRECTED, decision, reason=reason, **body)
    if recalled:
        choice, _ = turn.known(decision)  # as it is now
    if cost is not None:
        _pause_if_overrun(turn, choice)
    return choice
