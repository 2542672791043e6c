"""Commands: what a call does in a transaction, with the rules of outcomes.

Outcomes are reported once or again, in parts, late; they are confirmed, voided and corrected. The
rules of an ask stand in :mod:`bursar.campaign.holds`. An embedded campaign runs one command at a
time; the service commits many of them together.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict

from bursar.campaign import holds
from bursar.campaign.ask_options import ANY, AskOptions, check_new_id, new_id, number_batch
from bursar.campaign.committer import Command
from bursar.campaign.config import Config
from bursar.campaign.decision import Decision, DecisionList, Grant, make_decision
from bursar.campaign.events import (
    ADOPTED,
    ARM_PAUSED,
    CONFIRMED,
    CORRECTED,
    LEARNED,
    TOLD,
    VOIDED,
)
from bursar.campaign.overruns import find_pause_reason
from bursar.campaign.records import OPEN, DecisionRecord
from bursar.campaign.state import State
from bursar.campaign.transaction import Transaction, release_expired
from bursar.campaign.views import LearnedHistory
from bursar.errors import (
    BursarError,
    IdempotencyMismatch,
    InvalidInput,
    OutcomeConflict,
    UnknownDecision,
)
from bursar.history import History, Skip, check_terms, split_arms
from bursar.money import Amount, Rounding
from bursar.validation import Reward, check_int, check_text, parse_reward

_TOO_MUCH = 2**63  # units


def ask_command(id: str | None = None, options: AskOptions = ANY) -> Command[Decision]:
    """Return the command of an ask; it returns a Decision."""
    key, new = (new_id(), True) if id is None else (check_new_id(id), False)

    def command(transaction: Transaction) -> Decision:
        record, replayed = holds.ask(transaction, key, options, new)
        return make_decision(transaction.state, record, replayed)

    return command


def ask_many_command(
    n: int, options: AskOptions = ANY, ids: Sequence[str] | None = None
) -> Command[DecisionList]:
    """Return the command of many asks; the list is shorter if the budget ends on the way."""
    count = check_int("n", n, 1, "how many decisions to ask for")
    keys = [check_new_id(one) for one in ids or ()]
    if ids is not None and not len(keys) == len(set(keys)) == count:
        raise InvalidInput(f"ids must be {count} different ids, one per decision, got {len(keys)}")

    def command(transaction: Transaction) -> DecisionList:
        # all of them are looked up before money is held for any
        found = {key: holds.find_granted(transaction, key, options.fingerprint) for key in keys}
        every = found or [new_id() for _ in range(count)]
        return _ask_each(transaction, count, every, options, found)

    return command


def ask_batch_command(n: int, options: AskOptions = ANY, *, id: str) -> Command[DecisionList]:
    """Return the command of many asks under one id of the caller's; it returns a list.

    The decisions are called id.1, id.2 and so on. Repeating the batch returns what it was granted
    the first time; with another ``n`` or other options it is refused.
    """
    count = check_int("n", n, 1, "how many decisions to ask for")
    keys = [check_new_id(f"{check_new_id(id)}.{number}") for number in range(1, count + 1)]
    numbered = number_batch(options, count)

    def command(transaction: Transaction) -> DecisionList:
        holds.check_unused(transaction, id)
        prints = numbered.fingerprint, options.fingerprint  # earlier versions did not record n
        granted: dict[str, DecisionRecord] = {}
        for key in keys:
            if (record := holds.find_granted(transaction, key, *prints)) is None:
                break
            granted[key] = record
        return _ask_each(transaction, count, granted or keys, numbered, granted)

    return command


def _ask_each(
    transaction: Transaction,
    count: int,
    keys: Iterable[str],
    options: AskOptions,
    granted: Mapping[str, DecisionRecord | None],
) -> DecisionList:
    """Return decisions with these ids, those that were granted before as they are."""
    found = DecisionList(asked=count)
    for key in keys:
        record, replayed = granted.get(key), True
        try:
            if record is None:
                record, replayed = holds.ask(transaction, key, options, new=True)
        except BursarError as error:  # what was granted before it stays granted
            if not found:
                raise
            found.reason = str(error)
            break
        found.append(make_decision(transaction.state, record, replayed))
    if found.granted < count and found.reason is None:
        found.reason = "the batch was asked for before, and then no more of it was granted"
    return found


def tell_command(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: Reward | None = None,
    report: str | None = None,
    rounding: Rounding | None = None,
    grant: Grant | None = None,
) -> Command[Decision]:
    """Return the command of an outcome; it returns a Decision.

    ``grant`` comes from a signed token: with it a decision that the log does not know is adopted.
    """
    units = None if cost is None else config.units("cost", cost, rounding)
    number = reward if reward is None or type(reward) is float else parse_reward("reward", reward)
    key = decision.id if type(decision) is Decision else decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        if report is not None:
            check_text("report", report, 1, 128)
        state, now = transaction.state, transaction.now
        if state.deadlines and state.deadlines[0][0] <= now:
            release_expired(transaction)
        if units is None and number is None:
            raise InvalidInput(
                "an outcome needs a cost, a reward or both; to release the hold, void it"
            )
        if number is not None and not state.low <= number <= state.high:
            config.check_reward(number)
        record, loaded = state.decisions.get(key), False
        if record is None:
            if grant is not None and transaction.find_decision(key)[0] is None:
                _adopt_decision(transaction, key, grant)
            record, loaded = transaction.get_decision(key)
        if report is not None and _is_repeated(record, report, units, number):
            return make_decision(state, record, True)
        news: dict[str, Any] = {}
        if units is not None and units != record.cost:
            if record.cost is not None:
                raise OutcomeConflict(
                    f"the cost of {record.id!r} is already recorded as"
                    f" {config.coin.format(record.cost)}; a correction can change it"
                )
            if units > record.hold:
                check_sum(state, units)
            news["cost"] = units
        if number is not None:
            if record.rewarded == "pending" and now <= record.due:
                news["reward"] = number
            else:
                _add_late_reward(transaction, record, number, news)
        if not news:
            return make_decision(state, record, True)
        replaces = record.rewarded == "defaulted" and record.reward is not None and "reward" in news
        if report is not None:
            news["report"], news["print"] = report, _fingerprint(units, number)
        kind = CORRECTED if replaces else TOLD
        record = _append_outcome(transaction, kind, news, record, loaded)
        return make_decision(state, record, False)

    return command


def _adopt_decision(transaction: Transaction, decision: str, grant: Grant) -> None:
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


def _append_outcome(
    transaction: Transaction, kind: str, body: dict[str, Any], record: DecisionRecord, loaded: bool
) -> DecisionRecord:
    """Append an outcome; return its decision as it is now. Pause an arm that overruns too often."""
    if loaded:
        body["was"] = asdict(record)
    transaction.append_event(kind, body, record.id)
    if loaded:
        record, _ = transaction.get_decision(record.id)
    if "cost" in body and body["cost"] > record.hold:
        reason = find_pause_reason(transaction.state, record, body["cost"])
        if reason is not None:
            key = transaction.state.arms[record.arm].key
            transaction.append_event(ARM_PAUSED, {"key": key, "reason": reason})
    return record


def check_sum(state: State, more: int) -> None:
    """Raise InvalidInput if the sum of all costs would exceed what a database can store."""
    if state.spent + more >= _TOO_MUCH:
        coin = state.config.coin
        raise InvalidInput(
            f"spent would be {coin.format(state.spent + more)}, more than a ledger with"
            f" {coin.exponent} decimals can store; is the cost right?"
        )


def _fingerprint(cost: int | None, reward: float | None) -> str:
    return f"{cost}/{reward!r}"


def _is_repeated(
    record: DecisionRecord, report: str, cost: int | None, reward: float | None
) -> bool:
    """Return whether a report was recorded before; raise OutcomeConflict if it differed."""
    before = record.reports.get(report)
    if before is not None and before != _fingerprint(cost, reward):
        raise OutcomeConflict(
            f"the report {report!r} of {record.id!r} is already recorded as {before!r}, got"
            f" {_fingerprint(cost, reward)!r}; a correction can change it"
        )
    return before is not None


def _add_late_reward(
    transaction: Transaction, record: DecisionRecord, reward: float, news: dict[str, Any]
) -> None:
    """Add a reward to the news that comes late, a second time, or in place of a default."""
    if record.rewarded in ("observed", "late"):
        if record.reward == reward:
            return
        raise OutcomeConflict(
            f"the reward of {record.id!r} is already recorded as {record.reward!r};"
            " a correction can change it"
        )
    # a default, recorded already or overdue, is replaced by what was observed
    news["reward"] = reward
    if transaction.now > record.due:
        default = transaction.state.config.default_reward
        if default is None or record.rewarded not in ("pending", "defaulted"):
            news["late"] = True


def confirm_command(decision: Decision | str) -> Command[Decision]:
    """Return the command that confirms that a decision is about to be used: its hold stays."""
    key = decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        release_expired(transaction)
        record, _ = transaction.get_decision(key)
        replayed = record.money == "confirmed"
        if not replayed:
            if record.money != "held":
                raise OutcomeConflict(f"{key!r} is {record.money}; ask again before you spend")
            expires = transaction.now + round(transaction.state.config.hold_ttl * 1e6)
            transaction.append_event(CONFIRMED, {"expires": expires}, key)
        return make_decision(transaction.state, record, replayed)

    return command


def void_command(
    decision: Decision | str, reason: str = "not used", by: str = ""
) -> Command[Decision]:
    """Return the command that releases the hold of a decision that was not used."""
    key = decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        check_text("reason", reason)
        check_text("by", by)
        release_expired(transaction)
        record, _ = transaction.get_decision(key)
        replayed = record.money in ("voided", "released")
        if not replayed:
            if record.money not in OPEN:
                raise OutcomeConflict(
                    f"{key!r} is {record.money} and cannot be voided; report its cost,"
                    " or correct it"
                )
            body = {"reason": reason} | ({"by": by} if by else {})
            transaction.append_event(VOIDED, body, key)
        return make_decision(transaction.state, record, replayed)

    return command


def correct_command(
    config: Config,
    decision: Decision | str,
    cost: Amount | None = None,
    reward: Reward | None = None,
    reason: str = "",
    by: str = "",
) -> Command[Decision]:
    """Return the command that replaces an outcome: a new event; the old one stays in the log."""
    units = None if cost is None else config.units("cost", cost)
    number = None if reward is None else parse_reward("reward", reward)
    key = decision_id(decision)

    def command(transaction: Transaction) -> Decision:
        check_text("reason", reason)
        check_text("by", by)
        release_expired(transaction)
        if units is None and number is None:
            raise InvalidInput("a correction needs a cost, a reward or both, got neither")
        body: dict[str, Any] = {"reason": reason} | ({"by": by} if by else {})
        if number is not None:
            config.check_reward(number)
            body["reward"] = number
        record, loaded = transaction.get_decision(key)
        if units is not None:
            check_sum(transaction.state, units)
            body["cost"] = units
        record = _append_outcome(transaction, CORRECTED, body, record, loaded)
        return make_decision(transaction.state, record, replayed=False)

    return command


def learn_command(
    config: Config,
    history: History,
    weight: float = 1.0,
    source: str = "",
    unknown: Skip = "refuse",
    by: str = "",
) -> Command[LearnedHistory]:
    """Return the command that lets past outcomes count for the learner; no money moves.

    Outcomes of an arm that were learned from the same table before are not learned again.
    """
    origin = check_terms(history, weight, source, unknown)
    check_text("by", by)
    for one in history.arms:
        one.check(config.reward_range)

    def command(transaction: Transaction) -> LearnedHistory:
        state = transaction.state
        known, others = split_arms(history, state.keys, origin, unknown)
        before = [one for one in state.tables if one.digest == history.digest]
        if any(one.weight != weight for one in before):
            raise IdempotencyMismatch(
                f"{origin} is already learned with weight {before[0].weight:g} (event"
                f" {before[0].seq}), got weight {weight:g}; past outcomes are learned once"
            )
        learned = {key for one in before for key in one.plays}
        new = [one for one in known if one.arm not in learned]
        if new:
            body = {
                "source": origin, "weight": float(weight), "digest": history.digest,
                "arms": to_builtins(new),
            }  # fmt: skip
            transaction.append_event(LEARNED, body | ({"by": by} if by else {}))
        return LearnedHistory(
            source=origin,
            weight=float(weight),
            arms=tuple(one.arm for one in new),
            outcomes=sum(one.plays for one in new),
            unknown=others,
            left_out=history.left_out,
            replayed=not new,
            seq=state.seq if new else before[-1].seq,
        )

    return command


def decision_command(decision: str) -> Command[Decision]:
    """Return the command that reads a decision; it returns a Decision."""
    key = decision_id(decision)
    return lambda transaction: make_decision(
        transaction.state, transaction.get_decision(key)[0], replayed=False
    )


def list_holds(transaction: Transaction) -> list[Decision]:
    """Return the decisions whose money is held, the oldest first; itself a command."""
    state = transaction.state
    oldest_first = sorted(state.decisions.values(), key=lambda one: one.seq)
    return [make_decision(state, one, False) for one in oldest_first if one.money in OPEN]


def decision_id(decision: Decision | str) -> str:
    """Return the id of a decision; refuse what is none."""
    found = getattr(decision, "id", decision)
    if not isinstance(found, str):
        raise InvalidInput(f"a decision is what ask() returned, or its id, got {decision!r}")
    if not 1 <= len(found) <= 128 or not found.isprintable():  # a database might not take it
        raise UnknownDecision(f"no decision has the id {found[:200]!r}: it is not a valid id")
    return found
