"""What a call does in a turn: checked at once, done when its turn has come.

A campaign serves one such work at a time, a service many with one commit.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from typing import Any

from bursar.campaign import asking, telling
from bursar.campaign.config import Config
from bursar.campaign.decision import Decision, decided
from bursar.campaign.desk import Work
from bursar.campaign.orphan import Orphan
from bursar.campaign.turn import Turn
from bursar.campaign.wish import ANY, Wish, wish
from bursar.checks import real, whole
from bursar.errors import BursarError, InvalidInput, UnknownDecision
from bursar.money import Amount, Rounding

__all__ = [
    "ask_many_of",
    "ask_of",
    "confirm_of",
    "correct_of",
    "decision_of",
    "id_of",
    "new_id",
    "tell_of",
    "void_of",
]

_CHANCE = random.Random()
os.register_at_fork(after_in_child=_CHANCE.seed)  # else both would make the same ids


def new_id() -> str:
    """Return a name for a decision that nobody has used.

    Time comes first, as in UUIDv7, so that neighbours in time are neighbours in an index.
    """
    return f"{time.time_ns() // 1_000_000 << 80 | _CHANCE.getrandbits(80):032x}"


def ask_of(
    id: str | None = None,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
) -> Work:
    """Return the work of an ask; it results in a Decision."""
    want = (
        ANY
        if among is None and exclude is None and context is None
        else wish(among, exclude, context)
    )
    key, new = (new_id(), True) if id is None else (_checked_id(id), False)

    def work(turn: Turn) -> Decision:
        choice, replayed = asking.ask(turn, key, want, new)
        return decided(turn.state, choice, replayed)

    return work


def ask_many_of(
    n: int,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
    ids: Sequence[str] | None = None,
) -> Work:
    """Return the work of many asks; it results in a list, shorter if the budget ends on the way."""
    count = whole("n", n, 1, "how many decisions to ask for")
    keys = None if ids is None else [_checked_id(one) for one in ids]
    if keys is not None and (len(keys) != count or len(set(keys)) != count):
        raise InvalidInput(f"ids must be {count} different ids, one a decision, got {len(keys)}")
    want = wish(among, exclude, context)
    return lambda turn: _several(turn, keys or [new_id() for _ in range(count)], want, not keys)


def _several(turn: Turn, keys: Sequence[str], want: Wish, new: bool) -> list[Decision]:
    granted: list[Decision] = []
    for key in keys:
        try:
            granted.append(decided(turn.state, *asking.ask(turn, key, want, new)))
        except BursarError:  # those that were granted are not lost with the one that was not
            if not granted:
                raise
            break
    return granted


def tell_of(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: float | None = None,
    report: str | None = None,
    rounding: Rounding | None = None,
    orphan: Orphan | None = None,
) -> Work:
    """Return the work of an outcome; it results in a Decision."""
    units = None if cost is None else config.coin.units("cost", cost, rounding)
    brought = reward if reward is None or type(reward) is float else real("reward", reward)
    key = decision.id if type(decision) is Decision else id_of(decision)

    def work(turn: Turn) -> Decision:
        choice, replayed = telling.tell(turn, key, units, brought, report, orphan)
        return decided(turn.state, choice, replayed)

    return work


def confirm_of(decision: Decision | str) -> Work:
    """Return the work of a confirmation; it results in a Decision."""
    key = id_of(decision)
    return lambda turn: decided(turn.state, *telling.confirm(turn, key))


def void_of(decision: Decision | str, reason: str = "not used", by: str = "") -> Work:
    """Return the work of giving a hold back; it results in a Decision."""
    key = id_of(decision)
    return lambda turn: decided(turn.state, *telling.void(turn, key, reason, by))


def correct_of(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: float | None = None,
    reason: str = "",
    by: str = "",
) -> Work:
    """Return the work of a correction; it results in a Decision."""
    units = None if cost is None else config.coin.units("cost", cost)
    brought = None if reward is None else real("reward", reward)
    key = id_of(decision)
    return lambda turn: decided(
        turn.state, telling.correct(turn, key, units, brought, reason, by), replayed=False
    )


def decision_of(decision: str) -> Work:
    """Return the work of looking at a decision; it results in a Decision."""
    key = id_of(decision)
    return lambda turn: decided(turn.state, turn.known(key)[0], replayed=False)


def _checked_id(given: str) -> str:
    if not isinstance(given, str) or not 1 <= len(given) <= 128 or not given.isprintable():
        raise InvalidInput(f"id must be a text of 1 to 128 printable characters, got {given!r}")
    return given


def id_of(decision: Decision | str) -> str:
    """Return the id of a decision; refuse what is none."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str):
        raise InvalidInput(f"a decision is what ask() returned, or its id, got {decision!r}")
    if not 1 <= len(found) <= 128 or not found.isprintable():  # a database might not take it
        raise UnknownDecision(f"nobody ever made a decision {found[:200]!r}: it cannot be an id")
    return found
