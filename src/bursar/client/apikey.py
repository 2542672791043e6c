"""A key of a service, as its owner sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["ApiKey"]


@dataclass(frozen=True)
class ApiKey:
    """What a key may do, where, and until when.

    Attributes
    ----------
    id : str
        Its name; no secret.
    scopes : list of str
        ask, tell, read, admin, adjust, keys.
    campaigns : list of str or None
        Where; None: everywhere.
    note : str
        A word for people.
    created, expires, revoked : datetime or None
        When it was made, when it ends, when it was ended.
    token : str or None
        What callers show; told once, when the key is made.
    """

    id: str
    scopes: list[str]
    campaigns: list[str] | None = None
    note: str = ""
    created: datetime | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    token: str | None = field(default=None, repr=False)
