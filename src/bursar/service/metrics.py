"""What Prometheus may know: counters of this process, and money as the store has it now.

Money is read when somebody asks for it, so it is right whichever of several processes answers;
counters and times are those of the process, and add up over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest

from bursar.money import Coin
from bursar.service.money_gauges import gauges
from bursar.version import __version__

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from bursar.service.service import Service

__all__ = ["Metrics"]

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_RESULTS = ("granted", "replayed", "budget-exhausted", "not-active", "overloaded")
_KINDS = ("settled", "rewarded", "replayed", "voided", "outcome-conflict")


class Metrics:
    """Counters of a process, and the text that Prometheus reads.

    Attributes
    ----------
    queue : callable
        Returns how many calls wait for a ledger now, by campaign.
    """

    def __init__(self) -> None:
        own = CollectorRegistry()
        self.queue: Callable[[], Mapping[str, int]] = dict
        self._registry = own
        self._coins: dict[str, Coin] = {}
        self._asks = Counter("bursar_asks", "Asks by what came of them", ["result"], registry=own)
        self._told = Counter("bursar_outcomes", "Outcomes by what they did", ["kind"], registry=own)
        self._commit = Histogram(
            "bursar_commit_seconds", "Time of a commit", buckets=_SECONDS, registry=own
        )
        self._size = Histogram(
            "bursar_batch_size", "Calls that shared a commit", buckets=_SIZES, registry=own
        )
        self._sync = Histogram(
            "bursar_fsync_seconds", "Time to make one row durable", buckets=_SECONDS, registry=own
        )
        depth = Gauge("bursar_queue_depth", "Calls that wait for a ledger", registry=own)
        depth.set_function(lambda: sum(self.queue().values()))
        self._mismatches = Counter(
            "bursar_replay_mismatch", "Logs and choices that did not come out again", registry=own
        )
        self._violations = Counter(
            "bursar_invariant_violations", "Sums of money that did not add up", registry=own
        )
        info = Gauge("bursar_build_info", "The version that runs", ["version"], registry=own)
        info.labels(__version__).set(1)
        ProcessCollector(registry=own)
        # there from the start, so that a rate over them is; and kept, since labels() is slow
        self._by_result = {word: self._asks.labels(word) for word in _RESULTS}
        self._by_kind = {word: self._told.labels(word) for word in _KINDS}

    def asked(self, result: str, count: int = 1) -> None:
        """Count asks: granted, replayed, or the code of what refused them."""
        child = self._by_result.get(result)
        if child is None:
            child = self._by_result[result] = self._asks.labels(result)
        child.inc(count)

    def outcome(self, kind: str, count: int = 1) -> None:
        """Count outcomes: settled, rewarded, replayed, voided and so on, or a code."""
        child = self._by_kind.get(kind)
        if child is None:
            child = self._by_kind[kind] = self._told.labels(kind)
        child.inc(count)

    def committed(self, seconds: float, works: int) -> None:
        """Note a commit: how long it took, and for how many calls it was."""
        self._commit.observe(seconds)
        self._size.observe(works)

    def synced(self, seconds: float) -> None:
        """Note how long it took to make one row durable."""
        self._sync.observe(seconds)

    def mismatched(self, count: int = 1) -> None:
        """Count logs and choices that, made again, came out otherwise."""
        self._mismatches.inc(count)

    def violated(self, count: int) -> None:
        """Count sums that did not add up."""
        self._violations.inc(count)

    def text(self, service: Service) -> bytes:
        """Return all in Prometheus' text format; reads the store, so not for the event loop."""
        money = CollectorRegistry()
        money.register(_Fixed(gauges(service, self._coins)))
        return generate_latest(self._registry) + generate_latest(money)


class _Fixed:
    """A collector of what was collected."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics
