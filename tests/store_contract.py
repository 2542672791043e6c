"""What every store must do, as functions of a factory that opens the same store once more.

``CONTRACT`` holds for all stores, ``DURABLE`` for stores that outlive their process. A test module
runs them with ``@pytest.mark.parametrize("check", CONTRACT, ids=lambda f: f.__name__)``.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bursar.errors import CampaignExists, CorruptLedger, StorageUnavailable, UnknownCampaign
from bursar.ledger.log import GENESIS, Event, check_chain, encode_event_body, hash_event
from bursar.ledger.store import CampaignTotals, Store

Factory = Callable[[], Store]

START = 1_000
ACTIVE = CampaignTotals("active", budget=1_000_000, spent=0, held=0, granted=False)


def event(seq: int, kind: str = "asked", decision: str = "", **body: object) -> Event:
    return Event(seq, START + seq, kind, decision, body)


def create(store: Store, name: str = "ads") -> None:
    store.create(name, event(1, "created", budget="1.00"), ACTIVE)


def add(store: Store, name: str = "ads", count: int = 1) -> int:
    """Append events after the head, each of a decision of its own; return the last number."""
    with store.open_writer(name) as writer:
        seq, ts, _ = writer.head
        numbers = range(seq + 1, seq + count + 1)
        new = [Event(n, ts + n - seq, "asked", f"d{n}", {"n": n}) for n in numbers]
        writer.append(new, ACTIVE)
    return seq + count


def verify(store: Store, name: str) -> int:
    """Check the hash chain of a campaign; return its number of events."""
    with store.open_writer(name) as writer:
        head = writer.head
    return check_chain(name, store.read(name), head)


def names_are_sorted_and_start_empty(make: Factory) -> None:
    store = make()
    assert store.names() == []
    for name in ("b", "a", "Ω 'quoted' \"name\""):
        create(store, name)
    assert store.names() == sorted(["b", "a", "Ω 'quoted' \"name\""])


def a_name_is_taken_once(make: Factory) -> None:
    store = make()
    create(store)
    with pytest.raises(CampaignExists, match="'ads' already exists"):
        create(store)
    assert [e.seq for e, _ in store.read("ads")] == [1]


def an_unknown_name_is_refused(make: Factory) -> None:
    store = make()
    create(store)
    with pytest.raises(UnknownCampaign, match="'adz'"), store.open_writer("adz"):
        pass
    with pytest.raises(UnknownCampaign, match="'adz'"):
        list(store.read("adz"))
    assert add(store) == 2  # and nothing stays locked


def events_are_read_as_they_were_written(make: Factory) -> None:
    store = make()
    create(store)
    body = {"text": "Ω\n\0\"'", "list": [1, 2.5, None, True], "big": 2**62, "small": 5e-324, "": {}}
    new = [Event(2, START + 9, "told", "d-1", body), Event(3, START + 10, "told", "d-2", {})]
    with store.open_writer("ads") as writer:
        writer.append(new, ACTIVE)
    with store.open_writer("ads") as writer:
        assert writer.events_after(1) == new
        assert writer.events_after(2) == new[1:]
        assert writer.events_after(3) == []
        assert writer.events_after(0)[0] == event(1, "created", budget="1.00")
        assert writer.head[:2] == (3, START + 10)
    assert [e for e, _ in store.read("ads")][1:] == new
    assert [e for e, _ in store.read("ads", after=2)] == new[1:]


def hashes_are_chained(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=5)
    last = GENESIS
    for e, kept in store.read("ads"):
        last = hash_event(last, e, encode_event_body(e.body))
        assert kept == last
    assert verify(store, "ads") == 6


def a_writer_sees_its_own_events(make: Factory) -> None:
    store = make()
    create(store)
    with store.open_writer("ads") as writer:
        writer.append([event(2, decision="x")], ACTIVE)
        assert writer.head.seq == 2
        writer.append([event(3, decision="x"), event(4, decision="y")], ACTIVE)
        assert [e.seq for e in writer.events_after(1)] == [2, 3, 4]
        assert [e.seq for e in writer.decision_events("x")] == [2, 3]
    assert verify(store, "ads") == 4


def events_of_a_decision(make: Factory) -> None:
    store = make()
    create(store)
    create(store, "other")
    for n in range(2, 8):
        with store.open_writer("ads") as writer:
            writer.append([event(n, decision=f"d{n % 3}")], ACTIVE)
    with store.open_writer("other") as writer:
        writer.append([event(2, decision="d0")], ACTIVE)
    with store.open_writer("ads") as writer:
        assert [e.seq for e in writer.decision_events("d0")] == [3, 6]
        assert writer.decision_events("unknown") == []
        assert writer.decision_events("") == []


def campaigns_do_not_mix(make: Factory) -> None:
    store = make()
    create(store, "a")
    create(store, "b")
    add(store, "a", 3)
    add(store, "b", 1)
    assert add(store, "a", 1) == 5
    assert [e.seq for e, _ in store.read("b")] == [1, 2]
    assert (verify(store, "a"), verify(store, "b")) == (5, 2)


def the_newest_snapshot_is_loaded(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=5)
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() is None
        writer.save_snapshot(3, b"three\0")
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() == (3, b"three\0")
        writer.save_snapshot(6, b"six")
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() == (6, b"six")


def a_long_log_is_read_in_order(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=2_500)
    assert [e.seq for e, _ in store.read("ads")] == list(range(1, 2_502))
    assert [e.seq for e, _ in store.read("ads", after=1_999)] == list(range(2_000, 2_502))
    with store.open_writer("ads") as writer:
        assert len(writer.events_after(1)) == 2_500


def a_reader_does_not_block_a_writer(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=1_500)
    reader = store.read("ads")
    assert next(reader)[0].seq == 1
    assert add(store) == 1_502
    assert [e.seq for e, _ in reader][:1_500] == list(range(2, 1_502))


def a_writer_without_appends_changes_nothing(make: Factory) -> None:
    store = make()
    create(store)
    with store.open_writer("ads") as writer:
        first = writer.head
    with store.open_writer("ads") as writer:
        assert writer.head == first


def threads_take_turns(make: Factory) -> None:
    store = make()
    create(store)
    threads = [threading.Thread(target=lambda: [add(store) for _ in range(25)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verify(store, "ads") == 101


def a_failed_writer_leaves_nothing(make: Factory) -> None:
    store = make()
    create(store)

    def fail() -> None:
        with store.open_writer("ads") as writer:
            writer.append([event(2)], ACTIVE)
            writer.save_snapshot(2, b"two")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.open_writer("ads") as writer:
        assert writer.head.seq == 1
        assert writer.events_after(0) == [event(1, "created", budget="1.00")]
        assert writer.load_snapshot() is None
    assert add(store) == 2


def what_does_not_follow_is_refused(make: Factory) -> None:
    store = make()
    create(store)
    wrong = [
        [event(3)],
        [event(1)],
        [event(2), event(2)],
        [event(2), event(4)],
        [replace(event(2), ts=START + 1)],
        [event(2), replace(event(3), ts=START)],
    ]
    for events in wrong:
        with (
            pytest.raises(CorruptLedger, match="does not follow"),
            store.open_writer("ads") as writer,
        ):
            writer.append(events, ACTIVE)
    assert add(store) == 2
    assert verify(store, "ads") == 2


def a_grant_beyond_the_budget_is_refused(make: Factory) -> None:
    store = make()
    create(store)
    beyond = CampaignTotals("active", budget=100, spent=60, held=41, granted=True)
    said = r"spent 60 \+ held 41 of budget 100"
    with pytest.raises(CorruptLedger, match=said), store.open_writer("ads") as writer:
        writer.append([event(2)], beyond)
    with store.open_writer("ads") as writer:
        writer.append([event(2)], beyond._replace(held=40))
    with store.open_writer("ads") as writer:  # an overrun is recorded as it is
        writer.append([event(3)], beyond._replace(spent=200, granted=False))
    assert verify(store, "ads") == 3


def negative_amounts_are_refused(make: Factory) -> None:
    store = make()
    create(store)
    for change in ({"spent": -1}, {"held": -1}):
        with pytest.raises(CorruptLedger, match="-1"), store.open_writer("ads") as writer:
            writer.append([event(2)], ACTIVE._replace(**change))
    assert verify(store, "ads") == 1


def a_swallowed_error_is_not_committed(make: Factory) -> None:
    store = make()
    create(store)

    def swallow() -> None:
        with store.open_writer("ads") as writer:
            writer.append([event(2)], ACTIVE)
            with contextlib.suppress(CorruptLedger):
                writer.append([event(3)], ACTIVE._replace(held=-1))

    with pytest.raises(StorageUnavailable, match="nothing"):
        swallow()
    assert verify(store, "ads") == 1


def two_stores_see_each_other(make: Factory) -> None:
    one, two = make(), make()
    create(one, "a")
    create(two, "b")
    assert one.names() == two.names() == ["a", "b"]
    for n in range(3):
        assert add(one, "a") == 2 * n + 2
        assert add(two, "b") == 2 * n + 2
        assert add(two, "a") == 2 * n + 3
        assert add(one, "b") == 2 * n + 3
    assert verify(one, "a") == verify(two, "b") == 7


def everything_is_there_after_reopening(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=10)
    before = list(store.read("ads"))
    store.close()
    again = make()
    assert list(again.read("ads")) == before
    assert add(again) == 12


def records_are_stored_beside_the_logs(make: Factory) -> None:
    store = make()
    create(store)
    assert store.records("key") == {}
    assert store.insert_record("key", "b", b"\0one")
    assert not store.insert_record("key", "b", b"two")  # the first stays
    assert store.insert_record("key", "a", b"")
    assert store.insert_record("other", "b", b"three")
    store.put_record("key", "a", b"four")
    store.ping()
    again = make()
    assert again.records("key") == {"a": b"four", "b": b"\0one"}
    again.put_record("key", "a", None)
    again.put_record("key", "never there", None)
    assert list(store.records("key")) == ["b"]
    assert add(store) == 2  # and the logs go on


def records_are_updated_together_or_not_at_all(make: Factory) -> None:
    store = make()
    store.put_record("key", "a", b"1")
    store.put_record("other", "a", b"9")
    seen: list[dict[str, bytes]] = []

    def change(records: dict[str, bytes]) -> dict[str, bytes | None]:
        seen.append(dict(records))
        return {"a": None, "b": b"\0two", "c": b""}

    store.update_records("key", change)
    assert seen == [{"a": b"1"}]
    assert store.records("key") == make().records("key") == {"b": b"\0two", "c": b""}
    assert store.record("key", "b") == b"\0two"
    assert store.record("key", "a") is None
    assert store.record("other", "a") == b"9"

    def fail(records: dict[str, bytes]) -> dict[str, bytes | None]:
        raise CorruptLedger("on purpose")

    with pytest.raises(CorruptLedger, match="on purpose"):
        store.update_records("key", fail)
    store.update_records("key", lambda records: {})
    assert store.records("key") == {"b": b"\0two", "c": b""}
    create(store)
    assert add(store) == 2  # and the logs go on


def updates_of_records_do_not_overwrite_each_other(make: Factory) -> None:
    stores = [make(), make()]
    stores[0].put_record("count", "n", b"0")

    def count(store: Store) -> None:
        for _ in range(25):
            store.update_records("count", lambda old: {"n": str(int(old["n"]) + 1).encode()})

    threads = [threading.Thread(target=count, args=(stores[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert stores[0].records("count") == {"n": b"100"}


def rows_of_all_campaigns_are_read_together(make: Factory) -> None:
    store = make()
    create(store, "b")
    create(store, "a")
    last = add(store, "b", 3)
    rows = store.campaign_rows()
    assert [(one.name, one.state, one.seq) for one in rows] == [
        ("a", "active", 1),
        ("b", "active", last),
    ]
    assert rows[1][2:] == (1_000_000, 0, 0, last, START + last)
    assert store.find_campaigns("d2") == ["b"]
    add(store, "a")
    assert store.find_campaigns("d2") == ["a", "b"]
    assert store.find_campaigns("d9") == store.find_campaigns("") == []


def snapshots_of_the_past_stay_spread_over_the_log(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=99)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bursar.ledger.store.MOST_SNAPSHOTS", 8)
        for seq in range(2, 100):
            with store.open_writer("ads") as writer:
                writer.save_snapshot(seq, b"state %d" % seq)
    kept, before = [], 1000
    with store.open_writer("ads") as writer:
        while (found := writer.load_snapshot(before)) is not None:
            before, content = found
            assert content == b"state %d" % before
            kept.append(before)
    assert len(kept) == 8
    assert kept[:3] == [99, 98, 97]
    assert max(new - old for new, old in zip(kept, [*kept[1:], 0], strict=True)) <= 32


def snapshots_of_a_failed_writer_are_not_kept(make: Factory) -> None:
    store = make()
    create(store)
    add(store, count=5)
    with contextlib.suppress(KeyError), store.open_writer("ads") as writer:
        writer.save_snapshot(3, b"three")
        raise KeyError
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() is None


CONTRACT = [
    snapshots_of_the_past_stay_spread_over_the_log,
    snapshots_of_a_failed_writer_are_not_kept,
    a_failed_writer_leaves_nothing,
    names_are_sorted_and_start_empty,
    a_name_is_taken_once,
    an_unknown_name_is_refused,
    events_are_read_as_they_were_written,
    hashes_are_chained,
    a_writer_sees_its_own_events,
    events_of_a_decision,
    campaigns_do_not_mix,
    the_newest_snapshot_is_loaded,
    a_long_log_is_read_in_order,
    a_reader_does_not_block_a_writer,
    a_writer_without_appends_changes_nothing,
    threads_take_turns,
    records_are_stored_beside_the_logs,
    records_are_updated_together_or_not_at_all,
    updates_of_records_do_not_overwrite_each_other,
    rows_of_all_campaigns_are_read_together,
]
DURABLE = [
    what_does_not_follow_is_refused,
    a_grant_beyond_the_budget_is_refused,
    negative_amounts_are_refused,
    a_swallowed_error_is_not_committed,
    two_stores_see_each_other,
    everything_is_there_after_reopening,
]
