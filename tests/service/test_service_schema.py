"""The whole OpenAPI document against the service: calls that it allows, and many that it does not.

schemathesis makes calls from the document, valid and not, and holds each answer against it: no 5xx,
no status or header or body that the document does not have, no call without a key that passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from extent import extent
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    missing_required_header,
    negative_data_rejection,
    positive_data_acceptance,
)
from service_app import ARMS
from starlette.testclient import TestClient

from bursar.service import Service, ServiceConfig, create_app
from bursar.service.keys import SCOPES

_SERVICE = Service("memory", ServiceConfig(allowed_hosts=("testserver",)))
_APP = create_app(_SERVICE)
_, _TOKEN = _SERVICE.keys.create(SCOPES)
_KEY = {"Authorization": f"Bearer {_TOKEN}"}
_KNOWN = {"campaign": "llm", "id": "d1", "arm": "small", "key": "nobody"}

# rules that no schema can tell (a retired arm stays retired), and calls that were changed here
_NOT_IN_A_SCHEMA = [positive_data_acceptance, negative_data_rejection, missing_required_header]

schema = schemathesis.openapi.from_asgi("/v1/openapi.json", _APP)

_LITTLE = settings(
    max_examples=extent(5, 30),
    derandomize=True,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module", autouse=True)
def made() -> Iterator[None]:
    """A campaign and a decision, so that not all calls are for what is not there."""
    with TestClient(_APP, headers=_KEY) as client:
        body = {"name": "llm", "budget": "1000", "arms": ARMS}
        assert client.post("/v1/campaigns", json=body).status_code == 201
        asked = client.post("/v1/campaigns/llm/decisions", json={"id": "d1"})
        assert asked.status_code == 201
    yield
    _SERVICE.close()


@schema.parametrize()
@_LITTLE
def test_every_operation_answers_as_the_document_says(case: Any) -> None:
    names = case.path_parameters or {}
    # most often, something that is there; seldom for streams, which take the whole time they get
    if len(repr(names)) % 3 if not case.path.endswith("/stream") else len(repr(names)) % 7 == 0:
        case.path_parameters = {name: _KNOWN[name] for name in names}
    _give_time(case)
    case.call_and_validate(headers=_KEY, timeout=_patience(case), excluded_checks=_NOT_IN_A_SCHEMA)


def _give_time(case: Any) -> None:
    """Drop a deadline so short that 503 is the right answer."""
    try:
        short = float(case.headers["Request-Timeout"]) < 60.0
    except (KeyError, TypeError, ValueError):
        return
    if short:
        del case.headers["Request-Timeout"]


def _patience(case: Any) -> float:
    """Return how many seconds to wait: a stream of events never ends by itself."""
    return 1.0 if case.path.endswith("/stream") else 60.0


class _Walk(schema.as_state_machine()):  # type: ignore[misc]
    """Follows the links of the document: make a campaign, ask, tell, void, look."""

    def get_call_kwargs(self, case: Any) -> dict[str, Any]:
        _give_time(case)
        return {"headers": _KEY, "timeout": _patience(case)}

    def validate_response(self, response: Any, case: Any, **_: Any) -> None:
        case.validate_response(response, headers=_KEY, excluded_checks=_NOT_IN_A_SCHEMA)


TestWalk = _Walk.TestCase
TestWalk.settings = settings(_LITTLE, max_examples=extent(6, 20), stateful_step_count=8)
