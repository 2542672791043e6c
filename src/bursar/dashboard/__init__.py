"""The dashboard: pages for the people responsible for a budget, rendered on the server."""

from functools import partial
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from bursar.dashboard import account, campaign, events, forms, ledger, overview, reports
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

    def route(method: str, path: str, handler: Handler, scope: str | None) -> Route:
        return Route(path, make_endpoint(service, handler, scope), methods=[method])

    get, post = partial(route, "GET"), partial(route, "POST")
    return [
        get("/", overview.show_overview, "read"),
        get("/live", events.stream_all, "read"),
        get("/login", account.show_login, None),
        post("/login", account.sign_in, None),
        post("/logout", account.sign_out, None),
        get("/new", forms.show_form, "admin"),
        post("/new", forms.create_campaign, "admin"),
        get("/keys", account.show_keys, "keys"),
        post("/keys", account.create_key, "keys"),
        post("/keys/revoke", account.revoke_key, "keys"),
        get("/experiments", reports.show_reports, "read"),
        get("/experiments/{path:path}", reports.send_report_file, "read"),
        get(_CAMPAIGN, campaign.show_campaign, "read"),
        get(f"{_CAMPAIGN}/live", events.stream_campaign, "read"),
        get(f"{_CAMPAIGN}/series.json", campaign.send_series, "read"),
        get(f"{_CAMPAIGN}/events", events.show_events, "read"),
        get(f"{_CAMPAIGN}/budget", forms.show_budget, "admin"),
        post(f"{_CAMPAIGN}/budget", forms.change_budget, "admin"),
        get(f"{_CAMPAIGN}/ledger", ledger.show_ledger, "read"),
        # a bill may be as long as a batch, and the path decides how long a body may be
        post(f"{_CAMPAIGN}/ledger:batch", ledger.check_bill, "read"),
        get(f"{_CAMPAIGN}/decisions/{{id}}", campaign.show_decision, "read"),
        *(post(f"{_CAMPAIGN}/{path}", handler, "admin") for path, handler in forms.CHANGES.items()),
        Mount("/static", _Assets(directory=_STATIC)),
    ]
