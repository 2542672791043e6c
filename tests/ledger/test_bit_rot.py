"""Flipped bits in a ledger: found, named, and never a traceback."""

from __future__ import annotations

import random
import sqlite3

import psycopg
import pytest
from extent import extent
from typer.testing import CliRunner

from bursar import Campaign
from bursar.cli.campaign import app
from bursar.errors import BursarError, CorruptLedger
from bursar.ledger.sqlite import SQLiteStore


@pytest.fixture
def path(tmp_path):
    """A ledger with 22 events of two campaigns, closed."""
    path = tmp_path / "a.db"
    store = SQLiteStore(f"sqlite:///{path}")
    for name in ("ads", "llm"):
        campaign = Campaign(name, "10.00", {"small": "0.10"}, storage=store)
        for number in range(5):
            campaign.tell(campaign.ask(id=f"d{number}", context={"ä": "ö"}), "0.05", 0.5)
    store.close()
    return path


def damage(path, change, *values):
    """Change a closed ledger behind its back."""
    connection = sqlite3.connect(path)
    connection.execute(f"UPDATE event SET {change}", values)
    connection.commit()
    connection.close()


def bursar(path, *words):
    done = CliRunner().invoke(app, list(words), env={"BURSAR_STORAGE": f"sqlite:///{path}"})
    assert done.exception is None or isinstance(done.exception, BursarError | SystemExit), words
    return done


WHERE = "WHERE seq = 4 AND campaign = (SELECT id FROM campaign WHERE name = 'llm')"
DAMAGES = {
    "a body that is not UTF-8": "body = CAST(x'7b2261223a2280227d' AS TEXT)",
    "a body that is not JSON": "body = '{\"arm\": 0'",
    "a body that is no object": "body = '[1]'",
    "a body with another number": "body = replace(body, '100000', '100001')",
    "a body that is a huge number": "body = '1e999'",
    "an id that is not UTF-8": "decision = CAST(x'64ff' AS TEXT)",
    "a kind that is not UTF-8": "kind = CAST(x'61ff' AS TEXT)",
    "a kind that is unknown": "kind = 'askee'",
    "another time": "ts = ts + 1",
    "a time before the last": "ts = 5",
    "a hash that is empty": "hash = x''",
}


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_13_8_damage_is_named_with_its_event(path, change):
    damage(path, f"{change} {WHERE}")
    for words in (("verify", "llm"), ("show", "llm"), ("ask", "llm"), ("events", "llm")):
        done = bursar(path, *words)
        if words[0] in ("verify", "show", "ask"):
            assert isinstance(done.exception, CorruptLedger), words
            assert "event 4 " in str(done.exception)
    done = bursar(path, "verify")  # of all: the others are verified
    assert done.exit_code == 2
    assert "ads: 11 events verified" in done.output
    assert "error: llm cannot be verified: event 4 " in done.output
    done = bursar(path, "list")
    assert done.exit_code == 2
    assert "error: llm cannot be read: event 4 " in done.output
    assert "ads   active" in done.output
    with pytest.raises(CorruptLedger, match="event 4 "):
        SQLiteStore(f"sqlite:///{path}").backup(path.with_name("copy.db"))


@pytest.mark.parametrize("change", DAMAGES.values(), ids=DAMAGES)
def test_13_8_damage_under_a_snapshot_is_found_by_verify(path, change, monkeypatch):
    monkeypatch.setattr("bursar.campaign.committer.SNAPSHOT_EVERY", 1)
    store = SQLiteStore(f"sqlite:///{path}")
    Campaign("llm", storage=store).ask()
    store.close()
    damage(path, f"{change} {WHERE}")
    campaign = Campaign("llm", storage=f"sqlite:///{path}")
    assert campaign.ask().arm  # the snapshot has what the event did
    with pytest.raises(CorruptLedger, match="event 4 "):
        campaign.verify()
    assert "the log is damaged: event 4" in campaign.alarms[0]
    if "replace" not in change and "ts" not in change and "hash" not in change:
        with pytest.raises(BursarError, match="event 4 "):  # what is readable is read
            list(campaign.events(2))
    campaign.close()


def test_13_8_damage_in_postgresql_is_named_with_its_event(database):
    campaign = Campaign("llm", "10.00", {"small": "0.10"}, storage=database)
    campaign.ask(id="p", context={"a": 1})
    campaign.ask()
    for body in ('{"arm": 0', "[1]", '{"arm": 0}'):
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("UPDATE bursar.event SET body = %s WHERE seq = 2", (body,))
        with pytest.raises(CorruptLedger, match="event 2 "):
            campaign.verify()
        with pytest.raises(CorruptLedger, match="event 2 "):
            Campaign("llm", storage=database)
    campaign.close()


def test_13_8_no_flipped_bit_is_a_traceback(path):
    """Every reader meets a random flipped bit with an answer or with an error of bursar."""
    before = path.read_bytes()
    draw = random.Random(13)
    found = 0
    for _ in range(extent(40, 1500)):
        place, bit = draw.randrange(100, len(before)), draw.randrange(8)
        content = bytearray(before)
        content[place] ^= 1 << bit
        path.write_bytes(content)
        for one in path.parent.glob("a.db-*"):
            one.unlink()
        done = bursar(path, "verify")
        found += done.exit_code != 0
        for words in (("events", "llm"), ("show", "llm"), ("explain", "llm", "d1"), ("list",)):
            bursar(path, *words)
    assert found > 0
