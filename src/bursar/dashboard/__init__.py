"""The dashboard: pages for the person who answers for the money, rendered on the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from bursar.dashboard import account, create, edit, ledger, reports
from bursar.dashboard import overview as news
from bursar.dashboard.campaign import campaign_page, series_data
from bursar.dashboard.decision import decision_page
from bursar.dashboard.edit import CHANGES
from bursar.dashboard.events import events_page
from bursar.dashboard.overview import overview
from bursar.dashboard.render import Handler, page
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
        get("/login", account.login),
        post("/login", account.sign_in),
        post("/logout", account.logout),
        get("/new", create.new),
        post("/new", create.create),
        get("/keys", account.keys),
        post("/keys", account.create),
        post("/keys/revoke", account.revoke),
        get("/experiments", reports.experiments),
        get("/experiments/{path:path}", reports.report),
        get(_ONE, campaign_page),
        get(f"{_ONE}/live", news.one),
        get(f"{_ONE}/series.json", series_data),
        get(f"{_ONE}/events", events_page),
        get(f"{_ONE}/budget", edit.budget),
        post(f"{_ONE}/budget", edit.set_budget),
        get(f"{_ONE}/ledger", ledger.ledger),
        post(f"{_ONE}/ledger:batch", ledger.compare),  # bills are as long as batches
        get(f"{_ONE}/decisions/{{id}}", decision_page),
        *(post(f"{_ONE}/{rest}", handler) for rest, handler in CHANGES.items()),
        Mount("/static", _Assets(directory=_STATIC)),
    ]
