"""Whether a campaign adds up: its chain of hashes, its money, its snapshot, its choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from bursar.campaign.audit import Audit
from bursar.campaign.past import again
from bursar.campaign.plain import plain
from bursar.campaign.snapshot import restored, taken
from bursar.campaign.state import State
from bursar.errors import CorruptLedger
from bursar.ledger import Event, Store
from bursar.ledger.verify import check_chain

__all__ = ["Verification", "verified"]


@dataclass(frozen=True)
class Verification:
    """A log that was found to be right.

    Attributes
    ----------
    events, decisions : int
        How many were checked.
    hash : str
        Hash of the last event; it stands for the whole log.
    spent, held : Decimal
        As the log adds up.
    snapshot : int or None
        The event after which a snapshot was kept that equals the log up to there, bit for bit.
    choices : int or None
        Choices that were made again and came out the same; None if that was not asked for.
    """

    events: int
    decisions: int
    hash: str
    spent: Decimal
    held: Decimal
    snapshot: int | None
    choices: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        found: dict[str, Any] = plain(self)
        return found


class _Fold:
    """Events on their way through the checks."""

    def __init__(self, name: str, states: dict[str, tuple[int, bytes]], choices: bool) -> None:
        self.name = name
        self.states = states
        self.choices = choices
        self.state: State | None = None
        self.audit: Audit | None = None
        self.last = b""

    def through(self, events: Iterator[tuple[Event, bytes]]) -> Iterator[tuple[Event, bytes]]:
        """Hand on events; each is taken into account once its hash was found right."""
        for event, kept in events:
            yield event, kept
            self.last = kept
            try:
                self._take(event)
            except CorruptLedger:
                raise
            except Exception as error:  # whatever a body that nobody wrote may lead to
                raise self._bad(event.seq, f"makes no sense ({error!r})") from error

    def _take(self, event: Event) -> None:
        if self.state is None or self.audit is None:
            self.state, self.audit = State(event), Audit(event)
            self._compare(self.state)
            return
        wrong = self.audit.follow(event)
        if wrong is not None:
            raise self._bad(event.seq, wrong)
        if self.choices and event.kind == "asked":
            self._choose(self.state, event)
        self.state.apply(event)
        self._compare(self.state)

    def _compare(self, state: State) -> None:
        for what, (seq, content) in self.states.items():
            # a snapshot of another version of bursar is never used, and so never wrong
            if seq == state.seq and restored(content) is not None and taken(state) != content:
                raise self._bad(seq, f"leads to another state than {what}")

    def _choose(self, state: State, event: Event) -> None:
        copy = restored(taken(state))
        assert copy is not None
        same, arm = again(copy, event)
        if not same:
            raise self._bad(event.seq, f"is not what the policy chooses, {arm!r}")

    def _bad(self, seq: int, what: str) -> CorruptLedger:
        return CorruptLedger(f"event {seq} of {self.name!r} {what}; restore a backup")


def verified(store: Store, name: str, live: tuple[int, bytes], choices: bool) -> Verification:
    """Check a campaign; raise CorruptLedger with the first event that is wrong."""
    with store.session(name) as session:
        head, snapshot = session.head, session.snapshot()
    states = {"the one in memory": live}
    if snapshot is not None:
        states["its snapshot"] = snapshot
    fold = _Fold(name, states, choices)
    count = check_chain(name, fold.through(iter(store.read(name))), head)
    state, audit = fold.state, fold.audit
    assert state is not None
    assert audit is not None
    wrong = audit.differs(state)
    if wrong is not None:
        raise CorruptLedger(f"event {count} of {name!r}: {wrong}; restore a backup")
    amount = state.config.coin.amount
    return Verification(
        count, audit.decisions, fold.last.hex(), amount(state.spent), amount(state.held),
        None if snapshot is None else snapshot[0], audit.decisions if choices else None,
    )  # fmt: skip
