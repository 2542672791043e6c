"""Orphans: decisions that a restored backup does not know, vouched for by a token of our own.

A token says what was granted, sealed with a secret that only the ledger has (and that every backup
of it has, too). So an outcome that comes after a restore is booked, though the ask it belongs to is
gone from the log; nobody else can make the ledger believe in a decision.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from bursar.campaign.decision import Decision
from bursar.campaign.events import ADOPTED
from bursar.campaign.transaction import Transaction
from bursar.errors import InvalidInput
from bursar.ledger import Store

__all__ = ["Grant", "TokenSigner", "adopt_decision"]

_MARK = 16  # bytes


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """What was granted: the arm, the hold in units, and when."""

    arm: str
    hold: int
    ts: int


_DECODER = msgspec.msgpack.Decoder(Grant)


class TokenSigner:
    """Makes and checks tokens with the secret of a store."""

    def __init__(self, store: Store) -> None:
        store.insert_record("secret", "orphan", secrets.token_bytes(32))  # unless there is one
        self._secret = store.records("secret")["orphan"]

    def token(self, campaign: str, decision: Decision) -> str:
        """Return the token of a decision."""
        body = msgspec.msgpack.encode(Grant(decision.arm, decision.hold_units, decision.ts))
        return urlsafe_b64encode(self._mark(campaign, decision.id, body) + body).decode()

    def opened(self, campaign: str, decision: str, token: str) -> Grant:
        """Return what a token says; refuse one that is not ours, or of another decision."""
        try:
            data = urlsafe_b64decode(token.encode())
            mark, body = data[:_MARK], data[_MARK:]
            if hmac.compare_digest(mark, self._mark(campaign, decision, body)):
                return _DECODER.decode(body)
        except ValueError:  # no base64, no msgpack
            pass
        raise InvalidInput(
            f"the token is not one of {decision!r} of {campaign!r}, got {token[:80]!r};"
            " pass what the ask was answered with"
        )

    def _mark(self, campaign: str, decision: str, body: bytes) -> bytes:
        names = msgspec.msgpack.encode((campaign, decision))  # no two pairs are the same bytes
        return hmac.digest(self._secret, names + body, "sha256")[:_MARK]


def adopt_decision(transaction: Transaction, decision: str, grant: Grant) -> None:
    """Take a decision into the books that was granted before the log was set back.

    It is no grant: the money may be gone already, so it counts even where nothing is left.
    """
    state = transaction.state
    transaction.append_event(
        ADOPTED, decision, arm=transaction.arm(grant.arm), hold=grant.hold, p=None, print="*",
        constrained=False, expires=grant.ts + state.lives, due=grant.ts + state.waits,
    )  # fmt: skip
