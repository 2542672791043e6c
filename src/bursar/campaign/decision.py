"""A decision as users see it, the ``with`` block that reports its outcome, and its signed token.

A restored backup does not know the decisions that were granted after it. A token says what was
granted, signed with a secret that only the ledger and its backups have. So their outcomes can be
recorded, and no one else can make the ledger accept a decision.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from bursar.errors import BudgetExhausted, BursarError, InvalidInput
from bursar.money import Amount, Coin
from bursar.validation import Reward, escape_surrogates

if TYPE_CHECKING:
    from bursar.campaign.records import DecisionRecord
    from bursar.campaign.state import State
    from bursar.ledger import Store

_SIGNATURE = 16  # bytes
_OUTCOME = frozenset(("decision", "cost", "reward", "report", "rounding", "token"))


def to_datetime(ts: float) -> datetime:
    """Return a time in µs since 1970 as a datetime in UTC."""
    return datetime.fromtimestamp(ts / 1e6, UTC)


class Decision(Struct, frozen=True, gc=False):
    """Which arm to play and what may be spent on it, as it stood when it was returned.

    Attributes
    ----------
    id : str
        Name of the decision; asking again with it returns the same decision.
    arm : str
        Key of the arm.
    hold : Decimal
        What is reserved: the most it should cost.
    at, expires_at : datetime
        When it was made; when the hold lapses without an outcome.
    propensity : float or None
        Probability of this choice; None if the selection probability is unknown.
    constrained : bool
        Whether arms were left out because they no longer fit into the budget.
    replayed : bool
        Whether an earlier call with the same id made it.
    money : str
        held, confirmed, settled, voided, released or lapsed.
    reward_state : str
        pending, observed, defaulted, late or none.
    cost : Decimal or None
        What it cost, once that is reported.
    reward : float or None
        What it earned, once that is reported.
    seq : int
        Number of its event in the log.
    context : dict or None
        What the caller recorded with it.
    """

    id: str
    arm: str
    seq: int
    coin: Coin
    hold_units: int
    ts: int
    expires: int
    propensity: float | None
    constrained: bool
    replayed: bool
    money: str
    reward_state: str
    cost_units: int | None
    reward: float | None
    context: dict[str, Any] | None

    @property
    def hold(self) -> Decimal:
        """What is reserved."""
        return self.coin.amount(self.hold_units)

    @property
    def cost(self) -> Decimal | None:
        """What it cost."""
        return None if self.cost_units is None else self.coin.amount(self.cost_units)

    @property
    def at(self) -> datetime:
        """When it was made."""
        return to_datetime(self.ts)

    @property
    def expires_at(self) -> datetime:
        """When the hold lapses."""
        return to_datetime(self.expires)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        names = ("id", "arm", "hold_units", "money", "reward_state", "cost_units", "reward", "seq")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        outcome = "" if self.cost is None else f", cost={self.cost}, reward={self.reward}"
        return f"Decision({self.id!r}, arm={self.arm!r}, hold={self.hold}, {self.money}{outcome})"

    def _repr_html_(self) -> str:
        rows = {"decision": self.id, "arm": self.arm, "hold": self.hold, "money": self.money}
        rows |= {"cost": self.cost, "reward": self.reward, "made": f"{self.at:%Y-%m-%d %H:%M:%S}Z"}
        return html_table({name: value for name, value in rows.items() if value is not None})


class DecisionList(list[Decision]):
    """The decisions of a batch, which may be fewer than were asked for.

    Attributes
    ----------
    asked : int
        How many were asked for.
    reason : str or None
        Why the others were not granted; None if all were.
    """

    def __init__(
        self, found: Iterable[Decision] = (), *, asked: int, reason: str | None = None
    ) -> None:
        super().__init__(found)
        self.asked, self.reason = asked, reason

    @property
    def granted(self) -> int:
        """How many were granted."""
        return len(self)


def html_table(rows: dict[str, Any]) -> str:
    """Return names and values as an HTML table of two columns, for notebooks."""
    cells = (
        f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{''.join(cells)}</table>"


def make_decision(state: State, record: DecisionRecord, replayed: bool) -> Decision:
    """Return a decision of a campaign as it stands."""
    context = record.context
    if context is not None:  # a copy: what a caller does with it must not reach the state
        context = msgspec.json.decode(msgspec.json.encode(context))
    return Decision(
        id=record.id, arm=state.arms[record.arm].key, seq=record.seq, coin=state.config.coin,
        hold_units=record.hold, ts=record.ts, expires=record.expires, replayed=replayed,
        propensity=record.propensity, constrained=record.constrained, money=record.money,
        reward_state=record.rewarded, cost_units=record.cost, reward=record.reward,
        context=context,
    )  # fmt: skip


class DecisionBlock:
    """A decision inside ``with campaign.decide()``, with the attributes of the decision.

    The block of an embedded campaign and those of the clients are this class. ``check`` raises
    InvalidInput for a cost or reward that the campaign would refuse.
    """

    def __init__(
        self, decision: Decision, check: Callable[[Amount | None, Reward | None], object]
    ) -> None:
        self.decision = decision
        self.outcome: dict[str, Any] = {}
        self._check = check

    @staticmethod
    def check_options(options: dict[str, Any]) -> None:
        """Raise InvalidInput if a block is to ask for several decisions."""
        if options.get("n") is not None:
            raise InvalidInput("a block is for one decision; ask(n) returns many")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decision, name)

    def settle(self, cost: Amount | None = None, reward: Reward | None = None) -> None:
        """Set the cost and the reward, to be reported when the block ends; the last call counts."""
        self._check(cost, reward)
        given = {"cost": cost, "reward": reward}
        self.outcome |= {name: value for name, value in given.items() if value is not None}

    def check_settled(self) -> None:
        """Raise InvalidInput if the block ended without a cost; the hold then stays."""
        if "cost" not in self.outcome:
            raise InvalidInput(
                f"the block of decision {self.decision.id!r} ended without settle(cost=…); its hold"
                " stays until it lapses: report its cost, or void it"
            )

    @staticmethod
    def reason(error: BaseException) -> str:
        """Return why a decision is voided whose block raised."""
        return escape_surrogates(f"{type(error).__name__}: {error}"[:200])

    @contextmanager
    def keep_error(self, error: BaseException) -> Iterator[None]:
        """Keep the error of the block: if its outcome cannot be reported, add a note to it."""
        try:
            yield
        except BursarError as failure:
            error.add_note(
                f"the outcome of decision {self.decision.id!r} was not delivered: {failure}"
            )


class Playable:
    """A campaign that can be played in the calling thread, one block after the other."""

    decide: Callable[..., AbstractContextManager[DecisionBlock]]

    def run(self, play: Callable[[str], tuple[Amount, Reward]], most: int | None = None) -> int:
        """Play until the budget is used up; ``play(arm)`` returns its cost and reward.

        At most ``most`` decisions are made; their number is returned.
        """
        done = 0
        while most is None or done < most:
            try:
                with self.decide() as decision:
                    cost, reward = play(decision.arm)
                    decision.settle(cost=cost, reward=reward)
            except BudgetExhausted:
                break
            done += 1
        return done


def check_outcome_names(outcome: Mapping[str, Any]) -> None:
    """Raise InvalidInput if an outcome for ``tell_many`` names no decision, or unknown values."""
    if "decision" not in outcome or not _OUTCOME.issuperset(outcome):
        raise InvalidInput(
            "an outcome has decision, cost, reward, report, rounding and token,"
            f" got {', '.join(map(repr, outcome)) or 'nothing'}"
        )


class Grant(Struct, frozen=True, array_like=True):
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
