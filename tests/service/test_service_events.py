from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pyarrow.parquet as pq
from service_app import ARMS, Api, Live, api, eventually, live, service

from bursar import Campaign

__all__ = ["api", "live", "service"]

NEW = {"name": "llm", "budget": "1.00", "arms": ARMS}
STREAM = "/v1/campaigns/llm/events/stream"


def test_events_are_listed_in_pages_and_by_kind(api: Api) -> None:
    api.make()
    for _ in range(3):
        api.post(f"/v1/decisions/{api.ask()['id']}/outcome", {"cost": "0.001", "reward": 1})
    first = api.get("/v1/campaigns/llm/events?limit=4").json()
    rest = api.get(f"/v1/campaigns/llm/events?after={first['next']}").json()
    events = first["events"] + rest["events"]
    assert [one["seq"] for one in events] == list(range(1, 8))
    assert [one["kind"] for one in events] == ["created"] + ["asked", "told"] * 3
    assert rest["next"] is None
    told = api.get("/v1/campaigns/llm/events?kind=told&kind=created").json()["events"]
    assert [one["kind"] for one in told] == ["created", "told", "told", "told"]


def test_the_log_is_exported_as_lines_of_json_csv_and_parquet(api: Api) -> None:
    api.make()
    api.ask(id="a,b")
    events = api.get("/v1/campaigns/llm/events").json()["events"]
    lines = api.get("/v1/campaigns/llm/export")
    assert lines.headers["content-disposition"] == "attachment; filename*=UTF-8''llm.jsonl"
    assert [json.loads(line) for line in lines.text.splitlines()] == events
    rows = list(csv.DictReader(io.StringIO(api.get("/v1/campaigns/llm/export?format=csv").text)))
    assert [row["decision"] for row in rows] == ["", "a,b"]
    assert [json.loads(row["body"]) for row in rows] == [one["body"] for one in events]
    file = io.BytesIO(api.get("/v1/campaigns/llm/export?format=parquet").content)
    table = pq.read_table(file).to_pylist()
    assert [(row["seq"], row["kind"]) for row in table] == [(1, "created"), (2, "asked")]


def events_of(response: httpx2.Response) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream, as a browser would."""
    event: dict[str, Any] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if name in ("id", "event", "data"):
            event[name] = value
        elif not line and "data" in event:
            yield event
            event = {}


def ask(client: httpx2.Client) -> str:
    asked = client.post("/v1/campaigns/llm/decisions", json={})
    assert asked.status_code == 201
    id: str = asked.json()["id"]
    return id


def test_a_stream_has_what_happens_and_goes_on_where_it_was_cut(live: Live) -> None:
    with live.client() as client:
        client.post("/v1/campaigns", json=NEW)
        first = ask(client)
        with client.stream("GET", STREAM, headers={"last-event-id": "0"}) as response:
            assert response.headers["content-type"] == "text/event-stream"
            assert response.headers["x-accel-buffering"] == "no"
            events = events_of(response)
            seen = [next(events), next(events)]
            assert [(one["id"], one["event"]) for one in seen] == [("1", "created"), ("2", "asked")]
            assert json.loads(seen[1]["data"])["decision"] == first
            second = ask(client)  # while somebody watches
            assert json.loads(next(events)["data"])["decision"] == second
        missed = [ask(client), ask(client)]
        with client.stream("GET", STREAM, headers={"last-event-id": "3"}) as response:
            events = events_of(response)
            assert [json.loads(next(events)["data"])["decision"] for _ in missed] == missed
        with client.stream("GET", f"{STREAM}?kind=told") as response:  # from now on
            events = events_of(response)
            ask(client)
            client.post(f"/v1/decisions/{first}/outcome", json={"cost": "0.001"})
            assert next(events)["event"] == "told"


def test_a_stream_sees_what_other_processes_write(live: Live) -> None:
    with live.client() as client:
        client.post("/v1/campaigns", json=NEW)
        with client.stream("GET", f"{STREAM}?after=0") as response:
            events = events_of(response)
            assert next(events)["event"] == "created"
            Campaign("llm", storage=live.service.store).pause()
            assert next(events)["event"] == "paused"


def test_a_stream_ends_with_its_key(live: Live) -> None:
    key, token = live.service.keys.create(["read"])
    with live.client() as client:
        client.post("/v1/campaigns", json=NEW)
        head = {"authorization": f"Bearer {token}"}
        with client.stream("GET", f"{STREAM}?after=0", headers=head) as response:
            events = events_of(response)
            assert next(events)["event"] == "created"
            live.service.keys.revoke_family(key.id)
            ask(client)
            assert list(events) == []  # and it is over


def test_streams_end_when_the_server_stops(live: Live) -> None:
    ended: list[int] = []
    started = threading.Event()

    def watch() -> None:
        with live.client() as client, client.stream("GET", f"{STREAM}?after=0") as response:
            for event in events_of(response):
                ended.append(int(event["id"]))
                started.set()
        ended.append(-1)

    with live.client() as client:
        client.post("/v1/campaigns", json=NEW)
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert started.wait(60)
    live.stop()
    watcher.join(60)
    assert ended == [1, -1]


def test_signs_of_life_are_sent_while_nothing_happens(live: Live, monkeypatch: Any) -> None:
    monkeypatch.setattr("bursar.service.service._HEARTBEAT", 0.05)
    with live.client() as client:
        client.post("/v1/campaigns", json=NEW)
        with client.stream("GET", STREAM) as response:
            lines = response.iter_lines()
            assert eventually(lambda: next(lines) == ": still here")


def test_head_of_a_stream_ends_at_once(api: Api) -> None:
    api.make()
    for path, kind in ((STREAM, "text/event-stream"), ("/v1/campaigns/llm/export", "jsonl")):
        head = api.call("HEAD", path)
        assert (head.status_code, head.content) == (200, b"")
        assert kind in head.headers["content-type"]
