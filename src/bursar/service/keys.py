"""Keys: who may call the service, what for, in which campaigns and until when.

The token of a key is ``bursar_<id>_<43 characters>``. Its secret part has 256 random bits, so a
plain SHA-256 of it is enough, and fast enough to check on every request. All keys are in memory.
They are read again every minute and when a token names an unknown key, so a key that another
process revoked stops working within a minute, and one that another process created works at once.

Keys are changed only in transactions of the store that exclude each other, on what the store has at
that moment: what is revoked stays revoked. A revocation ends the descendants of a key, too: its
successors by rotation, the keys that it created or rotated, and theirs. A key that is no longer
live in the store creates, rotates and revokes nothing, even where memory still trusts it.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from bursar.errors import Forbidden, InvalidInput, Unauthenticated, suggest
from bursar.ledger import Store
from bursar.service.responses import HTTPProblem
from bursar.validation import check_text

SCOPES = ("ask", "tell", "read", "admin", "adjust", "keys")
"""ask, tell and read; admin, which includes these and changes campaigns, budgets and arms; adjust,
which corrects reported outcomes; keys, which manages keys."""

_ADMIN = frozenset({"admin", "ask", "tell", "read"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What is known of a key. The secret is not kept, only its hash."""

    id: str  # the part of the token that is not secret
    scopes: frozenset[str]  # what it was created for; see SCOPES
    campaigns: frozenset[str] | None = None  # that it is for; None for all, future ones included
    note: str = ""  # such as "nightly job"
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    by: str = ""  # who created it
    revoked_by: str = ""
    replaces: str = ""  # the key that it was rotated from

    def allows(self, scope: str, campaign: str | None = None) -> bool:
        """Tell whether it may do something, in a campaign if one is named.

        >>> key = Key(id="k1", scopes=frozenset({"admin"}), campaigns=frozenset({"llm"}))
        >>> key.allows("ask", "llm"), key.allows("ask", "ads"), key.allows("keys")
        (True, False, False)
        """
        allowed = scope in self.scopes or (scope in _ADMIN and "admin" in self.scopes)
        return allowed and (campaign is None or self.sees(campaign))

    def sees(self, campaign: str) -> bool:
        """Tell whether it is for a campaign."""
        return self.campaigns is None or campaign in self.campaigns

    def covers(self, other: Key) -> bool:
        """Tell whether another key may do no more, so that this one may create and revoke it."""
        if self.campaigns is not None and not (
            other.campaigns is not None and other.campaigns <= self.campaigns
        ):
            return False
        if self.expires is not None and (other.expires is None or other.expires > self.expires):
            return False
        return all(self.allows(scope) for scope in other.scopes)

    def check_covers(self, other: Key) -> None:
        """Refuse to create, rotate or revoke a key that may do more."""
        if not self.covers(other):
            raise Forbidden(
                f"key {self.id!r} cannot create, rotate or revoke a key that may do more, in more"
                " campaigns or for longer than itself"
            )

    def author(self, by: str) -> str:
        """Return who makes a change, for the log: the key, and for whom it acts."""
        return f"{self.id}/{by}" if by else self.id

    def is_live(self, now: datetime) -> bool:
        """Tell whether it is neither revoked nor expired."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime | None = None) -> str:
        """Return live, expired or revoked."""
        if self.revoked is not None:
            return "revoked"
        return "live" if self.is_live(now or datetime.now(UTC)) else "expired"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; nothing in it is secret."""
        scopes = [scope for scope in SCOPES if scope in self.scopes]
        return _to_json(self) | {"scopes": scopes, "state": self.state()}


ANYONE = Key(
    id="open", scopes=frozenset(SCOPES), note="anybody: the service was started without keys"
)
"""The key of every request to a service that does not require keys."""

_PREFIX = "bursar_"
_SECRET = 43  # characters for 256 bits
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0 or 1: ids are read aloud
_LAST_YEAR = 9000


def new_key(
    scopes: Iterable[str],
    *,
    campaigns: Iterable[str] | None = None,
    note: str = "",
    expires: datetime | None = None,
    by: str = "",
) -> Key:
    """Return a new key after checking its fields; it is not stored and has no token."""
    check_text("note", note)
    check_text("by", by)
    now = datetime.now(UTC)
    if expires is not None:
        if expires.tzinfo is None:
            raise InvalidInput(f"expires must have a time zone, got {expires.isoformat()!r}")
        if not expires.year < _LAST_YEAR:  # a time zone must not move it beyond year 9999
            raise InvalidInput(f"expires must be before {_LAST_YEAR}, got {expires.isoformat()!r}")
        if expires <= now:
            raise InvalidInput(f"expires must be later than now, got {expires.isoformat()!r}")
    where = None if campaigns is None else _check_names("campaigns", campaigns)
    what = _check_names("scopes", scopes)
    for scope in what:
        if scope not in SCOPES:
            raise InvalidInput(f"no scope {scope!r}{suggest(scope, SCOPES)}")
    return Key(
        id=new_key_id(),
        scopes=what,
        campaigns=where,
        note=note,
        created=now,
        expires=expires,
        by=by,
    )


def _check_names(field: str, given: Iterable[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise InvalidInput(f"{field} must be a list of names, got {given!r}")
    found = list(given)
    if not found:
        way_out = f": {', '.join(SCOPES)}" if field == "scopes" else "; leave it out for all"
        raise InvalidInput(f"{field} must name at least one, got none{way_out}")
    return frozenset(check_text(f"each of {field}", one, 1) for one in found)


def new_key_id() -> str:
    """Return a random id."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


def new_token(id: str) -> str:
    """Return a token for a key, with a new secret."""
    return f"{_PREFIX}{id}_{secrets.token_urlsafe(32)}"


def _split_token(token: str) -> tuple[str, str]:
    """Return the id and the secret of a token; the id is ``""`` if it is not one of ours.

    >>> _split_token("bursar_k7_" + "x" * 43)[0], _split_token("Basic cm9vdA==")[0]
    ('k7', '')
    """
    name, _, secret = token.removeprefix(_PREFIX).partition("_")
    ours = token.startswith(_PREFIX) and len(secret) == _SECRET
    return name if ours else "", secret


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()


class _Entry(NamedTuple):
    """A key and the hash of its secret, which a store keeps as one JSON object."""

    key: Key
    sha256: bytes

    def encode(self) -> bytes:
        return msgspec.json.encode(_to_json(self.key) | {"sha256": self.sha256})


def _to_json(key: Key) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(key, order="deterministic")
    return found


def _decode_entries(records: dict[str, bytes]) -> dict[str, _Entry]:
    bodies = {id: msgspec.json.decode(body) for id, body in records.items()}
    return {
        id: _Entry(msgspec.convert(body, Key), msgspec.convert(body["sha256"], bytes))
        for id, body in bodies.items()
    }


def find_descendants(id: str, keys: Iterable[Key]) -> list[Key]:
    """Return the keys that were rotated from a key or created by it, and their descendants."""
    children: dict[str, list[Key]] = {}
    for key in keys:
        for parent in {key.replaces, key.by}:
            children.setdefault(parent, []).append(key)
    found: dict[str, Key] = {}
    parents = [id]
    while parents:
        for key in children.get(parents.pop(), ()):
            if key.id != id and key.id not in found:
                found[key.id] = key
                parents.append(key.id)
    return list(found.values())


_KIND = "key"
_FRESH = 60.0  # seconds for which the keys in memory are trusted
_PAUSE = 1.0  # seconds between two readings because of unknown keys
_LONGEST = 100 * 365 * 86_400.0
_NO_HASH = _hash("")  # compared if there is no such key, so that it takes as long


class Keys:
    """The keys in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._read = -_FRESH  # time.monotonic() of the last reading
        self._missed = -_PAUSE  # the same, of the last reading that did not find a key

    # on every request

    def is_fresh(self, token: str) -> bool:
        """Tell whether :meth:`match` may be trusted without reading the store first."""
        now = time.monotonic()
        known = _split_token(token)[0] in self._entries or now - self._missed < _PAUSE
        return known and now - self._read < _FRESH

    def is_recent(self) -> bool:
        """Tell whether :meth:`find_by_id` would not read the store."""
        return time.monotonic() - self._read < _FRESH

    def find(self, token: str) -> Key | None:
        """Return the live key of a token, or None; read the store first unless memory is fresh."""
        with self._lock:  # of several threads, one reads
            if not self.is_fresh(token):
                self.refresh()
                if _split_token(token)[0] not in self._entries:
                    self._missed = self._read
        return self.match(token)

    def match(self, token: str) -> Key | None:
        """Return the live key of a token from memory, or None."""
        id, secret = _split_token(token)
        key, digest = self._entries.get(id, (None, _NO_HASH))
        same = hmac.compare_digest(_hash(secret), digest)
        if key is None or not same:
            return None
        unending = key.expires is None and key.revoked is None
        return key if unending or key.is_live(datetime.now(UTC)) else None

    def find_by_id(self, id: str) -> Key | None:
        """Return the live key of an id, for sessions and streams that began with its token."""
        if not self.is_recent():
            self.refresh()
        key, _ = self._entries.get(id, (None, _NO_HASH))
        return key if key is not None and key.is_live(datetime.now(UTC)) else None

    def refresh(self) -> None:
        """Read all keys from the store."""
        with self._lock:
            self._entries = _decode_entries(self._store.records(_KIND))
            self._read = time.monotonic()

    # management

    def list_all(self) -> list[Key]:
        """Return all keys, expired and revoked ones too, oldest first."""
        self.refresh()
        start = datetime.min.replace(tzinfo=UTC)
        keys = (key for key, _ in self._entries.values())
        return sorted(keys, key=lambda key: (key.created or start, key.id))

    def is_empty(self) -> bool:
        """Tell whether no key was ever created."""
        return not self.list_all()

    def get(self, id: str, user: Key | None = None) -> Key:
        """Return a key, live or not; refuse an unknown id, and keys with more rights than ``user``.

        The refusal suggests similar ids, but only those of keys that the user may manage.
        """
        self.refresh()
        key = _find_entry(self._entries, id, user).key
        if user is not None:
            user.check_covers(key)
        return key

    def create(
        self, scopes: Iterable[str], *, user: Key | None = None, **fields: Any
    ) -> tuple[Key, str]:
        """Create a key; return it with its token, which cannot be shown again.

        The other arguments are those of :func:`new_key`. A ``user`` creates no key that may do
        more than its own.
        """
        if user is not None:
            fields["by"] = user.id
        key = new_key(scopes, **fields)
        if user is not None:
            user.check_covers(key)
        token = new_token(key.id)
        self._update(key.by, lambda known: {key.id: _new_entry(known, key, token)})
        return key, token

    def create_first(self) -> tuple[Key, str] | None:
        """Create a key with all scopes if there never was one; only one process ever does."""
        if not self.is_empty():
            return None
        mark = secrets.token_hex(8).encode()
        if not self._store.insert_record("instance", "first-key", mark):
            return None
        return self.create(SCOPES, note="first key", by="serve")

    def revoke_family(
        self, id: str, by: str = "", *, only: bool = False, user: Key | None = None
    ) -> list[Key]:
        """Revoke a key and its descendants now; return it, then those that were not revoked.

        One that is revoked already stays as it is. With ``only``, its descendants stay. A ``user``
        may not revoke keys with more rights.
        """
        check_text("by", by)

        def change(known: Mapping[str, _Entry]) -> dict[str, _Entry]:
            key = _find_entry(known, id, user).key
            others = [] if only else find_descendants(id, (one.key for one in known.values()))
            ends = [one for one in others if one.revoked is None]
            if user is not None and not all(map(user.covers, ends)):
                raise Forbidden(
                    f"key {id!r} has successors, or created keys, that may do more than key"
                    f" {user.id!r}; revoke it alone with only=true, or use a key with more rights"
                )
            now = datetime.now(UTC)
            return {
                one.id: known[one.id]._replace(
                    key=one if one.revoked else replace(one, revoked=now, revoked_by=by)
                )
                for one in (key, *ends)
            }

        return [entry.key for entry in self._update(by, change).values()]

    def rotate(self, id: str, grace_seconds: float = 0.0, by: str = "") -> tuple[Key, str]:
        """Create a key with the same rights; the old one expires after the grace period."""
        if not 0 <= grace_seconds <= _LONGEST:
            raise InvalidInput(f"grace must be 0 seconds or more, got {grace_seconds!r}")
        check_text("by", by)
        new_id = new_key_id()
        token = new_token(new_id)

        def change(known: Mapping[str, _Entry]) -> dict[str, _Entry]:
            entry, now = _find_entry(known, id), datetime.now(UTC)
            old = entry.key
            if not old.is_live(now):
                raise InvalidInput(f"key {id!r} is {old.state(now)}; create a new one")
            new = replace(old, id=new_id, created=now, by=by, replaces=id)
            end = now + timedelta(seconds=grace_seconds)
            expires = end if old.expires is None else min(end, old.expires)
            return {
                id: entry._replace(key=replace(old, expires=expires)),
                new_id: _new_entry(known, new, token),
            }

        return self._update(by, change)[new_id].key, token

    def _update(
        self, by: str, change: Callable[[Mapping[str, _Entry]], dict[str, _Entry]]
    ) -> dict[str, _Entry]:
        """Change keys as they are in the store, all of them or none, and alone; return them."""
        changed: dict[str, _Entry] = {}

        def update(records: dict[str, bytes]) -> dict[str, bytes | None]:
            known = _decode_entries(records)
            # it was live when the request came in; another process may have revoked it since
            if by in known and not known[by].key.is_live(datetime.now(UTC)):
                raise Unauthenticated(f"key {by!r} is {known[by].key.state()}; use another one")
            nonlocal changed
            changed = change(known)
            return {id: entry.encode() for id, entry in changed.items()}

        try:
            self._store.update_records(_KIND, update)
        finally:
            with self._lock:
                # to be read again: what was just written may have been changed by others since
                self._read = -_FRESH
        return changed


def _find_entry(known: Mapping[str, _Entry], id: str, user: Key | None = None) -> _Entry:
    if id not in known:
        seen = [one for one in known if user is None or user.covers(known[one].key)]
        raise HTTPProblem("unknown-key", f"no key {id!r}{suggest(str(id), seen)}")
    return known[id]


def _new_entry(known: Mapping[str, _Entry], key: Key, token: str) -> _Entry:
    if key.id in known:
        raise InvalidInput(f"key {key.id!r} already exists; try again")
    return _Entry(key, _hash(_split_token(token)[1]))
