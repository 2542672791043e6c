"""Commands: what a call does in a transaction. Arguments are checked when a command is made.

An embedded campaign runs one command at a time; the service commits many of them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bursar.campaign import holds, outcomes
from bursar.campaign.ask_options import ANY, make_ask_options, new_id
from bursar.campaign.committer import Command
from bursar.campaign.config import Config
from bursar.campaign.decision import Decision, make_decision
from bursar.campaign.tokens import Grant
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, InvalidInput, UnknownDecision
from bursar.money import Amount, Rounding
from bursar.validation import check_int, check_number

__all__ = [
    "ask_command",
    "ask_many_command",
    "confirm_command",
    "correct_command",
    "decision_command",
    "decision_id",
    "tell_command",
    "void_command",
]


def ask_command(
    id: str | None = None,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
) -> Command[Decision]:
    """Return the command of an ask; it returns a Decision."""
    options = (
        ANY
        if among is None and exclude is None and context is None
        else make_ask_options(among, exclude, context)
    )
    key, new = (new_id(), True) if id is None else (_check_new_id(id), False)

    def command(transaction: Transaction) -> Decision:
        record, replayed = holds.ask(transaction, key, options, new)
        return make_decision(transaction.state, record, replayed)

    return command


def ask_many_command(
    n: int,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
    ids: Sequence[str] | None = None,
) -> Command[list[Decision]]:
    """Return the command of many asks; it returns a list, shorter if the budget ends on the way."""
    count = check_int("n", n, 1, "how many decisions to ask for")
    keys = None if ids is None else [_check_new_id(one) for one in ids]
    if keys is not None and (len(keys) != count or len(set(keys)) != count):
        raise InvalidInput(f"ids must be {count} different ids, one per decision, got {len(keys)}")
    options = make_ask_options(among, exclude, context)

    def command(transaction: Transaction) -> list[Decision]:
        granted: list[Decision] = []
        for key in keys or [new_id() for _ in range(count)]:
            try:
                record, replayed = holds.ask(transaction, key, options, not keys)
            except BursarError:  # what was granted before it stays granted
                if not granted:
                    raise
                break
            granted.append(make_decision(transaction.state, record, replayed))
        return granted

    return command


def tell_command(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: float | None = None,
    report: str | None = None,
    rounding: Rounding | None = None,
    grant: Grant | None = None,
) -> Command[Decision]:
    """Return the command of an outcome; it returns a Decision."""
    units = None if cost is None else config.coin.units("cost", cost, rounding)
    number = reward if reward is None or type(reward) is float else check_number("reward", reward)
    key = decision.id if type(decision) is Decision else decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        record, replayed = outcomes.tell(transaction, key, units, number, report, grant)
        return make_decision(transaction.state, record, replayed)

    return command


def confirm_command(decision: Decision | str) -> Command[Decision]:
    """Return the command of a confirmation; it returns a Decision."""
    key = decision_id(decision)
    return lambda transaction: make_decision(transaction.state, *outcomes.confirm(transaction, key))


def void_command(
    decision: Decision | str, reason: str = "not used", by: str = ""
) -> Command[Decision]:
    """Return the command that releases a hold; it returns a Decision."""
    key = decision_id(decision)
    return lambda transaction: make_decision(
        transaction.state, *outcomes.void(transaction, key, reason, by)
    )


def correct_command(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: float | None = None,
    reason: str = "",
    by: str = "",
) -> Command[Decision]:
    """Return the command of a correction; it returns a Decision."""
    units = None if cost is None else config.coin.units("cost", cost)
    number = None if reward is None else check_number("reward", reward)
    key = decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        record = outcomes.correct(transaction, key, units, number, reason, by)
        return make_decision(transaction.state, record, replayed=False)

    return command


def decision_command(decision: str) -> Command[Decision]:
    """Return the command that reads a decision; it returns a Decision."""
    key = decision_id(decision)
    return lambda transaction: make_decision(
        transaction.state, transaction.get_decision(key)[0], replayed=False
    )


def _check_new_id(given: str) -> str:
    if not isinstance(given, str) or not 1 <= len(given) <= 128 or not given.isprintable():
        raise InvalidInput(f"id must be text of 1 to 128 printable characters, got {given!r}")
    return given


def decision_id(decision: Decision | str) -> str:
    """Return the id of a decision; refuse what is none."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str):
        raise InvalidInput(f"a decision is what ask() returned, or its id, got {decision!r}")
    if not 1 <= len(found) <= 128 or not found.isprintable():  # a database might not take it
        raise UnknownDecision(f"no decision has the id {found[:200]!r}: it is not a valid id")
    return found
