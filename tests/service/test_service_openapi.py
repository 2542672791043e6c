"""The document says what the service does: all of its addresses, and answers as they are."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from service_app import Api, api, service

from bursar.service import schemas
from bursar.service.openapi import make_document
from bursar.service.responses import PROBLEM_KINDS
from bursar.service.routes import OPERATIONS

__all__ = ["api", "service"]

KEPT = Path(__file__).parents[2] / "docs" / "openapi.json"


def test_the_document_in_docs_is_the_one_that_is_served(api: Api) -> None:
    served = api.client.get("/v1/openapi.json", headers={"host": "testserver"})
    assert served.status_code == 200
    made = json.loads(json.dumps(make_document()))
    assert served.json() == made
    if not KEPT.exists():
        pytest.skip("docs are not part of this copy")
    assert json.loads(KEPT.read_text()) == made, f"run: python {Path(__file__).name}"


def test_every_operation_is_named_once_and_says_what_it_needs() -> None:
    names = [one.name for one in OPERATIONS]
    assert len(set(names)) == len(names)
    links = tomllib.loads((Path(schemas.__file__).parent / "openapi.toml").read_text())["link"]
    assert {*links, *(name for targets in links.values() for name in targets)} <= set(names)
    for one in OPERATIONS:
        assert one.summary
        assert set(one.codes) <= set(PROBLEM_KINDS), one.name
        if one.path.startswith("/v1/"):
            assert one.scope in {"ask", "tell", "read", "admin", "adjust", "keys"}


def test_references_lead_somewhere() -> None:
    found = make_document()
    text = json.dumps(found)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(found["components"]["schemas"])


def answers(api: Api) -> dict[str, tuple[Any, Any]]:
    """Return answers of all kinds, with the types that describe them."""
    d = schemas
    api.make()
    ids = [
        one["id"] for one in api.post("/v1/campaigns/llm/decisions", {"n": 4}).json()["decisions"]
    ]
    told = api.post(f"/v1/decisions/{ids[0]}/outcome", {"cost": "0.001", "reward": 1})
    many = {"outcomes": [{"decision": one, "cost": "0.01", "reward": 0} for one in (*ids[1:], "x")]}
    c = "/v1/campaigns/llm"
    return {
        "told": (told, schemas.DecisionBody),
        "batch": (api.post("/v1/outcomes:batch", many), d.BatchResults),
        "campaign": (api.get(c), d.CampaignBody),
        "campaigns": (api.get("/v1/campaigns"), d.CampaignPage),
        "state": (api.get(f"{c}/state"), d.StatusBody),
        "arms": (api.get(f"{c}/arms"), d.ArmPage),
        "decisions": (api.get(f"{c}/decisions"), d.DecisionPage),
        "decision": (api.get(f"/v1/decisions/{ids[0]}?why=true"), d.ExplainedDecision),
        "events": (api.get(f"{c}/events"), d.EventPage),
        "audit": (api.get(f"{c}/audit"), d.EventPage),
        "forecast": (api.get(f"{c}/forecast"), d.ForecastBody),
        "series": (api.get(f"{c}/series"), d.SeriesBody),
        "keys": (api.get("/v1/keys"), d.KeyPage),
        "new key": (api.post("/v1/keys", {"scopes": ["read"], "note": "x"}), d.NewKeyBody),
        "problem": (api.get("/v1/campaigns/nobody"), d.ProblemBody),
    }


def fields_of(kind: Any) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_answers_are_as_described_with_nothing_left_out(api: Api) -> None:
    for name, (answer, kind) in answers(api).items():
        msgspec.json.decode(answer.content, type=kind)
        assert set(answer.json()) <= fields_of(kind), name
    for one in api.get("/v1/campaigns/llm/arms").json()["arms"]:
        assert set(one) == fields_of(schemas.ArmBody)


if __name__ == "__main__":
    KEPT.write_text(
        json.dumps(make_document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    )
