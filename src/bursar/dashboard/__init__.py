"""The dashboard: pages for the people responsible for a budget, rendered on the server."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from bursar.dashboard import (
    account,
    campaign,
    create,
    edit,
    events,
    ledger,
    overview,
    reports,
    streams,
)
from bursar.dashboard.render import Handler, make_endpoint
from bursar.service.service import Service

__all__ = ["make_pages"]

_STATIC = Path(__file__).parent / "static"
_CAMPAIGN = "/campaigns/{name}"


class _Assets(StaticFiles):
    """Static files that browsers cache but revalidate."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["cache-control"] = "no-cache"
        return response


def make_pages(service: Service) -> list[BaseRoute]:
    """Return the routes of all pages of a service."""

    def route(method: str, path: str, handler: Handler) -> Route:
        return Route(path, make_endpoint(service, handler), methods=[method])

    get, post = partial(route, "GET"), partial(route, "POST")
    return [
        get("/", overview.show_overview),
        get("/live", streams.stream_all),
        get("/login", account.show_login),
        post("/login", account.sign_in),
        post("/logout", account.sign_out),
        get("/new", create.show_form),
        post("/new", create.create_campaign),
        get("/keys", account.show_keys),
        post("/keys", account.create_key),
        post("/keys/revoke", account.revoke_key),
        get("/experiments", reports.show_reports),
        get("/experiments/{path:path}", reports.send_report_file),
        get(_CAMPAIGN, campaign.show_campaign),
        get(f"{_CAMPAIGN}/live", streams.stream_campaign),
        get(f"{_CAMPAIGN}/series.json", campaign.send_series),
        get(f"{_CAMPAIGN}/events", events.show_events),
        get(f"{_CAMPAIGN}/budget", edit.show_budget),
        post(f"{_CAMPAIGN}/budget", edit.change_budget),
        get(f"{_CAMPAIGN}/ledger", ledger.show_ledger),
        # a bill may be as long as a batch, and the path decides how long a body may be
        post(f"{_CAMPAIGN}/ledger:batch", ledger.check_bill),
        get(f"{_CAMPAIGN}/decisions/{{id}}", campaign.show_decision),
        *(post(f"{_CAMPAIGN}/{path}", handler) for path, handler in edit.CHANGES.items()),
        Mount("/static", _Assets(directory=_STATIC)),
    ]
