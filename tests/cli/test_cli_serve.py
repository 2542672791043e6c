"""``bursar serve`` from start to end, as a process: what it prints, refuses, and how it stops."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from service_app import PATIENCE, ServerProcess

from bursar.campaign import Campaign
from bursar.cli import server as server_module
from bursar.cli.server import LimitedConnection, format_address, open_listener
from bursar.errors import InvalidInput
from bursar.service.keys import SCOPES

TOKEN = re.compile(r"^bursar_[a-z0-9]+_[\w-]{43}$", re.MULTILINE)


@pytest.fixture
def serve(tmp_path):
    servers = []
    ledger = f"sqlite:///{tmp_path / 'spend.db'}"

    def start(*words, storage=ledger, **options):
        servers.append(ServerProcess(storage, *words, **options))
        return servers[-1]

    start.storage = ledger
    yield start
    for server in servers:
        server.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One that several tests use as it is."""
    found = ServerProcess(f"sqlite:///{tmp_path_factory.mktemp('served') / 'spend.db'}").started()
    yield found
    found.kill()


NEW = {"name": "llm", "budget": "1.00", "arms": [{"key": "small", "max_cost": "0.10"}]}


def test_the_first_key_is_printed_once_and_works(serve, tmp_path):
    server = serve().started()
    [token] = TOKEN.findall(server.printed)
    assert "shown only once" in server.printed
    assert server.get("/readyz") == (200, {"status": "ready"})
    assert server.call("POST", "/v1/campaigns", NEW, token)[0] == 201
    status, decision = server.call("POST", "/v1/campaigns/llm/decisions", {"id": "d17"}, token)
    assert (status, decision["arm"], decision["hold"]) == (201, "small", "0.100000")
    assert server.call("POST", "/v1/campaigns/llm/decisions", {})[0] == 401
    assert server.stop() == 0
    logged = "".join(server.err)
    lines = [json.loads(line) for line in logged.splitlines()]
    assert "d17" in [line.get("decision") for line in lines]
    assert token[-43:] not in logged
    files = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one.is_file())
    assert token[-43:].encode() not in files

    again = serve().started()
    assert "bursar_" not in again.printed, "never again"
    assert again.get("/v1/campaigns/llm", token)[1]["held"] == "0.100000"
    assert again.stop(signal.SIGINT) == 0


def test_a_second_process_on_the_same_file_is_refused(serve):
    first = serve().started()
    second = serve()
    assert second.ended() == 2
    [line] = second.err
    assert re.match(rf"error: .* is already served by process {first.process.pid}", line)
    assert second.printed == ""
    assert first.stop() == 0
    third = serve().started()  # the claim went with the first
    third.process.kill()
    third.ended()
    assert serve().started().stop() == 0, "and with one that was killed"


def test_commands_go_on_beside_a_service(server):
    env = {**os.environ, "BURSAR_STORAGE": server.storage}
    words = [sys.executable, "-m", "bursar", "keys", "create", "--scope", "read"]
    made = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    deadline = time.monotonic() + PATIENCE
    while server.get("/v1/campaigns", made.stdout.strip())[0] != 200:
        assert time.monotonic() < deadline, "a key that was made elsewhere works soon"
        time.sleep(0.1)


def test_a_public_address_without_keys_is_refused(serve, monkeypatch):
    server = serve("--host", "0.0.0.0")
    assert server.ended() == 2
    [line] = server.err
    assert "0.0.0.0 can be reached from other machines" in line
    assert "bursar keys create --scope all" in line
    assert server.printed == ""
    env = {**os.environ, "BURSAR_STORAGE": serve.storage}
    words = [sys.executable, "-m", "bursar", "keys", "create", "--scope", "all"]
    made = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    monkeypatch.setenv("BURSAR_ALLOW_HOST", "bursar.example b-2")
    public = serve("--host", "0.0.0.0").started()
    assert "bursar_" not in public.printed
    token = made.stdout.strip()
    assert public.get("/v1/campaigns", token)[0] == 200
    for host, status in (("bursar.example", 200), ("b-2", 200), ("evil.example", 421)):
        headers = {"host": host}
        assert public.call("GET", "/v1/campaigns", token=token, headers=headers)[0] == status
    assert public.stop() == 0


def test_a_taken_port_is_refused_and_no_key_is_wasted(serve):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = serve(port=port)
        assert server.ended() == 2
        [line] = server.err
        assert f"Port {port} is in use" in line
    assert TOKEN.findall(serve().started().printed), "the first key is still to be had"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "203.0.113.7"], "not an address of this machine|other machines"),
        (["--host", "no such host"], "can be reached|no address"),
        (["--storage", "sqlite:////no/such/folder/x.db"], "no folder '/no/such/folder'"),
        (["--storage", "mysql://x"], "storage must be"),
        (["--log-level", "loud"], "no log level 'loud'"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(serve, words, said):
    server = serve(*words)
    assert server.ended() == 2
    assert len(server.err) == 1
    assert re.search(said, server.err[0])


def test_a_request_in_flight_is_finished_before_the_end(serve):
    """Half a body is sent, then the signal, then the rest: it is answered and booked."""
    server = serve().started()
    [token] = TOKEN.findall(server.printed)
    server.call("POST", "/v1/campaigns", NEW, token)
    body = b'{"id": "last"}'
    head = (
        f"POST /v1/campaigns/llm/decisions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(head + body[:5])
        # a request that came later was served: so the first half was seen
        assert server.get("/healthz")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE).close()
            except ConnectionRefusedError:
                break  # it takes no new ones
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert server.process.poll() is None
        line.sendall(body[5:])
        answer = b""
        while part := line.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 201")
    assert server.ended() == 0
    campaign = Campaign("llm", storage=serve.storage)
    assert campaign.decision("last").money == "held"
    campaign.close()


def test_a_stream_of_events_ends_with_the_service(serve):
    server = serve().started()
    [token] = TOKEN.findall(server.printed)
    server.call("POST", "/v1/campaigns", NEW, token)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    headers = {"authorization": f"Bearer {token}"}
    connection.request("GET", "/v1/campaigns/llm/events/stream", headers=headers)
    stream = connection.getresponse()
    assert stream.status == 200
    assert stream.readline(), "it has begun"
    server.process.send_signal(signal.SIGTERM)
    stream.read()  # until the server ends it
    connection.close()
    assert server.ended() == 0


def test_a_second_signal_ends_at_once(serve):
    server = serve().started()
    [token] = TOKEN.findall(server.printed)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(
            f"POST /v1/campaigns HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n".encode()
        )
        assert server.get("/healthz")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + PATIENCE
        while not any("Waiting for connections" in one for one in server.err):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert server.stop() == 128 + signal.SIGTERM


def test_two_processes_share_a_postgresql_and_print_one_key(serve, database):
    servers = [serve(storage=database), serve(storage=database)]
    for server in servers:
        server.started()
    [token] = TOKEN.findall(servers[0].printed + servers[1].printed)
    assert servers[0].call("POST", "/v1/campaigns", NEW, token)[0] == 201
    grants = [
        servers[n % 2].call("POST", "/v1/campaigns/llm/decisions", {}, token)[0] for n in range(12)
    ]
    assert sorted(grants) == [201] * 10 + [409] * 2
    assert all(server.stop() == 0 for server in servers)


def test_the_demo_moves_by_itself(serve, tmp_path):
    server = serve("--demo", "--storage", f"sqlite:///{tmp_path / 'demo.db'}").started()
    assert "no key needed" in server.printed
    assert "bursar_" not in server.printed

    def asks():
        status, found = server.get("/v1/campaigns")
        assert status == 200
        return {one["name"]: one["asks"] for one in found["campaigns"]}

    start = asks()
    assert start["assistant"] >= 1500, "there is a past to look at"
    deadline = time.monotonic() + PATIENCE
    while (now := asks())["assistant"] <= start["assistant"] or now["ads"] <= start["ads"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    _, found = server.get("/v1/campaigns/assistant")
    assert 0 < float(found["spent"]) < float(found["budget"])
    assert server.stop() == 0
    log = [json.loads(line) for line in server.err]
    assert [line for line in log if line["level"] == "error"] == []
    campaign = Campaign("assistant", storage=f"sqlite:///{tmp_path / 'demo.db'}")
    assert campaign.verify().events > 3000
    campaign.close()


# addresses


def test_an_address_is_shown_as_it_can_be_clicked():
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert format_address("localhost", listener) == f"http://localhost:{port}"
        assert format_address("::1", listener) == f"http://[::1]:{port}"
        with pytest.raises(InvalidInput, match=f"Port {port} is in use"):
            open_listener("127.0.0.1", port)


def test_every_scope_has_a_word_in_the_help():
    done = subprocess.run(
        [sys.executable, "-m", "bursar", "keys", "create", "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    assert all(scope in done.stdout for scope in SCOPES)


def test_a_head_without_end_is_refused(server):
    answer = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        with suppress(OSError):  # it may hang up while we send
            for _ in range(1000):
                line.sendall(b"x" * 65_536)
            answer = line.recv(65_536)
    assert answer == b"" or b"400" in answer.partition(b"\r\n")[0]
    assert resident(server.process.pid) < 500e6
    long = {"x-long": "y" * 30_000}
    assert server.call("GET", "/healthz", headers=long)[0] == 200  # what people may need


def resident(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_request_that_never_becomes_whole_is_hung_up_on(monkeypatch):
    class Transport:
        closed = False

        def close(self):
            self.closed = True

    def line(seconds, in_head):
        one = LimitedConnection.__new__(LimitedConnection)
        one.reading_since = None if seconds is None else time.monotonic() - seconds
        one.transport, one._in_head = Transport(), in_head
        return one

    monkeypatch.setattr(server_module, "_SWEEP_SECONDS", 0.01)
    late = [line(31, False), line(11, True)]
    fine = [line(11, False), line(1, True), line(None, True)]

    async def look():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(server_module.close_slow_connections({*late, *fine}), 0.3)

    asyncio.run(look())
    assert [one.transport.closed for one in late + fine] == [True] * 2 + [False] * 3


def test_13_low_half_open_requests_do_not_lock_out_others(serve):
    server = serve(files=128).started()
    [token] = TOKEN.findall(server.printed)
    server.call("POST", "/v1/campaigns", NEW, token)
    with ExitStack() as stack:
        for n in range(400):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            with suppress(OSError):  # it may be closed already
                line.sendall(b"POST /v1/keys HTTP/1.1\r\nHost: x"[: n % 30])
            if n % 40 == 0:
                start = time.monotonic()
                assert server.get("/v1/campaigns/llm", token)[0] == 200
                assert time.monotonic() - start < 3
        for _ in range(5):
            start = time.monotonic()
            assert server.get("/readyz")[0] == 200
            assert server.call("POST", "/v1/campaigns/llm/decisions", {}, token)[0] in (201, 409)
            assert time.monotonic() - start < 3
    assert server.stop() == 0
    assert any("as many as the limit of file descriptors allows" in one for one in server.err)


def test_13_low_connections_that_are_in_use_are_not_closed_for_others(serve):
    """With more streams than connections are allowed, new ones are refused with 503."""
    server = serve(files=128).started()
    [token] = TOKEN.findall(server.printed)
    server.call("POST", "/v1/campaigns", NEW, token)
    head = (
        "GET /v1/campaigns/llm/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    ).encode()
    answers = []
    with ExitStack() as stack:
        for _ in range(80):
            address = ("127.0.0.1", server.port)
            line = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
            with suppress(OSError):
                line.sendall(head)
                answers.append(line.recv(12))
    assert answers[:40] == [b"HTTP/1.1 200"] * 40
    assert answers[-1] == b"HTTP/1.1 503"
    assert server.stop() == 0


def test_a_long_batch_is_no_long_head(server):
    [token] = TOKEN.findall(server.printed)
    assert server.call("POST", "/v1/campaigns", NEW, token)[0] == 201
    outcomes = [
        {"decision": f"{n:0128}", "campaign": "llm", "cost": "0", "report_id": "r" * 128}
        for n in range(1000)
    ]
    for _ in range(5):
        status, answer = server.call("POST", "/v1/outcomes:batch", {"outcomes": outcomes}, token)
        assert status == 200
        assert {one["status"] for one in answer["results"]} == {404}


def test_a_demo_does_not_open_the_ledger_of_others(serve):
    Campaign("real", "1.00", {"x": "0.1"}, storage=serve.storage).close()
    server = serve("--demo")
    assert server.process.wait(PATIENCE) == 2
    server.ended()
    assert "a demo needs no key" in "".join(server.err)
    assert "Traceback" not in "".join(server.err)


def test_trailers_without_end_are_not_kept(server):
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line,
        suppress(OSError),  # it hangs up
    ):
        line.sendall(
            b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        )
        for number in range(1000):
            line.sendall(b"x-%d: " % number + b"y" * 60_000 + b"\r\n")
    assert resident(server.process.pid) < 500e6
    assert server.get("/healthz")[0] == 200
