"""Two service processes on one PostgreSQL: the last unit of a budget is granted once.

Fifteen races in the usual run, a hundred in `make test-all`.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator

import httpx2
import psycopg
import pytest
from extent import extent
from postgres_server import Server
from service_app import Api, ServerProcess
from starlette.testclient import TestClient

from bursar.service import Service, ServiceConfig, create_app
from bursar.service.keys import SCOPES

RACES = extent(15, 100)
CLIENTS = 32


@pytest.fixture(scope="module")
def pair(postgres: Server) -> Iterator[tuple[list[str], str]]:
    """The addresses of two processes that serve one ledger, and a key for both."""
    url = postgres.make_database()
    token = made_key(url)
    servers = [ServerProcess(url, "--log-level", "error") for _ in range(2)]
    yield [server.started().url for server in servers], token
    codes = [server.stop() for server in servers]
    for server in servers:
        server.kill()
    assert codes == [0, 0]


def made_key(url: str) -> str:
    """Return the token of a key that may do everything."""
    words = ["-m", "bursar", "keys", "create", "--scope", "all", "--storage", url]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    found = re.search(r"bursar_\S+", done.stdout)
    assert found is not None, done.stdout
    return found.group()


async def races(addresses: list[str], token: str, count: int) -> None:
    """Let all clients ask for one unit at the same time, again and again."""
    limits = httpx2.Limits(max_connections=CLIENTS)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60.0, limits=limits) as client:
        for race in range(count):
            name = f"race-{race}"
            body = {"name": name, "budget": "1", "arms": [{"key": "a", "max_cost": "1"}]}
            made = await client.post(f"{addresses[race % 2]}/v1/campaigns", json=body)
            assert made.status_code == 201, made.text
            path = f"/v1/campaigns/{name}/decisions"
            answers = await asyncio.gather(
                *(client.post(addresses[n % 2] + path, json={}) for n in range(CLIENTS))
            )
            results = Counter(one.json().get("code", "granted") for one in answers)
            assert results == {"granted": 1, "budget-exhausted": CLIENTS - 1}, (name, results)
            for address in addresses:
                state = (await client.get(f"{address}/v1/campaigns/{name}/state")).json()
                assert (state["held"], state["available"]) == ("1.000000", "0.000000")


def test_the_last_unit_is_granted_once_whoever_asks(pair: tuple[list[str], str]) -> None:
    asyncio.run(races(*pair, RACES))


def test_what_postgresql_cannot_look_for_is_not_there_and_harms_nobody(database: str) -> None:
    service = Service(database, ServiceConfig(allowed_hosts=("testserver",)))
    _, token = service.keys.create(SCOPES)
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        api = Api(client, service, token)
        api.make()
        api.ask(id="d1")
        before = api.ledger()
        for path in ("campaigns/%00", "decisions/%00", "campaigns/llm/decisions/%00"):
            assert api.get(f"/v1/{path}").status_code == 404
        for path in ("campaigns/%00/decisions", "campaigns/llm/decisions/%00/void"):
            assert api.post(f"/v1/{path}", {}).status_code == 404
        assert api.ledger() == before
        outcomes = [
            {"decision": "\x00", "cost": "0.001"},
            {"decision": "\x00", "campaign": "llm", "cost": "0.001"},
            {"decision": "d1", "campaign": "\x00", "cost": "0.001"},
            {"decision": "d1", "cost": "0.001", "report_id": "\x00"},
        ]
        results = api.post("/v1/outcomes:batch", {"outcomes": outcomes}).json()["results"]
        assert [one["status"] for one in results] == [404, 404, 404, 422]
    service.close()


def test_13_5_a_service_whose_database_was_set_back_grants_nothing(database: str) -> None:
    service = Service(database, ServiceConfig(allowed_hosts=("testserver",)))
    _, token = service.keys.create(SCOPES)
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        api = Api(client, service, token)
        api.make(budget="1", arms=[{"key": "a", "max_cost": "0.2"}])
        for n in range(5):
            if n == 1:
                execute(database, "CREATE TABLE c AS TABLE bursar.campaign")
                execute(database, "CREATE TABLE e AS TABLE bursar.event")
            asked = api.ask()
            outcome = {"cost": "0.2", "reward": 1}
            assert api.post(f"/v1/decisions/{asked['id']}/outcome", outcome).status_code == 200
        assert len(api.get("/v1/campaigns/llm/series").json()) > 0
        execute(database, "TRUNCATE bursar.campaign, bursar.event")
        execute(database, "INSERT INTO bursar.event TABLE e")
        execute(database, "INSERT INTO bursar.campaign OVERRIDING SYSTEM VALUE TABLE c")
        for _ in range(3):
            refused = api.post("/v1/campaigns/llm/decisions", {})
            assert (refused.status_code, refused.json()["code"]) == (409, "not-active")
        state = api.get("/v1/campaigns/llm/state").json()
        assert (state["state"], state["spent"]) == ("unreconciled", "0.200000")
        done = api.post("/v1/campaigns/llm:reconcile", {"gap": "0.6"})
        assert done.status_code == 200, done.text
        api.ask()
        assert service.series.get("llm").totals.spent == 800_000
    service.close()


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_what_one_process_granted_the_other_settles(pair: tuple[list[str], str]) -> None:
    addresses, token = pair
    headers = {"authorization": f"Bearer {token}"}
    with httpx2.Client(headers=headers, timeout=60.0) as client:
        body = {"name": "llm", "budget": "1", "arms": [{"key": "a", "max_cost": "0.5"}]}
        client.post(f"{addresses[0]}/v1/campaigns", json=body)
        for settled_by, spent in ((0, "0.250000"), (1, "0.500000")):
            id = f"settled-by-{settled_by}"
            path = "/v1/campaigns/llm/decisions"
            asked, again = (client.post(one + path, json={"id": id}) for one in addresses)
            assert (asked.status_code, again.status_code) == (201, 200)
            outcome = {"cost": "0.25", "reward": 1}
            path = f"/v1/decisions/{id}/outcome"
            order = addresses[settled_by], addresses[1 - settled_by]
            told, replay = (client.post(one + path, json=outcome) for one in order)
            assert (told.status_code, replay.status_code) == (200, 200)
            assert replay.headers["idempotency-replayed"] == "true"
            states = [client.get(f"{one}/v1/campaigns/llm/state").json() for one in addresses]
            assert [state["spent"] for state in states] == [spent, spent]
