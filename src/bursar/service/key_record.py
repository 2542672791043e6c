"""A key as a store keeps it: its facts and the hash of its secret, as JSON."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from bursar.service.key import Key

__all__ = ["kept", "read"]


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


def kept(key: Key, digest: bytes) -> bytes:
    """Return what is kept of a key."""
    campaigns = None if key.campaigns is None else sorted(key.campaigns)
    created = key.created or datetime.now(UTC)
    return _ENCODER.encode(
        _Record(
            key.id, digest, sorted(key.scopes), campaigns, key.note, created, key.expires,
            key.revoked, key.by, key.revoked_by, key.replaces,
        )
    )  # fmt: skip


def read(body: bytes) -> tuple[Key, bytes]:
    """Return a key that was kept, and the hash of its secret."""
    one = _DECODER.decode(body)
    campaigns = None if one.campaigns is None else frozenset(one.campaigns)
    key = Key(
        one.id, frozenset(one.scopes), campaigns, one.note, one.created, one.expires,
        one.revoked, one.by, one.revoked_by, one.replaces,
    )  # fmt: skip
    return key, one.sha256
