"""The past of a campaign: its state as it was before a decision, and the same ask once more."""

from __future__ import annotations

from typing import Any, NamedTuple

from bursar.campaign.asking import ask
from bursar.campaign.snapshot import restored
from bursar.campaign.state import State
from bursar.campaign.turn import Turn
from bursar.campaign.wish import wish_of
from bursar.errors import BursarError, CannotAnswer, UnknownDecision
from bursar.ledger import Event, Store, encoded

__all__ = ["Past", "again", "among_of", "before"]


class Past(NamedTuple):
    """The state before an ask, the ask, and how the policy failed in it, if it did."""

    state: State
    asked: Event
    failure: str | None


def before(store: Store, name: str, decision: str) -> Past:
    """Return what was known when a decision was made: the log up to it, folded."""
    with store.session(name) as session:
        own = session.of(decision)
        kept = session.snapshot()
    if not own:
        raise UnknownDecision(
            f"{name} never made a decision {decision!r}; pass what ask() returned"
        )
    asked, failure = own[0], None
    if asked.kind != "asked":
        raise CannotAnswer(
            f"{decision!r} was granted before {name} was restored from a backup: the log from which"
            " it was chosen is gone"
        )
    state = restored(kept[1]) if kept is not None and kept[0] < asked.seq else None
    for event, _ in store.read(name, 0 if state is None else state.seq):
        if event.seq > asked.seq:
            failure = event.body["error"] if event.kind == "policy-error" else None
            break
        if state is None:
            state = State(event)
        elif event.seq < asked.seq:
            state.apply(event)
    assert state is not None  # an ask is never the first event
    return Past(state, asked, failure)


def among_of(state: State, asked: Event) -> tuple[str, ...] | None:
    """Return the arms that an ask was restricted to, or None for all."""
    return wish_of(asked.body["print"], None).keys(state.keys)


def again(state: State, asked: Event) -> tuple[bool, str | None]:
    """Ask once more on the state as it was, which this spoils.

    Returns whether the log says the same in every bit, and the arm that is chosen now.
    """
    session: Any = None  # the id is new to this state, so nobody looks into the log
    wish = wish_of(asked.body["print"], asked.body.get("context"))
    turn = Turn(state, session, asked.ts, lambda _: False)  # what was due then is in the log
    try:
        choice, _ = ask(turn, asked.decision, wish, True)
    except BursarError:
        return False, None
    made = next(event for event in turn.events if event.kind == "asked")
    return encoded(made.body) == encoded(asked.body), state.arms[choice.arm].key
