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
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from bursar.campaign.config import Config
from bursar.errors import BursarError, InvalidInput, suggest
from bursar.money import Coin
from bursar.service.maintenance import load_invariant_data
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
}


class Metrics:
    """Counters of a process, and the text that Prometheus reads.

    Parameters
    ----------
    queued : callable
        Returns how many commands are queued now, by campaign.
    """

    def __init__(self, queued: Callable[[], Mapping[str, int]] = dict) -> None:
        own = self._registry = CollectorRegistry()
        self._coins: dict[str, Coin] = {}
        asks = Counter("bursar_asks", "Asks by result", ["result"], registry=own)
        outcomes = Counter("bursar_outcomes", "Outcomes by kind", ["kind"], registry=own)
        self._commit = Histogram(
            "bursar_commit_seconds", "Duration of a commit", buckets=_SECONDS, registry=own
        )
        self._size = Histogram(
            "bursar_batch_size", "Commands in one commit", buckets=_SIZES, registry=own
        )
        self._sync = Histogram(
            "bursar_fsync_seconds", "Time to make one row durable", buckets=_SECONDS, registry=own
        )
        depth = Gauge("bursar_queue_depth", "Commands that are queued", registry=own)
        depth.set_function(lambda: sum(queued().values()))
        self._mismatches = Counter(
            "bursar_replay_mismatch", "Logs and choices that could not be reproduced", registry=own
        )
        self._violations = Counter(
            "bursar_invariant_violations", "Sums of money that did not add up", registry=own
        )
        info = Gauge("bursar_build_info", "The running version", ["version"], registry=own)
        info.labels(__version__).set(1)
        ProcessCollector(registry=own)
        # they exist from the start, so that rates can be computed; and labels() is slow
        self._asks = _Children(asks, _RESULTS)
        self._outcomes = _Children(outcomes, _KINDS)

    def count_asks(self, result: str, count: int = 1) -> None:
        """Count asks: granted, replayed, or the code of the error that refused them."""
        self._asks[result].inc(count)

    def count_outcomes(self, kind: str, count: int = 1) -> None:
        """Count outcomes: settled, rewarded, replayed, voided and others, or an error code."""
        self._outcomes[kind].inc(count)

    def observe_commit(self, seconds: float, commands: int) -> None:
        """Record the duration of a commit, and the number of its commands."""
        self._commit.observe(seconds)
        self._size.observe(commands)

    def observe_sync(self, seconds: float) -> None:
        """Record how long it took to make one row durable."""
        self._sync.observe(seconds)

    def count_mismatches(self, count: int = 1) -> None:
        """Count logs and choices that could not be reproduced."""
        self._mismatches.inc(count)

    def count_violations(self, count: int) -> None:
        """Count sums that did not add up."""
        self._violations.inc(count)

    def to_text(self, service: Service) -> bytes:
        """Return all metrics in Prometheus' text format; reads the store, so it blocks."""
        money = CollectorRegistry()
        money.register(_Collected(_money_metrics(service, self._coins)))
        return generate_latest(self._registry) + generate_latest(money)


class _Children(dict[str, Counter]):
    """The counters of the values of a label, created when they are first used."""

    def __init__(self, family: Counter, values: Iterable[str]) -> None:
        super().__init__((value, family.labels(value)) for value in values)
        self._family = family

    def __missing__(self, value: str) -> Counter:
        child = self[value] = self._family.labels(value)
        return child


class _Collected:
    """A collector of metrics that exist already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def _money_metrics(service: Service, coins: dict[str, Coin]) -> Iterable[Metric]:
    """Return money and holds of all campaigns; coins are kept for the next time.

    Money is in whole units; ``bursar_unit_size`` is the size of a unit in the currency.
    """
    families: dict[str, Any] = {
        name: GaugeMetricFamily(f"bursar_{name}", help, labels=["campaign", *labels])
        for name, (help, *labels) in _MONEY_GAUGES.items()
    }
    families["overrun_units"] = CounterMetricFamily(
        "bursar_overrun_units", "Costs in excess of holds", labels=["campaign"]
    )

    def add(name: str, value: float, *labels: str) -> None:
        families[name].add_metric([row.name, *labels], value)

    for row in service.store.campaign_rows():
        add("budget_units", row.budget)
        add("spent_units", row.spent)
        add("held_units", row.held)
        add("available_units", row.budget - row.spent - row.held)
        add("campaign_state", 1, row.state)
        coin = coins.get(row.name) or coins.setdefault(row.name, _load_coin(service, row.name))
        add("unit_size", float(coin.amount(1)), coin.currency)
        if row.state == "closed" and row.held == 0:
            continue  # it cannot change, so its log need not be read
        try:
            [data] = service.campaign(row.name).execute_batch([load_invariant_data])
        except BursarError:  # a damaged ledger must not hide the others
            continue
        if not isinstance(data, BaseException):
            add("open_holds", data.open)
            age = 0.0 if data.oldest is None else time.time() - data.oldest / 1e6
            add("oldest_hold_seconds", max(0.0, age))
            add("overrun_units", data.overrun)
    return families.values()


def _load_coin(service: Service, name: str) -> Coin:
    first, _ = next(service.store.read(name))
    return Config.from_body(first.body["config"]).coin


# logs

REQUEST: ContextVar[str] = ContextVar("bursar.request", default="")
"""Id of the request that is being served, which is part of every line logged meanwhile."""

ACCESS = logging.getLogger("bursar.access")
_LEVELS = ("debug", "info", "warning", "error")
_FIELDS = ("request_id", "key", "campaign", "decision")
_ENCODER = msgspec.json.Encoder(enc_hook=repr)
_SECRETS = re.compile(
    r"(bursar_[a-z0-9]{1,32}_)[\w-]{43}"  # tokens
    r"|(bursar_session=)[^\s;\"\\]+"  # cookies
    r"|(://[^\s/:@\"\\]*:)[^\s/@\"\\]+(?=@)"  # passwords in URLs
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

    def __init__(self) -> None:
        super().__init__()
        self._second = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line of JSON."""
        line: dict[str, object] = {
            "time": self._format_time(record.created),
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

    def _format_time(self, seconds: float) -> str:
        second, text = self._second
        if second != int(seconds):
            second = int(seconds)
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second, text
        return f"{text}.{int((seconds - second) * 1000):03d}Z"


def scrub(text: str) -> str:
    """Return a text without secrets.

    >>> scrub("lost postgresql://ada:secret@db/spend")
    'lost postgresql://ada:…@db/spend'
    """
    if "bursar_" in text or "://" in text or "earer " in text:  # the pattern itself is slow
        return _SECRETS.sub(lambda found: f"{found[found.lastindex or 0]}…", text)
    return text
