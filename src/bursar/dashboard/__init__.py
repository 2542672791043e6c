"""The dashboard: pages for the person who answers for the money, rendered on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from bursar.dashboard import budget, key_page, ledger_page, login_page, new_page, news, reports
from bursar.dashboard.campaign_page import campaign_page, series_data
from bursar.dashboard.changes import CHANGES
from bursar.dashboard.decision_page import decision_page
from bursar.dashboard.events_page import events_page
from bursar.dashboard.frame import Handler, page
from bursar.dashboard.overview import overview
from bursar.service.service import Service

__all__ = ["pages"]

_STATIC = Path(__file__).parent / "static"
_ONE = "/campaigns/{name}"


class _Assets(StaticFiles):
    """Files that browsers keep, and ask about by their tags."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        answer = super().file_response(*args, **kwargs)
        answer.headers["cache-control"] = "no-cache"
        return answer


def pages(service: Service) -> list[BaseRoute]:
    """Return the routes of all pages of a service."""

    def get(path: str, handler: Handler) -> Route:
        return Route(path, page(service, handler), methods=["GET"])

    def post(path: str, handler: Handler) -> Route:
        return Route(path, page(service, handler), methods=["POST"])

    return [
        get("/", overview),
        get("/live", news.everything),
        get("/login", login_page.login),
        post("/login", login_page.sign_in),
        post("/logout", login_page.logout),
        get("/new", new_page.new),
        post("/new", new_page.create),
        get("/keys", key_page.keys),
        post("/keys", key_page.create),
        post("/keys/revoke", key_page.revoke),
        get("/experiments", reports.experiments),
        get("/experiments/{path:path}", reports.report),
        get(_ONE, campaign_page),
        get(f"{_ONE}/live", news.one),
        get(f"{_ONE}/series.json", series_data),
        get(f"{_ONE}/events", events_page),
        get(f"{_ONE}/budget", budget.budget),
        post(f"{_ONE}/budget", budget.set_budget),
        get(f"{_ONE}/ledger", ledger_page.ledger),
        post(f"{_ONE}/ledger:batch", ledger_page.compare),  # bills are as long as batches
        get(f"{_ONE}/decisions/{{id}}", decision_page),
        *(post(f"{_ONE}/{rest}", handler) for rest, handler in CHANGES.items()),
        Mount("/static", _Assets(directory=_STATIC)),
    ]
