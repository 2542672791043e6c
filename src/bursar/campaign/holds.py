"""The rules of an ask: who may be chosen, what is held, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from time import monotonic_ns
from typing import Any, NamedTuple

import msgspec

from bursar.campaign.config import check_text, printable
from bursar.campaign.events import ASKED, POLICY_ERROR, POLICY_SLOW
from bursar.campaign.records import Balance, DecisionRecord
from bursar.campaign.state import State, day_of
from bursar.campaign.transaction import Transaction, release_expired
from bursar.errors import (
    BudgetExhausted,
    IdempotencyMismatch,
    InvalidInput,
    NotActive,
    PolicyFailed,
    TooManyOpen,
)

__all__ = ["ANY", "AskOptions", "affordable", "ask", "load_ask_options", "make_ask_options"]

# ==== campaign.options
# What an ask may say: which arms, and what to note.

_NOTE = 16_384  # bytes of a context
_CANONICAL = msgspec.json.Encoder(order="deterministic")


class AskOptions(NamedTuple):
    """Arms to choose among and arms to leave out, what to note, and a print of it all."""

    among: tuple[str, ...] | None
    exclude: tuple[str, ...] | None
    context: dict[str, Any] | None
    fingerprint: str

    def keys(self, known: Iterable[str]) -> tuple[str, ...] | None:
        """Return the arms that it leaves of those there are, or None for all."""
        if self.exclude is None:
            return self.among
        few = known if self.among is None else self.among
        return tuple(key for key in few if key not in self.exclude)


ANY = AskOptions(None, None, None, "*")
"""The usual ask: all arms, nothing to note."""


def make_ask_options(
    among: Sequence[str] | None = None,
    exclude: Sequence[str] | None = None,
    context: dict[str, Any] | None = None,
) -> AskOptions:
    """Return a options; refuse what cannot be kept in a log."""
    if among is None and not exclude and context is None:
        return ANY
    few, out = _keys("among", among), _keys("exclude", exclude)
    if few is not None and not few:
        raise InvalidInput("among must name at least one arm, got none; leave it out for all")
    if not out and context is None:
        return AskOptions(few, None, None, _text(few))
    note = None if context is None else blake2b(_noted(context), digest_size=16).hexdigest()
    return AskOptions(few, out, context, _text({"among": few, "context": note, "exclude": out}))


def load_ask_options(fingerprint: str, context: dict[str, Any] | None) -> AskOptions:
    """Return the options that a log tells of."""
    if fingerprint == "*":
        return ANY
    said = msgspec.json.decode(fingerprint)
    if isinstance(said, list):
        return AskOptions(tuple(said), None, None, fingerprint)
    among, exclude = (
        None if keys is None else tuple(keys) for keys in (said["among"], said["exclude"])
    )
    return AskOptions(among, exclude, context, fingerprint)


def _keys(name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of arms, got the text {given!r}")
    return tuple(sorted({check_text(f"an arm of {name}", key) for key in given}))


def _noted(context: dict[str, Any]) -> bytes:
    if not isinstance(context, dict):
        raise InvalidInput(f"context must be a mapping of names to plain data, got {context!r}")
    try:
        found = _CANONICAL.encode(context)
        plain = msgspec.json.decode(found) == context
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"context must be plain data: {error}") from error
    if not plain:  # NaN, keys that are no texts, tuples: they would come back as something else
        raise InvalidInput(f"context must be plain data as JSON has it, got {context!r}")
    if len(found) > _NOTE:
        raise InvalidInput(f"context must be at most {_NOTE:,} bytes, got {len(found):,}")
    return found


def _text(value: Any) -> str:
    return _CANONICAL.encode(value).decode()


def ask(
    transaction: Transaction, decision: str, options: AskOptions, new: bool = False
) -> tuple[DecisionRecord, bool]:
    """Grant a decision, or return the one that this id was granted before (then True).

    ``new`` says that the id was made just now: nobody can have asked with it.
    """
    state = transaction.state
    if state.deadlines and state.deadlines[0][0] <= transaction.now:
        release_expired(transaction)
    before = None if new else transaction.find(decision)[0]
    if before is not None:
        if before.fingerprint != options.fingerprint:
            raise IdempotencyMismatch(
                f"the decision {decision!r} was asked among {before.fingerprint!r} before,"
                f" now among {options.fingerprint!r}; give a new ask a new id"
            )
        return before, True
    if state.stored != "active" or len(state.decisions) >= state.config.max_open:
        _refuse_unready(state)
    ts = transaction.now if transaction.now > state.ts else state.ts + 1
    wanted = None if options.fingerprint == "*" else _wanted(transaction, options)
    if wanted is None and state.all_fit():
        allowed, constrained = None, False
    else:
        allowed, constrained = affordable(state, wanted, ts)
    began = monotonic_ns()
    arm, propensity, failed = _choose(state, allowed)
    taken = monotonic_ns() - began
    if failed is not None and state.config.on_failure == "refuse":
        transaction.append_event(POLICY_ERROR, error=failed)
        raise PolicyFailed(f"the policy of {state.name} failed: {failed}; nothing was reserved")
    body: dict[str, Any] = {
        "arm": arm, "hold": state.hold_of(arm), "p": propensity, "print": options.fingerprint,
        "constrained": constrained, "expires": ts + state.lives, "due": ts + state.waits,
    }  # fmt: skip
    if options.context is not None:
        body["context"] = options.context
    transaction.append_event(ASKED, decision, **body)
    if failed is not None:
        transaction.append_event(
            POLICY_ERROR, error=failed
        )  # after the ask, which was checked for its own time
    if taken > state.patience:
        transaction.append_event(POLICY_SLOW, seconds=taken / 1e9)
    return state.decisions[decision], False


def _refuse_unready(state: State) -> None:
    if state.stored != "active":
        ways = {
            "paused": "resume it first",
            "unreconciled": "it was restored from a backup: reconcile it first",
            "closed": "make a new campaign",
        }
        raise NotActive(f"{state.name} is {state.stored}; {ways[state.stored]}")
    if len(state.decisions) >= state.config.max_open:
        raise TooManyOpen(
            f"{state.name} has {len(state.decisions):,} decisions without an outcome, the most it"
            " allows; tell or void some, or raise max_open"
        )


def _wanted(transaction: Transaction, options: AskOptions) -> list[int] | None:
    for key in options.exclude or ():
        transaction.arm(key)  # there must be one
    few = options.keys(transaction.state.keys)
    if few is None:
        return None
    if not few:
        raise InvalidInput("exclude leaves no arm to choose from; exclude fewer")
    return sorted({transaction.arm(key) for key in few})  # whatever the order they were named in


def affordable(
    state: State, wanted: Sequence[int] | None, ts: int
) -> tuple[list[int] | None, bool]:
    """Return the arms that fit into what is left (None: all of them), and whether some do not."""
    if wanted is None and state.all_fit():
        return None, False
    today = state.days.get(day_of(ts), Balance())
    room = state.available
    if state.day_cap is not None:
        room = min(room, state.day_cap - today.spent - today.held)
    active = [
        number
        for number in (range(len(state.arms)) if wanted is None else wanted)
        if state.arms[number].state == "active"
    ]
    holds = {number: state.hold_of(number) for number in active}
    fits = [number for number in active if holds[number] <= state.arms[number].money.within(room)]
    if not fits:
        error = BudgetExhausted(_why_none(state, holds, room))
        coin = state.config.coin
        error.extra = {"available": coin.text(state.available), "held": coin.text(state.held)}
        raise error
    return fits, len(fits) < len(active)


def _why_none(state: State, holds: dict[int, int], room: int) -> str:
    coin = state.config.coin
    if not holds:
        return f"{state.name} has no active arm to choose from; resume or add one"
    cheapest = min(holds, key=lambda number: holds[number])
    return (
        f"nothing fits: the cheapest arm, {state.arms[cheapest].key!r}, needs"
        f" {coin.format(holds[cheapest])}, available are {coin.format(max(room, 0))}"
        f" ({coin.format(state.held)} held); raise the budget or a cap, or tell open outcomes"
    )


def _choose(state: State, allowed: list[int] | None) -> tuple[int, float | None, str | None]:
    """Return the policy's arm and how likely it was; if it fails, any that fits, and why."""
    seq, explore = state.seq + 1, state.config.explore
    everyone = range(len(state.arms)) if allowed is None else allowed
    lucky, which = state.learner.uniform(seq) if explore > 0.0 else (1.0, 0.0)
    try:
        arm = state.learner.choose(allowed, seq)
        base = 1.0 if state.learner.has_index else state.learner.certainty(len(everyone))
        if arm not in everyone:
            raise IndexError(f"there is no arm {arm} to choose")
    except Exception as error:  # a policy of anyone's making; money must go on being safe
        arm = everyone[int(state.learner.uniform(seq)[1] * len(everyone))]
        return arm, None, printable(f"{type(error).__name__}: {error}"[:200])
    if explore == 0.0:
        return arm, base, None
    other = everyone[int(which * len(everyone))]
    chosen = other if lucky < explore else arm
    if base is None:
        return chosen, None, None
    if state.learner.has_index:
        equals = state.learner.equals(everyone)
        by_policy = 1.0 / len(equals) if chosen in equals else 0.0
    else:
        by_policy = base
    return chosen, explore / len(everyone) + (1.0 - explore) * by_policy, None
