"""What operators see of a service: metrics for Prometheus, and logs as lines of JSON.

Amounts of money are read from the store when Prometheus asks, so they are right in every one of
several processes. Counters and times belong to a process and add up over all of them. A log line
never contains a secret: tokens, sessions and passwords in URLs are removed from every line.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from bursar.campaign.audit import load_verifications
from bursar.campaign.config import Config
from bursar.errors import InvalidInput, suggest
from bursar.money import Coin
from bursar.service.maintenance import copy_sums
from bursar.version import __version__

if TYPE_CHECKING:
    from bursar.service.service import Service

# metrics

_SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_RESULTS = ("granted", "replayed", "budget-exhausted", "not-active", "overloaded")
_KINDS = ("settled", "rewarded", "replayed", "voided", "outcome-conflict")
_MONEY_GAUGES = {  # help, and labels beside the campaign
    "budget_units": ("Budget",),
    "spent_units": ("Money spent",),
    "held_units": ("Money held by open decisions",),
    "available_units": ("Money that is left",),
    "unit_size": ("A unit, in money", "currency"),
    "campaign_state": ("1 for its state", "state"),
    "open_holds": ("Decisions that hold money",),
    "oldest_hold_seconds": ("Age of the oldest hold",),
    "paused_arms": ("Arms that are paused, by an operator or for their overruns",),
    "failed_commits": ("Commits that failed since the last one that succeeded",),
    "spend_rate_changed": ("1 while a sudden change of the rate of spending is an alarm",),
    "verified_timestamp_seconds": ("When the log was verified last, 0 for never",),
}


_COUNTERS = {
    "overrun_units": "Costs in excess of holds",
    "overruns": "Costs above their holds",
    "snapshot_failures": "Snapshots that failed; nothing is lost",
}


class Metrics:
    """What Prometheus reads: counters and times of this process, and the money of all campaigns.

    An ask or outcome that was refused is counted by the code of its error.
    """

    def __init__(self, service: Service) -> None:
        own = self._registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=own), partial(Gauge, registry=own)
        timer = partial(Histogram, buckets=_SECONDS, registry=own)
        self.asks = _Children(counter("bursar_asks", "Asks by result", ["result"]), _RESULTS)
        self.outcomes = _Children(counter("bursar_outcomes", "Outcomes by kind", ["kind"]), _KINDS)
        self.commit_seconds = timer("bursar_commit_seconds", "Duration of a commit")
        self.batch_size = Histogram(
            "bursar_batch_size", "Commands in one commit", buckets=_SIZES, registry=own
        )
        self.sync_seconds = timer("bursar_fsync_seconds", "Time to make one row durable")
        depth = gauge("bursar_queue_depth", "Commands that are queued")
        depth.set_function(lambda: sum(service.queued().values()))
        self.mismatches = counter(
            "bursar_replay_mismatch", "Logs and choices that could not be reproduced"
        )
        self.violations = counter(
            "bursar_invariant_violations", "Sums of money that did not add up"
        )
        self.maintenance_failures = counter(
            "bursar_maintenance_failures", "Regular checks of a campaign that failed"
        )
        info = gauge("bursar_build_info", "The running version", ["version"])
        info.labels(__version__).set(1)
        ProcessCollector(registry=own)
        own.register(_MoneyCollector(service))

    def to_text(self) -> bytes:
        """Return all metrics in Prometheus' text format; reads the store, so it blocks."""
        return generate_latest(self._registry)


class _Children(dict[str, Counter]):
    """The counters of the values of a label; ``labels()`` is slow.

    Those of the usual values exist from the start, so that rates can be computed.
    """

    def __init__(self, family: Counter, values: Iterable[str]) -> None:
        super().__init__((value, family.labels(value)) for value in values)
        self._family = family

    def __missing__(self, value: str) -> Counter:
        child = self[value] = self._family.labels(value)
        return child


class _MoneyCollector:
    """Reads money and holds of all campaigns from the store.

    Money is in whole units; ``bursar_unit_size`` is the size of a unit in the currency.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._coin = cache(self._load_coin)

    def collect(self) -> Iterable[Metric]:
        service = self._service
        families: dict[str, Any] = {
            name: GaugeMetricFamily(f"bursar_{name}", help, labels=["campaign", *labels])
            for name, (help, *labels) in _MONEY_GAUGES.items()
        }
        for name, help in _COUNTERS.items():
            families[name] = CounterMetricFamily(f"bursar_{name}", help, labels=["campaign"])

        def add(name: str, value: float, *labels: str) -> None:
            families[name].add_metric([row.name, *labels], value)

        committers = service.committers()
        verified = load_verifications(service.store)
        for row in service.store.campaign_rows():
            add("budget_units", row.budget)
            add("spent_units", row.spent)
            add("held_units", row.held)
            add("available_units", row.budget - row.spent - row.held)
            add("campaign_state", 1, row.state)
            committer = committers.get(row.name)  # None if it is not open, and so never failed
            add("snapshot_failures", 0 if committer is None else committer.failed_snapshots)
            add("failed_commits", 0 if committer is None else committer.failed_commits)
            changed = committer is not None and committer.rate_change is not None
            add("spend_rate_changed", changed)
            add("verified_timestamp_seconds", verified[row.name].at / 1e6)
            try:
                coin = self._coin(row.name)
                add("unit_size", float(coin.amount(1)), coin.currency)
                if row.state == "closed" and row.held == 0:
                    continue  # it cannot change, so its log need not be read
                [result] = service.campaign(row.name).execute_batch([copy_sums])
            except Exception as error:  # a damaged ledger must not hide the others
                _LOG.error("the metrics of %s are not complete: %r", row.name, error)
                continue
            if not isinstance(result, BaseException):
                state, decisions = result
                now = time.time()
                add("open_holds", len(decisions))
                oldest = min((one.ts / 1e6 for one in decisions), default=now)
                add("oldest_hold_seconds", max(0.0, now - oldest))
                add("overrun_units", state.overrun)
                add("overruns", sum(arm.overruns for arm in state.arms))
                add("paused_arms", sum(arm.state == "paused" for arm in state.arms))
        return families.values()

    def _load_coin(self, name: str) -> Coin:
        first, _ = next(self._service.store.read(name))
        return Config.from_body(first.body["config"]).coin


# logs

REQUEST: ContextVar[str] = ContextVar("bursar.request", default="")
"""Id of the request that is being served, which is part of every line logged meanwhile."""

ACCESS = logging.getLogger("bursar.access")
_LOG = logging.getLogger("bursar.service")
_LEVELS = ("debug", "info", "warning", "error")
_FIELDS = ("request_id", "key", "campaign", "decision")
_ENCODER = msgspec.json.Encoder(enc_hook=repr)
_SECRETS = re.compile(
    r"(bursar_[a-z0-9]{1,32}_)[\w-]{43}"  # tokens
    r"|(bursar_session=)[^\s;\"\\]+"  # cookies
    r"|(//[^\s/:@\"\\]*:)[^\s\"\\]+(?=@)"  # passwords in URLs, mistyped ones as well
    r"|((?<![\w])[Bb]earer )[^\s\"\\]+"
)


def configure_logging(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Send the logs of bursar and of its server to stderr as JSON; return the handler."""
    if level not in _LEVELS:
        raise InvalidInput(f"no log level {level!r}{suggest(level, _LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    for name in ("bursar", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    for name in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(name).handlers[:] = []
    logging.getLogger("uvicorn.access").disabled = True  # the middleware logs more
    return handler


class JsonLogFormatter(logging.Formatter):
    """Formats records as lines of JSON; ``facts`` of a record become members of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        line: dict[str, object] = {
            "time": f"{_format_second(int(record.created))}.{int(record.created % 1 * 1000):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if record.args else record.msg,
        }
        attributes = record.__dict__
        if "facts" in attributes:
            line.update(attributes["facts"])
        else:
            line.update((name, attributes[name]) for name in _FIELDS if attributes.get(name))
            if "request_id" not in line and (request := REQUEST.get()):
                line["request_id"] = request
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return scrub(_ENCODER.encode(line).decode())


@lru_cache(maxsize=2)  # formatting a time takes longer than the rest of a line
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def scrub(text: str) -> str:
    """Return a text without secrets.

    >>> scrub("lost postgresql://ada:secret@db/spend")
    'lost postgresql://ada:…@db/spend'
    """
    if "bursar_" in text or "//" in text or "earer " in text:  # the pattern itself is slow
        return _SECRETS.sub(lambda found: f"{found[found.lastindex or 0]}…", text)
    return text
