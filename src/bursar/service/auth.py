"""Authorization: what a route demands of a request, and the sessions of the dashboard.

The middleware has read the key or the session. A browser sends its cookie by itself, so a change
that comes with a session must also carry the session's CSRF token, in the header
``X-CSRF-Token`` or in the field ``csrf`` of a form; another site's page does not know it.
"""

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

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_FIELDS = 1000


def require(request: Request, scope: str, campaign: str | None = None) -> Key:
    """Return the key of a request that has a scope; refuse others.

    Without a campaign, a key for some campaigns passes too; the route then shows or changes only
    what ``key.sees(name)``.
    """
    key = _check_key(request, scope, campaign)
    if request.scope.get("bursar.csrf") and request.method not in SAFE_METHODS:
        _check_csrf(request, request.headers.get("x-csrf-token", ""))
    return key


async def require_form(
    request: Request, scope: str, campaign: str | None = None
) -> tuple[Key, dict[str, str]]:
    """Return key and fields of a form, as :func:`require` does."""
    key = _check_key(request, scope, campaign)
    fields = await read_form(request)
    _check_csrf(request, request.headers.get("x-csrf-token") or fields.pop("csrf", ""))
    return key, fields


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a form; refuse one that has a field twice."""
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise InvalidInput(
            f"a form must be application/x-www-form-urlencoded, got {media or 'no type'}"
        )
    try:
        text = (await request.body()).decode()
        fields = parse_qsl(text, True, encoding="utf-8", errors="strict", max_num_fields=_FIELDS)
    except ValueError as error:
        raise InvalidInput(f"the form cannot be read: {error}") from None
    found = dict(fields)
    if len(found) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for n, name in enumerate(names) if name in names[:n])
        raise InvalidInput(f"the form has the field {twice!r} twice; send it once")
    return found


def request_key(request: Request) -> Key | None:
    """Return the key of a request, or None."""
    key: Key | None = request.scope.get("bursar.key")
    return key


def request_session(request: Request) -> str:
    """Return the id of the request's session; ``""`` without a session."""
    return request.scope.get("bursar.session") or ""


def request_csrf(request: Request) -> str:
    """Return the CSRF token of the request's session; ``""`` without a session."""
    return request.scope.get("bursar.csrf") or ""


def _check_key(request: Request, scope: str, campaign: str | None) -> Key:
    key = request_key(request)
    if key is None:
        raise Unauthenticated(
            request.scope.get("bursar.refusal")
            or "send a key as 'Authorization: Bearer bursar_…'; bursar keys create makes one"
        )
    if not key.allows(scope, campaign):
        where = "" if campaign is None else f" in campaign {campaign!r}"
        raise Forbidden(
            f"key {key.id!r} may not {scope}{where}; it has {', '.join(sorted(key.scopes))}"
            + ("" if key.campaigns is None else f" in {', '.join(sorted(key.campaigns))}")
        )
    return key


def _check_csrf(request: Request, given: str) -> None:
    expected = request_csrf(request)
    if expected and not hmac.compare_digest(given.encode(), expected.encode()):
        raise Forbidden(
            "the CSRF token is missing or not that of this session; reload the page and try again"
        )


COOKIE = "bursar_session"
_LIFETIME = 12 * 3600  # seconds
_LONGEST = 256  # characters of a cookie that is checked
_ENDED = "ended-session"  # records: the random part of a cookie, and until when it was valid


class Session(NamedTuple):
    """The key that somebody logged in with, and the CSRF token of the session."""

    key: Key
    csrf: str
    id: str  # the part of the cookie that is signed


class Sessions:
    """Creates and reads the cookies of sessions.

    A cookie names the key and the end of the session, signed with a secret that all processes of a
    store share. A session ends with its key, after its lifetime, or with a logout, which the store
    remembers until then: a copy of the cookie is of no use in any process.
    """

    def __init__(self, store: Store, keys: Keys, *, secure: bool = False) -> None:
        self._store = store
        self._keys = keys
        self._flags = "; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")
        store.insert_record("instance", "secret", secrets.token_bytes(32))  # if there is none
        self._secret = store.records("instance")["secret"]

    def start(self, key: Key) -> str:
        """Return the Set-Cookie header of a new session, after a login with the key's token."""
        body = f"{key.id}.{int(time.time()) + _LIFETIME}.{secrets.token_urlsafe(12)}"
        value = f"{body}.{self._sign('session', body)}"
        return f"{COOKIE}={value}; Max-Age={_LIFETIME}{self._flags}"

    def end(self, id: str = "") -> str:
        """End a session in all processes; return the Set-Cookie header that deletes its cookie."""
        if id:
            _, until, nonce = id.split(".")

            def change(ended: dict[str, bytes]) -> dict[str, bytes | None]:
                old = [one for one, end in ended.items() if int(end) <= time.time()]
                return {**dict.fromkeys(old), nonce: until.encode()}  # forgets the old ones

            self._store.update_records(_ENDED, change)
        return f"{COOKIE}=; Max-Age=0{self._flags}"

    def find(self, value: str) -> Session | None:
        """Return the session of a cookie's value, or None if it is not valid or has ended.

        It reads the store, so that a logout in another process counts at once.
        """
        body, _, signature = value.rpartition(".")
        if len(value) > _LONGEST or not value.isascii():
            return None
        is_ours = hmac.compare_digest(signature, self._sign("session", body))
        if not is_ours or self.has_ended(body):
            return None
        key = self._keys.find_by_id(body.partition(".")[0])
        return None if key is None else Session(key, self._sign("csrf", body), body)

    def has_ended(self, id: str) -> bool:
        """Tell whether a session was logged out, or is too old; its key is not looked at."""
        _, until, nonce = id.split(".")
        return time.time() >= int(until) or self._store.record(_ENDED, nonce) is not None

    def _sign(self, purpose: str, body: str) -> str:
        return hmac.new(self._secret, f"{purpose}\0{body}".encode(), sha256).hexdigest()
