"""A campaign as a table: its decisions as ``bursar replay`` reads them, or its raw events."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from bursar.campaign import Campaign
from bursar.campaign.audit import among_of
from bursar.campaign.events import ASKED, GRANTS, RELEASED, VOIDED
from bursar.campaign.holds import affordable
from bursar.campaign.records import OPEN
from bursar.campaign.state import State
from bursar.campaign.transaction import load_decision
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.files import whole_file
from bursar.ledger import Event

__all__ = ["decisions", "export_decisions", "export_events"]

_COLUMNS = (
    "arm", "propensity", "cost", "reward", "decision", "time", "available", "hold", "money",
    "reward_state", "constrained",
)  # fmt: skip
_EVENTS = ("seq", "time", "kind", "decision", "body")
_ENDINGS = (".parquet", ".csv")


def export_decisions(campaign: Campaign, path: Path) -> int:
    """Write a row a decision, in the order of the asks; return how many."""
    _checked(path)
    rows = decisions(campaign)
    if path.suffix == ".csv":
        _write_csv(path, _COLUMNS, (_flat(row) for row in rows))
    else:
        pa = import_extra("pyarrow")
        money = pa.decimal128(38, campaign.coin.exponent)
        texts, real = pa.string(), pa.float64()
        kinds = {
            "propensity": real, "reward": real, "cost": money, "hold": money,
            "time": pa.timestamp("us", tz="UTC"), "available": pa.list_(texts),
            "constrained": pa.bool_(),
        }  # fmt: skip
        schema = pa.schema([(name, kinds.get(name, texts)) for name in _COLUMNS])
        _write_parquet(path, rows, schema)
    return len(rows)


def export_events(campaign: Campaign, path: Path) -> int:
    """Write a row an event, bodies as JSON, money in units; return how many."""
    _checked(path)
    rows = [
        {**asdict(event), "time": event.ts, "body": json.dumps(event.body, ensure_ascii=False)}
        for event in campaign.events()
    ]
    if path.suffix == ".csv":
        _write_csv(path, _EVENTS, rows)
    else:
        pa = import_extra("pyarrow")
        whole, text = pa.int64(), pa.string()
        kinds = zip(_EVENTS, (whole, whole, text, text, text), strict=True)
        _write_parquet(path, rows, pa.schema(list(kinds)))
    return len(rows)


def decisions(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the decisions of a campaign with what could be chosen when they were made.

    The log says what was chosen; what could have been follows from the state before, so the state
    is built again event by event. ``cost`` is what counts as spent: their sum is what was spent.
    """
    events = campaign.events()
    state = State(next(events))
    offers: dict[str, list[str]] = {}
    histories: dict[str, list[Event]] = {}
    for event in events:
        if event.kind in GRANTS:
            offers[event.decision] = _offer(state, event)
        if event.decision:
            histories.setdefault(event.decision, []).append(event)
        state.apply(event)
    amount = state.config.coin.amount
    rows = []
    for decision, available in offers.items():
        choice = load_decision(histories[decision])
        assert choice is not None  # it has an event: the ask
        rows.append(
            {
                "arm": state.arms[choice.arm].key,
                "propensity": choice.propensity,
                "cost": None if choice.money in _UNUSED else amount(choice.charged),
                "reward": choice.reward,
                "decision": decision,
                "time": datetime.fromtimestamp(choice.ts / 1e6, UTC),
                "available": available,
                "hold": amount(choice.hold),
                "money": choice.money,
                "reward_state": choice.rewarded,
                "constrained": choice.constrained,
            }
        )
    return rows


_UNUSED = (*OPEN, VOIDED, RELEASED)  # nothing is spent on these


def _offer(state: State, event: Event) -> list[str]:
    """Return the arms that an ask could have got; nobody knows for one from before a restore."""
    if event.kind != ASKED:
        return [state.arms[event.body["arm"]].key]
    among = among_of(state, event)
    wanted = None if among is None else [state.keys[key] for key in among]
    allowed, _ = affordable(state, wanted, event.ts)
    return [state.arms[number].key for number in (allowed or range(len(state.arms)))]


def _checked(path: Path) -> None:
    if path.suffix not in _ENDINGS:
        raise InvalidInput(f"an export is a .parquet or .csv file, got {path.name!r}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"no folder {str(path.parent)!r} to export to; make it")


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row for CSV: arms joined by bars, times as ISO texts, all digits of money."""
    available = row["available"]
    if any("|" in key for key in available):
        raise InvalidInput("an arm has | in its key, which CSV cannot hold; export to .parquet")
    money = {key: "" if row[key] is None else f"{row[key]:f}" for key in ("cost", "hold")}
    return {**row, **money, "available": "|".join(available), "time": row["time"].isoformat()}


def _write_csv(path: Path, columns: tuple[str, ...], rows: Iterable[Mapping[str, Any]]) -> None:
    with whole_file(path) as partial, partial.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _write_parquet(path: Path, rows: list[dict[str, Any]], schema: Any) -> None:
    pa, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    with whole_file(path) as partial:
        parquet.write_table(pa.Table.from_pylist(rows, schema), partial)
