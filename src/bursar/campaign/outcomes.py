"""The rules of outcomes: reported once or again, in parts, late; confirmed, voided, corrected."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict

from bursar.campaign.events import ARM_PAUSED, CONFIRMED, CORRECTED, TOLD, VOIDED
from bursar.campaign.records import OPEN, DecisionRecord
from bursar.campaign.state import State
from bursar.campaign.tokens import Grant, adopt_decision
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import InvalidInput, OutcomeConflict
from bursar.validation import check_text

__all__ = ["check_sum", "confirm", "correct", "tell", "void"]

_TOO_MUCH = 2**63  # units


def tell(
    transaction: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    report: str | None,
    grant: Grant | None = None,
) -> tuple[DecisionRecord, bool]:
    """Record what a decision cost and earned; True if all of it was recorded before.

    ``grant`` comes from a signed token: with it a decision that the log does not know is adopted.
    """
    if report is not None:
        check_text("report", report, 1, 128)
    state, now = transaction.state, transaction.now
    if state.deadlines and state.deadlines[0][0] <= now:
        release_expired(transaction)
    if cost is None and reward is None:
        raise InvalidInput(
            "an outcome needs a cost, a reward or both; to release the hold, void it"
        )
    if reward is not None and not state.low <= reward <= state.high:
        state.config.check_reward(reward)
    record, loaded = state.decisions.get(decision), False
    if record is None:
        if grant is not None and transaction.find_decision(decision)[0] is None:
            adopt_decision(transaction, decision, grant)
        record, loaded = transaction.get_decision(decision)
    if report is not None and _is_repeated(record, report, cost, reward):
        return record, True
    news: dict[str, Any] = {}
    if cost is not None and record.cost != cost:
        if record.cost is not None:
            raise _cost_conflict(state, record)
        if cost > record.hold:
            check_sum(state, cost)
        news["cost"] = cost
    if reward is not None:
        if record.rewarded == "pending" and now <= record.due:
            news["reward"] = reward
        else:
            _add_late_reward(transaction, record, reward, news)
    if not news:
        return record, True
    replaces = record.rewarded == "defaulted" and record.reward is not None and "reward" in news
    if report is not None:
        news["report"], news["print"] = report, _fingerprint(cost, reward)
    if loaded:
        news["was"] = asdict(record)
    transaction.append_event(CORRECTED if replaces else TOLD, news, decision)
    if loaded:
        record, _ = transaction.get_decision(decision)  # as it is now
    if cost is not None and cost > record.hold and "cost" in news:
        _pause_if_overrun(transaction, record)
    return record, False


def check_sum(state: State, more: int) -> None:
    """Raise InvalidInput if the sum of all costs would exceed what a database can store."""
    if state.spent + more >= _TOO_MUCH:
        coin = state.config.coin
        raise InvalidInput(
            f"spent would be {coin.format(state.spent + more)}, more than a ledger with"
            f" {coin.exponent} decimals can store; is the cost right?"
        )


def _fingerprint(cost: int | None, reward: float | None) -> str:
    return f"{cost}/{reward!r}"


def _is_repeated(
    record: DecisionRecord, report: str, cost: int | None, reward: float | None
) -> bool:
    """Return whether a report was recorded before; raise OutcomeConflict if it differed."""
    before = record.reports.get(report)
    if before is not None and before != _fingerprint(cost, reward):
        raise OutcomeConflict(
            f"the report {report!r} of {record.id!r} is already recorded as {before!r}, got"
            f" {_fingerprint(cost, reward)!r}; a correction can change it"
        )
    return before is not None


def _cost_conflict(state: State, record: DecisionRecord) -> OutcomeConflict:
    cost = state.config.coin.format(record.cost or 0)
    return OutcomeConflict(
        f"the cost of {record.id!r} is already recorded as {cost}; a correction can change it"
    )


def _add_late_reward(
    transaction: Transaction, record: DecisionRecord, reward: float, news: dict[str, Any]
) -> None:
    """Add a reward to the news that comes late, a second time, or in place of a default."""
    if record.rewarded in ("observed", "late"):
        if record.reward == reward:
            return
        raise OutcomeConflict(
            f"the reward of {record.id!r} is already recorded as {record.reward!r};"
            " a correction can change it"
        )
    # a default, recorded already or overdue, is replaced by what was observed
    news["reward"] = reward
    if transaction.now > record.due:
        default = transaction.state.config.default_reward
        if default is None or record.rewarded not in ("pending", "defaulted"):
            news["late"] = True


def _pause_if_overrun(transaction: Transaction, record: DecisionRecord) -> None:
    state = transaction.state
    arm, most = state.arms[record.arm], state.config.overruns
    over = (record.cost or 0) > record.hold
    if over and most and arm.overruns >= most and arm.state == "active":
        reason = f"{arm.overruns} costs above their hold"
        transaction.append_event(ARM_PAUSED, {"key": arm.key, "reason": reason})


def confirm(transaction: Transaction, decision: str) -> tuple[DecisionRecord, bool]:
    """Confirm that a decision is about to be used, so that its hold is not released."""
    release_expired(transaction)
    record, _ = transaction.get_decision(decision)
    if record.money == "confirmed":
        return record, True
    if record.money != "held":
        raise OutcomeConflict(f"{decision!r} is {record.money}; ask again before you spend")
    expires = transaction.now + round(transaction.state.config.hold_ttl * 1e6)
    transaction.append_event(CONFIRMED, {"expires": expires}, decision)
    return record, False


def void(
    transaction: Transaction, decision: str, reason: str, by: str = ""
) -> tuple[DecisionRecord, bool]:
    """Release the hold of a decision that was not used."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(transaction)
    record, _ = transaction.get_decision(decision)
    if record.money in ("voided", "released"):
        return record, True
    if record.money not in OPEN:
        raise OutcomeConflict(
            f"{decision!r} is {record.money} and cannot be voided; report its cost, or correct it"
        )
    body = {"reason": reason} | ({"by": by} if by else {})
    transaction.append_event(VOIDED, body, decision)
    return record, False


def correct(
    transaction: Transaction,
    decision: str,
    cost: int | None,
    reward: float | None,
    reason: str,
    by: str = "",
) -> DecisionRecord:
    """Replace an outcome that was wrong: a new event; the old one stays in the log."""
    check_text("reason", reason)
    check_text("by", by)
    release_expired(transaction)
    state = transaction.state
    if cost is None and reward is None:
        raise InvalidInput("a correction needs a cost, a reward or both, got neither")
    body: dict[str, Any] = {"reason": reason}
    if reward is not None:
        state.config.check_reward(reward)
        body["reward"] = reward
    record, loaded = transaction.get_decision(decision)
    if loaded:
        body["was"] = asdict(record)
    if cost is not None:
        check_sum(state, cost)
        body["cost"] = cost
    if by:
        body["by"] = by
    transaction.append_event(CORRECTED, body, decision)
    if loaded:
        record, _ = transaction.get_decision(decision)  # as it is now
    if cost is not None:
        _pause_if_overrun(transaction, record)
    return record
