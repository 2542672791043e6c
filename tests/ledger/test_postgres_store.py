from __future__ import annotations

import gc
import multiprocessing
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import psycopg
import pytest
from msgspec.structs import replace
from postgres_server import Server
from store_contract import ACTIVE, CONTRACT, DURABLE, add, create, event, verify

from bursar import Campaign
from bursar.errors import (
    BudgetExhausted,
    CampaignExists,
    CorruptLedger,
    InvalidInput,
    NewerSchema,
    NotActive,
    StorageInUse,
    StorageUnavailable,
)
from bursar.ledger.postgres import PostgresStore
from bursar.ledger.store import CampaignTotals

SYNC = b"S\0\0\0\4"  # asks the server for its answers; the client's own may come in the next packet
SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    store = PostgresStore(database)
    create(store)
    yield store
    store.close()


def named(function):
    return function.__name__


def write(store, then=lambda: None):
    """Append event 2 and, before the writer ends, do something."""
    with store.open_writer("ads") as writer:
        writer.append([event(2, decision="mine")], ACTIVE)
        writer.save_snapshot(2, b"two")
        then()


def look(store, before=lambda: None):
    """Read in a writer after doing something."""
    with store.open_writer("ads") as writer:
        before()
        writer.decision_events("d2")


def seqs(store):
    return [e.seq for e, _ in store.read("ads")]


def query(url, text):
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(text)
        return found.fetchall() if found.description else []


@contextmanager
def processes(target: Callable, *many: tuple) -> Iterator[list]:
    """Run a function in processes; yield them, and see that they end well."""
    started = [SPAWN.Process(target=target, args=args) for args in many]
    for process in started:
        process.start()
    try:
        yield started
        for process in started:
            process.join(60)
            assert process.exitcode == 0
    finally:
        for process in started:
            process.kill()
            process.join()


class Wire:
    """A network between store and server that can be cut, at the worst moment too."""

    def __init__(self, server: Server) -> None:
        self.on_commit: Callable[[socket.socket, bytes], None] | None = None
        self.silent = False
        self._server = server
        self._names: set[bytes] = set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str) -> str:
        name = database.split("/")[3].split("?")[0]
        return f"postgresql://postgres@127.0.0.1:{self._port}/{name}"

    def cut(self) -> None:
        """Drop all connections that there are."""
        for pair in self._pairs:
            for end in pair:
                hang_up(end)
        self._pairs.clear()

    def close(self) -> None:
        """Drop all, and refuse new connections."""
        hang_up(self._listener)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server.socket)
            self._pairs.append((client, server))
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _commits(self, data: bytes) -> bool:
        """Return whether a client binds the statement that it has prepared for COMMIT."""
        self._names.update(re.findall(rb"(_pg3_\d+)\0COMMIT\0", data))
        return any(b"\0" + name + b"\0" in data for name in self._names)

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while True:
                for end in select.select([client, server], [], [])[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    if self.silent:
                        continue
                    if end is client and self._commits(data) and self.on_commit:
                        act, self.on_commit = self.on_commit, None
                        act(server, data)
                    else:
                        (server if end is client else client).sendall(data)
        except (OSError, ValueError):
            return
        finally:
            client.close()
            server.close()


def hang_up(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def wire(postgres: Server) -> Iterator[Wire]:
    wire = Wire(postgres)
    yield wire
    wire.close()


@pytest.fixture
def far(store: PostgresStore, wire: Wire, database: str) -> Iterator[PostgresStore]:
    """The store, over a network."""
    far = PostgresStore(wire.url(database), deadline=3)
    yield far
    far.close()


@pytest.mark.parametrize("check", CONTRACT + DURABLE, ids=named)
def test_postgres_fulfils_the_contract(check, database):
    made = []

    def make():
        made.append(PostgresStore(database))
        return made[-1]

    check(make)
    for store in made:
        store.close()


def hammer(url, count):
    store = PostgresStore(url)
    for _ in range(count):
        with store.open_writer("ads") as writer:
            seq, ts, _ = writer.head
            new = replace(event(seq + 1, decision=f"{os.getpid()}"), ts=ts + 1)
            writer.append([new], ACTIVE)
    store.close()


def test_two_processes_make_one_log_without_gaps(store, database):
    with processes(hammer, (database, 150), (database, 150)) as started:
        pids = [process.pid for process in started]
    assert verify(store, "ads") == 301
    with store.open_writer("ads") as writer:
        assert [len(writer.decision_events(f"{pid}")) for pid in pids] == [150, 150]


def take_units(url, barrier, took):
    """Ask for one unit, deciding from the log, until the budget is gone."""
    store = PostgresStore(url)
    barrier.wait()
    while True:
        with store.open_writer("ads") as writer:
            spent, budget = len(writer.events_after(1)), 41
            seq, ts, _ = writer.head
            if spent == budget:
                break
            summary = CampaignTotals("active", budget, spent, 1, granted=True)
            writer.append([replace(event(seq + 1), ts=ts + 1)], summary)
        with took.get_lock():
            took.value += 1
    store.close()


def test_1_the_last_unit_goes_to_one_of_two_processes(store, database):
    barrier, took = SPAWN.Barrier(2), SPAWN.Value("i")
    with processes(take_units, (database, barrier, took), (database, barrier, took)):
        pass
    assert took.value == 41
    assert verify(store, "ads") == 42


def test_a_writer_that_lost_its_lock_unnoticed_writes_nothing(store, database):
    """A pooler that gives each transaction's statements to other connections might do that."""
    other = PostgresStore(database)

    def steal():
        (connection,) = store._used
        connection.run(("ROLLBACK", ()), ("BEGIN", ()))
        assert add(other) == 2

    with pytest.raises(CorruptLedger, match="the log has moved on; nothing was written"):
        write(store, steal)
    other.close()
    with store.open_writer("ads") as writer:
        assert writer.decision_events("mine") == []
        assert [e.seq for e in writer.decision_events("d2")] == [2]
        assert writer.load_snapshot() is None  # it was of what was not booked


def test_the_database_itself_refuses_what_can_never_be(store, database):
    for change in ("spent = -1", "held = -1", "seq = 0", "hash = 'x'"):
        with pytest.raises(psycopg.errors.CheckViolation):
            query(database, f"UPDATE bursar.campaign SET {change}")


def test_an_amount_that_no_database_keeps_is_refused(store):
    with pytest.raises(CorruptLedger, match="0 to 2"), store.open_writer("ads") as writer:
        writer.append([event(2)], ACTIVE._replace(budget=2**63))
    assert add(store) == 2


def test_connections_are_given_back_with_the_store(database):
    for n in range(3):
        create(PostgresStore(database), f"{n}")
        with PostgresStore(database).open_writer("0"):
            pass
    gc.collect()
    until = time.monotonic() + 10
    while query(database, "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'bursar-%'"):
        assert time.monotonic() < until


def test_campaigns_do_not_wait_for_each_other(store):
    create(store, "other")
    with store.open_writer("ads") as writer:
        writer.append([event(2)], ACTIVE)
        assert add(store, "other") == 2
    assert verify(store, "ads") == verify(store, "other") == 2


def test_waiting_too_long_for_a_campaign_is_an_error(store, database):
    hasty = PostgresStore(database, deadline=0.2)
    with store.open_writer("ads"), pytest.raises(StorageInUse, match="another process has locked"):
        add(hasty)
    with hasty.open_writer("ads"), pytest.raises(StorageInUse, match="in use by another thread"):
        add(hasty)
    assert add(hasty) == 2
    hasty.close()


def start_at_once(url, barrier):
    barrier.wait()
    store = PostgresStore(url)
    try:
        create(store)
    except CampaignExists:
        assert store.names() == ["ads"]
    store.close()


def test_processes_that_start_first_at_once_make_the_tables_once(database):
    barrier = SPAWN.Barrier(3)
    with processes(start_at_once, *[(database, barrier)] * 3):
        pass
    assert query(database, "SELECT schema_version FROM bursar.meta") == [(3,)]
    assert query(database, "SELECT number FROM bursar.step ORDER BY 1") == [(1,), (2,), (3,)]
    store = PostgresStore(database)
    assert verify(store, "ads") == 1
    store.close()


def test_27_a_newer_schema_is_refused(store, database):
    query(database, "UPDATE bursar.meta SET schema_version = 9")
    with pytest.raises(NewerSchema, match="has schema 9, this bursar knows 3; use the newer"):
        PostgresStore(database)


def test_a_schema_that_was_edited_is_refused(store, database):
    query(database, "UPDATE bursar.step SET checksum = 'x'")
    with pytest.raises(
        CorruptLedger, match=r"step 1 of the schema of 'postgresql://.*' was changed"
    ):
        PostgresStore(database)


def test_tables_of_another_program_are_left_alone(database):
    query(database, "CREATE SCHEMA bursar CREATE TABLE campaign(x integer)")
    with pytest.raises(InvalidInput, match=r"schema 'bursar' of .* belongs to another program"):
        PostgresStore(database)
    assert query(database, "SELECT * FROM bursar.campaign") == []


def test_other_tables_of_the_same_name_do_not_matter(database):
    query(database, "CREATE TABLE event(x integer)")
    store = PostgresStore(database)
    create(store)
    assert add(store) == 2
    assert query(database, "SELECT * FROM event") == []
    store.close()


def kill_backends(url):
    query(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def test_21_a_connection_killed_in_a_writer_writes_nothing(store, database):
    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        write(store, lambda: kill_backends(database))
    assert seqs(store) == [1]
    with pytest.raises(StorageUnavailable, match="could not be read or written"):
        look(store, lambda: kill_backends(database))
    assert add(store) == 2


def test_a_connection_killed_between_writers_is_replaced(store, database):
    add(store)
    kill_backends(database)
    assert add(store) == 3
    kill_backends(database)
    assert seqs(store) == [1, 2, 3]


def test_22_killed_while_committing_the_database_is_asked(store, database):
    # a standby that is not there keeps a commit waiting, already made on this server
    query(database, "ALTER SYSTEM SET synchronous_standby_names = 'absent'")
    query(database, "SELECT pg_reload_conf()")
    ended, stop = [], threading.Event()

    def go_on():  # the first commits may come before the server has heard of the standby
        while not stop.is_set():
            ended.append(add(store))

    worker = threading.Thread(target=go_on)
    try:
        worker.start()
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until = time.monotonic() + 20
        while not query(database, waiting):
            assert time.monotonic() < until
        stop.set()
        before = len(ended)
        kill_backends(database)
    finally:
        stop.set()
        query(database, "ALTER SYSTEM RESET synchronous_standby_names")
        query(database, "SELECT pg_reload_conf()")
        worker.join(20)
    assert len(ended) == before + 1
    assert ended == list(range(2, len(ended) + 2))
    assert verify(store, "ads") == len(ended) + 1


def test_22_a_commit_whose_answer_is_lost_was_made(far, wire, store):
    def lose_the_answer(server: socket.socket, data: bytes) -> None:
        server.sendall(data + SYNC)
        assert server.recv(1 << 16)  # the server's answer: it is done
        wire.cut()

    wire.on_commit = lose_the_answer
    assert add(far) == 2
    assert wire.on_commit is None
    assert add(far) == 3
    assert verify(store, "ads") == 3


def test_22_a_commit_of_which_others_went_on_was_made(far, wire, store):
    def lose_the_answer(server: socket.socket, data: bytes) -> None:
        server.sendall(data + SYNC)
        assert server.recv(1 << 16)
        add(store)
        wire.cut()

    wire.on_commit = lose_the_answer
    assert add(far) == 2
    assert add(far) == 4


def test_22_a_commit_that_did_not_arrive_was_not_made(far, wire, store):
    wire.on_commit = lambda server, data: wire.cut()
    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        add(far)
    assert seqs(store) == [1]
    assert add(far) == 2


def test_22_a_commit_under_way_when_the_line_breaks_is_ended_first(far, wire, store, database):
    """The server still has the transaction open, and does not know that the client is gone."""
    kept = []

    def swallow(server: socket.socket, data: bytes) -> None:
        kept.append((server.dup(), data))  # keeps the server's end open
        for client, _ in wire._pairs:
            hang_up(client)

    wire.on_commit = swallow
    with pytest.raises(StorageUnavailable):
        add(far)
    assert add(store) == 2  # at once: the lock is free
    (server, data), *_ = kept
    with suppress(OSError):
        server.sendall(data)  # what arrives now is not read
    server.close()
    assert verify(store, "ads") == 2


def test_22_without_a_server_to_ask_the_outcome_is_unknown(far, wire, store):
    def lose_all(server: socket.socket, data: bytes) -> None:
        server.sendall(data + SYNC)
        assert server.recv(1 << 16)
        wire.close()

    wire.on_commit = lose_all
    begun = time.monotonic()
    with pytest.raises(StorageUnavailable, match="cannot be asked whether it was made"):
        add(far)
    assert time.monotonic() - begun < 10
    assert seqs(store) == [1, 2]


def test_a_campaign_whose_creation_got_no_answer_is_there_once(far, wire, store):
    def lose_the_answer(server: socket.socket, data: bytes) -> None:
        server.sendall(data + SYNC)
        assert server.recv(1 << 16)
        wire.cut()

    wire.on_commit = lose_the_answer
    create(far, "new")
    with pytest.raises(CampaignExists):
        create(far, "new")
    wire.on_commit = lambda server, data: wire.cut()
    create(far, "newer")
    assert store.names() == ["ads", "new", "newer"]
    assert verify(store, "new") == verify(store, "newer") == 1


def test_a_connection_dropped_in_a_writer_writes_nothing(far, wire, store):
    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        write(far, wire.cut)
    assert seqs(store) == [1]
    assert add(far) == 2


def test_a_network_that_falls_silent_does_not_block_a_caller(wire, store, database):
    far = PostgresStore(wire.url(database), deadline=1)
    begun = time.monotonic()
    with pytest.raises(StorageUnavailable, match="no answer in time"):
        look(far, lambda: setattr(wire, "silent", True))
    assert time.monotonic() - begun < 5
    wire.silent = False
    wire.cut()
    assert add(far) == 2
    far.close()


def test_21_what_was_acknowledged_survives_a_crash_of_the_server(store, postgres):
    for n in range(2, 12):
        assert add(store) == n
        if n % 4 == 0:
            postgres.crash()
    postgres.crash()
    assert seqs(store) == list(range(1, 12))
    assert verify(store, "ads") == 11


def test_21_a_server_that_is_away_fails_soon_and_is_used_when_it_is_back(store, postgres):
    assert add(store) == 2
    with postgres.away():
        for _ in range(3):
            begun = time.monotonic()
            with pytest.raises(StorageUnavailable, match="Is the server running"):
                add(store)
            assert time.monotonic() - begun < 5
    assert add(store) == 3


def test_22_a_commit_is_looked_up_when_the_server_is_back(store, postgres):
    """The pool waits for a server that restarts, as long as the deadline allows."""
    away = postgres.away()

    def start_later():
        time.sleep(2)
        away.__exit__(None, None, None)

    def stop():
        away.__enter__()
        threading.Thread(target=start_later).start()

    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        write(store, stop)
    assert add(store) == 2


def test_21_a_crash_of_the_server_in_a_writer_writes_nothing(store, postgres):
    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        write(store, postgres.crash)
    assert seqs(store) == [1]
    assert add(store) == 2


def test_no_server_is_an_error_at_once(postgres, database):
    begun = time.monotonic()
    with pytest.raises(StorageUnavailable, match=r"'postgresql://ada@127.0.0.1:1/x' could not"):
        PostgresStore("postgresql://ada:secret@127.0.0.1:1/x")
    assert time.monotonic() - begun < 5
    with pytest.raises(InvalidInput, match="got 'mysql://x'"):
        PostgresStore("mysql://x")


def test_a_password_is_not_shown(store, database):
    other = PostgresStore(database.replace("postgres@", "postgres:secret@"))
    assert "secret" not in other.url
    with pytest.raises(LookupError) as caught, other.open_writer("unknown"):
        pass
    assert "secret" not in str(caught.value)
    other.close()


def test_26_a_forked_child_has_connections_of_its_own(store):
    with store.open_writer("ads") as writer:
        writer.append([event(2)], ACTIVE)
        child = os.fork()
        if not child:
            try:
                code = 0 if store.names() == ["ads"] and seqs(store) == [1] else 1
                store.close()
            except BaseException:
                code = 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert add(store) == 3  # the parent's writer and connection are as they were
    assert verify(store, "ads") == 3


FORK_IN_WRITER = """
import os, sys, time
from bursar.ledger.postgres import PostgresStore
with PostgresStore(sys.argv[1]).open_writer("ads"):
    child = os.fork()
    if child:
        print(child, flush=True)
    time.sleep(60)
"""


def test_a_child_does_not_keep_the_locks_of_a_killed_parent(store, database):
    words = [sys.executable, "-c", FORK_IN_WRITER, database]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    try:
        time.sleep(0.2)
        parent.kill()
        begun = time.monotonic()
        assert add(store) == 2
        assert time.monotonic() - begun < 5
        os.kill(child, 0)  # it is still there
    finally:
        os.kill(child, signal.SIGKILL)
        parent.communicate()


def test_a_log_that_was_replaced_has_another_generation(store, database):
    for _ in range(3):
        add(store)
    query(database, "DELETE FROM bursar.event WHERE seq > 2")
    query(
        database,
        "UPDATE bursar.campaign SET seq = 2, ts = e.ts, hash = e.hash"
        " FROM bursar.event AS e WHERE e.seq = 2",
    )
    other = PostgresStore(database)
    with other.open_writer("ads") as writer:  # longer than what was seen, and another history
        assert (writer.seq, writer.generation) == (3, 0)  # it recorded that it was replaced
        ts = writer.head.ts
        new = [replace(event(n, decision="other"), ts=ts + n) for n in (4, 5, 6)]
        writer.append(new, ACTIVE)
    other.close()
    with store.open_writer("ads") as writer:
        assert (writer.seq, writer.generation) == (6, 1)
    assert add(store) == 7
    assert verify(store, "ads") == 7


COPY = """
DROP SCHEMA IF EXISTS copy CASCADE; CREATE SCHEMA copy;
CREATE TABLE copy.campaign AS TABLE bursar.campaign; CREATE TABLE copy.event AS TABLE bursar.event;
CREATE TABLE copy.meta AS TABLE bursar.meta
"""
SET_BACK = """
BEGIN; DELETE FROM bursar.campaign; DELETE FROM bursar.event; DELETE FROM bursar.meta;
INSERT INTO bursar.campaign OVERRIDING SYSTEM VALUE SELECT * FROM copy.campaign;
INSERT INTO bursar.event SELECT * FROM copy.event; INSERT INTO bursar.meta SELECT * FROM copy.meta;
{}; COMMIT
"""
# a standby that lags, or a server restored to a point in time, has rows of our own transactions
AS_STANDBY = "UPDATE bursar.campaign SET written = txid_current()"


def spend_and_set_back(store, twin, database, then="SELECT 1"):
    """Spend all of a budget by turns, then put the tables back to when a fifth was spent."""
    campaigns = [Campaign("llm", "1", {"a": "0.1"}, storage=one) for one in (store, twin)]
    for n in range(10):
        if n == 2:
            query(database, COPY)
        campaign = campaigns[n % 2]
        campaign.tell(campaign.ask(), cost="0.1", reward=1.0)
    assert {one.spent for one in campaigns} == {1}
    query(database, SET_BACK.format(then))
    return campaigns


@pytest.mark.parametrize("then", ["SELECT 1", AS_STANDBY], ids=["dump", "standby"])
def test_13_5_a_database_set_back_is_unreconciled_in_every_process(store, database, then):
    twin = PostgresStore(database)
    campaigns = spend_and_set_back(store, twin, database, then)
    for campaign in campaigns:
        for _ in range(2):
            with pytest.raises(NotActive, match="reconcile"):
                campaign.ask()
        assert (campaign.state, str(campaign.spent)) == ("unreconciled", "0.200000")
    [row] = [row for row in twin.campaign_rows() if row.name == "llm"]
    assert row.state == "unreconciled"
    late = PostgresStore(database)
    assert Campaign("llm", storage=late).state == "unreconciled"
    campaigns[0].reconcile("0.6")
    for campaign in campaigns:  # once is enough: no process asks for it again
        campaign.tell(campaign.ask(), cost="0.1", reward=1.0)
    assert [e.kind for e in campaigns[1].events()].count("restored") == 1
    with pytest.raises(BudgetExhausted):
        campaigns[1].ask()
    campaigns[0].verify()
    twin.close()
    late.close()


def test_13_5_campaigns_that_share_a_store_notice_it_each(store, database):
    campaigns = spend_and_set_back(store, store, database, AS_STANDBY)
    for campaign in campaigns:
        with pytest.raises(NotActive, match="reconcile"):
            campaign.ask()
        assert str(campaign.spent) == "0.200000"


def test_13_5_tables_loaded_while_no_process_ran_are_unreconciled(store, database):
    spend_and_set_back(store, store, database)
    new = PostgresStore(database)
    campaign = Campaign("llm", storage=new)
    assert campaign.state == "unreconciled"
    with pytest.raises(NotActive, match="reconcile"):
        campaign.ask()
    new.close()


def test_13_5_a_second_set_back_is_noticed_after_the_first_was_reconciled(store, database):
    campaigns = spend_and_set_back(store, store, database)
    for _ in range(2):
        assert campaigns[0].state == "unreconciled"
        campaigns[0].reconcile("0.5")
        assert campaigns[0].ask().arm == "a"
        query(database, SET_BACK.format(AS_STANDBY))


def test_13_5_an_idle_process_notices_it_with_its_next_ping(store, database):
    spend_and_set_back(store, store, database, AS_STANDBY)
    store.ping()
    [row] = [row for row in store.campaign_rows() if row.name == "llm"]
    assert row.state == "unreconciled"


def test_13_5_a_table_without_the_numbers_of_transactions_goes_on(store, database):
    add(store)
    query(database, "UPDATE bursar.campaign SET written = NULL")  # as an older version left it
    assert add(store) == 3
    new = PostgresStore(database)
    assert add(new) == 4
    query(database, "VACUUM FULL bursar.campaign")  # moves rows, but changes none
    assert (add(new), add(store)) == (5, 6)
    new.close()


FROZEN = """
import os, signal, sys
from bursar.errors import StorageUnavailable
from bursar.ledger import postgres
from store_contract import ACTIVE, event
postgres._SETTINGS = postgres._SETTINGS.replace("'4s'", "'1s'")
store = postgres.PostgresStore(sys.argv[1])
try:
    with store.open_writer("ads") as writer:
        writer.append([event(2, decision="frozen")], ACTIVE)
        os.kill(os.getpid(), signal.SIGSTOP)
except StorageUnavailable:
    print("refused")
"""


def test_13_low_a_frozen_client_does_not_block_others_and_is_refused_later(store, database):
    ((timeout,),) = store.read_rows("SHOW idle_in_transaction_session_timeout")
    assert timeout == "4s"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", FROZEN, database]
    frozen = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        os.waitpid(frozen.pid, os.WUNTRACED)
        begun = time.monotonic()
        assert add(store) == 2
        assert time.monotonic() - begun < 4
        frozen.send_signal(signal.SIGCONT)
        assert frozen.communicate(timeout=30)[0] == "refused\n"
    finally:
        frozen.kill()
        frozen.communicate()
    assert [e.decision for e, _ in store.read("ads")] == ["", "d2"]


def test_30_a_changed_event_is_found(store, database):
    add(store, count=4)
    query(database, "UPDATE bursar.event SET body = '{\"n\":7}' WHERE seq = 3")
    with pytest.raises(CorruptLedger, match="event 3 of 'ads' does not match its hash"):
        verify(store, "ads")
    query(database, "DELETE FROM bursar.event WHERE seq = 5")
    with store.open_writer("ads") as writer, pytest.raises(CorruptLedger, match="event 5 of 'ads'"):
        writer.events_after(4)


def test_a_damaged_snapshot_is_passed_over_for_an_older_one(store, database):
    add(store, count=9)
    for seq in range(2, 9):
        with store.open_writer("ads") as writer:
            writer.save_snapshot(seq, b"state %d" % seq)
            assert writer.load_snapshot() == (seq, b"state %d" % seq)
    kept = query(database, "SELECT seq FROM bursar.snapshot ORDER BY seq")
    assert kept == [(seq,) for seq in range(2, 9)]
    query(database, "UPDATE bursar.snapshot SET body = 'x' WHERE seq = 8")
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() == (7, b"state 7")


def test_a_snapshot_goes_with_its_events_or_not_at_all(store, database):
    with pytest.raises(StorageUnavailable, match="nothing was acknowledged"):
        write(store, lambda: kill_backends(database))
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() is None
    write(store)
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() == (2, b"two")


def test_events_of_others_come_with_the_lock(store, database):
    other = PostgresStore(database)
    mine = 0
    for count in (1, 3, 1, 70, 2, 1, 200, 1, 1):  # more than are fetched at once, too
        last = add(other, count=count)
        with store.open_writer("ads") as writer:
            assert [e.seq for e in writer.events_after(mine)] == list(range(mine + 1, last + 1))
            assert [e.seq for e in writer.events_after(max(0, last - 2))] == [last - 1, last][
                -last:
            ]
            assert writer.events_after(last) == []
            writer.append([event(last + 1, decision="x")], ACTIVE)
            assert [e.seq for e in writer.events_after(last - 1)] == [last, last + 1]
        mine = last + 1
    other.close()
    assert verify(store, "ads") == mine


def test_a_writer_that_has_ended_is_of_no_use(store):
    with store.open_writer("ads") as writer:
        pass
    for use in (
        lambda: writer.append([event(2)], ACTIVE),
        lambda: writer.decision_events("d1"),
        lambda: writer.save_snapshot(1, b""),
    ):
        with pytest.raises(StorageUnavailable, match="writer of 'ads' has ended; open another"):
            use()
    assert seqs(store) == [1]


WITHOUT = """
import sys
sys.modules["psycopg"] = None
import bursar.ledger
try:
    import bursar.ledger.postgres
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_without_psycopg_the_error_says_how_to_install_it():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True)
    assert done.stdout == (
        "MissingExtra postgresql:// needs psycopg and psycopg_pool, which are not installed;"
        " pip install 'bursar[postgres]'\n"
    )
