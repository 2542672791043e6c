"""Tokens: ``bursar_<id>_<43 characters>``, the words that open the service to a program."""

from __future__ import annotations

import secrets
from hashlib import sha256

__all__ = ["digest_of", "id_of", "new_id", "new_token", "secret_of"]

_PREFIX = "bursar_"
_SECRET = 43  # characters for 256 bits
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0 or 1: ids are read aloud


def new_id() -> str:
    """Return an id that nobody has."""
    return "".join(secrets.choice(_LETTERS) for _ in range(10))


def new_token(id: str) -> str:
    """Return a token for a key, with a secret that was never used."""
    return f"{_PREFIX}{id}_{secrets.token_urlsafe(32)}"


def id_of(token: str) -> str:
    """Return the id in a token, or ``""`` if it is none of ours.

    >>> id_of("bursar_k7_" + "x" * 43), id_of("Basic cm9vdA==")
    ('k7', '')
    """
    if not token.startswith(_PREFIX):
        return ""
    name, _, secret = token[len(_PREFIX) :].partition("_")
    return name if len(secret) == _SECRET else ""


def secret_of(token: str) -> str:
    """Return what only the owner of a token knows."""
    return token[len(_PREFIX) :].partition("_")[2]


def digest_of(secret: str) -> bytes:
    """Return the hash of a secret: with 256 random bits nothing slower is needed."""
    return sha256(secret.encode("utf-8", "surrogateescape")).digest()
