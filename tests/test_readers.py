"""What is accepted can be read by all: by the fold, the shell, HTTP, the dashboard and exports.

Contexts, ids, names and texts of any kind are offered to a campaign on every store. Each is refused
as invalid, or every reader can read it.
"""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from urllib.parse import quote

import pytest
from dashboard_site import site
from extent import extent
from hand_clock import live_state
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from bursar import Campaign
from bursar.campaign.export import export_decisions, export_events, stream_events
from bursar.campaign.state import State, decode_snapshot, encode_snapshot
from bursar.cli.campaign import app
from bursar.errors import BursarError, IdempotencyMismatch, InvalidInput, TooLarge
from bursar.service.maintenance import find_violations

NUMBERS = count()


def nested(levels: int, of: object) -> object:
    for level in range(levels):
        of = [of] if level % 2 else {"a": of}
    return of


ODD_TEXTS = [
    "", " ", ".", "..", "a/b", "=1+1", "<script>", "a|b", "a\0b", "\ud800", "\U0001f600", "%2F",
    "%", "-x", "--help", "\u2028", "\u202e", "a\nb", "\x1b[2J", '"', "'", "\\", "\\u0000", "é",
    "{{ x }}", "e\u0301", "x" * 100, "x" * 128, "x" * 129, "x" * 1001, "?#&;", "[red]b[/red]",
    "null", "0",
]  # fmt: skip
texts = st.one_of(
    st.sampled_from(ODD_TEXTS), st.text(st.characters(exclude_categories=()), max_size=20)
)
numbers = st.one_of(
    st.sampled_from([2**53 + 1, 2**63, 2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 10**400]),
    st.integers(),
    st.floats(),
)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
deep = st.builds(nested, st.sampled_from([30, 31, 32, 33, 200, 900]), plain)
contexts = st.none() | st.dictionaries(texts, plain | deep, max_size=4)
asks = st.lists(st.tuples(texts, contexts, texts, st.booleans()), min_size=1, max_size=6)


class Reader:
    """A service with its dashboard, and the shell, on one store."""

    def __init__(self, service, client, url: str, folder: Path) -> None:
        self.service, self.client, self.url, self.folder = service, client, url, folder

    def check_all(self, campaign: Campaign, asked: dict[str, object]) -> None:
        """Read a campaign in every way; ``asked`` are the contexts of its decisions."""
        self.check_log(campaign, asked)
        self.check_exports(campaign)
        self.check_http(campaign, asked)
        self.check_dashboard(campaign, asked)
        if self.url != "memory":
            self.check_shell(campaign, asked)

    def check_log(self, campaign: Campaign, asked: dict[str, object]) -> None:
        events = list(campaign.events())
        state = State(events[0])
        for event in events[1:]:
            state.apply(event)
        content = encode_snapshot(state)
        assert content == encode_snapshot(live_state(campaign))
        assert content == encode_snapshot(decode_snapshot(content))
        assert campaign.verify(choices=True).events == len(events)
        assert find_violations(campaign) == []
        again = Campaign(campaign.name, storage=campaign.store)
        for id, context in asked.items():
            assert again.decision(id).context == context
            assert again.explain(id).verified

    def check_exports(self, campaign: Campaign) -> None:
        for export in (export_decisions, export_events):
            assert export(campaign, self.folder / "a.parquet") > 0
            if any("|" in arm.key for arm in campaign.arms()) and export is export_decisions:
                continue  # refused, with the way out
            assert export(campaign, self.folder / "a.csv") > 0
        for kind in ("jsonl", "csv", "parquet"):
            assert b"".join(stream_events(campaign, kind))

    def check_http(self, campaign: Campaign, asked: dict[str, object]) -> None:
        path = f"/v1/campaigns/{quote(campaign.name, safe='')}"
        for end in ("", "/state", "/arms", "/series", "/forecast", "/export?format=csv"):
            assert self.client.get(path + end).status_code == 200, end
        for end in ("/events", "/audit"):
            assert self.client.get(path + end).json()["events"]
        found = self.client.get(f"{path}/decisions?limit=1000").json()["decisions"]
        assert {one["id"]: one.get("context") for one in found} == asked
        for id in asked:
            one = self.client.get(f"{path}/decisions/{quote(id, safe='')}?why=true")
            assert one.json()["why"]["verified"]
        assert self.client.get("/metrics").status_code == 200

    def check_dashboard(self, campaign: Campaign, asked: dict[str, object]) -> None:
        path = f"/campaigns/{quote(campaign.name, safe='')}"
        ends = ["", "/events", "/events?group=changes", "/ledger", "/budget"]
        ends += [f"/decisions/{quote(id, safe='')}" for id in asked]
        ends += [f"/events?decision={quote(id, safe='')}" for id in asked]
        for end in ends:
            assert self.client.get(path + end).status_code == 200, end
        assert self.client.get("/").status_code == 200

    def check_shell(self, campaign: Campaign, asked: dict[str, object]) -> None:
        for words in (["show"], ["events"], ["arms"]):
            self.run(*words, "--", campaign.name)
        lines = self.run("events", "--json", "--", campaign.name).split("\n")
        logged = [json.loads(line) for line in lines if line]
        kept = {
            one["decision"]: one["body"].get("context") for one in logged if one["kind"] == "asked"
        }
        assert kept == asked
        id = next(iter(asked))
        self.run("explain", "--json", "--", campaign.name, id)
        self.run("ask", "--json", f"--id={id}-again", "--", campaign.name)
        self.run("verify", "--", campaign.name)

    def run(self, *words: str) -> str:
        done = CliRunner().invoke(app, list(words), env={"BURSAR_STORAGE": self.url})
        if words[0] == "ask" and isinstance(done.exception, InvalidInput):
            return ""  # the id is too long now
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.output

    def ask(self, campaign: Campaign, id: str, context: object, over_http: bool) -> object:
        """Ask through one of the doors; return the decision's id, or None if it is refused."""
        if not over_http:
            try:
                return campaign.ask(id=id, context=context).id
            except (InvalidInput, IdempotencyMismatch):
                return None
        body = json.dumps({"id": id, "context": context})
        path = f"/v1/campaigns/{quote(campaign.name, safe='')}/decisions"
        done = self.client.post(path, content=body, headers={"content-type": "application/json"})
        assert done.status_code in (200, 201, 400, 413, 422), done.text
        return done.json()["id"] if done.status_code < 400 else None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def explore(storage: str, folder: Path, examples: int) -> None:
    """Offer odd inputs to campaigns of one service."""
    with site(storage) as (service, client):
        reader = Reader(service, client, storage, folder)

        @settings(
            max_examples=examples,
            phases=[Phase.explicit, Phase.generate],  # to shrink these takes minutes
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        )
        @given(name=texts, key=texts, by=texts, asks=asks)
        def check(name: str, key: str, by: str, asks: list) -> None:
            unique = f"{next(NUMBERS)}{name}"
            campaign = make_campaign(service, unique, key, by)
            assume(campaign is not None)
            asked: dict[str, object] = {}
            for id, context, reason, over_http in asks:
                found = reader.ask(campaign, id, context, over_http)
                if found is None or found in asked:
                    continue
                asked[found] = context
                try:
                    campaign.tell(found, "0.01", 0.5, report=reason)
                    campaign.correct(found, "0.02", reason=reason, by=by)
                except (InvalidInput, TooLarge):
                    pass
            if asked:
                reader.check_all(campaign, asked)

        check()


def make_campaign(service, name: str, key: str, by: str) -> Campaign | None:
    arms = {"plain": "0.10", key: "0.20"}
    try:
        Campaign(name, "1000", arms, storage=service.store, by=by)
    except InvalidInput:
        with pytest.raises(BursarError):
            service.campaign(name)
        try:  # so that the other inputs are looked at, too
            Campaign(name, "1000", {"plain": "0.10"}, storage=service.store)
        except InvalidInput:
            return None
    return service.campaign(name)


def test_13_what_is_accepted_is_read_by_all_in_memory(folder):
    explore("memory", folder, extent(12, 400))


def test_13_what_is_accepted_is_read_by_all_in_sqlite(folder):
    explore(f"sqlite:///{folder / 'a.db'}", folder, extent(5, 200))


def test_13_what_is_accepted_is_read_by_all_in_postgresql(folder, database):
    explore(database, folder, extent(3, 100))
