"""What Prometheus may know: counters of this process, and money as the store has it now.

Money is read when somebody asks for it, so it is right whichever of several processes answers;
counters and times are those of the process, and add up over all of them.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from bursar.campaign.config import Config
from bursar.errors import BursarError, InvalidInput, nearest
from bursar.money import Coin
from bursar.service.maintenance import load_invariant_data
from bursar.version import __version__

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = [
    "ACCESS",
    "LEVELS",
    "REQUEST",
    "JsonLogFormatter",
    "Metrics",
    "configure_logging",
    "gauges",
    "scrub",
]

# ==== service.money_gauges
# Money of all campaigns as Prometheus reads it: whole numbers of units, straight from the store.
#
# ``bursar_unit_size`` says how much of its currency a unit of a campaign is: multiplied with it,
# units are money that people read.


def gauges(service: Service, coins: dict[str, Coin]) -> Iterable[Metric]:
    """Return the gauges of money and holds, a series a campaign; coins are kept for next time."""
    by = ["campaign"]
    budget = GaugeMetricFamily("bursar_budget_units", "What may be spent", labels=by)
    spent = GaugeMetricFamily("bursar_spent_units", "What was spent", labels=by)
    held = GaugeMetricFamily("bursar_held_units", "What open decisions hold", labels=by)
    available = GaugeMetricFamily("bursar_available_units", "What is left", labels=by)
    size = GaugeMetricFamily("bursar_unit_size", "A unit, in money", labels=[*by, "currency"])
    state = GaugeMetricFamily("bursar_campaign_state", "1: it is so now", labels=[*by, "state"])
    opened = GaugeMetricFamily("bursar_open_holds", "Decisions that hold money", labels=by)
    oldest = GaugeMetricFamily("bursar_oldest_hold_seconds", "Age of the oldest", labels=by)
    overrun = CounterMetricFamily("bursar_overrun_units", "What costs exceeded holds by", labels=by)
    now = time.time()
    for row in service.store.campaign_rows():
        name = [row.name]
        budget.add_metric(name, row.budget)
        spent.add_metric(name, row.spent)
        held.add_metric(name, row.held)
        available.add_metric(name, row.budget - row.spent - row.held)
        state.add_metric([row.name, row.state], 1)
        coin = coins.get(row.name) or coins.setdefault(row.name, _coin(service, row.name))
        size.add_metric([row.name, coin.currency], float(coin.amount(1)))
        if row.state == "closed" and row.held == 0:
            continue  # nothing can happen there; its log need not be read
        try:
            campaign = service.campaign(row.name)
        except BursarError:  # one that cannot be read must not hide the others
            continue
        [facts] = campaign.execute_batch([load_invariant_data])
        if isinstance(facts, BaseException):
            continue
        opened.add_metric(name, facts.open)
        age = 0.0 if facts.oldest is None else now - facts.oldest / 1e6
        oldest.add_metric(name, max(0.0, age))
        overrun.add_metric(name, facts.overrun)
    return budget, spent, held, available, size, state, opened, oldest, overrun


def _coin(service: Service, name: str) -> Coin:
    first, _ = next(service.store.read(name))
    return Config.from_body(first.body["config"]).coin


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

    def count_asks(self, result: str, count: int = 1) -> None:
        """Count asks: granted, replayed, or the code of what refused them."""
        child = self._by_result.get(result)
        if child is None:
            child = self._by_result[result] = self._asks.labels(result)
        child.inc(count)

    def count_outcomes(self, kind: str, count: int = 1) -> None:
        """Count outcomes: settled, rewarded, replayed, voided and so on, or a code."""
        child = self._by_kind.get(kind)
        if child is None:
            child = self._by_kind[kind] = self._told.labels(kind)
        child.inc(count)

    def observe_commit(self, seconds: float, works: int) -> None:
        """Note a commit: how long it took, and for how many calls it was."""
        self._commit.observe(seconds)
        self._size.observe(works)

    def observe_sync(self, seconds: float) -> None:
        """Note how long it took to make one row durable."""
        self._sync.observe(seconds)

    def count_mismatches(self, count: int = 1) -> None:
        """Count logs and choices that, made again, came out otherwise."""
        self._mismatches.inc(count)

    def count_violations(self, count: int) -> None:
        """Count sums that did not add up."""
        self._violations.inc(count)

    def to_text(self, service: Service) -> bytes:
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


# ==== service.logs
# Logs: a line of JSON an event on stderr, with request and decision, and never a secret.
#
# Whatever looks like a token, a session or a password in a URL is cut out of every line, wherever it
# came from.

LEVELS = ("debug", "info", "warning", "error")
REQUEST: ContextVar[str] = ContextVar("bursar.request", default="")
"""Id of the request that is being served; it is in every line that is logged meanwhile."""

ACCESS = logging.getLogger("bursar.access")
_FIELDS = ("request_id", "key", "campaign", "decision")
_SECRETS = re.compile(
    r"(bursar_[a-z0-9]{1,32}_)[\w-]{43}"  # tokens
    r"|(bursar_session=)[^\s;\"\\]+"  # cookies
    r"|(://[^\s/:@\"\\]*:)[^\s/@\"\\]+(?=@)"  # passwords in URLs
    r"|((?<![\w])[Bb]earer )[^\s\"\\]+"
)


_ENCODER = msgspec.json.Encoder(enc_hook=repr)


def scrub(text: str) -> str:
    """Return a text without secrets.

    >>> scrub("lost postgresql://ada:secret@db/spend")
    'lost postgresql://ada:…@db/spend'
    """
    if "bursar_" in text or "://" in text or "earer " in text:  # the pattern itself is slow
        return _SECRETS.sub(lambda found: f"{found[found.lastindex or 0]}…", text)
    return text


class JsonLogFormatter(logging.Formatter):
    """Records as lines of JSON; ``facts`` of a record are members of their own."""

    def __init__(self) -> None:
        super().__init__()
        self._second = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON in one line."""
        facts: dict[str, object] = {
            "time": self._time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if record.args else record.msg,
        }
        have = record.__dict__
        if "facts" in have:
            facts.update(have["facts"])
        else:
            facts.update((name, have[name]) for name in _FIELDS if have.get(name))
            if "request_id" not in facts and (request := REQUEST.get()):
                facts["request_id"] = request
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return scrub(_ENCODER.encode(facts).decode())

    def _time(self, seconds: float) -> str:
        second, text = self._second
        if second != int(seconds):
            second = int(seconds)
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second, text
        return f"{text}.{int((seconds - second) * 1000):03d}Z"


def configure_logging(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Send what bursar and its server log to stderr as JSON; return the handler."""
    if level not in LEVELS:
        raise InvalidInput(f"no log level {level!r}{nearest(level, LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLogFormatter())
    for name in ("bursar", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    for name in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(name).handlers[:] = []
    logging.getLogger("uvicorn.access").disabled = True  # the guard's lines say more
    return handler
