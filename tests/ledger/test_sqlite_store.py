from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from power_cut import Disk
from store_contract import ACTIVE, CONTRACT, DURABLE, add, create, event, verify

from bursar import Campaign
from bursar.campaign.ask_options import make_ask_options
from bursar.campaign.commands import ask_command
from bursar.campaign.committer import PendingCommand
from bursar.campaign.creation import open_store
from bursar.cli import main
from bursar.errors import (
    CorruptLedger,
    InvalidInput,
    NewerSchema,
    NotActive,
    StorageInUse,
    StorageUnavailable,
)
from bursar.ledger import MemoryStore, sqlite, sqlite_file
from bursar.ledger.locks import (
    FairLock,
    check_location,
    claim_ledger,
    file_system_of,
    ledger_path,
)
from bursar.ledger.sql import _OF_DECISION
from bursar.ledger.sqlite import SQLiteStore
from bursar.ledger.sqlite_file import check_sqlite, restore

FORK = multiprocessing.get_context("fork")
STEPS = 12  # transactions of the workload that is cut at every sync


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "spend.db"


@pytest.fixture(autouse=True)
def every_writer_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each writer look at its files, as if the last one had been a while ago."""
    monkeypatch.setattr(sqlite, "_FRESH", -1.0)


@pytest.fixture
def store(path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(path)
    yield store
    store.close()


def named(function):
    return function.__name__


@pytest.mark.parametrize("check", CONTRACT, ids=named)
def test_memory_fulfils_the_contract(check):
    store = MemoryStore()
    check(lambda: store)


@pytest.mark.parametrize("check", CONTRACT + DURABLE, ids=named)
def test_sqlite_fulfils_the_contract(check, path):
    with contextlib.ExitStack() as stack:

        def make() -> SQLiteStore:
            store = SQLiteStore(f"sqlite:///{path}")
            stack.callback(store.close)
            return store

        check(make)


# locations


def test_urls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ledger_path("sqlite:///a%20b.db") == Path("a b.db")
    assert ledger_path("sqlite:////x/a.db") == Path("/x/a.db")
    store = SQLiteStore("sqlite:///a.db")
    assert store.url == f"sqlite:///{tmp_path}/a.db"
    assert SQLiteStore(store.url).path == tmp_path / "a.db"
    for wrong in ("sqlite:///", "postgresql://host/db", ":memory:", "sqlite:///a.db?mode=ro"):
        with pytest.raises(InvalidInput, match="SQLite ledger"):
            ledger_path(wrong)


def test_a_missing_folder_and_a_folder_for_a_file(tmp_path):
    with pytest.raises(StorageUnavailable, match=r"no folder .*nowhere"):
        SQLiteStore(tmp_path / "nowhere" / "a.db")
    with pytest.raises(StorageUnavailable, match="is not a file"):
        SQLiteStore(tmp_path)


def test_network_file_systems_are_refused(tmp_path, monkeypatch):
    mounts = tmp_path / "mountinfo"
    line = "36 35 98:0 / {} rw,noatime shared:1 - {} host:/share rw\n"
    monkeypatch.setattr("bursar.ledger.locks._MOUNTS", mounts)
    real = tmp_path.resolve()
    for kind in ("nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs"):
        mounts.write_text(line.format("/", "ext4") + line.format(real, kind))
        with pytest.raises(StorageInUse, match=f"network file system \\({kind}\\)"):
            check_location(real / "a.db")
    mounts.write_text(line.format("/", "nfs4") + line.format(real, "xfs"))
    assert check_location(real / "a.db") == real / "a.db"


def test_mount_points_with_blanks_and_hidden_mounts():
    text = r"1 0 0:1 / / rw - ext4 a rw" + "\n" + r"2 1 0:2 / /my\040disk rw - nfs b rw"
    assert file_system_of(Path("/my disk/x"), text) == "nfs"
    assert file_system_of(Path("/my"), text) == "ext4"
    assert (
        file_system_of(Path("/a"), "1 0 0:1 / / rw - nfs a rw\n2 1 0:2 / / rw - xfs b rw") == "xfs"
    )


def test_an_old_sqlite_is_refused():
    with pytest.raises(StorageUnavailable, match=r"3\.51\.3 or later, got 3\.51\.2"):
        check_sqlite("3.51.2")
    check_sqlite("3.51.3")
    check_sqlite("4.0.0")


def test_commits_are_durable_by_their_settings(store):
    writer = store._writer
    settings = {
        name: writer.pragma(name)
        for name in ("journal_mode", "synchronous", "wal_autocheckpoint", "mmap_size", "fullfsync")
    }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,
        "wal_autocheckpoint": 0,
        "mmap_size": 0,
        "fullfsync": 1,
    }


def run(code: str, *args: object) -> str:
    """Run code in a process of its own; return what it prints."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


OPEN_AS_NOBODY = """
import os, sys
from bursar.ledger.sqlite import SQLiteStore
os.getuid() or os.setuid(65534)  # root may write everything
try:
    print(SQLiteStore(sys.argv[1]).names())
except OSError as error:
    print(type(error).__name__, error)
"""


def test_a_file_or_folder_that_cannot_be_written():
    folder = Path(tempfile.mkdtemp())  # not tmp_path: others may not even enter that
    try:
        path = folder / "a.db"
        store = SQLiteStore(path)
        create(store)
        store.close()
        folder.chmod(0o755)
        said = f"StorageUnavailable {str(folder)!r} is not writable"
        assert run(OPEN_AS_NOBODY, path).startswith(said)
        folder.chmod(0o777)
        path.chmod(0o444)
        said = f"StorageUnavailable {str(path)!r} is not writable"
        assert run(OPEN_AS_NOBODY, path).startswith(said)
        path.chmod(0o666)
        for file in folder.iterdir():
            file.chmod(0o666)
        assert run(OPEN_AS_NOBODY, path) == "['ads']\n"
    finally:
        shutil.rmtree(folder)


# damage


def broken(path: Path, statement: str, *values: object) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(statement, values).fetchall()
    connection.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE event SET body = '{\"n\":99}' WHERE seq = 7", "event 7 of 'ads' does not match"),
        ("UPDATE event SET kind = 'told' WHERE seq = 3", "event 3 of 'ads' does not match"),
        ("UPDATE event SET hash = zeroblob(16) WHERE seq = 2", "event 2 of 'ads' does not match"),
        ("UPDATE event SET ts = 5 WHERE seq = 4", "event 4 of 'ads' is dated 5"),
        ("UPDATE event SET body = '{' WHERE seq = 5", "event 5 cannot be read"),
        ("DELETE FROM event WHERE seq = 6", "event 6 of 'ads' is missing; the next one is 7"),
        ("DELETE FROM event WHERE seq > 9", "event 10 of 'ads' is missing; there were 11"),
        ("UPDATE campaign SET hash = zeroblob(16)", "event 11 of 'ads' is not the last"),
    ],
)
def test_a_tampered_log_raises_at_its_first_bad_event(path, statement, words):
    store = SQLiteStore(path)
    create(store)
    add(store, count=10)
    assert verify(store, "ads") == 11
    broken(path, statement)
    with pytest.raises(CorruptLedger, match=words):
        verify(store, "ads")
    with pytest.raises(CorruptLedger, match=words):
        store.backup(path.with_name("copy.db"))
    assert not path.with_name("copy.db").exists()
    store.close()


def test_13_the_events_of_a_decision_are_found_by_an_index(store, path):
    """Else every ask with an id of the caller's reads all events of its campaign."""
    plan = apsw.Connection(str(path)).execute(f"EXPLAIN QUERY PLAN {_OF_DECISION}", (1, "x"))
    steps = [step for *_, step in plan]
    assert any("event_of_decision (campaign=? AND decision=?)" in step for step in steps)
    assert not any(step.endswith("(campaign=?)") or "SCAN" in step for step in steps)


def test_a_damaged_snapshot_is_none(store, path):
    create(store)
    with store.open_writer("ads") as writer:
        writer.save_snapshot(1, b"state")
    broken(path, "UPDATE snapshot SET body = x'00'")
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() is None


@pytest.mark.parametrize("keep", [1, 100, 4096, 9000])
def test_a_truncated_file_is_refused(path, keep):
    store = SQLiteStore(path)
    create(store)
    add(store, count=300)
    store.close()
    os.truncate(path, keep)
    with pytest.raises(CorruptLedger, match="not a complete SQLite file"):
        verify(SQLiteStore(path), "ads")


def test_a_file_of_another_program_is_left_alone(path):
    path.write_text("dear diary, " * 1000)
    with pytest.raises(CorruptLedger, match="not a complete SQLite file"):
        SQLiteStore(path)
    assert path.read_text() == "dear diary, " * 1000
    path.unlink()
    broken(path, "CREATE TABLE users(name)")
    with pytest.raises(InvalidInput, match="database of another program"):
        SQLiteStore(path)


def test_a_file_that_was_replaced_is_noticed(tmp_path, path, store):
    create(store)
    add(store)
    other = SQLiteStore(tmp_path / "other.db")
    create(other)
    other.close()
    (tmp_path / "other.db").replace(path)
    for _ in range(2):
        with pytest.raises(StorageUnavailable, match="was replaced"):
            add(store)
        with pytest.raises(StorageUnavailable, match="was replaced"):
            store.names()


def test_a_file_that_was_removed_is_not_created_again(path, store):
    create(store)
    path.unlink()
    for _ in range(3):
        with pytest.raises(StorageUnavailable):
            add(store)
    assert not path.exists()


# schema


def test_only_the_owner_may_read_ledger_and_backups(path, tmp_path):
    store = SQLiteStore(path)
    create(store)
    store.backup(tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "new.db")
    wal = path.with_name(f"{path.name}-wal")
    for one in (path, wal, tmp_path / "copy.db", tmp_path / "new.db"):
        assert one.stat().st_mode & 0o777 == 0o600, one.name
    store.close()


def test_a_newer_schema_is_refused(path):
    SQLiteStore(path).close()
    broken(path, f"UPDATE meta SET schema_version = {len(sqlite_file.SQLITE_STEPS) + 1}")
    with pytest.raises(NewerSchema, match="schema 4, this bursar knows 3"):
        SQLiteStore(path)


def test_an_edited_step_is_refused(path):
    SQLiteStore(path).close()
    broken(path, "UPDATE step SET checksum = 'x'")
    with pytest.raises(CorruptLedger, match="step 1 of the schema"):
        SQLiteStore(path)


def test_a_step_forward_keeps_all_and_a_copy_of_before(path, monkeypatch):
    store = SQLiteStore(path)
    create(store)
    add(store, count=5)
    store.close()
    old = sqlite_file.SQLITE_STEPS
    steps = (*old, "CREATE TABLE extra(x INTEGER) STRICT; INSERT INTO extra VALUES(7)")
    monkeypatch.setattr(sqlite_file, "SQLITE_STEPS", steps)
    store = SQLiteStore(path)
    assert verify(store, "ads") == 6
    assert store.read_rows("SELECT x FROM extra") == [(7,)]
    store.close()
    (copy,) = path.parent.glob("spend.db.schema-3-*[0-9]")
    monkeypatch.setattr(sqlite_file, "SQLITE_STEPS", old)
    with pytest.raises(NewerSchema):
        SQLiteStore(path)
    before = SQLiteStore(copy)
    assert verify(before, "ads") == 6
    before.close()


def test_13_4_a_ledger_that_kept_one_snapshot_keeps_it_and_more(path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file, "SQLITE_STEPS", sqlite_file.SQLITE_STEPS[:2])
        store = SQLiteStore(path)
        create(store)
        add(store, count=5)
        with store.open_writer("ads") as writer:
            writer.save_snapshot(3, b"three")
        store.close()
    store = SQLiteStore(path)
    with store.open_writer("ads") as writer:
        assert writer.load_snapshot() == (3, b"three")
        writer.save_snapshot(5, b"five")
        assert writer.load_snapshot() == (5, b"five")
        assert writer.load_snapshot(5) == (3, b"three")
    assert verify(store, "ads") == 6
    store.close()


def test_a_step_that_fails_changes_nothing(path, monkeypatch):
    store = SQLiteStore(path)
    create(store)
    store.close()
    steps = (*sqlite_file.SQLITE_STEPS, "CREATE TABLE extra(x)", "CREATE TABLE extra(x)")
    with monkeypatch.context() as patched:
        patched.setattr(sqlite_file, "SQLITE_STEPS", steps)
        with pytest.raises(StorageUnavailable, match="extra already exists"):
            SQLiteStore(path)
    store = SQLiteStore(path)
    assert verify(store, "ads") == 1
    store.close()


# backup and restore


def test_a_backup_is_one_whole_file(tmp_path, store):
    create(store)
    add(store, count=50)
    copy = tmp_path / "backups" / "monday.db"
    assert store.backup(copy) == 51
    add(store)
    assert [p.name for p in copy.parent.iterdir()] == ["monday.db"]
    with pytest.raises(InvalidInput, match="already"):
        store.backup(copy)
    with pytest.raises(InvalidInput, match="already"):
        store.backup(store.path)
    kept = SQLiteStore(copy)
    assert verify(kept, "ads") == 51
    kept.close()


def test_a_backup_is_made_while_others_write(tmp_path, store):
    create(store)
    add(store, count=2_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            add(store)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = [store.backup(tmp_path / f"{n}.db") for n in range(3)]
    finally:
        stop.set()
        writer.join()
    assert 2_001 <= counts[0] <= counts[1] <= counts[2] <= verify(store, "ads")
    assert verify(store, "ads") > 2_001


def rows(store: SQLiteStore) -> list[tuple[object, ...]]:
    statement = "SELECT name, state, spent, held, epoch FROM campaign, meta ORDER BY name"
    return store.read_rows(statement)


def test_a_restored_ledger_waits_to_be_reconciled(tmp_path, store):
    for name in ("ads", "llm"):
        create(store, name)
    with store.open_writer("ads") as writer:
        writer.append([event(2)], ACTIVE._replace(spent=30, held=7))
    copy, target = tmp_path / "copy.db", tmp_path / "new.db"
    store.backup(copy)
    assert restore(copy, target) == 2
    new = SQLiteStore(target)
    assert rows(new) == [("ads", "unreconciled", 30, 7, 2), ("llm", "unreconciled", 0, 0, 2)]
    last = list(new.read("ads"))[-1][0]
    assert (last.seq, last.kind, last.body) == (3, "restored", {"epoch": 2})
    assert (verify(new, "ads"), verify(new, "llm")) == (3, 2)
    new.close()
    kept = SQLiteStore(copy)  # the backup itself is as it was
    assert verify(kept, "ads") == 2
    kept.close()


def test_a_restore_replaces_a_ledger_only_on_request(tmp_path, store):
    create(store)
    copy = tmp_path / "copy.db"
    store.backup(copy)
    add(store)
    with pytest.raises(InvalidInput, match="a ledger already exists"):
        restore(copy, store.path)
    with pytest.raises(StorageUnavailable, match="no backup at"):
        restore(tmp_path / "none.db", tmp_path / "new.db")
    assert verify(store, "ads") == 2


def test_a_restore_replaces_a_ledger_in_use(tmp_path, store):
    create(store)
    create(store, "llm")
    copy = tmp_path / "copy.db"
    store.backup(copy)
    add(store, count=5)
    add(store, "llm")
    assert restore(copy, store.path, replace=True) == 2
    for name in ("ads", "llm"):  # its numbers now mean other events
        with store.open_writer(name) as writer:
            assert writer.generation == 1
        assert add(store, name) == 3
        assert verify(store, name) == 3
    kept = SQLiteStore(tmp_path / "spend.db.before-epoch-2")
    assert verify(kept, "ads") == 6
    kept.close()
    assert restore(copy, store.path, replace=True) == 3
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_backup_is_not_restored(tmp_path, store):
    create(store)
    add(store, count=5)
    copy = tmp_path / "copy.db"
    store.backup(copy)
    broken(copy, "UPDATE event SET body = '{}' WHERE seq = 4")
    for target, replace in ((tmp_path / "new.db", False), (store.path, True)):
        with pytest.raises(CorruptLedger, match="event 4 of 'ads'"):
            restore(copy, target, replace=replace)
    assert not (tmp_path / "new.db").exists()
    assert verify(store, "ads") == 6


# processes


def append_for(path: Path, seconds: float, report) -> None:
    store = SQLiteStore(path)
    count, end = 0, time.monotonic() + seconds
    longest = last = 0.0
    while (now := time.monotonic()) < end:
        longest, last = max(longest, now - last if last else 0.0), now
        add(store)
        count += 1
    store.close()
    report.put((count, longest))


@pytest.mark.parametrize("processes", [2, 4])
def test_processes_share_a_file_fairly(path, processes):
    store = SQLiteStore(path)
    create(store)
    report = FORK.Queue()
    workers = [FORK.Process(target=append_for, args=(path, 2.0, report)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    counts, waits = zip(*(report.get(timeout=60) for _ in workers), strict=True)
    for worker in workers:
        worker.join()
    assert verify(store, "ads") == 1 + sum(counts)
    assert min(counts) > 0.25 * max(counts), counts  # SQLite alone: 0
    assert max(waits) < 2.0
    store.close()


def append_for_ever(path: Path, reported: int) -> None:
    store = SQLiteStore(path)
    for n in range(10**9):
        os.write(reported, b"%d\n" % add(store, count=1 + n % 5))


def test_a_killed_writer_loses_nothing_acknowledged(path):
    store = SQLiteStore(path)
    create(store)
    rng = random.Random(5)
    acknowledged = 1
    for _ in range(20):
        read, write = os.pipe()
        process = FORK.Process(target=append_for_ever, args=(path, write))
        process.start()
        os.close(write)
        with open(read) as pipe:  # noqa: PTH123
            reported = [int(pipe.readline())]
            time.sleep(rng.random() * 0.01)
            os.kill(process.pid, signal.SIGKILL)
            reported += [int(line) for line in pipe if line.endswith("\n")]
        process.join()
        there = verify(store, "ads")
        assert reported[-1] <= there <= reported[-1] + 5  # at most one more, whose line was lost
        assert reported[0] > acknowledged
        acknowledged = add(store)  # the dead one's lock is gone, at once
        assert acknowledged == there + 1
    store.close()


def test_a_forked_child_goes_on_by_itself(path):
    store = SQLiteStore(path)
    create(store)
    reader = store.read("ads")
    next(reader)
    children = [FORK.Process(target=lambda: [add(store) for _ in range(20)]) for _ in range(3)]
    for child in children:
        child.start()
    for _ in range(20):
        add(store)
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert verify(store, "ads") == 81
    store.close()


def forked_use(store: SQLiteStore, report) -> None:
    try:
        add(store)
    except StorageUnavailable as error:
        report.put(str(error))


def test_a_child_forked_inside_a_writer_is_refused(path, store):
    create(store)
    report = FORK.Queue()
    with store.open_writer("ads") as writer:
        child = FORK.Process(target=forked_use, args=(store, report))
        child.start()
        writer.append([event(2)], ACTIVE)
    assert "forked while" in report.get(timeout=30)
    child.join()
    assert verify(store, "ads") == 2


# waiting


def test_waiting_too_long_for_a_process_is_an_error(path):
    store, other = SQLiteStore(path), SQLiteStore(path, deadline=0.2)
    create(store)
    with store.open_writer("ads"):
        with pytest.raises(StorageInUse, match=r"locked by another process for 0\.2 s"):
            add(other)
        with pytest.raises(StorageInUse, match="this thread has a writer"):
            add(store)
    assert add(other) == 2
    assert add(store) == 3
    store.close()
    other.close()


def test_waiting_too_long_for_a_thread_is_an_error(path):
    store = SQLiteStore(path, deadline=0.2)
    create(store)
    said: list[str] = []

    def wait() -> None:
        try:
            add(store)
        except StorageInUse as error:
            said.append(str(error))

    with store.open_writer("ads"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert "in use by another thread" in said[0]
    store.close()


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def test_the_lock_goes_to_the_process_that_waits(path):
    first, second = FairLock(path, 5), FairLock(path, 5)
    first.acquire()
    order: list[str] = []

    def wait() -> None:
        second.acquire()
        order.append("second")
        second.release()

    thread = threading.Thread(target=wait)
    thread.start()
    while not is_locked(path.with_name("spend.db-turn")):
        time.sleep(0.001)
    first.release()
    first.acquire()  # asked after the second, so comes after it
    order.append("first")
    first.release()
    thread.join()
    assert order == ["second", "first"]
    first.close()
    second.close()


def test_a_lock_that_fails_leaves_the_store_free(store, monkeypatch):
    def fail(file: int, operation: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", fail)
        for _ in range(2):  # the second would wait for the first if that still had the lock
            with pytest.raises(StorageUnavailable, match="Bad file descriptor"):
                store.ping()
            assert not store._writing.locked()
    store.ping()


def test_a_writer_has_ended_after_its_block(store):
    create(store)
    with store.open_writer("ads") as writer:
        pass
    with pytest.raises(StorageUnavailable, match="has ended"):
        writer.append([event(2)], ACTIVE)
    assert verify(store, "ads") == 1


def test_a_closed_store_is_an_error(path):
    store = SQLiteStore(path)
    create(store)
    store.close()
    store.close()
    for use in (lambda: add(store), store.names, lambda: list(store.read("ads"))):
        with pytest.raises(StorageUnavailable, match="was closed"):
            use()
    assert sorted(p.name for p in path.parent.iterdir()) == [
        "spend.db",
        "spend.db-lock",
        "spend.db-turn",
    ]


def test_the_log_is_emptied_when_it_is_full(store, path):
    create(store)
    log = path.with_name("spend.db-wal")
    for _ in range(60):
        add(store, count=400)
    assert log.stat().st_size < 6 * 2**20
    assert path.stat().st_size > 2**20
    assert verify(store, "ads") == 24_001


# files that others delete, replace, put back or give a second name


def left_by_kill(path: Path, *endings: str) -> SQLiteStore:
    """Open a copy of the files as they are now, which is what a killed process leaves."""
    copy = path.with_name("left.db")
    for ending in endings:
        if Path(f"{path}{ending}").exists():
            shutil.copy(f"{path}{ending}", f"{copy}{ending}")
    return SQLiteStore(copy)


def in_other_process(text: str, path: Path) -> None:
    """Run a program on a file; SQLite must not open it twice in one process."""
    program = textwrap.dedent(text)
    subprocess.run([sys.executable, "-c", program, str(path)], check=True, timeout=60)


@pytest.mark.parametrize("lost", [("-wal",), ("-shm",), ("-wal", "-shm")], ids="".join)
def test_13_6_a_deleted_log_is_noticed_and_what_was_acknowledged_is_saved(path, store, lost):
    create(store)
    last = add(store, count=20)
    for ending in lost:
        Path(f"{path}{ending}").unlink()
    with pytest.raises(StorageUnavailable, match=r"deleted or replaced while in use.*was saved"):
        add(store)
    assert verify(store, "ads") == last  # and nothing was written
    assert add(store) == last + 1
    left = left_by_kill(path, "", "-wal")
    assert verify(left, "ads") == last + 1
    left.close()


def test_13_6_a_log_deleted_during_a_transaction_is_not_acknowledged(path, store):
    create(store)

    def write() -> None:
        with store.open_writer("ads") as writer:
            writer.append([event(2)], ACTIVE)
            Path(f"{path}-wal").unlink()

    with pytest.raises(StorageUnavailable, match="this call was not acknowledged"):
        write()
    assert store.names() == ["ads"]
    assert verify(store, "ads") == 2


def test_a_log_deleted_right_after_a_commit_is_noticed_by_the_next_one(path, store, monkeypatch):
    monkeypatch.setattr(sqlite, "_FRESH", 60.0)  # so the next writer does not look beforehand
    create(store)
    last = add(store, count=20)
    Path(f"{path}-wal").unlink()
    with pytest.raises(StorageUnavailable, match="this call was not acknowledged"):
        add(store)
    assert verify(store, "ads") == last + 1  # written before it was noticed, and saved


def test_13_6_reads_notice_a_deleted_log_as_well(path, store):
    create(store)
    Path(f"{path}-wal").unlink()
    with pytest.raises(StorageUnavailable, match="deleted or replaced"):
        store.names()


def test_13_6_if_others_went_on_without_the_log_the_campaign_is_unreconciled(path, store):
    campaign = Campaign("llm", "1", {"a": "0.1"}, storage=store)
    for _ in range(5):
        campaign.tell(campaign.ask(), cost="0.1", reward=1.0)
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    in_other_process(
        """
        import sys
        from bursar.ledger.sqlite import SQLiteStore
        store = SQLiteStore(sys.argv[1])
        store.ping()
        store.close()
        """,
        path,
    )
    with pytest.raises(StorageUnavailable, match="become unreconciled"):
        campaign.ask()
    with pytest.raises(NotActive, match="reconcile"):
        campaign.ask()
    assert campaign.state == "unreconciled"
    campaign.reconcile("0.5")
    assert campaign.ask().arm == "a"


def test_13_6_a_new_ledger_does_not_depend_on_its_log(path, store):
    create(store)
    left = left_by_kill(path, "")
    assert left.names() == ["ads"]
    left.close()


def test_13_6_an_idle_ledger_does_not_depend_on_its_log(path, store, monkeypatch):
    monkeypatch.setattr("bursar.campaign.committer._SETTLE_SECONDS", 0.05)
    campaign = Campaign("llm", "1", {"a": "0.1"}, storage=store)

    async def ask() -> None:
        future = asyncio.get_running_loop().create_future()
        command = ask_command("mine", make_ask_options(None, None, None))
        pending = PendingCommand(command, future)
        campaign.committer.submit(pending, urgent=False)
        await future

    settled = threading.Event()
    monkeypatch.setattr(store, "settle", lambda: (SQLiteStore.settle(store), settled.set()))
    asyncio.run(ask())
    assert settled.wait(10)
    left = left_by_kill(path, "")
    assert [row.held for row in left.campaign_rows()] == [100_000]
    left.close()
    campaign.committer.close()


def test_13_6_a_ping_copies_the_log_into_the_file(path, store):
    create(store)
    last = add(store, count=3)
    store.ping()
    left = left_by_kill(path, "")
    assert verify(left, "ads") == last
    left.close()


OVERWRITE = """
import shutil, sys
shutil.copy(sys.argv[1] + ".copy", sys.argv[1])
"""
BACK_UP_INTO = """
import apsw, sys
old, now = apsw.Connection(sys.argv[1] + ".copy"), apsw.Connection(sys.argv[1])
with now.backup("main", old, "main") as pages:
    pages.step(-1)
now.close()
"""


@pytest.mark.parametrize("program", [OVERWRITE, BACK_UP_INTO], ids=["overwritten", "backup"])
def test_13_5_a_file_set_back_under_a_running_process_is_unreconciled(path, store, program):
    campaign = Campaign("llm", "1", {"a": "0.1"}, storage=store)
    twin = Campaign("llm", storage=store)
    for n in range(10):
        if n == 2:
            store.settle()
            shutil.copy(path, f"{path}.copy")
        campaign.tell(campaign.ask(), cost="0.1", reward=1.0)
    assert twin.spent == 1
    store.settle()
    in_other_process(program, path)
    for one in (campaign, twin):  # each has a state of its own in memory
        with pytest.raises(NotActive, match="reconcile"):
            one.ask()
        assert (one.state, str(one.spent)) == ("unreconciled", "0.200000")
    assert [e.kind for e in campaign.events()].count("restored") == 1
    campaign.reconcile("0.8")
    assert (twin.state, str(twin.available)) == ("exhausted", "0.000000")
    campaign.verify()


def test_13_7_a_ledger_with_two_names_is_refused(path, tmp_path):
    SQLiteStore(path).close()
    os.link(path, tmp_path / "other.db")
    for name in (path, tmp_path / "other.db"):
        with pytest.raises(StorageInUse, match=r"2 names \(hard links\).*remove the other names"):
            SQLiteStore(name)
        with pytest.raises(StorageInUse, match="hard links"), claim_ledger(name):
            pass
    (tmp_path / "other.db").unlink()
    SQLiteStore(path).close()


def test_13_7_a_ledger_that_is_a_mount_point_is_refused(path, tmp_path, monkeypatch):
    SQLiteStore(path).close()
    mounts = tmp_path / "mountinfo"
    line = "36 35 98:0 /host.db {} rw,noatime shared:1 - ext4 /dev/sda rw\n"
    real = path.resolve()
    monkeypatch.setattr("bursar.ledger.locks._MOUNTS", mounts)
    mounts.write_text(line.format("/") + line.format(str(real).replace(" ", r"\040")))
    with pytest.raises(StorageInUse, match=r"is a mount point.*mount its folder"):
        SQLiteStore(path)
    mounts.write_text(line.format("/") + line.format(real.parent))
    SQLiteStore(path).close()


BIND = """
import sys
from bursar.errors import StorageInUse
from bursar.ledger.sqlite import SQLiteStore
try:
    SQLiteStore(sys.argv[1])
except StorageInUse as error:
    print(error)
"""


def test_13_7_a_bind_mounted_ledger_is_refused(path, tmp_path):
    SQLiteStore(path).close()
    other = tmp_path / "other.db"
    other.touch()
    script = 'mount --bind "$1" "$2" || exit 77; exec "$3" -c "$4" "$2"'
    words = ["unshare", "--mount", "sh", "-c", script, "sh", path, other, sys.executable, BIND]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("no unshare on this system")
    if done.returncode in (1, 77) and "is a mount point" not in done.stdout:
        pytest.skip(f"this user may not mount: {done.stderr.strip()}")
    assert "is a mount point" in done.stdout, done.stderr


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_13_low_lock_files_have_the_mode_of_the_ledger(path, mode):
    before = os.umask(0o022)
    try:
        SQLiteStore(path).close()
        path.chmod(mode)
        for name in ("lock", "turn", "serve"):  # as older versions made them
            Path(f"{path}-{name}").touch()
            Path(f"{path}-{name}").chmod(0o644)
        SQLiteStore(path).close()
        with claim_ledger(path):
            modes = {one.name: one.stat().st_mode & 0o777 for one in path.parent.glob("*.db-*")}
        assert modes == dict.fromkeys(modes, mode)
        assert len(modes) == 3
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "url",
    [
        "postgres//ada:secret@db/spend",
        "postgresq://ada:secret@db/spend",
        "postgresql:ada:secret@db/spend",
        "postgresql:/ada:secret@db/spend",
        "sqlite:ada:secret@db",
        "ada:secret@db:5432/spend",
        "mysql://ada:se/c@ret:secret@db/spend",
        "postgresq://db/spend?user=ada&password=secret",
        "host=db password=secret",
        "postgresql://ada:%secret@db/spend",
        "postgresql://ada:12/secret@db/spend",
        "postgresql://ada:1@secret@db/spend",
        "postgresql://ada:secret",
        "postgresql://ada:x@db/spend?secret=1",
        "postgresql://ada:secret@127.0.0.1:1/spend",
    ],
)
def test_13_low_no_message_shows_the_password_of_a_url(url, monkeypatch, capsys):
    pytest.importorskip("psycopg")
    with pytest.raises((InvalidInput, StorageUnavailable)) as caught:
        open_store(url)
    error: BaseException | None = caught.value
    assert "secret" not in str(error)
    monkeypatch.setattr("sys.argv", ["bursar", "campaign", "list", "--storage", url])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code != 0
    assert "secret" not in "".join(capsys.readouterr())


# power cuts and failing disks

# an error at a sync while a connection closes cannot be raised
broken_disk = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def work(path: Path, disk: Disk) -> tuple[int, bool]:
    """Create and append until it fails; return the last number acknowledged, and if it failed."""
    acknowledged = 0
    try:
        store = SQLiteStore(path, vfs=disk.name)
        create(store)
        acknowledged = 1
        for n in range(STEPS):
            acknowledged = add(store, count=1 + n % 3)
            if n % 4 == 3:
                store._log.empty()  # so that checkpoints are cut as well
        store.close()
    except (StorageUnavailable, apsw.Error):
        return acknowledged, True
    return acknowledged, False


def syncs_of_the_work(folder: Path) -> Disk:
    disk = Disk()
    folder.mkdir()
    assert work(folder / "a.db", disk) == (1 + 4 * (1 + 2 + 3), False)
    return disk


def check_what_is_left(folder: Path, acknowledged: int) -> None:
    store = SQLiteStore(folder / "a.db")
    there = verify(store, "ads") if "ads" in store.names() else 0
    assert acknowledged <= there <= acknowledged + 3
    if there:
        assert [e.body["n"] for e, _ in store.read("ads", after=1)] == list(range(2, there + 1))
        assert add(store) == there + 1
    else:
        create(store)
    store.close()


@broken_disk
def test_a_power_cut_at_every_sync_loses_nothing_acknowledged(tmp_path):
    total = syncs_of_the_work(tmp_path / "whole").syncs
    assert total > STEPS
    for cut in range(1, total + 1):
        for seed in (None, 1, 2, 3):
            live, left = tmp_path / f"{cut}-{seed}", tmp_path / f"{cut}-{seed}-left"
            live.mkdir()
            left.mkdir()
            disk = Disk(sync=cut)
            acknowledged, failed = work(live / "a.db", disk)
            assert failed or cut == total  # the last is in close(), which has nothing to lose
            disk.after_the_cut(left, random.Random(seed) if seed else None)
            check_what_is_left(left, acknowledged)


def test_without_syncs_a_power_cut_does_lose(tmp_path, monkeypatch):
    """The disk of these tests can tell: with a commit that does not sync, events are lost."""
    disk = Disk()
    store = SQLiteStore(tmp_path / "a.db", vfs=disk.name)
    create(store)
    store._writer.pragma("synchronous", "NORMAL")
    add(store)
    left = tmp_path / "left"
    left.mkdir()
    disk.after_the_cut(left, None)
    assert verify(SQLiteStore(left / "a.db"), "ads") == 1
    store.close()


@broken_disk
@pytest.mark.parametrize("error", [apsw.FullError, apsw.IOError], ids=["full", "io"])
@pytest.mark.parametrize("kind", ["sync", "write"])
def test_a_failing_disk_fails_closed(tmp_path, kind, error):
    whole = syncs_of_the_work(tmp_path / "whole")
    total = whole.syncs if kind == "sync" else whole.writes
    for n in range(1, total + 1, 1 if kind == "sync" else 4):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        acknowledged, _ = work(folder / "a.db", Disk(**{kind: n}, error=error, off=False))
        check_what_is_left(folder, acknowledged)


@broken_disk
@pytest.mark.parametrize("kind", ["sync", "write"])
def test_a_store_goes_on_when_the_disk_works_again(tmp_path, kind):
    disk = Disk()
    store = SQLiteStore(tmp_path / "a.db", vfs=disk.name)
    create(store)
    acknowledged = 1
    for n in range(10):
        disk._off = False
        setattr(disk, f"_{kind}", getattr(disk, f"{kind}s") + 1)
        with pytest.raises(StorageUnavailable, match="nothing was written"):
            add(store)
        there = verify(store, "ads")
        assert acknowledged <= there <= acknowledged + 1
        acknowledged = add(store, count=n + 1)
        assert acknowledged == there + n + 1
    # what was acknowledged after a failed sync must not rest on pages that never reached the disk
    left = tmp_path / "left"
    left.mkdir()
    disk.after_the_cut(left, None)
    assert verify(SQLiteStore(left / "a.db"), "ads") == acknowledged
    store.close()


FULL = """
import resource, signal, sys
from bursar.errors import StorageUnavailable
from bursar.ledger.sqlite import SQLiteStore
from store_contract import add, create
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = SQLiteStore(sys.argv[1])
create(store)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
last, refused = 1, 0
while refused < 10 and last < 20_000:
    try:
        last = add(store, count=20)
        refused = 0
    except StorageUnavailable:
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(refused, last, add(store))
"""


@pytest.mark.parametrize("limit", [200_000, 1_000_003])
def test_a_full_disk_fails_closed_and_goes_on_with_space(path, limit):
    refused, last, after = map(int, run(FULL, path, limit).split())
    assert refused == 10
    assert 1 < last < 20_000
    assert after in (last + 1, last + 21)  # a commit that could not be synced may have landed
    store = SQLiteStore(path)
    assert verify(store, "ads") == after
    store.close()
