"""``bursar campaign …`` as shells use it: every command, its JSON, its exit codes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from decimal import Decimal

import pytest
from pyarrow import parquet
from typer.main import get_command
from typer.testing import CliRunner

import bursar
from bursar.cli.campaign import app
from bursar.errors import BursarError
from bursar.replay import read_log


class Shell:
    """Commands on one ledger."""

    def __init__(self, folder):
        self.folder = folder
        self.storage = f"sqlite:///{folder / 'spend.db'}"

    def run(self, *words, code=0):
        """Return what a command prints; what main() makes of errors is made here, too."""
        env = {"BURSAR_STORAGE": self.storage, "USER": "ada", "COLUMNS": "200"}
        done = CliRunner().invoke(app, [str(word) for word in words], env=env)
        found = 2 if isinstance(done.exception, BursarError) else done.exit_code
        text = str(done.exception) if isinstance(done.exception, BursarError) else done.output
        assert found == code, f"{words}: {found} {text} {done.exception!r}"
        return text

    def json(self, *words):
        return json.loads(self.run(*words, "--json"))

    def process(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "bursar", "campaign", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "BURSAR_STORAGE": self.storage, "PYTHONUTF8": "1"},
        )

    def create(self, *more, budget="1.00"):
        arms = ("--arm", "small=0.004", "--arm", "large=0.05")
        return self.json("create", "llm", "--budget", budget, *arms, *more)


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


def test_create_again_changes_nothing_and_differently_is_refused(shell):
    made = shell.create("--currency", "EUR", "--cap", "day=0.50", "--cap", "arm:large=0.20")
    assert made["state"] == "active"
    assert (made["budget"], made["spent"], made["available"]) == (
        "1.000000",
        "0.000000",
        "1.000000",
    )
    assert made["caps"] == {"day": "0.500000", "arm:large": "0.200000"}
    assert made["arms"]["large"] == {"state": "active", "max_cost": "0.050000"}
    assert made["rules"]["policy"] == "sf-omega-ucb"
    again = shell.create("--currency", "EUR", "--cap", "day=0.50", "--cap", "arm:large=0.20")
    assert again == made
    said = shell.run("create", "llm", "--budget", "2", "--arm", "small=0.004", code=2)
    assert "a campaign named 'llm' already exists with a different" in said


def test_a_round_trip_for_a_shell_and_as_json(shell):
    shell.create()
    decision, arm, hold = shell.run("ask", "llm").rstrip("\n").split("\t")
    assert (arm, hold) in (("small", "0.004000"), ("large", "0.050000"))
    assert shell.json("show", "llm")["held"] == hold
    said = shell.run("tell", "llm", decision, "--cost", "0.0031", "--reward", "0.8")
    assert said == f"{decision}\t{arm}\tsettled for 0.003100, reward observed 0.8\n"
    told = shell.json("tell", "llm", decision, "--cost", "0.0031", "--reward", "0.8")
    assert told["replayed"] is True
    assert (told["cost"], told["reward"], told["money"]) == ("0.003100", 0.8, "settled")
    shown = shell.json("show", "llm")
    assert (shown["spent"], shown["held"], shown["open"]) == ("0.003100", "0.000000", 0)
    asked = shell.json("ask", "llm")
    assert set(asked) == {
        "id", "arm", "hold", "expires_at", "propensity", "constrained", "replayed", "money",
        "reward_state", "cost", "reward", "seq",
    }  # fmt: skip
    assert asked["expires_at"].endswith("+00:00")


def test_cost_now_and_reward_later_are_two_tells(shell):
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    assert shell.json("tell", "llm", decision, "--cost", "0.003")["reward_state"] == "pending"
    assert shell.json("show", "llm")["open"] == 1
    assert shell.json("tell", "llm", decision, "--reward", "1")["reward_state"] == "observed"
    assert shell.json("show", "llm")["open"] == 0


def test_own_ids_batches_and_subsets(shell):
    shell.create()
    first, again = (shell.json("ask", "llm", "--id", "request-17") for _ in range(2))
    assert (first["replayed"], again["replayed"]) == (False, True)
    assert (first["arm"], first["hold"]) == (again["arm"], again["hold"])
    batch = shell.json("ask", "llm", "--n", "5", "--among", "large")
    assert [one["arm"] for one in batch] == ["large"] * 5
    assert len(shell.run("ask", "llm", "--n", "3").splitlines()) == 3
    assert "not both" in shell.run("ask", "llm", "--n", "2", "--id", "x", code=2)
    assert "no arm 'lagre'; did you mean 'large'?" in shell.run(
        "ask", "llm", "--among", "lagre", code=2
    )


def test_nothing_left_is_exit_code_3(shell):
    shell.create(budget="0.010")
    *granted, warning = shell.run("ask", "llm", "--n", "10").splitlines()
    assert len(granted) == 2  # what fits is granted
    assert warning.startswith("warning: 2 of 10 were granted: Budget exhausted: the cheapest arm")
    said = shell.run("ask", "llm", code=3)
    assert said.startswith("error: Budget exhausted: the cheapest arm, 'small', needs 0.004")
    assert said.count("\n") == 1
    assert "Exit code 3" in shell.run("ask", "--help")


@pytest.mark.parametrize("cost", ["NaN", "inf", "-1", "1e400", "0.00000001", "1_000", "a", ""])
def test_malformed_money_changes_nothing(shell, cost):
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    before = shell.json("show", "llm")
    assert "cost" in shell.run("tell", "llm", decision, "--cost", cost, code=2)
    assert shell.json("show", "llm") == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--budget", "x", "--arm", "a=1"), "budget must be an amount"),
        (("--budget", "1", "--arm", "a"), "--arm must be of the form KEY=AMOUNT, got 'a'"),
        (("--budget", "1", "--arm", "a=1", "--arm", "a=2"), "--arm has 'a' twice"),
        (("--budget", "1", "--arm", "a=0"), "must be above 0"),
        (("--budget", "1", "--arm", "a=1", "--cap", "week=1"), "a cap is for 'day' or 'arm:KEY'"),
        (("--budget", "1", "--arm", "a=1", "--reward-range", "1"), "--reward-range must be two"),
        (("--budget", "1", "--arm", "a=1", "--policy", "omega-ubc"), "did you mean 'omega-ucb'?"),
    ],
)
def test_what_cannot_be_is_refused_in_words(shell, words, message):
    shell.json("create", "other", "--budget", "5", "--arm", "a=1")
    assert message in shell.run("create", "llm", *words, code=2)
    assert [row["name"] for row in shell.json("list")] == ["other"]


def test_rounding_is_asked_for(shell):
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    words = ("tell", "llm", decision, "--cost", "0.00310001")
    assert "more than 6 decimals" in shell.run(*words, code=2)
    assert shell.json(*words, "--rounding", "up")["cost"] == "0.003101"


def test_void_confirm_correct(shell):
    shell.create("--ask-ttl", "60")
    one, two = (one["id"] for one in shell.json("ask", "llm", "--n", "2"))
    assert shell.json("void", "llm", one, "--reason", "no need")["money"] == "voided"
    assert shell.json("confirm", "llm", two)["money"] == "confirmed"
    shell.run("tell", "llm", two, "--cost", "0.003", "--reward", "0.2")
    said = shell.run("tell", "llm", two, "--cost", "0.004", code=2)
    assert "a correction can change it" in said
    fixed = shell.json("correct", "llm", two, "--cost", "0.002", "--reason", "invoice")
    assert fixed["cost"] == "0.002000"
    assert shell.json("show", "llm")["spent"] == "0.002000"
    reasons = [json.loads(x)["body"].get("reason") for x in events(shell, "voided", "corrected")]
    assert reasons == ["no need", "invoice"]


def events(shell, *kinds):
    options = [word for kind in kinds for word in ("--kind", kind)]
    return shell.run("events", "llm", "--json", *options).splitlines()


def test_arms_live(shell):
    shell.create()
    shell.run("arm", "add", "llm", "medium", "0.02")
    shell.run("arm", "pause", "llm", "small", "--reason", "slow")
    shell.run("arm", "retire", "llm", "large")
    states = {key: arm["state"] for key, arm in shell.json("show", "llm")["arms"].items()}
    assert states == {"small": "paused", "large": "retired", "medium": "active"}
    assert {one["arm"] for one in shell.json("ask", "llm", "--n", "5")} == {"medium"}
    shell.run("arm", "resume", "llm", "small")
    assert "keys are never used again" in shell.run("arm", "add", "llm", "large", "1", code=2)
    rows = shell.json("arms", "llm")
    assert [row["key"] for row in rows] == ["small", "large", "medium"]
    assert rows[2]["max_cost"] == "0.020000"
    assert "medium" in shell.run("arms", "llm")
    assert json.loads(events(shell, "arm-paused")[0])["body"]["by"] == "ada"  # from $USER


def test_budget_and_caps_live(shell):
    version = shell.create()["version"]
    assert shell.json("budget", "llm", "2.00", "--if-version", version)["budget"] == "2.000000"
    assert "look again" in shell.run("budget", "llm", "3.00", "--if-version", version, code=2)
    assert shell.json("cap", "llm", "day", "0.004")["caps"] == {"day": "0.004000"}
    assert shell.json("ask", "llm")["constrained"] is True
    shell.run("ask", "llm", code=3)
    assert shell.json("cap", "llm", "day", "none")["caps"] == {}
    shell.run("ask", "llm")
    assert shell.json("budget", "llm", "0.001")["state"] == "overdrawn"
    assert "a cap is for" in shell.run("cap", "llm", "week", "1", code=2)


def test_pause_resume_close(shell):
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    assert shell.json("pause", "llm")["state"] == "paused"
    assert "is paused; resume it first" in shell.run("ask", "llm", code=2)
    shell.run("tell", "llm", decision, "--cost", "0.003", "--reward", "1")
    assert shell.json("resume", "llm")["state"] == "active"
    assert shell.json("close", "llm")["state"] == "closed"
    assert "is closed" in shell.run("ask", "llm", code=2)
    assert "cannot be resumed now" in shell.run("resume", "llm", code=2)


def test_list_and_names_typed_wrongly(shell):
    assert "create a campaign first" in shell.run("list", code=2)
    assert not (shell.folder / "spend.db").exists()  # looking makes no ledger
    shell.create()
    shell.json("create", "other", "--budget", "5", "--arm", "a=1")
    assert [row["name"] for row in shell.json("list")] == ["llm", "other"]
    assert "llm" in shell.run("list")
    assert "did you mean 'llm'?" in shell.run("show", "lml", code=2)
    assert "would be lost when the command ends" in shell.run("list", "--storage", "memory", code=2)
    assert "sqlite:///file.db" in shell.run("list", "--storage", "mysql://x", code=2)


def test_without_storage_the_ledger_is_in_the_data_folder(tmp_path):
    done = CliRunner().invoke(
        app,
        ["create", "llm", "--budget", "1", "--arm", "a=1", "--json"],
        env={"BURSAR_STORAGE": None, "BURSAR_DATA": str(tmp_path / "data")},
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "data" / "campaigns.db").is_file()


def test_explain_forecast_verify_expire(shell):
    shell.create()
    for cost in ("0.002", "0.003", "0.002"):
        decision = shell.json("ask", "llm")["id"]
        shell.run("tell", "llm", decision, "--cost", cost, "--reward", "0.7")
    why = shell.json("explain", "llm", decision)
    assert why["decision"] == decision
    assert why["verified"] is True
    assert {option["arm"]["key"] for option in why["options"]} == {"small", "large"}
    assert shell.run("explain", "llm", decision).startswith(f"{why['arm']} was ")
    assert "has no decision" in shell.run("explain", "llm", "nope", code=2)
    assert isinstance(shell.json("forecast", "llm"), dict)
    assert shell.run("forecast", "llm").strip()
    assert set(shell.json("verify")) == {"llm"}
    assert shell.run("verify", "llm").startswith("llm: ")
    assert shell.json("expire", "llm") == {"ended": 0}


def test_a_ledger_that_was_changed_is_found_out(shell):
    apsw = pytest.importorskip("apsw")
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    shell.run("tell", "llm", decision, "--cost", "0.003", "--reward", "0.7")
    connection = apsw.Connection(str(shell.folder / "spend.db"))
    connection.execute("UPDATE event SET body = replace(body, '3000', '2000') WHERE kind = 'told'")
    connection.close()
    assert "event 3 of 'llm'" in shell.run("verify", "llm", code=2)


def test_events_page(shell):
    shell.create()
    shell.run("ask", "llm", "--n", "3")
    lines = shell.run("events", "llm", "--json").splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["created", "asked", "asked", "asked"]
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]
    rest = shell.run("events", "llm", "--after", "2", "--limit", "1").splitlines()
    assert len(rest) == 1
    assert rest[0].startswith("3\tasked\t")


def test_backup_restore_reconcile(shell):
    shell.create()
    copy = shell.folder / "copy.db"
    assert shell.json("backup", copy)["events"] == 1
    assert "already" in shell.run("backup", copy, code=2)
    decision = shell.json("ask", "llm")["id"]
    shell.run("tell", "llm", decision, "--cost", "0.003", "--reward", "0.7")
    assert "a ledger already exists" in shell.run("restore", copy, code=2)
    done = shell.json("restore", copy, "--replace")
    assert done["campaigns"] == ["llm"]
    assert done["epoch"] == 2
    assert shell.json("show", "llm")["state"] == "unreconciled"
    assert "reconcile it first" in shell.run("ask", "llm", code=2)
    back = shell.json("reconcile", "llm", "0.003")
    assert (back["state"], back["spent"]) == ("active", "0.003000")
    shell.run("ask", "llm")
    for command in ("backup", "restore"):
        said = shell.run(command, copy, "--storage", "postgresql://nobody@127.0.0.1:1/x", code=2)
        assert "use pg_dump" in said


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_is_what_replay_reads(shell, ending):
    shell.create("--explore", "0.5", budget="0.30")
    for reward in (0.2, 0.8, 0.5, 0.1, 0.9):
        one = shell.json("ask", "llm")
        shell.run("tell", "llm", one["id"], "--cost", "0.003", "--reward", reward)
    unused = shell.json("ask", "llm")["id"]
    shell.run("void", "llm", unused)
    few = shell.json("ask", "llm", "--among", "small")
    shell.run("tell", "llm", few["id"], "--cost", "0.002", "--reward", "1")
    target = shell.folder / f"log.{ending}"
    assert shell.json("export", "llm", target)["rows"] == 7
    log = read_log(target)
    assert len(log) == 6  # all but the voided one
    assert set(log.arms) == {"small", "large"}
    assert log.spent == pytest.approx(float(shell.json("show", "llm")["spent"]))
    assert log.earned == pytest.approx(3.5)
    assert ((log.propensity > 0.0) & (log.propensity <= 1.0)).all()
    assert log.offers[log.offer[-1]] == {"small"}
    assert log.offers[log.offer[0]] == {"small", "large"}
    if ending == "parquet":
        costs = parquet.read_table(target).column("cost").to_pylist()
        assert sum(cost for cost in costs if cost is not None) == Decimal("0.017")
    else:
        with target.open() as file:
            assert next(csv.DictReader(file))["cost"] == "0.003000"


def test_export_says_which_arms_no_longer_fitted(shell):
    shell.create(budget="0.055")
    for _ in range(2):
        shell.run("ask", "llm", "--among", "small")
    shell.run("ask", "llm")
    target = shell.folder / "log.csv"
    shell.run("export", "llm", target)
    with target.open() as file:
        *_, last = csv.DictReader(file)
    assert (last["available"], last["constrained"]) == ("small", "True")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_export_of_raw_events(shell, ending):
    shell.create()
    shell.run("ask", "llm", "--n", "2")
    target = shell.folder / f"events.{ending}"
    assert shell.json("export", "llm", target, "--events")["rows"] == 3
    if ending == "csv":
        with target.open() as file:
            rows = list(csv.DictReader(file))
    else:
        rows = parquet.read_table(target).to_pylist()
    assert [row["kind"] for row in rows] == ["created", "asked", "asked"]
    assert json.loads(rows[0]["body"])["budget"] == 1_000_000


def test_export_needs_a_known_ending_and_a_folder(shell):
    shell.create()
    assert ".parquet or .csv" in shell.run("export", "llm", shell.folder / "log.xls", code=2)
    assert "make it" in shell.run("export", "llm", shell.folder / "no" / "log.csv", code=2)


def test_two_shells_ask_for_the_last_unit(shell):
    shell.create(budget="0.005")
    both = [shell.process("ask", "llm") for _ in range(2)]
    told = [one.communicate(timeout=120) for one in both]
    assert sorted(one.returncode for one in both) == [0, 3], told
    refused = next(err for one, (_, err) in zip(both, told, strict=True) if one.returncode == 3)
    assert refused.startswith("error: Budget exhausted")
    assert refused.count("\n") == 1
    assert shell.json("show", "llm")["held"] == "0.004000"


def test_errors_of_a_process_are_one_line_and_code_2(shell):
    shell.create()
    one = shell.process("tell", "llm", "nope", "--cost", "0.001")
    out, err = one.communicate(timeout=120)
    assert (one.returncode, out) == (2, "")
    assert err.startswith("error: llm has no decision 'nope'")
    assert err.count("\n") == 1


def test_every_command_has_help_storage_and_json():
    def walk(group, path=()):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, (*path, name))
            else:
                yield " ".join((*path, name)), command

    found = dict(walk(get_command(app)))
    assert set(found) == {
        "create", "list", "show", "ask", "tell", "void", "confirm", "correct", "arms", "arm add",
        "arm pause", "arm resume", "arm retire", "budget", "cap", "pause", "resume", "close",
        "reconcile", "trust-clock", "explain", "forecast", "expire", "events", "verify", "backup",
        "restore", "export", "learn",
    }  # fmt: skip
    for name, command in found.items():
        assert command.help, name
        assert {"storage", "as_json"} <= {one.name for one in command.params}, name
        assert all(getattr(one, "help", None) for one in command.params if one.name != "help"), name


def test_the_ledger_of_a_shell_is_that_of_python(shell):
    shell.create()
    campaign = bursar.Campaign("llm", storage=shell.storage)
    decision = campaign.ask()
    shell.run("tell", "llm", decision.id, "--cost", "0.001", "--reward", "1")
    assert campaign.spent == Decimal("0.001")
    campaign.close()


def test_13_1_a_reason_does_not_control_the_terminal(shell):
    shell.create()
    decision = shell.json("ask", "llm")["id"]
    shell.run("void", "llm", decision, "--reason", "a\x1b[2J\nb")
    [line] = shell.run("events", "llm", "--kind", "voided").splitlines()
    assert r"reason='a\x1b[2J\nb'" in line


def test_past_outcomes_are_learned_from_a_file(shell):
    path = shell.folder / "evals.csv"
    path.write_text("model,score,usd\nsmall,1,0.003\nlarge,1,0.04\nsmall,0,0.002\n,1,0.5\n")
    columns = ("--column", "arm=model", "--column", "reward=score", "--column", "cost=usd")
    shell.create()
    assert "line 5: model is empty" in shell.run("learn", "llm", path, *columns, code=2)
    more = (*columns, "--missing", "skip", "--weight", "0.5", "--source", "May")
    learned = shell.json("learn", "llm", path, *more)
    assert (learned["outcomes"], learned["left_out"], learned["weight"]) == (3, 1, 0.5)
    assert "learned before, in event 2; nothing changed." in shell.run("learn", "llm", path, *more)
    arms = {one["key"]: one for one in shell.json("arms", "llm")}
    assert arms["small"]["history"] == {"outcomes": 2, "plays": 1.0, "sources": ["May"]}
    assert "0 + 2 past" in shell.run("arms", "llm")
    assert shell.json("show", "llm")["spent"] == "0.000000"
    assert "learned" in shell.run("events", "llm", "--kind", "learned")
    asked = shell.json("ask", "llm", "--among", "small")
    assert "2 past outcomes from May count for small as 1 play" in shell.run(
        "explain", "llm", asked["id"]
    )
    assert "got 'price'" in shell.run("learn", "llm", path, "--column", "price=usd", code=2)


def test_a_campaign_is_created_with_a_history(shell):
    path = shell.folder / "evals.csv"
    path.write_text("arm,reward,cost\nsmall,1,0.003\ntiny,1,0.04\n")
    arms = ("--arm", "small=0.004", "--history", path)
    refused = shell.run("create", "llm", "--budget", "1", *arms, code=2)
    assert "'tiny' (1 outcome)" in refused
    path.write_text("arm,reward,cost\nsmall,1,0.003\n")
    for _ in range(2):  # once more changes nothing
        shell.run("create", "llm", "--budget", "1", *arms)
    lines = shell.run("events", "llm", "--json").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["created", "learned"]
