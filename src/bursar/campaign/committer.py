"""The desk: calls of many threads, served in transaction, many of them with one commit.

Whoever gets to the desk serves all who stand in line: their work is done one after the other on the
same state, appended to the log and committed together; only then does anyone get an answer.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, CorruptLedger, Overloaded, StorageUnavailable
from bursar.ledger import LogWriter, Store
from bursar.ledger.chain import check_chain

__all__ = [
    "Clock",
    "Command",
    "Committer",
    "SystemClock",
    "boot_of",
]

# ==== campaign.clock
# Clocks: the time of day, which may jump, beside one that never does.

# CLOCK_BOOTTIME goes on while a laptop sleeps: waking up is no jump of the wall clock
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What a campaign asks for the time.

    A clock may also have ``boot()``: a word for the run of the machine that its steady time counts
    from. Then a clock that was set between two processes of one run is noticed.
    """

    def wall(self) -> int:
        """Return microseconds since 1970, as the machine believes."""

    def steady(self) -> int:
        """Return microseconds since whenever; never set, never back."""


class SystemClock:
    """The machine's clocks."""

    def boot(self) -> str:
        """Return a name of this run of the machine, for which its steady clock holds; or ``""``."""
        with suppress(OSError):  # not everywhere
            return _BOOT.read_text().strip()
        return ""

    def wall(self) -> int:
        """Return the time of day."""
        return time.time_ns() // 1000

    def steady(self) -> int:
        """Return the time since the machine started, sleep included where the system can tell."""
        return time.clock_gettime_ns(_STEADY) // 1000


def boot_of(clock: Clock) -> str:
    """Return the run of the machine that a clock's steady time counts from; ``""`` if unknown."""
    word: str = getattr(clock, "boot", str)()
    return word


Command = Callable[[Transaction], Any]
"""What a call does in a transaction."""

_LINE = 4096  # calls that may wait
_TOGETHER = 256  # calls that share a commit
_OFTEN = 10_000  # events between snapshots
_SECOND = 1_000_000  # µs
_STEP = 60_000_000  # µs by which a clock may be set without stopping the reaper


class PendingCommand:
    """One call in line: its work, and what came of it."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Command) -> None:
        self.work = work
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Committer:
    """Where the state of one campaign is, and the only way to change it."""

    def __init__(self, store: Store, name: str, clock: Clock) -> None:
        self.store = store
        self.name = name
        self.clock = clock
        self.alarms: list[str] = []
        self._state: State | None = None
        self._snapshot_at = 0
        self._lock = threading.Lock()
        self._line: deque[PendingCommand] = deque()
        self._step = 0
        self._asked = 0  # when the store was asked for the next
        self._offset = self._known_offset()

    def execute(self, work: Command) -> Any:
        """Do work on the newest state and commit what it did; return its result."""
        if self._line or not self._lock.acquire(False):
            call = PendingCommand(work)
            self._stand_in_line(call)
            if call.error is not None:
                raise call.error
            return call.result
        refused = result = None  # nobody else is here: the same without what only many need
        try:
            with self.store.open_writer(self.name) as session:
                transaction = self._turn(session)
                try:
                    result = work(transaction)
                except Exception as error:
                    if transaction.broken:
                        raise
                    refused = error
                if transaction.events:
                    self._write(transaction)
        except BaseException as error:
            self._state = None
            failure = self._failure(error)
            if failure is error or not isinstance(error, Exception):
                raise
            raise failure from error
        finally:
            self._lock.release()
        if refused is not None:
            raise refused
        return result

    def execute_batch(self, works: Sequence[Command]) -> list[Any]:
        """Do many works with one commit; return the result of each, or the error it ended with."""
        calls = [PendingCommand(work) for work in works]
        with self._lock:
            self._serve(calls)
        return [call.result if call.error is None else call.error for call in calls]

    def _stand_in_line(self, call: PendingCommand) -> None:
        if len(self._line) >= _LINE:
            raise Overloaded(
                f"{_LINE:,} calls wait for the ledger of {self.name!r}; nothing was reserved,"
                " try again in a moment"
            )
        self._line.append(call)
        with self._lock:
            if not call.done:
                calls = [self._line.popleft() for _ in range(min(len(self._line), _TOGETHER))]
                if call not in calls:  # more than one commit's worth was before it
                    self._line.remove(call)
                    calls.append(call)
                self._serve(calls)

    def state(self) -> State:
        """Return the newest state; look at it, do not change it."""
        found: State = self.execute(lambda transaction: transaction.state)
        return found

    def drop(self) -> None:
        """Forget what is in memory; the next call reads it from the store."""
        self._state = None

    def _serve(self, calls: list[PendingCommand]) -> None:
        try:
            with self.store.open_writer(self.name) as session:
                transaction = self._turn(session)
                for call in calls:
                    self._do(call, transaction)
                if transaction.events:
                    self._write(transaction)
        except BaseException as error:
            # whatever was not committed did not happen: read the truth from the store next time
            self._state = None
            failure = self._failure(error)
            for call in calls:
                call.error, call.result = failure, None
            if not isinstance(error, Exception):  # Ctrl-C is for the thread that serves, no other
                raise
        finally:
            for call in calls:
                call.done = True

    def _turn(self, session: LogWriter) -> Transaction:
        state = self._state
        if state is None or state.seq != session.seq:
            state = self._caught_up(session)
        wall = self.clock.wall()
        if wall < state.ts:  # it was set back, or another host is ahead
            self._clock_is_steady(wall)
        return Transaction(state, session, wall, self._clock_is_steady)

    def _write(self, transaction: Transaction) -> None:
        state = transaction.state
        transaction.session.append(transaction.events, state.summary(transaction.granted))
        if state.seq - self._snapshot_at >= _OFTEN:
            transaction.session.save_snapshot(state.seq, encode_snapshot(state))
            self._snapshot_at = state.seq

    def _failure(self, error: BaseException) -> BaseException:
        if isinstance(error, BursarError):
            return error
        failure = StorageUnavailable(
            f"the ledger of {self.name!r} failed ({type(error).__name__}: {error});"
            " nothing was acknowledged, try again"
        )
        failure.__cause__ = error
        return failure

    def _do(self, call: PendingCommand, transaction: Transaction) -> None:
        try:
            call.result = call.work(transaction)
        except Exception as error:
            if transaction.broken:
                raise  # nothing of this commit may stand
            call.error = error  # what happened before, such as a hold that lapsed, did happen

    def _caught_up(self, session: LogWriter) -> State:
        """Return the state as of the head of the log: from memory, a snapshot, or the start."""
        head = session.head
        state = self._state
        if state is None or state.seq > head.seq:
            state = self._loaded(session)
        if state.seq < head.seq:
            for event in session.events_after(state.seq):
                if event.seq != state.seq + 1:
                    raise CorruptLedger(
                        f"event {state.seq + 1} of {self.name!r} is missing, the next is"
                        f" {event.seq}; restore a backup"
                    )
                state.apply(event)
        self._state = state
        return state

    def _loaded(self, session: LogWriter) -> State:
        kept = session.load_snapshot()
        state = None if kept is None else decode_snapshot(kept[1])
        self._snapshot_at = 0 if state is None else state.seq
        since = self._snapshot_at
        tail = self.store.read(self.name, max(since - 1, 0))
        check_chain(self.name, tail, session.head, since)
        return state or State(session.events_after(0)[0])

    def trust_clock(self) -> None:
        """Believe the time of day as it is now, after it was set."""
        self._offset = self.clock.wall() - self.clock.steady()
        if boot := boot_of(self.clock):
            self.store.put_record("clock", boot, str(self._offset).encode())

    def _known_offset(self) -> int:
        """Return what the time of day is ahead of the steady clock.

        It is kept in the store as long as the machine runs, so that a clock that was set while no
        process was there to see it is noticed, too.
        """
        now, boot = self.clock.wall() - self.clock.steady(), boot_of(self.clock)
        if boot:
            self.store.insert_record("clock", boot, str(now).encode())  # unless there is one
        return self._kept_offset(now)

    def _kept_offset(self, default: int) -> int:
        boot = boot_of(self.clock)
        kept = self.store.records("clock").get(boot) if boot else None
        return default if kept is None else int(kept)

    def _clock_is_steady(self, wall: int) -> bool:
        """Tell whether the time of day ran as fast as time; a jump must not end all holds.

        After a jump nothing expires until someone says that the new time is right.
        """
        steady = self.clock.steady()
        step = wall - steady - self._offset
        if abs(step) > _STEP and abs(steady - self._asked) > _SECOND:
            self._asked = steady
            self._offset = self._kept_offset(self._offset)  # another process may have been told
            step = wall - steady - self._offset
        if abs(step) <= _STEP:
            self._step = 0
            return True
        if abs(step - self._step) > _STEP:
            self.alarms.append(
                f"the clock was set by {step / 1e6:+,.0f} s; nothing expires until trust_clock()"
            )
            self._step = step
        return False
