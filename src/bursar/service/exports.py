"""The whole log as a file: lines of JSON, CSV or Parquet, sent while it is read."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

from bursar.campaign import Campaign
from bursar.ledger import Event
from bursar.result import extra
from bursar.service.answer import encode
from bursar.service.placing import campaign_of
from bursar.service.query import choice

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["MEDIA", "export"]

MEDIA = ("application/jsonl", "text/csv", "application/vnd.apache.parquet")
_KINDS = dict(zip(("jsonl", "csv", "parquet"), MEDIA, strict=True))
_COLUMNS = ("seq", "time", "kind", "decision", "body")
_PIECE = 1000


async def export(service: Service, request: Request) -> StreamingResponse:
    """Send the log; times are µs since 1970, money is in units."""
    name = campaign_of(request, "read")
    kind = choice(request, "format", "jsonl", tuple(_KINDS))
    campaign = await service.find(name)
    if kind == "parquet":
        extra("pyarrow", "pyarrow")  # say now that it is missing, not in the middle
    pieces = {"jsonl": _lines, "csv": _rows, "parquet": _parquet}[kind](campaign)
    safe = quote(f"{name}.{kind}", safe="")
    return StreamingResponse(
        iterate_in_threadpool(pieces),
        headers={
            "content-type": _KINDS[kind],
            "content-disposition": f"attachment; filename*=UTF-8''{safe}",
        },
    )


def _lines(campaign: Campaign) -> Iterator[bytes]:
    events = campaign.events()
    while piece := list(islice(events, _PIECE)):
        yield b"".join(encode(one) + b"\n" for one in piece)


def _rows(campaign: Campaign) -> Iterator[bytes]:
    events, head = campaign.events(), True
    while piece := list(islice(events, _PIECE)):
        text = io.StringIO()
        write = csv.writer(text).writerow
        if head:
            write(_COLUMNS)
            head = False
        for one in piece:
            write(_row(one))
        yield text.getvalue().encode()


def _row(event: Event) -> tuple[int, int, str, str, str]:
    return event.seq, event.ts, event.kind, event.decision, encode(event.body).decode()


def _parquet(campaign: Campaign) -> Iterator[bytes]:
    """Yield a Parquet file; its end tells where things are, so it is written before it is sent."""
    pa, pq = extra("pyarrow", "pyarrow"), extra("pyarrow.parquet", "pyarrow")
    whole, text = pa.int64(), pa.string()
    schema = pa.schema(list(zip(_COLUMNS, (whole, whole, text, text, text), strict=True)))
    with tempfile.TemporaryDirectory(prefix="bursar-") as folder:
        path = Path(folder) / "log.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            events = campaign.events()
            while piece := list(islice(events, 50 * _PIECE)):
                rows = [_row(one) for one in piece]
                columns = [list(column) for column in zip(*rows, strict=True)]
                writer.write_table(pa.table(dict(zip(_COLUMNS, columns, strict=True)), schema))
        with path.open("rb") as file:
            while part := file.read(1 << 16):
                yield part
