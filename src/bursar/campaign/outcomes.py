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
    transaction: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    report: str | None,
    grant: Grant | None = None,
) -> tuple[DecisionRecord, bool]:
    """Book what a decision cost and brought; True if that was told before, in the same words.

    ``grant`` vouches for a decision that the log does not know.
    """
    if report is not None:
        check_text("report", report, 1, 128)
    state = transaction.state
    if state.deadlines and state.deadlines[0][0] <= transaction.now:
        release_expired(transaction)
    if cost is None and reward is None:
        raise InvalidInput("tell must have a cost, a reward or both, got neither; void() undoes")
    if reward is not None and not state.low <= reward <= state.high:  # false for NaN, too
        raise _out_of_range(transaction, reward)
    choice, recalled = state.decisions.get(decision), False
    if choice is None:
        if grant is not None and transaction.find(decision)[0] is None:
            adopt_decision(transaction, decision, grant)
        choice, recalled = transaction.known(decision)
    if report is not None and _said(choice, report, cost, reward):
        return choice, True
    news: dict[str, Any] = {}
    if cost is not None and choice.cost != cost:
        if choice.cost is not None:
            raise _costs_otherwise(transaction, choice, cost)
        if cost > choice.hold:
            fits(state, cost)
        news["cost"] = cost
    if reward is not None:
        if choice.rewarded == "pending" and transaction.now <= choice.due:
            news["reward"] = reward
        else:
            _reward_news(transaction, choice, reward, news)
    if not news:
        return choice, True
    replaces = choice.rewarded == "defaulted" and choice.reward is not None and "reward" in news
    if report is not None:
        news["report"], news["print"] = report, _print(cost, reward)
    if recalled:
        news["was"] = asdict(choice)
    transaction.append_event(CORRECTED if replaces else TOLD, decision, **news)
    if recalled:
        choice, _ = transaction.known(decision)  # as it is now
    if cost is not None and cost > choice.hold and "cost" in news:
        _pause_if_overrun(transaction, choice)
    return choice, False


def fits(state: State, more: int) -> None:
    """Refuse a cost after which the sum would be more than a database can keep."""
    if state.spent + more >= _TOO_MUCH:
        coin = state.config.coin
        raise InvalidInput(
            f"spent would be {coin.format(state.spent + more)}, more than a ledger of"
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


def _costs_otherwise(
    transaction: Transaction, choice: DecisionRecord, cost: int
) -> OutcomeConflict:
    coin = transaction.state.config.coin
    return OutcomeConflict(
        f"{choice.id!r} did cost {coin.format(choice.cost or 0)}, now {coin.format(cost)};"
        " the first stands, correct() changes it"
    )


def _reward_news(
    transaction: Transaction, choice: DecisionRecord, reward: float, news: dict[str, Any]
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
    if transaction.now > choice.due:
        default = transaction.state.config.default_reward
        if default is None or choice.rewarded not in ("pending", "defaulted"):
            news["late"] = True


def _out_of_range(transaction: Transaction, reward: float) -> InvalidInput:
    low, high = transaction.state.config.reward_range
    return InvalidInput(
        f"reward must be in its range [{low:g}, {high:g}], got {reward!r};"
        " a campaign is made with the reward_range that fits"
    )


def _pause_if_overrun(transaction: Transaction, choice: DecisionRecord) -> None:
    state = transaction.state
    arm, most = state.arms[choice.arm], state.config.overruns
    over = (choice.cost or 0) > choice.hold
    if over and most and arm.overruns >= most and arm.state == "active":
        transaction.append_event(
            ARM_PAUSED, key=arm.key, reason=f"{arm.overruns} costs above their hold"
        )


def confirm(transaction: Transaction, decision: str) -> tuple[DecisionRecord, bool]:
    """Say that money is about to be spent, so that the hold is not released."""
    release_expired(transaction)
    choice, _ = transaction.known(decision)
    if choice.money == "confirmed":
        return choice, True
    if choice.money != "held":
        raise OutcomeConflict(f"{decision!r} is {choice.money}; ask again before you spend")
    expires = transaction.now + round(transaction.state.config.hold_ttl * 1e6)
    transaction.append_event(CONFIRMED, decision, expires=expires)
    return choice, False


def void(
    transaction: Transaction, decision: str, reason: str, by: str = ""
) -> tuple[DecisionRecord, bool]:
    """Give a hold back: the decision was not used."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(transaction)
    choice, _ = transaction.known(decision)
    if choice.money in ("voided", "released"):
        return choice, True
    if choice.money not in OPEN:
        raise OutcomeConflict(
            f"{decision!r} is {choice.money} and cannot be voided; tell its cost, or correct() it"
        )
    transaction.append_event(VOIDED, decision, reason=reason, **({"by": by} if by else {}))
    return choice, False


def correct(
    transaction: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    reason: str,
    by: str = "",
) -> DecisionRecord:
    """Put an outcome right that was told wrongly: a new event, the old one stays in the log."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(transaction)
    if cost is None and reward is None:
        raise InvalidInput("correct must have a cost, a reward or both, got neither")
    low, high = transaction.state.low, transaction.state.high
    if reward is not None and not low <= reward <= high:
        raise _out_of_range(transaction, reward)
    choice, recalled = transaction.known(decision)
    body: dict[str, Any] = {"was": asdict(choice)} if recalled else {}
    if cost is not None:
        fits(transaction.state, cost)
        body["cost"] = cost
    if reward is not None:
        body["reward"] = reward
    if by:
        body["by"] = by
    transaction.append_event(CORRECTED, decision, reason=reason, **body)
    if recalled:
        choice, _ = transaction.known(decision)  # as it is now
    if cost is not None:
        _pause_if_overrun(transaction, choice)
    return choice
