"""Who may: what a route asks of a request before it does anything.

The guard has read key and session; here a route says what it needs. A browser sends its cookie by
itself, so a change that comes with one must also carry the session's CSRF token: in the header
``X-CSRF-Token``, or in the field ``csrf`` of a form.
"""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import Request

from bursar.errors import Forbidden, InvalidInput, Unauthenticated
from bursar.ledger import Store
from bursar.service.keys import Key, Keys

__all__ = [
    "COOKIE",
    "Session",
    "Sessions",
    "check_grant",
    "read_form",
    "request_csrf",
    "request_key",
    "require",
    "require_form",
]

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_FIELDS = 1000


def request_key(request: Request) -> Key | None:
    """Return the key that a request came with, or None."""
    key: Key | None = request.scope.get("bursar.key")
    return key


def request_csrf(request: Request) -> str:
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
    fields = await read_form(request)
    _check_csrf(request, request.headers.get("x-csrf-token") or fields.pop("csrf", ""))
    return key, fields


async def read_form(request: Request) -> dict[str, str]:
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
    key = request_key(request)
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
    expected = request_csrf(request)
    if expected and not hmac.compare_digest(given.encode(), expected.encode()):
        raise Forbidden(
            "the CSRF token is missing or not that of this session; reload the page and try again"
        )


# ==== service.sessions
# Sessions of people at the dashboard: a signed cookie after a login with a key.
#
# Nothing is kept on the server: the cookie names the key and when the session ends, signed with a
# secret that all processes of a store share. A session ends with its key. Each has a token of its own
# that every change must carry (CSRF), so that another page cannot make a browser change anything.

COOKIE = "bursar_session"
_LASTS = 12 * 3600  # seconds
_LONGEST = 256  # characters of a cookie that is looked at


class Session(NamedTuple):
    """Who is at the dashboard, and the token that changes must carry."""

    key: Key
    csrf: str


class Sessions:
    """Cookies of a service, made and read."""

    def __init__(self, store: Store, keys: Keys, *, secure: bool = False) -> None:
        self._keys = keys
        self._flags = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
        self._secret = _shared_secret(store)

    def start(self, key: Key) -> str:
        """Return the Set-Cookie header of a new session, for who has shown a key's token."""
        body = f"{key.id}.{int(time.time()) + _LASTS}.{secrets.token_urlsafe(12)}"
        value = f"{body}.{self._sign('session', body)}"
        return f"{COOKIE}={value}; Max-Age={_LASTS}{self._flags}"

    def end(self) -> str:
        """Return the Set-Cookie header that makes a browser forget its session."""
        return f"{COOKIE}=; Max-Age=0{self._flags}"

    def find(self, value: str) -> Session | None:
        """Return the session of a cookie's value, or None if it is not ours or has ended."""
        body, _, signature = value.rpartition(".")
        if len(value) > _LONGEST or not value.isascii():
            return None
        if not hmac.compare_digest(signature, self._sign("session", body)):
            return None
        name, until, _ = body.split(".")
        key = self._keys.find_by_id(name) if time.time() < int(until) else None
        return None if key is None else Session(key, self._sign("csrf", body))

    def _sign(self, purpose: str, body: str) -> str:
        return hmac.new(self._secret, f"{purpose}\0{body}".encode(), sha256).hexdigest()


def _shared_secret(store: Store) -> bytes:
    store.insert_record("instance", "secret", secrets.token_bytes(32))  # unless there is one
    return store.records("instance")["secret"]
