"""A key: what somebody who has its token may do, in which campaigns, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from bursar.campaign.words import words
from bursar.errors import InvalidInput, nearest
from bursar.service.token import new_id

__all__ = ["OPEN", "SCOPES", "Key", "new_key"]

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

    def live(self, now: datetime) -> bool:
        """Tell whether it opens anything at a moment."""
        return self.revoked is None and (self.expires is None or now < self.expires)

    def state(self, now: datetime | None = None) -> str:
        """Return live, expired or revoked."""
        if self.revoked is not None:
            return "revoked"
        return "live" if self.live(now or datetime.now(UTC)) else "expired"

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


OPEN = Key("open", frozenset(SCOPES), note="anybody: the service was started without keys")
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
    words("note", note)
    words("by", by)
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
    return Key(new_id(), what, where, note, now, expires, by=by)


def _checked(name: str, given: Iterable[str]) -> frozenset[str]:
    if isinstance(given, str):
        raise InvalidInput(f"{name} must be a list of words, got {given!r}")
    found = list(given)
    if not found:
        known = f": {', '.join(SCOPES)}" if name == "scopes" else "; leave it out for all"
        raise InvalidInput(f"{name} must name at least one, got none{known}")
    return frozenset(words(f"each of {name}", one, 1) for one in found)
