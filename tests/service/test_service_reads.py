"""Long reads: few at once, limited in bytes, and never in the way of keys, asks and readiness."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from service_app import Api, Live, api, eventually, live, service

from bursar.campaign import Campaign
from bursar.campaign.export import stream_events
from bursar.service import service as service_module

__all__ = ["api", "live", "service"]

LARGE = {"text": "x" * 15_000}


class Slow:
    """Explanations that wait until they are let go, and count themselves."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.started = self.running = self.most = 0
        self._lock = threading.Lock()
        explain = Campaign.explain

        def wait(campaign: Campaign, decision: Any) -> Any:
            with self._lock:
                self.started += 1
                self.running += 1
                self.most = max(self.most, self.running)
            self.go.wait(20.0)
            with self._lock:
                self.running -= 1
            return explain(campaign, decision)

        patch.setattr(Campaign, "explain", wait)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    found = Slow(monkeypatch)
    yield found
    found.go.set()


WHY = "/v1/campaigns/llm/decisions/one?why=true"


@pytest.fixture
def client(live: Live) -> Iterator[httpx2.Client]:
    """A client of a server with a campaign and a decision."""
    with live.client(limits=httpx2.Limits(max_connections=200)) as client:
        arms = [{"key": "a", "max_cost": "0.01"}, {"key": "b", "max_cost": "0.01"}]
        client.post("/v1/campaigns", json={"name": "llm", "budget": "9", "arms": arms})
        client.post("/v1/campaigns/llm/decisions", json={"id": "one"})
        yield client


def leave_soon(client: httpx2.Client, count: int) -> None:
    """Send requests and hang up."""

    def get(_: int) -> None:
        with pytest.raises(httpx2.TimeoutException):
            client.get(WHY, timeout=0.3)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(get, range(count)))


def test_13_4_explanations_delay_neither_keys_nor_asks_nor_readiness(
    live: Live, client: httpx2.Client, slow: Slow
) -> None:
    leave_soon(client, 24)
    live.service.keys._read = -1e9  # they are read again now
    start = time.monotonic()
    assert client.post("/v1/campaigns/llm/decisions", json={}, timeout=5.0).status_code == 201
    assert client.get("/readyz", timeout=5.0).status_code == 200
    assert client.get("/v1/campaigns/llm/events", timeout=5.0).status_code == 200
    assert time.monotonic() - start < 3.0


def test_13_4_two_heavy_reads_run_at_once_and_too_many_are_refused(
    live: Live, client: httpx2.Client, slow: Slow
) -> None:
    refused = []

    def get(_: int) -> int:
        found = client.get(WHY)
        if found.status_code != 200:
            refused.append(found)
        return found.status_code

    with ThreadPoolExecutor(40) as pool:
        calls = [pool.submit(get, number) for number in range(40)]
        eventually(lambda: len(refused) == 6)
        assert slow.started == 2
        slow.go.set()
        codes = sorted(call.result() for call in calls)
    assert codes == [200] * 34 + [503] * 6
    assert slow.most == 2
    for one in refused:
        assert one.json()["code"] == "overloaded"
        assert one.json()["retryable"]
        assert int(one.headers["retry-after"]) >= 1


def test_13_4_work_whose_caller_left_is_dropped_before_it_starts(
    live: Live, client: httpx2.Client, slow: Slow
) -> None:
    leave_soon(client, 20)
    eventually(lambda: live.service._heavy._unfinished == 0)
    slow.go.set()
    assert client.get(WHY).status_code == 200
    assert slow.started == 3  # two that had started, and this one


def test_13_4_work_whose_caller_left_is_stopped_on_the_way(
    live: Live, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    def read_for_ever(campaign: Campaign, decision: Any) -> Any:
        try:
            while True:
                list(campaign.events())
        finally:
            ended.append(decision)

    monkeypatch.setattr(Campaign, "explain", read_for_ever)
    leave_soon(client, 2)
    eventually(lambda: len(ended) == 2, 10.0)


def test_13_4_a_read_does_not_wait_beyond_its_deadline(
    live: Live, client: httpx2.Client, slow: Slow
) -> None:
    leave_soon(client, 2)
    start = time.monotonic()
    late = client.get(WHY, headers={"request-timeout": "0.2"})
    assert (late.status_code, late.json()["code"]) == (503, "deadline-passed")
    assert time.monotonic() - start < 3.0


def test_13_4_a_read_waits_for_half_a_minute_at_most(
    client: httpx2.Client, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_HEAVY_SECONDS", 0.2)
    leave_soon(client, 2)
    late = client.get(WHY)
    assert (late.status_code, late.json()["code"]) == (503, "deadline-passed")
    assert slow.started == 2


def test_13_11_a_campaign_is_opened_once_for_all_who_wait(
    live: Live, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, open_campaign = [], live.service.campaign

    def wait(name: str) -> Campaign:
        opened.append(name)
        time.sleep(0.3)
        return open_campaign(name)

    monkeypatch.setattr(live.service, "campaign", wait)
    live.service._campaigns.clear()
    with ThreadPoolExecutor(8) as pool:
        codes = pool.map(lambda _: client.get("/v1/campaigns/llm/state").status_code, range(8))
        assert set(codes) == {200}
    assert opened == ["llm"]


# bytes


def test_13_11_pages_end_after_some_bytes_and_go_on_from_there(api: Api) -> None:
    api.make(budget="99")
    for _ in range(2):
        api.ask(n=200, context=LARGE)
    for what, key in (("events", "seq"), ("decisions", "seq"), ("decisions?open=true", "seq")):
        name, found, after, pages = what.partition("?")[0], [], 0, 0
        mark = "&" if "?" in what else "?"
        while after is not None:
            most = 10_000 if name == "events" else 1000
            page = api.get(f"/v1/campaigns/llm/{what}{mark}limit={most}&after={after}")
            assert len(page.content) < 5 << 20
            found += [one[key] for one in page.json()[name]]
            after, pages = page.json()["next"], pages + 1
        assert pages > 1
        assert found == list(range(1 if name == "events" else 2, 402))


def test_13_11_exports_are_sent_in_small_pieces(api: Api) -> None:
    api.make(budget="99")
    api.ask(n=200, context=LARGE)
    campaign = api.service.campaign("llm")
    for kind in ("jsonl", "csv", "parquet"):
        pieces = list(stream_events(campaign, kind))
        assert max(map(len, pieces)) < 1 << 19
        sent = api.get(f"/v1/campaigns/llm/export?format={kind}").content
        assert sent == b"".join(pieces) or kind == "parquet"
    lines = b"".join(stream_events(campaign, "jsonl")).splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 202))


def test_13_11_large_events_are_read_from_a_file_in_small_pages(
    live: Live, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"n": 300, "context": LARGE}
    assert client.post("/v1/campaigns/llm/decisions", json=body).status_code == 201
    sizes, read_rows = [], live.service.store.read_rows

    def measure(*args: Any) -> Any:
        rows = read_rows(*args)
        sizes.append(sum(len(row[4]) for row in rows if len(row) == 6))
        return rows

    monkeypatch.setattr(live.service.store, "read_rows", measure)
    events = client.get("/v1/campaigns/llm/events?limit=10000").json()["events"]
    assert len(events) > 200
    assert max(sizes) < 4 << 20


# cells


def test_13_12_no_cell_of_an_export_is_a_formula(api: Api) -> None:
    api.make()
    ids = ["=1+1", "+1", "-1", "@x", "'=1", "'quoted", "plain=1", " =2"]
    for id in ids:
        api.ask(id=id)
    text = api.get("/v1/campaigns/llm/export?format=csv").text
    rows = list(csv.DictReader(io.StringIO(text)))[1:]
    cells = [row["decision"] for row in rows]
    assert cells == ["'=1+1", "'+1", "'-1", "'@x", "''=1", "'quoted", "plain=1", "' =2"]
    assert [row["seq"] for row in rows] == [str(number) for number in range(2, 10)]


# streams


def test_13_streams_share_what_they_send(
    live: Live, client: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, read = [], type(live.service.store).read

    def count(store: Any, name: str, after: int = 0) -> Any:
        reads.append(after)
        return read(store, name, after)

    monkeypatch.setattr(type(live.service.store), "read", count)
    streams = 20
    ready = threading.Barrier(streams + 1)

    def follow(_: int) -> bytes:
        found = b""
        with client.stream("GET", "/v1/campaigns/llm/events/stream") as response:
            ready.wait(20.0)
            for part in response.iter_raw():
                found += part
                if found.count(b"\ndata: ") == 3:
                    return found
        return found

    with ThreadPoolExecutor(streams) as pool:
        calls = [pool.submit(follow, number) for number in range(streams)]
        ready.wait(20.0)
        time.sleep(0.3)
        reads.clear()
        for number in range(3):
            client.post("/v1/campaigns/llm/decisions", json={"id": f"s{number}"})
            time.sleep(0.2)
        assert len({call.result(20.0) for call in calls}) == 1
    assert len(reads) <= 6  # not 20 for each
