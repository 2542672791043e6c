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
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec

from bursar.campaign.config import check_text
from bursar.errors import InvalidInput, nearest
from bursar.ledger import Store
from bursar.service.responses import HTTPProblem

__all__ = [
    "ANYONE",
    "SCOPES",
    "Key",
    "Keys",
    "decode_key",
    "encode_key",
    "new_key",
    "new_key_id",
    "new_token",
    "token_digest",
    "token_id",
    "token_secret",
]

# ==== service.token
# Tokens: ``bursar_<id>_<43 characters>``, the words that open the service to a program.

_PREFIX = "bursar_"
_SECRET = 43  # characters for 256 bits
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0 or 1: ids are read aloud


def new_key_id() -> str:
    """Return an id that nobody has."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


def new_token(id: str) -> str:
    """Return a token for a key, with a secret that was never used."""
    return f"{_PREFIX}{id}_{secrets.token_urlsafe(32)}"


def token_id(token: str) -> str:
    """Return the id in a token, or ``""`` if it is none of ours.

    >>> token_id("bursar_k7_" + "x" * 43), token_id("Basic cm9vdA==")
    ('k7', '')
    """
    if not token.startswith(_PREFIX):
        return ""
    name, _, secret = token[len(_PREFIX) :].partition("_")
    return name if len(secret) == _SECRET else ""


def token_secret(token: str) -> str:
    """Return what only the owner of a token knows."""
    return token[len(_PREFIX) :].partition("_")[2]


def token_digest(secret: str) -> bytes:
    """Return the hash of a secret: with 256 random bits nothing slower is needed."""
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()


# ==== service.key
# A key: what somebody who has its token may do, in which campaigns, and until when.

SCOPES = ("ask", "tell", "read", "admin", "adjust", "keys")
"""ask, tell, read; admin: all three, and budgets, arms, campaigns; adjust: correct outcomes that
were told; keys: manage keys."""

_IMPLIED = {"admin": frozenset({"admin", "ask", "tell", "read"})}


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; not its secret, of which only a hash is kept.

    Attributes
    ----------
    id : str
        Its name, which is part of the token and no secret.
    scopes : frozenset of str
        What it was made for; see :data:`SCOPES`.
    campaigns : frozenset of str or None
        In which campaigns; None: in all, and those to come.
    note : str
        A word for people, as in "nightly job".
    created, expires, revoked : datetime or None
        When it was made, when it ends, and when it was ended by hand.
    by, revoked_by : str
        Who did that.
    replaces : str
        The key that it was rotated from.
    """

    id: str
    scopes: frozenset[str]
    campaigns: frozenset[str] | None = None
    note: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    by: str = ""
    revoked_by: str = ""
    replaces: str = ""
    powers: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        implied = (_IMPLIED.get(scope, frozenset({scope})) for scope in self.scopes)
        object.__setattr__(self, "powers", frozenset().union(*implied))

    def allows(self, scope: str, campaign: str | None = None) -> bool:
        """Tell whether it may do something, in a campaign if one is named.

        >>> key = Key("k1", frozenset({"admin"}), frozenset({"llm"}))
        >>> key.allows("ask", "llm"), key.allows("ask", "ads"), key.allows("keys")
        (True, False, False)
        """
        return scope in self.powers and (campaign is None or self.sees(campaign))

    def sees(self, campaign: str) -> bool:
        """Tell whether a campaign is one of its own."""
        return self.campaigns is None or campaign in self.campaigns

    def covers(self, other: Key) -> bool:
        """Tell whether it may give out, rotate and revoke another: one that can do no more."""
        if self.campaigns is not None and not (
            other.campaigns is not None and other.campaigns <= self.campaigns
        ):
            return False
        if self.expires is not None and (other.expires is None or other.expires > self.expires):
            return False
        return other.powers <= self.powers

    def is_live(self, now: datetime) -> bool:
        """Tell whether it opens anything at a moment."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime | None = None) -> str:
        """Return live, expired or revoked."""
        if self.revoked is not None:
            return "revoked"
        return "live" if self.is_live(now or datetime.now(UTC)) else "expired"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON; nothing in it is secret."""
        facts = asdict(self)
        del facts["powers"]
        times = {
            name: None if facts[name] is None else facts[name].isoformat()
            for name in ("created", "expires", "revoked")
        }
        return {
            **facts,
            **times,
            "scopes": [scope for scope in SCOPES if scope in self.scopes],
            "campaigns": None if self.campaigns is None else sorted(self.campaigns),
            "state": self.state(),
        }


ANYONE = Key("open", frozenset(SCOPES), note="anybody: the service was started without keys")
"""Whoever calls a service that needs no keys, on this machine."""


_LAST_YEAR = 9000


def new_key(
    scopes: Iterable[str],
    *,
    campaigns: Iterable[str] | None = None,
    note: str = "",
    expires: datetime | None = None,
    by: str = "",
) -> Key:
    """Return a key as it would be made, checked; nothing is kept and there is no token."""
    check_text("note", note)
    check_text("by", by)
    now = datetime.now(UTC)
    if expires is not None and expires.tzinfo is None:
        raise InvalidInput(f"expires must have a time zone, got {expires.isoformat()!r}")
    if expires is not None and not expires.year < _LAST_YEAR:  # it must have a name in UTC
        raise InvalidInput(f"expires must be before {_LAST_YEAR}, got {expires.isoformat()!r}")
    if expires is not None and expires <= now:
        raise InvalidInput(f"expires must be later than now, got {expires.isoformat()!r}")
    where = None if campaigns is None else _checked("campaigns", campaigns)
    what = _checked("scopes", scopes)
    for scope in what:
        if scope not in SCOPES:
            raise InvalidInput(f"no scope {scope!r}{nearest(scope, SCOPES)}")
    return Key(new_key_id(), what, where, note, now, expires, by=by)


def _checked(name: str, given: Iterable[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of words, got {given!r}")
    found = list(given)
    if not found:
        known = f": {', '.join(SCOPES)}" if name == "scopes" else "; leave it out for all"
        raise InvalidInput(f"{name} must name at least one, got none{known}")
    return frozenset(check_text(f"each of {name}", one, 1) for one in found)


# ==== service.key_record
# A key as a store keeps it: its facts and the hash of its secret, as JSON.


class _Record(msgspec.Struct):
    id: str
    sha256: bytes
    scopes: list[str]
    campaigns: list[str] | None
    note: str
    created: datetime
    expires: datetime | None
    revoked: datetime | None
    by: str
    revoked_by: str
    replaces: str


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(_Record)


def encode_key(key: Key, digest: bytes) -> bytes:
    """Return what is kept of a key."""
    campaigns = None if key.campaigns is None else sorted(key.campaigns)
    created = key.created or datetime.now(UTC)
    return _ENCODER.encode(
        _Record(
            key.id, digest, sorted(key.scopes), campaigns, key.note, created, key.expires,
            key.revoked, key.by, key.revoked_by, key.replaces,
        )
    )  # fmt: skip


def decode_key(body: bytes) -> tuple[Key, bytes]:
    """Return a key that was kept, and the hash of its secret."""
    one = _DECODER.decode(body)
    campaigns = None if one.campaigns is None else frozenset(one.campaigns)
    key = Key(
        one.id, frozenset(one.scopes), campaigns, one.note, one.created, one.expires,
        one.revoked, one.by, one.revoked_by, one.replaces,
    )  # fmt: skip
    return key, one.sha256


_KIND = "key"
_FRESH = 60.0  # seconds for which what is in memory is believed
_PAUSE = 1.0  # seconds after a look that found no such key until the next one
_LONGEST = 100 * 365 * 86_400.0
_NOBODY = token_digest("")  # compared with when there is no such key: it takes as long


class Keys:
    """The keys that a store keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._entries: dict[str, tuple[Key, bytes]] = {}
        self._read = -_FRESH  # when, by the steady clock
        self._missed = -_PAUSE  # when a key was last looked for that is not there

    # at every request

    def is_fresh(self, token: str) -> bool:
        """Tell whether :meth:`find` would answer from memory, without waiting for the store."""
        now = time.monotonic()
        known = token_id(token) in self._entries or now - self._missed < _PAUSE
        return known and now - self._read < _FRESH

    def is_recent(self) -> bool:
        """Tell whether :meth:`find_by_id` would answer from memory."""
        return time.monotonic() - self._read < _FRESH

    def find(self, token: str) -> Key | None:
        """Return the live key of a token, or None; reads the store if memory is too old."""
        self.ensure_fresh(token)
        return self.match(token)

    def ensure_fresh(self, token: str) -> None:
        """Read the store unless :meth:`match` can be believed; of many at once, one reads."""
        with self._lock:
            if not self.is_fresh(token):
                self._load()
                if token_id(token) not in self._entries:
                    self._missed = self._read

    def match(self, token: str) -> Key | None:
        """Return the live key of a token by what is in memory, or None."""
        key, digest = self._entries.get(token_id(token), (None, _NOBODY))
        same = hmac.compare_digest(token_digest(token_secret(token)), digest)
        if key is None or not same:
            return None
        unending = key.expires is None and key.revoked is None
        return key if unending or key.is_live(datetime.now(UTC)) else None

    def find_by_id(self, id: str) -> Key | None:
        """Return the live key of an id, for who was let in with it before."""
        if not self.is_recent():
            self.refresh()
        key, _ = self._entries.get(id, (None, _NOBODY))
        return key if key is not None and key.is_live(datetime.now(UTC)) else None

    def refresh(self) -> None:
        """Read all keys from the store."""
        with self._lock:
            self._load()

    def _load(self) -> None:
        papers = self._store.records(_KIND)
        self._entries = {id: decode_key(body) for id, body in papers.items()}
        self._read = time.monotonic()

    # managing

    def list_all(self) -> list[Key]:
        """Return every key there is or was, oldest first."""
        self.refresh()
        start = datetime.min.replace(tzinfo=UTC)
        keys = (key for key, _ in self._entries.values())
        return sorted(keys, key=lambda key: (key.created or start, key.id))

    def is_empty(self) -> bool:
        """Tell whether there never was a key."""
        self.refresh()
        return not self._entries

    def get(self, id: str) -> Key:
        """Return a key, live or not; refuse one that never was."""
        self.refresh()
        if id not in self._entries:
            raise HTTPProblem("unknown-key", f"no key {id!r}{nearest(str(id), self._entries)}")
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
            What it may do; see :data:`bursar.service.keys.SCOPES`.
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

    def create_first(self) -> tuple[Key, str] | None:
        """Make a key that may do everything if there never was one; only one process ever does."""
        if not self.is_empty():
            return None
        mark = secrets.token_hex(8).encode()
        if not self._store.insert_record("instance", "first-key", mark):
            return None
        return self.create(SCOPES, note="first key", by="serve")

    def revoke(self, id: str, by: str = "") -> Key:
        """End a key now; those that ended before stay as they are."""
        check_text("by", by)
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
        if not old.is_live(now):
            raise InvalidInput(f"key {id!r} is {old.state(now)}; make a new one")
        check_text("by", by)
        new = replace(old, id=new_key_id(), created=now, by=by, replaces=id)
        made = self._issue(new)  # first: a crash in between leaves two keys, never none
        end = now + timedelta(seconds=grace_seconds)
        ends = end if old.expires is None else min(end, old.expires)
        self._keep(replace(old, expires=ends), self._entries[id][1])
        return made

    def _issue(self, key: Key) -> tuple[Key, str]:
        token = new_token(key.id)
        self._keep(key, token_digest(token_secret(token)), new=True)
        return key, token

    def _keep(self, key: Key, digest: bytes, *, new: bool = False) -> None:
        body = encode_key(key, digest)
        if not new:
            self._store.put_record(_KIND, key.id, body)
        elif not self._store.insert_record(_KIND, key.id, body):
            raise InvalidInput(f"there is a key {key.id!r} already; try again")
        with self._lock:
            self._entries[key.id] = key, digest
