"""Sessions of people at the dashboard: a signed cookie after a login with a key.

Nothing is kept on the server: the cookie names the key and when the session ends, signed with a
secret that all processes of a store share. A session ends with its key. Each has a token of its own
that every change must carry (CSRF), so that another page cannot make a browser change anything.
"""

from __future__ import annotations

import hmac
import secrets
import time
from hashlib import sha256
from typing import NamedTuple

from bursar.ledger import Store
from bursar.service.key import Key
from bursar.service.keys import Keys

__all__ = ["COOKIE", "Session", "Sessions"]

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
        key = self._keys.named(name) if time.time() < int(until) else None
        return None if key is None else Session(key, self._sign("csrf", body))

    def _sign(self, purpose: str, body: str) -> str:
        return hmac.new(self._secret, f"{purpose}\0{body}".encode(), sha256).hexdigest()


def _shared_secret(store: Store) -> bytes:
    store.add_paper("instance", "secret", secrets.token_bytes(32))  # unless there is one
    return store.papers("instance")["secret"]
