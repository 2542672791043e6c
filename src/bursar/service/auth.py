"""Who may: what a route asks of a request before it does anything.

The guard has read key and session; here a route says what it needs. A browser sends its cookie by
itself, so a change that comes with one must also carry the session's CSRF token: in the header
``X-CSRF-Token``, or in the field ``csrf`` of a form.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl

from starlette.requests import Request

from bursar.errors import Forbidden, InvalidInput, Unauthenticated
from bursar.service.key import Key

__all__ = ["check_grant", "csrf_of", "form_of", "key_of", "require", "require_form"]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_FIELDS = 1000


def key_of(request: Request) -> Key | None:
    """Return the key that a request came with, or None."""
    key: Key | None = request.scope.get("bursar.key")
    return key


def csrf_of(request: Request) -> str:
    """Return the token that forms of this session must carry; ``""`` without a session."""
    return request.scope.get("bursar.csrf") or ""


def require(request: Request, scope: str, campaign: str | None = None) -> Key:
    """Return the key of a request that may do something; refuse others.

    Without a campaign, a key that is for some campaigns only passes too: the route shows or changes
    only what ``key.sees(name)``.
    """
    key = _allowed(request, scope, campaign)
    if request.scope.get("bursar.csrf") and request.method not in _SAFE:
        _check_csrf(request, request.headers.get("x-csrf-token", ""))
    return key


async def require_form(
    request: Request, scope: str, campaign: str | None = None
) -> tuple[Key, dict[str, str]]:
    """Return key and fields of a form, as :func:`require` does."""
    key = _allowed(request, scope, campaign)
    fields = await form_of(request)
    _check_csrf(request, request.headers.get("x-csrf-token") or fields.pop("csrf", ""))
    return key, fields


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form, the last of each name; refuse what is no plain form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise InvalidInput(f"a form is application/x-www-form-urlencoded, got {kind or 'no type'}")
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, True, encoding="utf-8", errors="strict", max_num_fields=_FIELDS)
    except ValueError as error:
        raise InvalidInput(f"the form cannot be read: {error}") from None
    return dict(fields)


def check_grant(granter: Key, key: Key) -> None:
    """Refuse to make, rotate or revoke a key that may do more than who does it."""
    if not granter.covers(key):
        raise Forbidden(
            f"key {granter.id!r} cannot give out, rotate or revoke a key that may do more, in more"
            " campaigns or for longer than itself"
        )


def _allowed(request: Request, scope: str, campaign: str | None) -> Key:
    key = key_of(request)
    if key is None:
        raise Unauthenticated(request.scope.get("bursar.refusal") or _HOW)
    if not key.allows(scope, campaign):
        where = "" if campaign is None else f" in campaign {campaign!r}"
        raise Forbidden(
            f"key {key.id!r} may not {scope}{where}; it has {', '.join(sorted(key.scopes))}"
            + ("" if key.campaigns is None else f" in {', '.join(sorted(key.campaigns))}")
        )
    return key


_HOW = "send a key as 'Authorization: Bearer bursar_…'; bursar keys create makes one"


def _check_csrf(request: Request, given: str) -> None:
    expected = csrf_of(request)
    if expected and not hmac.compare_digest(given.encode(), expected.encode()):
        raise Forbidden(
            "the CSRF token is missing or not that of this session; reload the page and try again"
        )
