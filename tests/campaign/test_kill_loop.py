"""Clients killed by kill -9 at any moment lose nothing that was acknowledged, and never overspend.

A thousand kills: ``python tests/kill_loop.py --kills 1000``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import kill_loop
import pytest
from extent import extent

from bursar.campaign import Campaign
from bursar.ledger import Event
from bursar.ledger.store import CampaignTotals


def run(url: str, kills: int, pause: float) -> dict[str, Any]:
    """Run the loop in a process of its own, which forks: pytest has threads, and must not."""
    words = ["--kills", str(kills), "--pause", str(pause), "--storage", url, "--seed", "5"]
    done = subprocess.run(
        [sys.executable, kill_loop.__file__, *words],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


def test_hundreds_of_kills_on_sqlite(tmp_path: Path) -> None:
    kills = extent(40, 200)
    seen = run(f"sqlite:///{tmp_path}/spend.db", kills, 0.05)
    assert seen["kills"] == kills
    assert seen["acknowledged"] > kills  # they did work between the kills
    assert seen["unanswered"] > kills // 10  # and were killed in the middle of it
    assert seen["lapsed"] > 0


def test_kills_on_postgres(database: str) -> None:
    kills = extent(20, 50)
    seen = run(database, kills, 0.1)
    assert seen["acknowledged"] > kills
    assert seen["unanswered"] > kills // 10


class Sample:
    """A history and a log of three asks and a tell, which the checker finds right."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder}/spend.db"
        self.campaign = Campaign(
            kill_loop.NAME, "0.15", {"a": "0.05", "b": "0.20"}, exponent=2, storage=self.url
        )
        self.lines: list[dict[str, Any]] = []
        for number in range(3):
            got = self.campaign.ask(id=f"d{number}")
            one = {"id": got.id, "arm": got.arm, "hold": 5, "seq": got.seq}
            self.note(f"c{number}", {"op": "ask", "id": got.id}, {"granted": [one]})
        self.campaign.tell("d0", cost="0.03", reward=0.5)
        told = {"op": "tell", "id": "d0", "cost": 3, "reward": 0.5}
        self.note("c3", told, {"replayed": False})

    def note(self, call: str, what: dict[str, Any], answer: dict[str, Any]) -> None:
        at = 100 * len(self.lines)
        self.lines.append({"kind": "invoke", "call": call, "t": at} | what)
        self.lines.append({"kind": "ack", "call": call, "t": at + 50} | what | answer)

    def check(self) -> dict[str, int]:
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        (self.folder / "0.jsonl").write_text(text + '{"kind": "inv')  # cut off
        return kill_loop.checked(self.url, self.folder)


def test_checker_takes_what_is_right(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.note("c4", {"op": "ask", "id": "d9"}, {"refused": True})  # 2 of 15 left
    assert sample.check()["acknowledged"] == 5


def test_checker_takes_a_refusal_beside_the_last_ask(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.campaign.set_budget("0.18")
    sample.campaign.tell("d1", cost="0.01", reward=0.5)
    told = {"op": "tell", "id": "d1", "cost": 1, "reward": 0.5}
    sample.note("c4", told, {"replayed": False})
    got = sample.campaign.ask(id="d3")  # 9 were left for it, and 4 after it
    one = {"id": got.id, "arm": got.arm, "hold": 5, "seq": got.seq}
    sample.note("c5", {"op": "ask", "id": "d3"}, {"granted": [one]})
    sample.note("c6", {"op": "ask", "id": "d4"}, {"refused": True})
    sample.lines[-2]["t"], sample.lines[-1]["t"] = 1010, 1040  # while the other waited
    assert sample.check()["acknowledged"] == 7


def test_checker_sees_a_lost_ask(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    lost = {"id": "d7", "arm": "a", "hold": 5, "seq": 6}
    sample.note("c4", {"op": "ask", "id": "d7"}, {"granted": [lost]})
    with pytest.raises(ValueError, match="not enough values"):
        sample.check()


def test_checker_sees_a_lost_outcome(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    told = {"op": "tell", "id": "d1", "cost": 2, "reward": 0.5}
    sample.note("c4", told, {"replayed": False})
    with pytest.raises(AssertionError):
        sample.check()


def test_checker_sees_another_cost(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.lines[6]["cost"] = sample.lines[7]["cost"] = 4
    with pytest.raises(AssertionError):
        sample.check()


def test_checker_sees_swapped_order(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.lines[0]["t"], sample.lines[1]["t"] = 2000, 2050  # the first ask came last, they say
    with pytest.raises(AssertionError, match="was answered before event 2 was asked for"):
        sample.check()


def test_checker_sees_a_refusal_for_no_reason(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    sample.campaign.set_budget("10")
    sample.campaign.tell("d1", cost="0.01", reward=0.5)
    told = {"op": "tell", "id": "d1", "cost": 1, "reward": 0.5}
    sample.note("c4", told, {"replayed": False})
    sample.note("c5", {"op": "ask", "id": "d9"}, {"refused": True})
    with pytest.raises(AssertionError, match="refused for no reason"):
        sample.check()


def test_checker_sees_overspending(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    with sample.campaign.store.open_writer(kill_loop.NAME) as writer:
        (asked,) = writer.decision_events("d1")
        seq, ts, _ = writer.head
        twice = Event(seq + 1, ts + 1, "asked", "d5", asked.body)
        writer.append([twice], CampaignTotals("active", 15, 3, 15, granted=False))
    with pytest.raises(AssertionError, match="overspent at event 6"):
        sample.check()
