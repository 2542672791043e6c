"""Keys: what they allow, for how long, and that they cannot be guessed or forged."""

from __future__ import annotations

import json
import string
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bursar.campaign.creation import open_store
from bursar.cli.keys import app as commands
from bursar.errors import BursarError, Forbidden, InvalidInput, Unauthenticated
from bursar.ledger import MemoryStore
from bursar.service.auth import COOKIE, Sessions
from bursar.service.keys import (
    ANYONE,
    SCOPES,
    Key,
    Keys,
    find_descendants,
    new_key,
    new_key_id,
)
from bursar.service.keys import new_token as token_of

HOUR = timedelta(hours=1)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request, tmp_path):
    if request.param == "postgres":
        url = request.getfixturevalue("database")
    else:
        url = "memory" if request.param == "memory" else f"sqlite:///{tmp_path / 'keys.db'}"
    found = open_store(url)
    yield found
    found.close()


@pytest.fixture
def keys():
    return Keys(MemoryStore())


class Clock:
    """The steady clock that caches of keys look at."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr("bursar.service.keys.time.monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


MATRIX = {
    "ask": {"ask"},
    "tell": {"tell"},
    "read": {"read"},
    "admin": {"ask", "tell", "read", "admin"},
    "adjust": {"adjust"},
    "keys": {"keys"},
}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_allows_what_it_says_and_nothing_else(scope):
    key = Key(id="k", scopes=frozenset({scope}))
    assert {one for one in SCOPES if key.allows(one)} == MATRIX[scope]
    assert {one for one in SCOPES if key.allows(one, "llm")} == MATRIX[scope]


def test_a_key_for_one_campaign_is_of_no_use_in_another():
    key = Key(id="k", scopes=frozenset({"admin", "adjust"}), campaigns=frozenset({"llm"}))
    assert all(key.allows(one, "llm") for one in ("ask", "tell", "read", "admin", "adjust"))
    assert not any(key.allows(one, "ads") for one in SCOPES)
    assert not key.allows("keys", "llm")
    assert ANYONE.allows("admin", "anything")


def test_a_token_finds_its_key_in_every_store(store):
    key, token = Keys(store).create(
        ["ask", "tell"], campaigns=["llm"], note="nightly", by="ada",
        expires=datetime(2999, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    assert token.startswith(f"bursar_{key.id}_")
    assert len(token.removeprefix(f"bursar_{key.id}_")) == 43
    found = Keys(store).find(token)  # as another process would
    assert found == key
    assert (found.note, found.by, found.campaigns) == ("nightly", "ada", frozenset({"llm"}))
    assert [one.id for one in Keys(store).list_all()] == [key.id]


def test_no_secret_is_in_the_database(tmp_path):
    store = open_store(f"sqlite:///{tmp_path / 'keys.db'}")
    _, token = Keys(store).create(SCOPES)
    secret = token[-43:]
    kept = b"".join(b"".join(store.records(kind).values()) for kind in ("key", "instance"))
    store.close()
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert kept
    assert secret.encode() not in kept + files
    assert token.encode() not in kept + files


@given(site=st.integers(0, 200), letter=st.sampled_from(string.ascii_letters + string.digits))
def test_a_token_with_one_other_letter_opens_nothing(site, letter):
    keys = Keys(MemoryStore())
    _, token = keys.create(["ask"])
    site %= len(token)
    other = token[:site] + letter + token[site + 1 :]
    assert (keys.find(other) is None) == (other != token)


@given(st.text(max_size=80))
def test_whatever_is_no_token_opens_nothing(text):
    keys = Keys(MemoryStore())
    key, token = keys.create(["ask"])
    for one in (text, f"bursar_{text}", f"bursar_{key.id}_{text}", f"{token}{text}x", token[:-1]):
        assert keys.find(one) is None


def test_a_key_ends_when_it_expires(keys, monkeypatch):
    soon = datetime.now(UTC) + HOUR
    key, token = keys.create(["ask"], expires=soon)
    assert keys.find(token) == key
    assert key.state(soon - HOUR / 2) == "live"

    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return soon

    monkeypatch.setattr("bursar.service.keys.datetime", Later)
    assert keys.find(token) is None
    assert keys.find_by_id(key.id) is None
    assert key.state(soon) == "expired"


def test_a_revoked_key_opens_nothing_and_stays_on_the_list(keys):
    key, token = keys.create(["ask"])
    keys.revoke_family(key.id, by="ada")
    assert keys.find(token) is None
    [kept] = keys.list_all()
    assert (kept.state(), kept.revoked_by) == ("revoked", "ada")
    again = keys.revoke_family(key.id, by="bob")[0]
    assert again.revoked == kept.revoked, "the first revocation stands"


def test_both_keys_live_while_one_is_rotated(keys):
    old, old_token = keys.create(["ask", "tell"], campaigns=["llm"], note="worker")
    new, new_token = keys.rotate(old.id, 3600, by="ada")
    assert keys.find(old_token).id == old.id
    assert keys.find(new_token) == new
    assert (new.scopes, new.campaigns, new.note) == (old.scopes, old.campaigns, "worker")
    assert new.replaces == old.id
    assert keys.get(old.id).state(datetime.now(UTC) + 2 * HOUR) == "expired"
    assert new.is_live(datetime.now(UTC) + 2 * HOUR)


def test_rotation_without_grace_ends_the_old_key_at_once(keys):
    old, old_token = keys.create(["ask"])
    _, new_token = keys.rotate(old.id, 0)
    assert keys.find(old_token) is None
    assert keys.find(new_token) is not None
    with pytest.raises(InvalidInput, match=r"is expired; create a new one"):
        keys.rotate(old.id, 0)


def test_rotation_never_makes_a_key_live_longer(keys):
    end = datetime.now(UTC) + HOUR
    old, _ = keys.create(["ask"], expires=end)
    new, _ = keys.rotate(old.id, 86_400)
    assert keys.get(old.id).expires == end
    assert new.expires == end


def test_what_another_process_did_is_seen(store, clock):
    here, there = Keys(store), Keys(store)
    key, token = there.create(["ask"])
    assert here.find(token) == key, "a key that is not known is looked for"
    there.revoke_family(key.id)
    assert here.find(token) == key, "what is in memory is believed for a minute"
    clock.now += 61
    assert here.find(token) is None
    _, second = there.create(["ask"])
    assert here.find(second) is not None, "at once, however new what is in memory is"
    assert here.find(token_of(new_key_id())) is None
    _, third = there.create(["ask"])
    assert here.find(third) is None, "at most one vain look a second"
    assert here.find(second) is not None
    clock.now += 2
    assert here.find(third) is not None


def test_the_first_key_is_made_once_by_one_process(store):
    one, other = Keys(store), Keys(store)
    assert one.is_empty()
    assert other.is_empty()
    made = [keys.create_first() for keys in (one, other, one)]
    assert [found is not None for found in made] == [True, False, False]
    key, token = made[0]
    assert other.find(token) == key
    assert all(key.allows(scope) for scope in SCOPES)


# issue 13, point 3: a thief who rotates a stolen key while it is being revoked

THIEF = """
import sys
from bursar.campaign.creation import open_store
from bursar.errors import BursarError
from bursar.service.keys import Keys

keys, id = Keys(open_store(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
try:
    while True:
        id = keys.rotate(id, 3600, by=id)[0].id
except BursarError as error:
    print(error, flush=True)
"""


def steal(keys, id, tokens):
    """Rotate a key, and create others with it, until that is refused."""
    try:
        while True:
            _, token = keys.create(["keys"], by=id)
            tokens.append(token)
            key, token = keys.rotate(id, 3600, by=id)
            tokens.append(token)
            id = key.id
    except BursarError:
        return


def test_13_3_a_revocation_is_never_undone(store):
    owner = Keys(store)
    for _ in range(5):
        stolen, token = owner.create(["keys"])
        thieves = [Keys(store), owner, Keys(store)]
        tokens = [token]
        threads = [threading.Thread(target=steal, args=(one, stolen.id, tokens)) for one in thieves]
        for thread in threads:
            thread.start()
        while len(tokens) < 8:
            time.sleep(0.001)
        owner.revoke_family(stolen.id)
        for thread in threads:
            thread.join(60.0)
            assert not thread.is_alive()
        assert {key.state() for key in owner.list_all()} == {"revoked"}
        assert not any(map(owner.find, tokens))
        assert not any(map(Keys(store).find, tokens))
        assert owner.get(stolen.id).revoked is not None


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_13_3_a_revocation_is_not_undone_by_another_process(kind, tmp_path, request):
    url = f"sqlite:///{tmp_path / 'keys.db'}"
    if kind == "postgres":
        url = request.getfixturevalue("database")
    store = open_store(url)
    keys = Keys(store)
    stolen, _ = keys.create(["keys"])
    words = [sys.executable, "-c", THIEF, url, stolen.id]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as thief:
        assert thief.stdout.readline() == "ready\n"
        while len(keys.list_all()) < 4:
            time.sleep(0.005)
        ended = keys.revoke_family(stolen.id, by="ada")
        assert "is revoked" in thief.stdout.readline()
    assert len(ended) >= 4
    assert {(key.state(), key.revoked_by) for key in keys.list_all()} == {("revoked", "ada")}
    store.close()


def test_13_3_what_another_process_revoked_is_neither_rotated_nor_restored(store):
    here, there = Keys(store), Keys(store)
    key, token = here.create(["ask"])
    assert here.find(token) == key
    revoked = there.revoke_family(key.id, by="ada")[0].revoked
    with pytest.raises(InvalidInput, match="is revoked; create a new one"):
        here.rotate(key.id, 3600)
    assert here.find(token) is None, "a failed change reads the keys again"
    again = here.revoke_family(key.id, by="bob")[0]
    assert (again.revoked, again.revoked_by) == (revoked, "ada")
    assert len(here.list_all()) == 1


def test_13_3_a_revoked_key_manages_nothing_where_it_is_still_trusted(store):
    here, there = Keys(store), Keys(store)
    thief, token = here.create(["keys", "read"])
    victim, _ = here.create(["read"])
    assert here.find(token) == thief
    there.revoke_family(thief.id)
    assert here.match(token) == thief, "within the minute"
    for change in (
        lambda: here.create(["read"], by=thief.id),
        lambda: here.rotate(victim.id, 0, by=thief.id),
        lambda: here.revoke_family(victim.id, by=thief.id),
    ):
        with pytest.raises(Unauthenticated, match="is revoked; use another one"):
            change()
    assert here.get(victim.id) == victim
    assert len(here.list_all()) == 2


def test_13_3_revoking_a_key_ends_its_descendants(keys):
    root, _ = keys.create(["keys", "read"])
    other, other_token = keys.create(["read"], by="ada")
    second, _ = keys.rotate(root.id, 3600, by="ada")
    third, token = keys.rotate(second.id, 0, by="ada")
    made, _ = keys.create(["read"], by=third.id)
    taken, _ = keys.rotate(other.id, 3600, by=made.id)
    family = {one.id for one in (root, second, third, made, taken)}
    assert {one.id for one in find_descendants(root.id, keys.list_all())} == family - {root.id}
    ended = keys.revoke_family(root.id, by="ada")
    assert ended[0].id == root.id
    assert {one.id for one in ended} == family
    assert keys.find(token) is None
    assert keys.find(other_token) is not None
    assert keys.revoke_family(root.id) == [keys.get(root.id)], "nothing is left to end"


def test_13_3_only_one_key_is_revoked_if_that_is_wanted(keys):
    old, old_token = keys.create(["ask"])
    new, new_token = keys.rotate(old.id, 3600)
    keys.revoke_family(old.id, only=True)
    assert keys.find(old_token) is None
    assert keys.find(new_token).id == new.id
    keys.revoke_family(old.id)
    assert keys.find(new_token) is None, "later they can be ended, too"


def test_13_3_a_limited_key_does_not_end_keys_with_more_rights(keys):
    soon = datetime.now(UTC) + 2 * HOUR
    user, _ = keys.create(["keys", "ask"], expires=soon)
    old, _ = keys.create(["ask"])
    new, token = keys.rotate(old.id, 3600)  # so that the old one ends before the user does
    with pytest.raises(Forbidden, match="only=true"):
        keys.revoke_family(old.id, user.id, user=user)
    assert keys.find(token) is not None
    assert keys.get(old.id).revoked is None
    keys.revoke_family(old.id, user.id, user=user, only=True)
    assert keys.get(old.id).state() == "revoked"
    assert keys.get(new.id).state() == "live"


COVERS = [
    ({"scopes": SCOPES}, {"scopes": SCOPES}, True),
    ({"scopes": ["keys"]}, {"scopes": ["admin"]}, False),
    ({"scopes": ["keys", "admin"]}, {"scopes": ["ask", "read"]}, True),
    ({"scopes": ["keys", "ask"]}, {"scopes": ["ask"], "campaigns": ["llm"]}, True),
    ({"scopes": ["keys", "ask"], "campaigns": ["llm"]}, {"scopes": ["ask"]}, False),
    (
        {"scopes": ["keys", "ask"], "campaigns": ["llm"]},
        {"scopes": ["ask"], "campaigns": ["llm", "ads"]},
        False,
    ),
    (
        {"scopes": ["keys"], "expires": datetime(2990, 1, 1, tzinfo=UTC)},
        {"scopes": ["keys"]},
        False,
    ),
    (
        {"scopes": ["keys"], "expires": datetime(2990, 1, 1, tzinfo=UTC)},
        {"scopes": ["keys"], "expires": datetime(2989, 1, 1, tzinfo=UTC)},
        True,
    ),
]


@pytest.mark.parametrize(("mine", "other", "may"), COVERS)
def test_a_key_manages_only_keys_with_no_more_rights(mine, other, may):
    assert new_key(**mine).covers(new_key(**other)) is may


WRONG = [
    ({"scopes": []}, "scopes must name at least one, got none"),
    ({"scopes": "ask"}, "scopes must be a list of names, got 'ask'"),
    ({"scopes": ["asks"]}, "no scope 'asks'; did you mean 'ask'?"),
    ({"scopes": ["ask"], "campaigns": []}, "campaigns must name at least one, got none"),
    ({"scopes": ["ask"], "expires": datetime(2999, 1, 1)}, "expires must have a time zone"),
    ({"scopes": ["ask"], "expires": datetime(1999, 1, 1, tzinfo=UTC)}, "expires must be later"),
    ({"scopes": ["ask"], "note": "x" * 2000}, "note must be text"),
]


@pytest.mark.parametrize(("given_", "said"), WRONG)
def test_a_key_that_makes_no_sense_is_refused(keys, given_, said):
    with pytest.raises(InvalidInput) as error:
        keys.create(**given_)
    assert said in str(error.value)
    assert keys.is_empty()


# sessions


def cookie(sessions, key):
    return sessions.start(key).partition(";")[0].partition("=")[2]


def test_a_session_is_its_keys(keys):
    store = MemoryStore()
    keys = Keys(store)
    key, _ = keys.create(["read"])
    value = cookie(Sessions(store, keys), key)
    found = Sessions(store, Keys(store)).find(value)  # another process of the same store
    assert found.key == key
    assert found.csrf
    other = Sessions(store, keys).find(cookie(Sessions(store, keys), key))
    assert other.csrf != found.csrf, "each session has a token of its own"
    keys.revoke_family(key.id)
    assert Sessions(store, keys).find(value) is None


def test_13_low_a_copied_cookie_is_of_no_use_after_the_logout(store, monkeypatch):
    keys = Keys(store)
    key, _ = keys.create(["read"])
    here, there = Sessions(store, keys), Sessions(store, Keys(store))
    value, other = cookie(here, key), cookie(here, key)
    session = there.find(value)
    assert session.key == key
    assert "Max-Age=0" in here.end(session.id)
    assert here.find(value) is there.find(value) is None
    assert there.has_ended(session.id)
    assert here.find(other) is not None, "another session of the same key goes on"
    assert len(store.records("ended-session")) == 1
    later = time.time() + 13 * 3600
    monkeypatch.setattr("bursar.service.auth.time.time", lambda: later)
    there.end(there.find(cookie(here, key)).id)
    assert len(store.records("ended-session")) == 1, "those that are over are forgotten"


def test_the_cookie_is_strict():
    store = MemoryStore()
    keys = Keys(store)
    key, token = keys.create(["read"])
    header = Sessions(store, keys, secure=True).start(key)
    for flag in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/", "Max-Age=43200"):
        assert f"; {flag}" in header
    assert header.startswith(f"{COOKIE}=")
    assert token[-43:] not in header
    assert "; Secure" not in Sessions(store, keys).start(key)
    assert "Max-Age=0" in Sessions(store, keys).end()


@given(site=st.integers(0, 400), letter=st.sampled_from(string.ascii_letters + string.digits))
def test_a_cookie_with_one_other_letter_is_not_accepted(site, letter):
    store = MemoryStore()
    keys = Keys(store)
    key, _ = keys.create(["read"])
    sessions = Sessions(store, keys)
    value = cookie(sessions, key)
    site %= len(value)
    other = value[:site] + letter + value[site + 1 :]
    assert (sessions.find(other) is None) == (other != value)


@pytest.mark.parametrize("value", ["", ".", "a.b.c.d", "é.1.x.y", "x" * 10_000, "k.9999999999.n."])
def test_what_is_no_cookie_of_ours_is_not_accepted(value):
    store = MemoryStore()
    assert Sessions(store, Keys(store)).find(value) is None


def test_a_cookie_of_another_instance_is_not_accepted():
    here, there = MemoryStore(), MemoryStore()
    key, _ = Keys(there).create(["read"])
    here.put_record("key", key.id, there.records("key")[key.id])
    value = cookie(Sessions(there, Keys(there)), key)
    assert Sessions(here, Keys(here)).find(value) is None


def test_a_session_ends_by_itself(keys, monkeypatch):
    store = MemoryStore()
    keys = Keys(store)
    key, _ = keys.create(["read"])
    sessions = Sessions(store, keys)
    value = cookie(sessions, key)
    assert sessions.find(value) is not None
    later = datetime.now(UTC).timestamp() + 13 * 3600
    monkeypatch.setattr("bursar.service.auth.time.time", lambda: later)
    assert sessions.find(value) is None


# from the shell


@pytest.fixture
def shell(tmp_path):
    env = {"BURSAR_STORAGE": f"sqlite:///{tmp_path / 'spend.db'}", "USER": "ada"}

    def run(*words, code=0):
        done = CliRunner().invoke(commands, [*words], env=env)
        found = 2 if isinstance(done.exception, BursarError) else done.exit_code
        assert found == code, done.output
        return str(done.exception) if isinstance(done.exception, BursarError) else done.stdout

    run.storage = env["BURSAR_STORAGE"]
    return run


def test_commands_make_list_rotate_and_revoke(shell):
    token = shell("create", "--scope", "ask", "--scope", "tell", "--note", "worker").strip()
    store = open_store(shell.storage)
    keys = Keys(store)
    key = keys.find(token)
    assert key.scopes == {"ask", "tell"}
    assert key.by == "ada"
    made = json.loads(shell("rotate", key.id, "--grace", "2h", "--json"))
    assert made["replaces"] == key.id
    rows = json.loads(shell("list", "--json"))
    assert [row["state"] for row in rows] == ["live", "live"]
    assert shell("revoke", key.id, "--only") == f"{key.id} is revoked\n"
    assert [row["state"] for row in json.loads(shell("list", "--json"))] == ["revoked", "live"]
    assert shell("revoke", key.id) == f"{key.id} is revoked, and with it {made['id']}\n"
    assert [row["state"] for row in json.loads(shell("list", "--json"))] == ["revoked", "revoked"]
    table = shell("list")
    assert "worker" in table
    assert token not in table + json.dumps(rows)
    store.close()


def test_all_scopes_some_campaigns_and_an_end(shell):
    made = json.loads(shell("create", "--scope", "all", "--json"))
    assert made["scopes"] == list(SCOPES)
    made = json.loads(
        shell("create", "--scope", "ask", "--campaign", "llm", "--expires", "90d", "--json")
    )
    assert made["campaigns"] == ["llm"]
    left = datetime.fromisoformat(made["expires"]) - datetime.now(UTC)
    assert timedelta(days=89) < left <= timedelta(days=90)


def test_commands_say_what_is_wrong(shell):
    assert "no scope 'asj'; did you mean 'ask'?" in shell("create", "--scope", "asj", code=2)
    said = shell("create", "--scope", "ask", "--expires", "soon", code=2)
    assert "a time span must be a number and s, m, h or d, as in 90d, got 'soon'" in said
    shell("create", "--scope", "ask")
    assert "no key 'nobody'" in shell("revoke", "nobody", code=2)
