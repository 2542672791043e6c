"""The page on which a campaign is made."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from bursar.campaign import Campaign
from bursar.dashboard.form import Form
from bursar.dashboard.frame import base_of, render, to
from bursar.dashboard.new_form import blank, filled, policies
from bursar.errors import BursarError, CampaignExists, Forbidden, InvalidInput
from bursar.service.auth import require, require_form
from bursar.service.placing import author
from bursar.service.service import Service

__all__ = ["create", "new"]


async def new(service: Service, request: Request) -> Response:
    """Show an empty form."""
    require(request, "admin")
    return _shown(service, request, blank())


async def create(service: Service, request: Request) -> Response:
    """Make the campaign, or show the form again with what is wrong."""
    key, fields = await require_form(request, "admin")
    form, made = filled(fields)
    if "more" in fields:
        form.errors.clear()
        form.rows = min(form.rows + 3, 200)
        return _shown(service, request, form)
    name: str = made["name"]
    if name and not key.allows("admin", name):
        raise Forbidden(f"key {key.id!r} may not make a campaign named {name!r}")
    if not form.errors:
        try:
            await service.look(_make, service, made, author(key))
        except CampaignExists as error:
            form.errors["name"] = f"{error}."
        except InvalidInput as error:
            form.errors["name" if "name" in str(error) else "all"] = f"{error}."
        except BursarError as error:
            form.errors["all"] = f"{error}."
        else:
            return to(f"{base_of(name)}?done=created")
    return _shown(service, request, form, 422)


def _make(service: Service, made: dict[str, Any], by: str) -> None:
    if made["name"] in service.names():
        raise CampaignExists(f"there is a campaign named {made['name']!r} already")
    Campaign(storage=service.store, by=by, **made)


def _shown(service: Service, request: Request, form: Form, status: int = 200) -> Response:
    return render(service, request, "new", status, place="new", form=form, policies=policies())
