"""Signed tokens of decisions: with one, an outcome is recorded even after a restore.

A restored backup does not know the decisions that were granted after it. A token says what was
granted, signed with a secret that only the ledger and its backups have. So their outcomes can be
recorded, and no one else can make the ledger accept a decision.
"""

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode

import msgspec

from bursar.campaign.decision import Decision
from bursar.campaign.events import ADOPTED
from bursar.campaign.transaction import Transaction
from bursar.errors import InvalidInput
from bursar.ledger import Store

_SIGNATURE = 16  # bytes


class Grant(msgspec.Struct, frozen=True, array_like=True):
    """What was granted: the arm, the hold in units, and when."""

    arm: str
    hold: int
    ts: int


class TokenSigner:
    """Signs and opens tokens with the secret of a store."""

    def __init__(self, store: Store) -> None:
        store.insert_record("secret", "orphan", secrets.token_bytes(32))  # unless there is one
        self._secret = store.records("secret")["orphan"]

    def sign(self, campaign: str, decision: Decision) -> str:
        """Return the token of a decision."""
        body = msgspec.msgpack.encode(Grant(decision.arm, decision.hold_units, decision.ts))
        return urlsafe_b64encode(self._signature(campaign, decision.id, body) + body).decode()

    def open(self, campaign: str, decision: str, token: str) -> Grant:
        """Return the grant of a token; raise InvalidInput if it is not one of this decision."""
        try:
            data = urlsafe_b64decode(token.encode())
            signature, body = data[:_SIGNATURE], data[_SIGNATURE:]
            if hmac.compare_digest(signature, self._signature(campaign, decision, body)):
                return msgspec.msgpack.decode(body, type=Grant)
        except ValueError:  # no base64, no msgpack
            pass
        raise InvalidInput(
            f"the token is not one of {decision!r} of {campaign!r}, got {token[:80]!r};"
            " pass the token that came with the decision"
        )

    def _signature(self, campaign: str, decision: str, body: bytes) -> bytes:
        names = msgspec.msgpack.encode((campaign, decision))  # no two pairs are the same bytes
        return hmac.digest(self._secret, names + body, "sha256")[:_SIGNATURE]


def adopt_decision(transaction: Transaction, decision: str, grant: Grant) -> None:
    """Add a decision that was granted before the ledger was restored from a backup.

    Its money may be spent already, so it counts even where nothing is left.
    """
    state = transaction.state
    body = {
        "arm": transaction.arm_number(grant.arm), "hold": grant.hold, "p": None, "print": "*",
        "constrained": False, "expires": grant.ts + state.hold_time,
        "due": grant.ts + state.reward_time,
    }  # fmt: skip
    transaction.append_event(ADOPTED, body, decision)
