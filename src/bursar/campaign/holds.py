"""The rules of an ask: which arms may be chosen, what is held, and what is refused."""

from collections.abc import Sequence
from time import monotonic_ns
from typing import Any

from bursar import errors
from bursar.campaign.ask_options import AskOptions, is_batch
from bursar.campaign.events import ASKED, POLICY_ERROR, POLICY_SLOW
from bursar.campaign.records import DecisionRecord
from bursar.campaign.state import State
from bursar.campaign.transaction import Transaction, release_expired
from bursar.validation import escape_surrogates

_ADVICE = {
    "paused": "resume it first",
    "unreconciled": "it was restored from a backup: reconcile it first",
    "closed": "create a new campaign",
}


def ask(
    transaction: Transaction, decision: str, options: AskOptions, new: bool = False
) -> tuple[DecisionRecord, bool]:
    """Grant a decision; return it, and whether it was granted before with the same id.

    ``new`` says that the id was made for this ask, so that no earlier one can have it.
    """
    state, now = transaction.state, transaction.now
    if state.deadlines and state.deadlines[0][0] <= now:
        release_expired(transaction)
    if not new:
        before = find_granted(transaction, decision, options.fingerprint)
        if before is not None:
            return before, True
        check_unused(transaction, f"{decision}.1", batch=True)
    if state.stored != "active" or len(state.decisions) >= state.config.max_open:
        raise _not_ready(state)
    ts = now if now > state.ts else state.ts + 1
    allowed, constrained, own = None, False, None
    if options.fingerprint != "*" or not state.all_fit():
        own = find_own_hold(state, options)
        allowed, constrained = affordable(state, _find_arms(transaction, options), ts, own)
    began = monotonic_ns()
    arm, propensity, failure = _choose(state, allowed)
    taken = monotonic_ns() - began
    if failure is not None and state.config.on_failure == "refuse":
        transaction.append_event(POLICY_ERROR, {"error": failure})
        raise errors.PolicyFailed(
            f"the policy of {state.name} failed: {failure}; nothing was reserved"
        )
    body: dict[str, Any] = {
        "arm": arm, "hold": state.hold_of(arm, own), "p": propensity, "print": options.fingerprint,
        "constrained": constrained, "expires": ts + state.hold_time, "due": ts + state.reward_time,
    }  # fmt: skip
    if options.context is not None:
        body["context"] = options.context
    transaction.append_event(ASKED, body, decision)
    if failure is not None:  # after the ask, whose choice depends on its number in the log
        transaction.append_event(POLICY_ERROR, {"error": failure})
    if taken > state.patience:
        transaction.append_event(POLICY_SLOW, {"seconds": taken / 1e9})
    return state.decisions[decision], False


def find_granted(
    transaction: Transaction, decision: str, *fingerprints: str
) -> DecisionRecord | None:
    """Return a decision that was granted before; refuse the id if its options were others."""
    before = transaction.find_decision(decision)[0]
    if before is not None and before.fingerprint not in fingerprints:
        raise errors.IdempotencyMismatch(
            f"the decision {decision!r} was asked for with the options {before.fingerprint!r},"
            f" now with {fingerprints[0]!r}; use a new id for a new ask"
        )
    return before


def check_unused(transaction: Transaction, decision: str, batch: bool = False) -> None:
    """Refuse an id that was used for a single decision, or for a batch whose first this is."""
    before = transaction.find_decision(decision)[0]
    if before is not None and (not batch or is_batch(before.fingerprint)):
        used = f"a batch, {decision!r} and so on" if batch else "a single decision"
        raise errors.IdempotencyMismatch(
            f"the id {decision.removesuffix('.1') if batch else decision!r} was used for {used};"
            " use a new id for a new ask"
        )


def _not_ready(state: State) -> errors.NotActive | errors.TooManyOpen:
    if state.stored != "active":
        return errors.NotActive(f"{state.name} is {state.stored}; {_ADVICE[state.stored]}")
    return errors.TooManyOpen(
        f"{state.name} has {len(state.decisions):,} decisions without an outcome, the most it"
        " allows; report or void some, or raise max_open"
    )


def _find_arms(transaction: Transaction, options: AskOptions) -> list[int] | None:
    for key in options.exclude or ():
        transaction.arm_number(key)  # it must exist
    few = options.keys(transaction.state.keys)
    if few is None:
        return None
    if not few:
        raise errors.InvalidInput("exclude leaves no arm to choose from; exclude fewer")
    return sorted({transaction.arm_number(key) for key in few})


def find_own_hold(state: State, options: AskOptions) -> int | None:
    """Return the hold that an ask names, in units, or None; rounded up, as it is an estimate."""
    return None if options.hold is None else state.config.coin.units("hold", options.hold, "up")


def affordable(
    state: State, wanted: Sequence[int] | None, ts: int, own: int | None = None
) -> tuple[list[int] | None, bool]:
    """Return the arms that fit into what is left (None for all), and whether some do not.

    ``own`` is the hold that the ask names.
    """
    if wanted is None and state.all_fit():
        return None, False
    room = state.day_balance(ts).within(state.available)
    active = [
        number
        for number in (range(len(state.arms)) if wanted is None else wanted)
        if state.arms[number].state == "active"
    ]
    holds = {number: state.hold_of(number, own) for number in active}
    fits = [number for number in active if holds[number] <= state.arms[number].money.within(room)]
    if not fits:
        raise _budget_exhausted(state, holds, room)
    return fits, len(fits) < len(active)


def _budget_exhausted(state: State, holds: dict[int, int], room: int) -> errors.BudgetExhausted:
    coin = state.config.coin
    if holds:
        cheapest = min(holds, key=lambda number: holds[number])
        error = errors.BudgetExhausted(
            f"Budget exhausted: the cheapest arm, {state.arms[cheapest].key!r}, needs"
            f" {coin.format(holds[cheapest])}; {coin.format(max(room, 0))} is available and"
            f" {coin.format(state.held)} is held. Raise the budget or a cap, or report outcomes"
        )
    else:
        error = errors.BudgetExhausted(
            f"{state.name} has no active arm to choose; resume or add one"
        )
    error.extra = {"available": coin.text(state.available), "held": coin.text(state.held)}
    return error


def _choose(state: State, allowed: list[int] | None) -> tuple[int, float | None, str | None]:
    """Return an arm, its probability if known, and the policy's failure if it failed."""
    learner, seq, explore = state.learner, state.seq + 1, state.config.explore
    everyone = range(len(state.arms)) if allowed is None else allowed
    try:
        arm = learner.choose(allowed, seq)
        base = 1.0 if learner.has_index else learner.policy.choice_probability(len(everyone))
        if arm not in everyone:
            raise IndexError(f"there is no arm {arm} to choose")
    except Exception as error:  # a policy may be anyone's code; money must stay safe
        arm = everyone[int(learner.uniform(seq)[1] * len(everyone))]
        return arm, None, escape_surrogates(f"{type(error).__name__}: {error}"[:200])
    if explore == 0.0:
        return arm, base, None
    draw, which = learner.uniform(seq)
    chosen = everyone[int(which * len(everyone))] if draw < explore else arm
    if base is None:
        return chosen, None, None
    if learner.has_index:
        tied = learner.tied_arms(everyone)
        base = 1.0 / len(tied) if chosen in tied else 0.0
    return chosen, explore / len(everyone) + (1.0 - explore) * base, None
