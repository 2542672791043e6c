"""The committer: the one queue through which every command of a campaign goes.

Commands run one after the other on the same state. Their events are appended to the log and
committed together, and only then does any caller get its answer. A caller waits as a thread
(:meth:`Committer.execute`) or has a future of its event loop resolved (:meth:`Committer.submit`).
The thread that acquires the lock commits all queued commands together, up to 256 of them. For
futures a worker thread does so; it is started by the first submission and ends when it is idle.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.campaign.transaction import Transaction
from bursar.errors import BursarError, CorruptLedger, Overloaded, StorageUnavailable
from bursar.ledger import LogWriter, Store
from bursar.ledger.log import check_chain

if TYPE_CHECKING:
    import asyncio

    from bursar.campaign.activity import RateChange

T = TypeVar("T")
Command = Callable[[Transaction], T]
"""What a call does: it reads the state of a transaction and appends events."""

CommitObserver = Callable[[str, int, float], None]
"""Called on the event loop after a commit: name of the campaign, commands, seconds."""

_LOG = logging.getLogger("bursar.campaign")
QUEUE_LIMIT = 4096  # commands that may wait
SNAPSHOT_EVERY = 10_000  # events between snapshots
IDLE_SECONDS = 30.0  # without a command, after which the worker thread ends
_SETTLE_SECONDS = 1.0  # without a command, after which the store may do what it put off
_BATCH = 256  # commands that share a commit


class DeadlinePassed(BursarError, TimeoutError):
    """A command that was still in the queue at its deadline; it was not run."""

    code = "deadline-passed"


class CommitterClosed(BursarError, RuntimeError):
    """A command for a campaign that is being closed in this process; it was not run."""

    code = "stopping"


class PendingCommand(Struct, eq=False):
    """A command in the queue: who waits for it, until when, and its result, or its error."""

    command: Command[Any]
    future: asyncio.Future[Any] | None = None
    deadline: float | None = None
    observer: CommitObserver | None = None
    done: bool = False
    result: Any = None


class Committer:
    """Holds the state of one campaign; the only way to change it."""

    def __init__(self, store: Store, name: str, clock: Clock) -> None:
        self.store = store
        self.name = name
        self.clock = clock
        self.trusted = TrustedClock(clock, store)
        self._is_steady = self.trusted.is_steady
        self.alarms: dict[str, str] = {}  # by what failed last, until it succeeds
        self.rate_change: RateChange | None = None  # the newest, while it is an alarm
        self.rate_checked = 0  # when it was searched for
        self.failed_commits = 0  # since the last one that succeeded
        self.failed_snapshots = 0  # since the process started
        self._state: State | None = None
        self._generation = 0  # of the log that the state is the fold of
        self._snapshot_at = 0
        self._lock = threading.Lock()  # held while commands run and are committed
        self._urgent: deque[PendingCommand] = deque()
        self._others: deque[PendingCommand] = deque()
        self._gate = threading.Condition()  # between submissions and the worker
        self._worker: threading.Thread | None = None
        self._worker_waits = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    # callers

    def execute(self, command: Command[T]) -> T:
        """Run a command on the newest state, commit its events and return its result."""
        if self._urgent or self._others or not self._lock.acquire(False):
            result = self._wait(PendingCommand(command))
        else:  # alone, so without what only a queue needs
            try:
                result = self._run((command,))[0]
            finally:
                self._lock.release()
        if isinstance(result, Exception):
            raise result
        return result  # type: ignore[no-any-return]  # a queue holds results of every type

    def execute_batch(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Run commands with one commit; return the result of each, or the error it raised."""
        with self._lock:
            return self._run(commands) if commands else []

    def submit(self, pending: PendingCommand, urgent: bool, limit: int = QUEUE_LIMIT) -> None:
        """Queue a command that has a future, which is resolved once it is committed.

        Called on the event loop of the future. Urgent commands run before all others: outcomes
        are urgent, because they release money.
        """
        assert pending.future is not None
        with self._gate:
            if self._closed:
                raise CommitterClosed(f"{self.name!r} is closing; nothing was reserved")
            self._check_room(limit)
            (self._urgent if urgent else self._others).append(pending)
            if self._worker_waits:
                self._worker_waits = False
                # at the end of this iteration of the loop, after all others that it submits
                pending.future.get_loop().call_soon(self._wake_worker)
            elif self._worker is None:
                self._worker = threading.Thread(
                    target=self._work, name=f"committer of {self.name}", daemon=True
                )
                self._worker.start()

    def close(self) -> None:
        """Take no more submissions; return when all that are queued were committed."""
        with self._gate:
            self._closed = True
            worker = self._worker
            self._gate.notify()
        if worker is not None:
            worker.join()

    # the queue

    def _check_room(self, limit: int) -> None:
        if len(self) >= limit:
            raise Overloaded(
                f"{limit:,} calls wait for the ledger of {self.name!r}; nothing was reserved,"
                " try again in a moment"
            )

    def _wait(self, pending: PendingCommand) -> Any:
        """Wait for the lock; then commit the queue, unless another thread has done so."""
        self._check_room(QUEUE_LIMIT)
        self._others.append(pending)
        with self._lock:
            if not pending.done:
                batch = self._take()
                if pending not in batch:  # more than a batch was queued before it
                    self._others.remove(pending)
                    batch.append(pending)
                self._commit(batch)
        return pending.result

    def _take(self) -> list[PendingCommand]:
        """Take the next batch from the queue; only with the lock."""
        batch: list[PendingCommand] = []
        for queue in (self._urgent, self._others):
            while queue and len(batch) < _BATCH:
                batch.append(queue.popleft())
        return batch

    def _work(self) -> None:
        while self._wait_for_commands():
            # SystemExit and the like were reported to the callers; the worker goes on
            with self._lock, suppress(BaseException):
                self._commit(self._take())

    def _wait_for_commands(self) -> bool:
        """Return whether there are any; if not, the worker ends."""
        with self._gate:
            if not self._gate.wait_for(self._stop_waiting, min(_SETTLE_SECONDS, IDLE_SECONDS)):
                self._settle()
                self._gate.wait_for(self._stop_waiting, IDLE_SECONDS)
            self._worker_waits = False
            if not len(self):
                self._worker = None
            return self._worker is not None

    def _stop_waiting(self) -> bool:
        """Return whether the worker is needed; if not, the next submission wakes it."""
        self._worker_waits = not (self._closed or len(self))
        return not self._worker_waits

    def _settle(self) -> None:
        """Let the store settle, without the gate: commands may be submitted meanwhile."""
        self._gate.release()
        try:
            with suppress(BursarError):  # commands will be told what is wrong with it
                self.store.settle()
        finally:
            self._gate.acquire()

    def _wake_worker(self) -> None:
        with self._gate:
            self._gate.notify()

    # commits

    def _commit(self, batch: list[PendingCommand]) -> None:
        """Run commands of the queue and commit their events; only with the lock."""
        start = time.monotonic()
        late = "the call was still queued at its deadline; it was not run"
        live, results = [], []
        for one in batch:
            if one.deadline is None or one.deadline > start:
                live.append(one)
            else:
                one.result = DeadlinePassed(late)
        try:
            if live:
                results = self._run([one.command for one in live])
        except BaseException as error:
            results = [self._failure(error)] * len(live)
            raise
        finally:
            for one, result in zip(live, results, strict=True):
                one.result = result
            for one in batch:  # only now: a waiting thread reads the result of what is done
                one.done = True
            _notify(self.name, batch, len(live), time.monotonic() - start)

    def _run(self, commands: Sequence[Command[Any]]) -> list[Any]:
        """Run commands and commit their events; return the result of each, or its error."""
        results: list[Any] = []
        try:
            with self.store.open_writer(self.name) as writer:
                state = self._state
                if (
                    state is None
                    or state.seq != writer.seq
                    or self._generation != writer.generation
                ):
                    state = self._catch_up(writer)
                wall = self.clock.wall()
                if wall < state.ts:  # it was set back, or another host is ahead
                    self._is_steady(wall)
                transaction = Transaction(state, writer, wall, self._is_steady)
                for command in commands:
                    try:
                        results.append(command(transaction))
                    except Exception as error:
                        if transaction.broken:
                            raise  # nothing of this commit may stand
                        results.append(error)  # events before it, such as a lapsed hold, stand
                if transaction.events:
                    writer.append(transaction.events, state.summary(transaction.granted))
        except BaseException as error:
            # what was not committed did not happen: read the state from the store next time
            self._state = None
            self.failed_commits += 1
            if not isinstance(error, Exception):  # Ctrl-C is for the thread that commits
                raise
            return [self._failure(error)] * len(commands)
        self.failed_commits = 0
        if state.seq - self._snapshot_at >= SNAPSHOT_EVERY and transaction.events:
            self._save_snapshot(state)
        return results

    def _save_snapshot(self, state: State) -> None:
        """Save the state in a transaction of its own: what was committed stays committed."""
        self._snapshot_at = state.seq  # if it fails, it is due after as many events again
        try:
            content = encode_snapshot(state)
            with self.store.open_writer(self.name) as writer:
                writer.save_snapshot(state.seq, content)
        except Exception as error:
            self.failed_snapshots += 1
            self.alarms["snapshot"] = message = (
                f"the snapshot of {self.name!r} after event {state.seq:,} failed"
                f" ({type(error).__name__}: {error}{_find_culprit(state, error)}); nothing is lost,"
                " but a restart reads more of the log"
            )
            _LOG.error("%s", message, exc_info=error, extra={"campaign": self.name})
        else:
            self.alarms.pop("snapshot", None)

    def _failure(self, error: BaseException) -> BursarError:
        if isinstance(error, BursarError):
            return error
        failure = StorageUnavailable(
            f"the ledger of {self.name!r} failed ({type(error).__name__}: {error});"
            " nothing was acknowledged, try again"
        )
        failure.__cause__ = error
        return failure

    def _catch_up(self, writer: LogWriter) -> State:
        """Return the state at the head of the log: from memory, a snapshot, or the first event."""
        head, state = writer.head, self._state
        if state is None or state.seq > head.seq or self._generation != writer.generation:
            self._state, self._generation = None, writer.generation
            state = self._load(writer)
        if state.seq < head.seq:
            for event in writer.events_after(state.seq):
                if event.seq != state.seq + 1:
                    raise CorruptLedger(
                        f"event {state.seq + 1} of {self.name!r} is missing, the next is"
                        f" {event.seq}; restore a backup"
                    )
                try:
                    state.apply(event)
                except BursarError:
                    raise
                except Exception as error:
                    raise CorruptLedger(
                        f"event {event.seq} of {self.name!r} makes no sense ({error!r});"
                        " restore a backup"
                    ) from error
        self._state = state
        return state

    def _load(self, writer: LogWriter) -> State:
        kept = writer.load_snapshot()
        state = None if kept is None else self._decode_snapshot(*kept)
        self._snapshot_at = since = 0 if state is None else state.seq
        tail = self.store.read(self.name, max(since - 1, 0))
        check_chain(self.name, tail, writer.head, since)
        return state or State(writer.events_after(0)[0])

    def _decode_snapshot(self, seq: int, content: bytes) -> State | None:
        try:
            return decode_snapshot(content)
        except Exception as error:  # the log has everything that is in it
            _LOG.error(
                "the snapshot of %r after event %d cannot be read (%r); the whole log is read",
                self.name, seq, error, extra={"campaign": self.name},
            )  # fmt: skip
            return None


def _find_culprit(state: State, error: Exception) -> str:
    """Return which decision a snapshot cannot hold, in words, or ``""``."""
    if isinstance(error, OSError):  # the store failed, not the encoder
        return ""
    for record in state.decisions.values():
        try:
            msgspec.msgpack.encode(record)
        except Exception:
            return f", in decision {record.id!r}"
    return ""


def _notify(name: str, batch: list[PendingCommand], commands: int, seconds: float) -> None:
    """Resolve futures, with one call for each event loop: waking a loop is dear."""
    loops: dict[asyncio.AbstractEventLoop, list[PendingCommand]] = {}
    for one in batch:
        if one.future is not None:
            loops.setdefault(one.future.get_loop(), []).append(one)
    for loop, part in loops.items():
        with suppress(RuntimeError):  # the loop has ended, and its callers with it
            loop.call_soon_threadsafe(_resolve, name, part, commands, seconds)


def _resolve(name: str, batch: list[PendingCommand], commands: int, seconds: float) -> None:
    for one in batch:
        if one.future is None or one.future.done():
            continue  # its caller went away
        if isinstance(one.result, Exception):
            one.future.set_exception(one.result)
        else:
            one.future.set_result(one.result)
    if (observer := batch[0].observer) is not None:
        observer(name, commands, seconds)


# clocks


# CLOCK_BOOTTIME goes on while a laptop sleeps: waking up is no jump of the wall clock
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SECOND = 1_000_000  # µs
_STEP = 60_000_000  # µs by which a clock may be set before nothing expires any more


class Clock(Protocol):
    """Where a campaign takes the time from.

    A clock may also have ``boot()``: a name for the run of the machine that its steady time counts
    from. Then a wall clock that was set between two processes of one run is noticed.
    """

    def wall(self) -> int:
        """Return the time of day in µs since 1970; it may jump."""

    def steady(self) -> int:
        """Return a monotonic time in µs."""


class SystemClock:
    """The machine's clocks."""

    def boot(self) -> str:
        """Return the id of this run of the machine, or ``""`` if it has none."""
        with suppress(OSError):  # not on every system
            return _BOOT.read_text().strip()
        return ""

    def wall(self) -> int:
        """Return the time of day."""
        return time.time_ns() // 1000

    def steady(self) -> int:
        """Return the time since the machine started, with sleep included where that is known."""
        return time.clock_gettime_ns(_STEADY) // 1000


class TrustedClock:
    """Notices that the time of day was set: a jump must not end all holds.

    After a jump nothing expires until an operator trusts the new time. The distance between the two
    clocks is kept in the store while the machine runs, so that a jump between two processes is
    noticed as well.
    """

    def __init__(self, clock: Clock, store: Store) -> None:
        self.alarms: list[str] = []
        self._clock, self._store = clock, store
        self._boot: str = getattr(clock, "boot", str)()
        self._step = 0
        self._asked = 0  # when the store was asked last
        self._offset = clock.wall() - clock.steady()
        if self._boot:
            # unless another process did so since the machine started
            store.insert_record("clock", self._boot, str(self._offset).encode())
        self._load_offset()

    def trust(self) -> None:
        """Take the time of day as it is now for right."""
        self._offset = self._clock.wall() - self._clock.steady()
        if self._boot:
            self._store.put_record("clock", self._boot, str(self._offset).encode())

    def is_steady(self, wall: int) -> bool:
        """Return whether the time of day went on as fast as the monotonic clock."""
        steady = self._clock.steady()
        step = wall - steady - self._offset
        if abs(step) > _STEP and abs(steady - self._asked) > _SECOND:
            self._asked = steady
            self._load_offset()  # another process may have trusted it
            step = wall - steady - self._offset
        if abs(step) <= _STEP:
            self._step = 0
            return True
        if abs(step - self._step) > _STEP:
            self.alarms.append(
                f"the clock was set by {step / 1e6:+,.0f} s; nothing expires until the"
                " clock is trusted: `bursar campaign trust-clock`, or trust_clock()"
            )
            self._step = step
        return False

    def _load_offset(self) -> None:
        kept = self._store.records("clock").get(self._boot) if self._boot else None
        with suppress(TypeError, ValueError):  # there is none, or it is damaged
            self._offset = int(kept)  # type: ignore[arg-type]  # None is a TypeError
