"""Commits of a PostgreSQL ledger whose answer got lost: what was done is looked up, not guessed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from bursar.errors import CampaignExists, CorruptLedger, StorageUnavailable
from bursar.ledger import postgres_sql as sql
from bursar.ledger.event import GENESIS, Event, chained, encoded
from bursar.ledger.postgres_error import Lost, Refused, failure, said
from bursar.ledger.postgres_line import Call, Line
from bursar.ledger.postgres_pool import Pool
from bursar.ledger.postgres_rows import column
from bursar.ledger.store import Summary

__all__ = ["check_summary", "create_campaign", "refused", "was_committed"]

_TOO_LARGE = 2**63


def was_committed(pool: Pool, old: Line, error: Lost, name: str, seq: int, last: bytes) -> bool:
    """Return whether the log has the event with a hash that a lost line was to commit."""
    key = name.encode()
    try:
        line = pool.reopened(time.monotonic() + pool.deadline)
        try:
            with contextlib.suppress(Refused):  # then it takes as long as it takes
                line.run([(sql.HANG_UP, [old.name.encode()])])
            # the lost transaction holds this lock until its end, so behind it the answer is final
            asked = [key, sql.number(seq)]
            calls: list[Call] = [(sql.BEGIN, ()), (sql.LOCK, [key]), (sql.HASH_OF, asked)]
            found = line.run([*calls, (sql.ROLLBACK, ())])[2]
        except BaseException:
            pool.drop(line)
            raise
    except (Lost, Refused) as later:
        raise StorageUnavailable(
            f"{pool.place} was lost during a commit ({said(error)}) and cannot be asked whether it"
            f" was done ({said(later)}); load the campaign again when the server is well"
        ) from later
    pool.put_back(line)
    return bool(found.ntuples) and column(found, 0, 0) == last


def create_campaign(pool: Pool, name: str, first: Event, summary: Summary) -> None:
    """Add a campaign with its first event; refuse a name that is taken."""
    if first.seq != 1:
        raise refused(summary, f"a campaign starts with event 1, got {first.seq}")
    check_summary(summary)
    body = encoded(first.body)
    last = chained(GENESIS, first, body)
    values = [
        name.encode(), summary.state.encode(), sql.number(summary.budget),
        sql.number(summary.spent), sql.number(summary.held), sql.number(first.seq),
        sql.number(first.ts), first.kind.encode(), first.decision.encode(), body, last,
    ]  # fmt: skip
    calls: list[Call] = [(sql.CREATE, values), (sql.COMMIT, ())]
    line, _ = pool.begun([(sql.BEGIN, ())])
    try:
        made, ours = line.run(calls)[0].command_tuples, False
    except Lost:
        # once more: this waits for the end of the lost transaction, and finds what it left
        pool.drop(line)
        line, made, ours = _once_more(pool, calls, name.encode(), last)
    except BaseException as error:
        pool.drop(line)
        if isinstance(error, Refused):
            raise failure(pool.place, error) from error
        raise
    pool.put_back(line)
    if not made and not ours:
        raise CampaignExists(f"there is a campaign {name!r} already; give another name")


def _once_more(
    pool: Pool, calls: Sequence[Call], name: bytes, last: bytes
) -> tuple[Line, int | None, bool]:
    try:
        line = pool.reopened(time.monotonic() + pool.deadline)
        try:
            first = (sql.HASH_OF, [name, sql.number(1)])
            found = line.run([(sql.BEGIN, ()), *calls, first])
        except BaseException:
            pool.drop(line)
            raise
    except (Lost, Refused) as error:
        raise failure(pool.place, error) from error
    ours = bool(found[-1].ntuples) and column(found[-1], 0, 0) == last
    return line, found[1].command_tuples, ours


def check_summary(new: Summary) -> None:
    """Refuse here, where it was decided, what the database would refuse later."""
    amounts = new.budget, new.spent, new.held
    if min(amounts) < 0 or max(amounts) >= _TOO_LARGE:
        raise refused(new, "amounts are from 0 to 2^63")
    if new.granted and new.spent + new.held > new.budget:
        raise refused(new, "a grant beyond the budget")


def refused(new: Summary, why: str) -> CorruptLedger:
    """Return the error for what can never be."""
    return CorruptLedger(
        f"the ledger refused spent {new.spent} + held {new.held} of budget {new.budget}: {why};"
        " nothing was booked, verify the campaign"
    )
