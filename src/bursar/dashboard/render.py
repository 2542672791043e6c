"""What all pages share: templates and their filters, forms, redirects, and errors as pages."""

import functools
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bursar import formatting
from bursar.campaign import Estimate
from bursar.errors import BursarError, Unauthenticated, UnknownCampaign
from bursar.service.auth import request_csrf, request_key, require, require_form
from bursar.service.keys import Key
from bursar.service.operation import restore_escapes
from bursar.service.responses import PROBLEM_KINDS, problem_response, public_message
from bursar.service.service import P, Service, T
from bursar.version import __version__

_quote_segment = functools.partial(quote, safe="")


class Page:
    """A request for a page of a service."""

    key: Key  # of the request; not set on pages that need none
    fields: dict[str, str]  # of the form, if one was sent

    def __init__(self, service: Service, request: Request) -> None:
        self.service, self.request = service, request
        self.run = service.run_in_thread
        self.params: dict[str, str] = {
            name: restore_escapes(value) for name, value in request.path_params.items()
        }
        self.name = self.params.get("name", "")  # of the campaign that the page belongs to
        self.query = request.query_params
        self.is_live = request.headers.get("x-part") == "live"  # only the parts that change

    async def run_heavy(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function that reads much of a log; few run at once."""
        return await self.service.run_heavy(self.request, function, *args, **kwargs)

    async def authorize(self, scope: str) -> None:
        """Set the key, and the fields of a form; raise if the key does not have a scope here."""
        if self.request.method == "POST":
            self.key, self.fields = await require_form(self.request, scope, self.name or None)
        else:
            self.key = require(self.request, scope, self.name or None)

    def render(self, template: str, status_code: int = 200, **values: Any) -> HTMLResponse:
        """Return a page, given the values that its template needs beyond those of every page."""
        key = request_key(self.request)
        common = {
            "version": __version__,
            "csrf": request_csrf(self.request),
            "signed_in": key is not None,
            "is_open": not self.service.config.require_keys,
            "key_id": "" if key is None else key.id,
            "may_admin": key is not None and key.allows("admin"),
            "may_keys": key is not None and key.allows("keys"),
            "done": self.query.get("done", ""),
            "name": self.name,
            "path": campaign_path(self.name),
            "section": "",
            "oob": False,
        }
        text = _environment().get_template(f"{template}.html.jinja").render(common | values)
        return HTMLResponse(text, status_code)

    def render_parts(self, templates: Sequence[str], **values: Any) -> HTMLResponse:
        """Return the parts of a page that change, for htmx to swap into an open page."""
        parts = [self.render(template, oob=True, **values).body for template in templates]
        return HTMLResponse(b"\n".join(map(bytes, parts)))

    def render_error(self, status_code: int, detail: str, title: str = "Not possible") -> Response:
        """Return a page that says what went wrong and what to do."""
        is_below_campaign = self.request.url.path.count("/") > 2 and status_code != 404
        return self.render(
            "error",
            status_code,
            title=title,
            detail=detail,
            code=status_code,
            back=campaign_path(self.name) if self.name and is_below_campaign else "/",
            request_id=self.request.scope.get("bursar.request_id", ""),
        )


Handler = Callable[[Page], Awaitable[Response]]


def make_endpoint(
    service: Service, handler: Handler, scope: str | None
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page that needs a key with a scope, unless that is None.

    Errors become pages that say what was wrong.
    """

    @functools.wraps(handler)
    async def endpoint(request: Request) -> Response:
        page = Page(service, request)
        try:
            if scope is not None:
                await page.authorize(scope)
            return await handler(page)
        except Unauthenticated:
            if request.method == "GET" and not page.is_live:
                return redirect("/login", next=request.url.path)
            return page.render_error(401, "Your session has ended.")
        except UnknownCampaign:  # the original message may contain the path of the ledger
            title = PROBLEM_KINDS["unknown-campaign"].title
            return page.render_error(404, f"There is no campaign named {page.name!r}.", title)
        except BursarError as error:
            kind = PROBLEM_KINDS.get(error.code, PROBLEM_KINDS["error"])
            detail = public_message(error, request.scope)
            return page.render_error(kind.status, detail, kind.title)
        except Exception as error:
            problem_response(error, request.scope)  # writes it to the log
            return page.render_error(500, "Internal error.")

    return endpoint


def redirect(path: str, **query: str) -> RedirectResponse:
    """Return a redirect that the browser follows with GET, so that a reload repeats nothing."""
    return RedirectResponse(path + (f"?{urlencode(query)}" if query else ""), 303)


def campaign_path(name: str) -> str:
    """Return the path of a campaign's page.

    >>> campaign_path("a/b c")
    '/campaigns/a%2Fb%20c'
    """
    return f"/campaigns/{_quote_segment(name)}"


def format_error(error: Exception) -> str:
    """Return the message of an error as a sentence."""
    return f"{str(error).removesuffix('.')}."


def parse_count(text: str) -> int | None:
    """Return the whole number in a field of a form or a query, or None if it is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 18 else None


@dataclass
class Form:
    """The values of a form as they were typed, and what is wrong with them, by field."""

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)  # "all" belongs to no field
    rows: int = 0  # for arms


# Geometry of what templates draw: positions and lengths from 0 to 100.


class Axis(NamedTuple):
    """The axis that the intervals of a table's column share, so that they can be compared."""

    low: float
    high: float

    def position(self, value: float) -> float:
        """Return where a value lies; values beyond the axis lie at its end."""
        share = (value - self.low) / (self.high - self.low)
        return round(100.0 * min(max(share, 0.0), 1.0), 2)


def make_axis(estimates: Iterable[Estimate | None]) -> Axis:
    """Return an axis from 0; extreme upper bounds are cut, so that the rest stays legible."""
    known = [one for one in estimates if one is not None]
    ends = [end for one in known for end in (one.low, one.value, one.high)]
    finite = sorted(end for end in ends if math.isfinite(end))
    if not finite:
        return Axis(0.0, 1.0)
    low, high = min(0.0, finite[0]), finite[-1]
    median = finite[len(finite) // 2]
    if median > 0.0:
        high = min(high, 8.0 * median)
    return Axis(low, high if high > low else low + 1.0)


def bar_widths(values: Iterable[float | None]) -> list[float]:
    """Return lengths in proportion to values; an infinite value has the full length.

    >>> bar_widths([1.0, 2.0, math.inf, None])
    [50.0, 100.0, 100.0, 0.0]
    """
    sizes = [0.0 if one is None else abs(one) for one in values]
    largest = max((one for one in sizes if math.isfinite(one)), default=0.0) or 1.0
    return [round(100.0 * min(one / largest, 1.0), 2) for one in sizes]


def render_text(template: str, **values: Any) -> str:
    """Return a template of plain text."""
    return _environment().get_template(f"{template}.txt.jinja").render(values).strip()


def format_date(at: datetime, now: datetime) -> str:
    """Return a day, with the time of day if it is near."""
    is_near = abs(at - now) < timedelta(days=3)
    return at.strftime("%Y-%m-%d %H:%M UTC" if is_near else "%Y-%m-%d")


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bursar.dashboard", "templates"),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": formatting.format_ago,
        "campaign_path": campaign_path,
        "count": "{:,}".format,
        "date": format_date,
        "money": formatting.format_money,
        "number": formatting.format_number,
        "percent": formatting.format_percent,
        "plural": formatting.pluralize,
        "segment": _quote_segment,
        "time": formatting.format_time,
        "words": formatting.join_words,
        "utc": lambda us: datetime.fromtimestamp(us / 1e6, UTC),
    }
    environment.tests["infinite"] = math.isinf
    environment.globals |= {"bar_widths": bar_widths, "make_axis": make_axis}
    return environment
