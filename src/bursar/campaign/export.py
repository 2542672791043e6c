"""A campaign as a table: its decisions as ``bursar replay`` reads them, or the events of its log.

The shell writes both to files; the service streams the events. Times of events are µs since 1970
and their money is in units, as in the log.
"""

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec

from bursar.campaign.audit import options_of
from bursar.campaign.campaign import Campaign
from bursar.campaign.decision import to_datetime
from bursar.campaign.events import ASKED, GRANTS, RELEASED, VOIDED
from bursar.campaign.holds import affordable
from bursar.campaign.records import OPEN, DecisionRecord, make_record
from bursar.campaign.state import State
from bursar.errors import InvalidInput
from bursar.extras import import_extra
from bursar.files import replace_file
from bursar.formatting import to_csv_cell
from bursar.ledger import Event

_DECISION_COLUMNS = (
    "arm", "propensity", "cost", "reward", "decision", "time", "available", "hold", "money",
    "reward_state", "constrained", "context",
)  # fmt: skip
_EVENT_COLUMNS = ("seq", "time", "kind", "decision", "body")
_NOTHING_SPENT = (*OPEN, VOIDED, RELEASED)
_PIECE_BYTES = 1 << 18  # of a stream
_GROUP_ROWS = 50_000  # of a row group of Parquet
_GROUP_BYTES = 1 << 24  # of its texts

Row = tuple[Any, ...]


def export_decisions(campaign: Campaign, path: Path) -> int:
    """Write one row per decision, in the order of the asks; return the number of rows."""
    _check_path(path)
    rows: Iterable[dict[str, Any]] = decision_rows(campaign)
    if path.suffix == ".csv":
        rows = map(_to_text, rows)
    values = (tuple(row.values()) for row in rows)
    return _write(path, _DECISION_COLUMNS, values, lambda: _decision_schema(campaign.coin.exponent))


def export_events(campaign: Campaign, path: Path) -> int:
    """Write one row per event, bodies as JSON; return the number of rows."""
    _check_path(path)
    encode = partial(json.dumps, ensure_ascii=False)  # spaced, unlike the service's bodies
    return _write(path, _EVENT_COLUMNS, _event_rows(campaign, encode), _event_schema)


def _write(path: Path, columns: Row, rows: Iterable[Row], make_schema: Callable[[], Any]) -> int:
    numbers = count()  # of the rows that were taken
    taken = (row for row, _ in zip(rows, numbers, strict=False))
    with replace_file(path) as new_path:
        if path.suffix == ".csv":
            with new_path.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(_csv_rows(columns, taken))
        else:
            _write_parquet(new_path, make_schema(), taken)
    return next(numbers)


def _csv_rows(columns: Row, rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the header and rows, of which no cell is a formula to a spreadsheet."""
    yield columns
    for row in rows:
        yield tuple(map(to_csv_cell, row))


def decision_rows(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the decisions of a campaign with the arms that could be chosen at each.

    The log says what was chosen; what could have been follows from the state before, so the state
    is built again event by event. The costs add up to what was spent.
    """
    events = campaign.events()
    state = State(next(events))
    offers: dict[str, tuple[str, ...]] = {}
    decisions: dict[str, DecisionRecord] = {}
    same: dict[tuple[str, ...], tuple[str, ...]] = {}  # most decisions have the same offer
    for event in events:
        if event.kind in GRANTS:
            offer = _available_arms(state, event)
            offers[event.decision] = same.setdefault(offer, offer)
            decisions[event.decision] = make_record(event)
        elif event.decision:
            decisions[event.decision].apply(event)
        state.apply(event)
    return [_decision_row(state, decisions[id], list(arms)) for id, arms in offers.items()]


def _decision_row(state: State, decision: DecisionRecord, available: list[str]) -> dict[str, Any]:
    amount = state.config.coin.amount
    return {
        "arm": state.arms[decision.arm].key,
        "propensity": decision.propensity,
        "cost": None if decision.money in _NOTHING_SPENT else amount(decision.charged),
        "reward": decision.reward,
        "decision": decision.id,
        "time": to_datetime(decision.ts),
        "available": available,
        "hold": amount(decision.hold),
        "money": decision.money,
        "reward_state": decision.rewarded,
        "constrained": decision.constrained,
        "context": None if decision.context is None else _encode(decision.context),
    }


def _available_arms(state: State, event: Event) -> tuple[str, ...]:
    """Return the arms that an ask could have got; unknown for a grant from before a restore."""
    if event.kind != ASKED:
        return (state.arms[event.body["arm"]].key,)
    among, own = options_of(state, event)
    wanted = None if among is None else [state.keys[key] for key in among]
    allowed, _ = affordable(state, wanted, event.ts, own)
    return tuple(state.arms[number].key for number in (allowed or range(len(state.arms))))


def stream_events(campaign: Campaign, kind: str) -> Iterator[bytes]:
    """Yield the log in one of ``STREAM_FORMATS`` while it is read."""
    if kind == "parquet":
        import_extra("pyarrow")  # raise now if it is missing, not in the middle of a response
    return STREAM_FORMATS[kind](campaign)


def _stream_jsonl(campaign: Campaign) -> Iterator[bytes]:
    return _join_lines(msgspec.json.encode(event) + b"\n" for event in campaign.events())


def _stream_csv(campaign: Campaign) -> Iterator[bytes]:
    encoder: Any = SimpleNamespace(write=str.encode)  # writerow returns what its write returns
    rows = _csv_rows(_EVENT_COLUMNS, _event_rows(campaign))
    return _join_lines(map(csv.writer(encoder).writerow, rows))


def _join_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    for line in lines:
        piece += line
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


def _stream_parquet(campaign: Campaign) -> Iterator[bytes]:
    """Yield a Parquet file; its index comes last, so it is written before it is sent."""
    with tempfile.TemporaryDirectory(prefix="bursar-") as folder:
        path = Path(folder) / "log.parquet"
        _write_parquet(path, _event_schema(), _event_rows(campaign))
        with path.open("rb") as file:
            while part := file.read(1 << 16):
                yield part


STREAM_FORMATS = {"jsonl": _stream_jsonl, "csv": _stream_csv, "parquet": _stream_parquet}


def _encode(body: Any) -> str:
    return msgspec.json.encode(body).decode()


def _event_rows(campaign: Campaign, encode: Callable[[Any], str] = _encode) -> Iterator[Row]:
    for event in campaign.events():
        yield event.seq, event.ts, event.kind, event.decision, encode(event.body)


def _decision_schema(exponent: int) -> Any:
    pa = import_extra("pyarrow")
    money, text, real = pa.decimal128(38, exponent), pa.string(), pa.float64()
    types = {
        "propensity": real, "reward": real, "cost": money, "hold": money,
        "time": pa.timestamp("us", tz="UTC"), "available": pa.list_(text),
        "constrained": pa.bool_(),
    }  # fmt: skip
    return pa.schema([(name, types.get(name, text)) for name in _DECISION_COLUMNS])


def _event_schema() -> Any:
    pa = import_extra("pyarrow")
    types = (pa.int64(), pa.int64(), pa.string(), pa.string(), pa.string())
    return pa.schema(list(zip(_EVENT_COLUMNS, types, strict=True)))


def _check_path(path: Path) -> None:
    if path.suffix not in (".parquet", ".csv"):
        raise InvalidInput(f"an export must be a .parquet or .csv file, got {path.name!r}")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"no folder {str(path.parent)!r} to export to; make it")


def _to_text(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for CSV: arms joined by bars, times as ISO text, all digits of money."""
    available = row["available"]
    if any("|" in key for key in available):
        raise InvalidInput("an arm has | in its key, which CSV cannot hold; export to .parquet")
    money = {key: "" if row[key] is None else f"{row[key]:f}" for key in ("cost", "hold")}
    texts = {"available": "|".join(available), "time": row["time"].isoformat()}
    return row | money | texts


def _write_parquet(path: Path, schema: Any, rows: Iterable[Row]) -> None:
    pa, parquet = import_extra("pyarrow"), import_extra("pyarrow.parquet")
    with parquet.ParquetWriter(path, schema) as writer:
        for group in _split_rows(rows):
            columns = [list(column) for column in zip(*group, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))


def _split_rows(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield rows in groups that are limited in number and in length."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row[-1]) if isinstance(row[-1], str) else 0
        if len(group) == _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
