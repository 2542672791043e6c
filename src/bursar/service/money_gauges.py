"""Money of all campaigns as Prometheus reads it: whole numbers of units, straight from the store.

``bursar_unit_size`` says how much of its currency a unit of a campaign is: multiplied with it,
units are money that people read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from bursar.campaign.config import Config
from bursar.errors import BursarError
from bursar.money import Coin
from bursar.service.invariants import facts_of

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["gauges"]


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
    for row in service.store.standings():
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
        [facts] = campaign.together([facts_of])
        if isinstance(facts, BaseException):
            continue
        opened.add_metric(name, facts.open)
        age = 0.0 if facts.oldest is None else now - facts.oldest / 1e6
        oldest.add_metric(name, max(0.0, age))
        overrun.add_metric(name, facts.overrun)
    return budget, spent, held, available, size, state, opened, oldest, overrun


def _coin(service: Service, name: str) -> Coin:
    first, _ = next(service.store.read(name))
    return Config.of(first.body["config"]).coin
