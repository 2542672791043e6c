"""The keys of a service: made, found, rotated and revoked. Only hashes of secrets are kept.

A token is ``bursar_<id>_<43 characters>``: 256 random bits, so a plain SHA-256 is enough and fast
enough to check on every request. All keys are in memory and read again every minute, and when a
token names one that is not known: so one that was revoked elsewhere ends within a minute, and one
that was made elsewhere works at once.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bursar.campaign.words import words
from bursar.errors import InvalidInput, nearest
from bursar.ledger import Store
from bursar.service.key import SCOPES, Key, new_key
from bursar.service.key_record import kept, read
from bursar.service.refused import Refused
from bursar.service.token import digest_of, id_of, new_id, new_token, secret_of

__all__ = ["Keys"]

_KIND = "key"
_FRESH = 60.0  # seconds for which what is in memory is believed
_PAUSE = 1.0  # seconds after a look that found no such key until the next one
_LONGEST = 100 * 365 * 86_400.0
_NOBODY = digest_of("")  # compared with when there is no such key: it takes as long


class Keys:
    """The keys that a store keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[Key, bytes]] = {}
        self._read = -_FRESH  # when, by the steady clock
        self._missed = -_PAUSE  # when a key was last looked for that is not there

    # at every request

    def fresh(self, token: str) -> bool:
        """Tell whether :meth:`find` would answer from memory, without waiting for the store."""
        now = time.monotonic()
        known = id_of(token) in self._entries or now - self._missed < _PAUSE
        return known and now - self._read < _FRESH

    def recent(self) -> bool:
        """Tell whether :meth:`named` would answer from memory."""
        return time.monotonic() - self._read < _FRESH

    def find(self, token: str) -> Key | None:
        """Return the live key of a token, or None; reads the store if memory is too old."""
        self.freshen(token)
        return self.match(token)

    def freshen(self, token: str) -> None:
        """Read the store unless :meth:`match` can be believed; of many at once, one reads."""
        with self._lock:
            if not self.fresh(token):
                self._load()
                if id_of(token) not in self._entries:
                    self._missed = self._read

    def match(self, token: str) -> Key | None:
        """Return the live key of a token by what is in memory, or None."""
        key, digest = self._entries.get(id_of(token), (None, _NOBODY))
        same = hmac.compare_digest(digest_of(secret_of(token)), digest)
        if key is None or not same:
            return None
        unending = key.expires is None and key.revoked is None
        return key if unending or key.live(datetime.now(UTC)) else None

    def named(self, id: str) -> Key | None:
        """Return the live key of an id, for who was let in with it before."""
        if not self.recent():
            self.refresh()
        key, _ = self._entries.get(id, (None, _NOBODY))
        return key if key is not None and key.live(datetime.now(UTC)) else None

    def refresh(self) -> None:
        """Read all keys from the store."""
        with self._lock:
            self._load()

    def _load(self) -> None:
        papers = self._store.papers(_KIND)
        self._entries = {id: read(body) for id, body in papers.items()}
        self._read = time.monotonic()

    # managing

    def all(self) -> list[Key]:
        """Return every key there is or was, oldest first."""
        self.refresh()
        start = datetime.min.replace(tzinfo=UTC)
        keys = (key for key, _ in self._entries.values())
        return sorted(keys, key=lambda key: (key.created or start, key.id))

    def empty(self) -> bool:
        """Tell whether there never was a key."""
        self.refresh()
        return not self._entries

    def get(self, id: str) -> Key:
        """Return a key, live or not; refuse one that never was."""
        self.refresh()
        if id not in self._entries:
            raise Refused("unknown-key", f"no key {id!r}{nearest(str(id), self._entries)}")
        return self._entries[id][0]

    def create(
        self,
        scopes: Iterable[str],
        *,
        campaigns: Iterable[str] | None = None,
        note: str = "",
        expires: datetime | None = None,
        by: str = "",
    ) -> tuple[Key, str]:
        """Make a key; return it with its token, which nobody can show again.

        Parameters
        ----------
        scopes : iterable of str
            What it may do; see :data:`bursar.service.key.SCOPES`.
        campaigns : iterable of str, optional
            Where; in all campaigns if not given.
        note : str
            A word for people.
        expires : datetime, optional
            When it ends.
        by : str
            Who makes it.
        """
        key = new_key(scopes, campaigns=campaigns, note=note, expires=expires, by=by)
        return self._issue(key)

    def first(self) -> tuple[Key, str] | None:
        """Make a key that may do everything if there never was one; only one process ever does."""
        if not self.empty():
            return None
        mark = secrets.token_hex(8).encode()
        if not self._store.add_paper("instance", "first-key", mark):
            return None
        return self.create(SCOPES, note="first key", by="serve")

    def revoke(self, id: str, by: str = "") -> Key:
        """End a key now; those that ended before stay as they are."""
        words("by", by)
        key = self.get(id)
        if key.revoked is None:
            key = replace(key, revoked=datetime.now(UTC), revoked_by=by)
            self._keep(key, self._entries[id][1])
        return key

    def rotate(self, id: str, grace_seconds: float = 0.0, by: str = "") -> tuple[Key, str]:
        """Make a successor that may do the same; both are live until the old one's grace is over.

        Parameters
        ----------
        id : str
            The key to replace.
        grace_seconds : float
            For how long the old token still works.
        by : str
            Who rotates it.
        """
        if not 0 <= grace_seconds <= _LONGEST:
            raise InvalidInput(f"grace must be 0 seconds or more, got {grace_seconds!r}")
        old, now = self.get(id), datetime.now(UTC)
        if not old.live(now):
            raise InvalidInput(f"key {id!r} is {old.state(now)}; make a new one")
        words("by", by)
        new = replace(old, id=new_id(), created=now, by=by, replaces=id)
        made = self._issue(new)  # first: a crash in between leaves two keys, never none
        end = now + timedelta(seconds=grace_seconds)
        ends = end if old.expires is None else min(end, old.expires)
        self._keep(replace(old, expires=ends), self._entries[id][1])
        return made

    def _issue(self, key: Key) -> tuple[Key, str]:
        token = new_token(key.id)
        self._keep(key, digest_of(secret_of(token)), new=True)
        return key, token

    def _keep(self, key: Key, digest: bytes, *, new: bool = False) -> None:
        body = kept(key, digest)
        if not new:
            self._store.put_paper(_KIND, key.id, body)
        elif not self._store.add_paper(_KIND, key.id, body):
            raise InvalidInput(f"there is a key {key.id!r} already; try again")
        with self._lock:
            self._entries[key.id] = key, digest
