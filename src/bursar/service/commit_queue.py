"""The queue of a campaign's commands in the service, and the threads that serve it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from bursar.campaign import Campaign
from bursar.campaign.committer import _TOGETHER, Command
from bursar.errors import Overloaded, StorageUnavailable
from bursar.service.responses import HTTPProblem

__all__ = ["CommitQueue", "CommitWorkers", "QueuedCommand"]

# ==== service.line
# A line: the calls that wait for the ledger of one campaign, and the thread that serves them.
#
# The thread takes all that wait (256 at most), outcomes before asks, and has them done with one
# commit; meanwhile the next ones gather. It ends when nothing came for a while.

_IDLE = 30.0  # seconds without a call after which the thread ends

Served = Callable[[str, int, float], None]
"""Called on the event loop after a commit: campaign, works, seconds."""


class QueuedCommand:
    """One call in line: its work, who waits for it, and until when."""

    __slots__ = ("deadline", "future", "work")

    def __init__(self, work: Command, future: asyncio.Future[Any], deadline: float | None) -> None:
        self.work = work
        self.future = future
        self.deadline = deadline


class CommitQueue:
    """Calls for one campaign, in order."""

    def __init__(self, campaign: Campaign, most: int, served: Served) -> None:
        self._campaign = campaign
        self._most = most
        self._served = served
        self._urgent: deque[QueuedCommand] = deque()
        self._others: deque[QueuedCommand] = deque()
        self._gate = threading.Condition(threading.Lock())
        self._thread: threading.Thread | None = None
        self._waiting = False
        self._closed = False

    def __len__(self) -> int:
        return len(self._urgent) + len(self._others)

    def join(self, ticket: QueuedCommand, urgent: bool) -> None:
        """Stand in line; refused while nothing is reserved if the line is too long."""
        with self._gate:
            if self._closed:
                raise HTTPProblem("stopping", "the service is stopping; nothing was reserved")
            if len(self._urgent) + len(self._others) >= self._most:
                raise Overloaded(
                    f"{self._most:,} calls wait for the ledger of {self._campaign.name!r};"
                    " nothing was reserved, try again in a moment"
                )
            (self._urgent if urgent else self._others).append(ticket)
            if self._waiting:
                self._waiting = False
                # at the end of this round of the loop: others who came in it get in line before
                ticket.future.get_loop().call_soon(self._wake)
            elif self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=f"ledger of {self._campaign.name}", daemon=True
                )
                self._thread.start()

    def _wake(self) -> None:
        with self._gate:
            self._gate.notify()

    def close(self) -> None:
        """Take no more calls; return when all that are in line were served."""
        with self._gate:
            self._closed = True
            thread = self._thread
            self._gate.notify()
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (tickets := self._next()) is not None:
            self._serve(tickets)

    def _next(self) -> list[QueuedCommand] | None:
        """Wait for calls and take them; None when the thread should end."""
        with self._gate:
            while not self._urgent and not self._others:
                self._waiting = not self._closed
                if self._closed or not self._gate.wait(_IDLE):
                    if self._urgent or self._others:
                        continue
                    self._waiting, self._thread = False, None
                    return None
            self._waiting = False
            taken: list[QueuedCommand] = []
            for calls in (self._urgent, self._others):
                while calls and len(taken) < _TOGETHER:
                    taken.append(calls.popleft())
            return taken

    def _serve(self, tickets: list[QueuedCommand]) -> None:
        start = time.monotonic()
        live = [one for one in tickets if one.deadline is None or one.deadline > start]
        results: list[tuple[QueuedCommand, Any]] = []
        if len(live) < len(tickets):
            late = HTTPProblem(
                "deadline-passed", "the call was still in line at its deadline; nothing was done"
            )
            dropped = {id(one) for one in tickets} - {id(one) for one in live}
            results = [(one, late) for one in tickets if id(one) in dropped]
        if live:
            try:
                found = self._campaign.execute_batch([one.work for one in live])
            except BaseException as error:  # nobody may wait for ever, whatever this is
                found = [_unforeseen(self._campaign.name, error)] * len(live)
            results.extend(zip(live, found, strict=True))
        self._tell(results, len(live), time.monotonic() - start)

    def _tell(self, results: list[tuple[QueuedCommand, Any]], works: int, seconds: float) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[tuple[QueuedCommand, Any]]] = {}
        for one in results:
            loops.setdefault(one[0].future.get_loop(), []).append(one)
        for loop, part in loops.items():
            try:
                loop.call_soon_threadsafe(self._resolve, part, works, seconds)
            except RuntimeError:
                continue  # that loop has ended, and nobody waits there any more

    def _resolve(
        self, results: Iterable[tuple[QueuedCommand, Any]], works: int, seconds: float
    ) -> None:
        for ticket, result in results:
            future = ticket.future
            if future.done():
                continue  # its caller went away
            if isinstance(result, BaseException):
                future.set_exception(result)
            else:
                future.set_result(result)
        self._served(self._campaign.name, works, seconds)


def _unforeseen(name: str, error: BaseException) -> StorageUnavailable:
    failure = StorageUnavailable(
        f"the ledger of {name!r} failed ({type(error).__name__}); nothing was acknowledged"
    )
    failure.__cause__ = error
    return failure


# ==== service.office
# The office: a line for each campaign that somebody calls.


class CommitWorkers:
    """Where calls of an event loop meet the ledgers, which block.

    Parameters
    ----------
    most : int
        Calls that may wait for one campaign.
    served : callable
        Called on the event loop after each commit with campaign, works and seconds.
    """

    def __init__(self, most: int, served: Served) -> None:
        self._most = most
        self._served = served
        self._lines: dict[str, CommitQueue] = {}
        self._lock = threading.Lock()
        self._closed = False

    def do(
        self, campaign: Campaign, work: Any, urgent: bool, deadline: float | None
    ) -> asyncio.Future[Any]:
        """Put work in line; await what is returned. Outcomes are urgent: they free money."""
        line = self._lines.get(campaign.name)
        if line is None:
            with self._lock:
                if self._closed:
                    raise HTTPProblem("stopping", "the service is stopping; nothing was reserved")
                line = self._lines.setdefault(
                    campaign.name, CommitQueue(campaign, self._most, self._served)
                )
        future = asyncio.get_running_loop().create_future()
        line.join(QueuedCommand(work, future, deadline), urgent)
        return future

    def waiting(self) -> dict[str, int]:
        """Return how many calls wait now, by campaign."""
        return {name: len(line) for name, line in self._lines.copy().items()}

    def close(self) -> None:
        """Serve what is in line, then take no more."""
        with self._lock:
            self._closed = True
            lines = list(self._lines.values())
        for line in lines:
            line.close()
