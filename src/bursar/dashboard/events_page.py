"""All events of a campaign: filters, permalinks, pages by number."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from bursar.dashboard.frame import base_of, render
from bursar.dashboard.history import of_decision, older
from bursar.dashboard.story import GROUPS, Line, Story
from bursar.ledger import Event
from bursar.service.auth import require
from bursar.service.service import Service

__all__ = ["events_page"]

_LIMIT = 100
_LABELS = [
    ("", "all events"),
    ("decisions", "decisions"),
    ("outcomes", "outcomes"),
    ("changes", "changes of money and rules"),
    ("trouble", "trouble"),
]


async def events_page(service: Service, request: Request) -> Response:
    """Show a page of the log, newest first."""
    name: str = request.path_params["name"]
    require(request, "read", name)
    query = request.query_params
    group = query.get("group", "")
    decision = query.get("decision", "").strip()
    given = query.get("before", "")
    before = int(given) if given.isascii() and given.isdigit() and len(given) < 18 else 0
    lines, more = await service.look(_lines, service, name, group, decision, before)
    return render(
        service, request, "events", name=name, base=base_of(name), events=lines,
        group=group, groups=_LABELS, decision=decision, before=before, older=more,
    )  # fmt: skip


def _lines(
    service: Service, name: str, group: str, decision: str, before: int
) -> tuple[list[Line], int | None]:
    campaign = service.campaign(name)
    kinds = GROUPS.get(group)

    def wanted(event: Event) -> bool:
        return kinds is None or event.kind in kinds

    more: int | None = None
    if decision:
        known = decision.isprintable()  # others were never made, and a database may not take them
        own = of_decision(service.store, name, decision) if known else []
        found = [one for one in reversed(own) if wanted(one)]
    elif group == "changes":
        # rare in a long log, so the series notes them as it reads
        found = [
            one
            for one in reversed(service.series.of(name).changes)
            if not before or one.seq < before
        ]
        found, more = found[:_LIMIT], found[_LIMIT - 1].seq if len(found) > _LIMIT else None
    else:
        newest = campaign.status().seq + 1
        start = min(before, newest) if before else newest
        found, more = older(service.store, name, start, _LIMIT, wanted)
    story = Story(campaign.coin, [arm.key for arm in campaign.arms()])
    return [story.line(event) for event in found], more
