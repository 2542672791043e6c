"""What is in deploy/ and docs/operations.md can be used: names exist, commands run, files parse."""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from typer.main import get_command

from bursar.campaign import Campaign
from bursar.cli import app
from bursar.service.keys import SCOPES
from bursar.service.service import Service, ServiceConfig

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "operations.md").read_text()
OURS = re.compile(r"\b(?:bursar|process)_[a-z_]+\b")
SPEC = {
    "bursar_budget_units", "bursar_spent_units", "bursar_held_units", "bursar_available_units",
    "bursar_asks_total", "bursar_outcomes_total", "bursar_open_holds",
    "bursar_oldest_hold_seconds", "bursar_overrun_units_total", "bursar_commit_seconds_bucket",
    "bursar_batch_size_bucket", "bursar_queue_depth", "bursar_fsync_seconds_bucket",
    "bursar_replay_mismatch_total", "bursar_invariant_violations_total",
}  # fmt: skip


@pytest.fixture(scope="module")
def exposed():
    """The names of all series that a service shows, with the labels of each."""
    service = Service("memory", ServiceConfig(require_keys=False))
    Campaign("llm", "1.00", {"small": "0.10"}, storage=service.store, currency="EUR")
    families = text_string_to_metric_families(service.metrics.to_text().decode())
    found = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    service.close()
    return found


def expressions():
    board = json.loads((DEPLOY / "grafana.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield f"grafana: {panel['title']}", target["expr"]
    for one in board["templating"]["list"]:
        if one["type"] == "query":
            yield "grafana: a variable", one["query"]["query"]
    for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield f"alert: {rule['alert']}", rule["expr"]


def test_the_metrics_of_the_design_are_there(exposed):
    assert exposed.keys() >= SPEC


def test_every_metric_of_dashboard_and_alerts_exists(exposed):
    used = set()
    for where, expression in expressions():
        plain = re.sub(r'\{[^}]*\}|"[^"]*"', "", expression)
        names = set(OURS.findall(plain)) or {"up"}
        assert names <= exposed.keys() | {"up"}, f"{where}: {names - exposed.keys()}"
        used |= names
        for labels in re.findall(r"\b(?:by|on|group_left) \(([^)]*)\)", expression):
            wanted = {one.strip() for one in labels.split(",")} - {"le", "instance"}
            assert wanted <= set().union(*(exposed[one] for one in OURS.findall(expression)
                                           if one in exposed)), where  # fmt: skip
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    assert {name.removesuffix("_bucket") for name in SPEC} <= shown, "all of them are looked at"


def test_the_page_names_every_metric_and_no_other(exposed):
    section = PAGE.partition("| metric | |")[2].partition("`deploy/prometheus.yml`")[0]
    named = set(re.findall(r"`(bursar_[a-z_]+)`", section))
    families = {
        re.sub(r"_(bucket|sum|count|created)$", "", name)
        for name in exposed
        if name.startswith("bursar_")
    } - {name.removesuffix("_total") for name in exposed if name.endswith("_total")}
    assert named == families


def test_panels_do_not_overlap():
    board = json.loads((DEPLOY / "grafana.json").read_text())
    taken = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))


def test_the_compose_file_has_two_processes_on_one_database():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = compose["services"]
    ours = [one for one in services.values() if one.get("image") == "bursar"]
    assert len(ours) == 2
    for one in ours:
        assert one["environment"]["BURSAR_STORAGE"].startswith("postgresql://bursar@postgres/")
        assert one["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert (DEPLOY / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
        assert all(port.startswith("127.0.0.1:") for port in one["ports"])
    named = {one.partition(":")[0] for spec in services.values() for one in spec.get("volumes", [])}
    assert {one for one in named if not one.startswith(".")} <= compose["volumes"].keys()
    assert all((DEPLOY / one).is_file() for one in named if one.startswith("."))
    targets = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"][0]
    hosts = {one.partition(":")[0] for one in targets["static_configs"][0]["targets"]}
    assert hosts <= services.keys()
    assert hosts <= set(ours[0]["environment"]["BURSAR_ALLOW_HOST"].split())


def test_the_container_runs_as_nobody_special_and_copies_what_there_is():
    lines = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    words = [line.split() for line in lines if line and not line.startswith("#")]
    for _, *names in (line for line in words if line[0] == "COPY" and "--from" not in line[1]):
        assert all((ROOT / name).exists() for name in names[:-1])
    order = [line[0] for line in words]
    assert ["USER", "bursar"] in words
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert {"VOLUME", "HEALTHCHECK", "STOPSIGNAL"} <= set(order)


def environment_of(text):
    return set(re.findall(r"\bBURSAR_[A-Z_]+\b", text))


def test_every_setting_that_is_named_exists():
    options = {
        parameter.envvar
        for name in ("serve", "keys")
        for command in [get_command(app).commands[name]]
        for one in [command, *getattr(command, "commands", {}).values()]
        for parameter in one.params
        if parameter.envvar
    }
    own = {"BURSAR_DB_PASSWORD", "BURSAR_NAME"}  # of the compose file
    files = [path.read_text() for path in DEPLOY.iterdir() if path.suffix != ".key"]
    for text in (PAGE, *files):
        assert environment_of(text) - own <= options
    named = set(re.findall(r"^\| `(--[a-z-]+)`", PAGE, re.MULTILINE))
    offered = {word for one in get_command(app).commands["serve"].params for word in one.opts}
    assert named == offered - {"--help"}


def test_every_scope_is_explained():
    assert re.findall(r"^\| `([a-z]+)` \| ", PAGE, re.MULTILINE) == list(SCOPES)


def test_the_unit_drains_and_systemd_takes_it(tmp_path):
    text = (DEPLOY / "bursar.service").read_text()
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(text)
    assert unit["Service"]["KillSignal"] == "SIGTERM"
    assert int(unit["Service"]["TimeoutStopSec"]) > 30, "longer than requests in flight get"
    assert "MemoryDenyWriteExecute" not in unit["Service"], "Numba compiles while it runs"
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze here")
    copy = tmp_path / "bursar.service"
    copy.write_text(text.replace("/opt/bursar/bin/bursar", sys.executable))
    done = subprocess.run([analyze, "verify", copy], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def blocks():
    return dict(re.findall(r"<!-- run: (\w+) -->\n```sh\n(.*?)```", PAGE, re.DOTALL))


def run(block, folder):
    env = {
        **os.environ, "BURSAR_STORAGE": "sqlite:///spend.db", "PYTHONUTF8": "1",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        capture_output=True, text=True, cwd=folder, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def ledger(tmp_path):
    campaign = Campaign(
        "llm", "25.00", {"small": "0.10"}, storage=f"sqlite:///{tmp_path / 'spend.db'}"
    )
    campaign.tell(campaign.ask(), cost="0.05", reward=1)
    campaign.close()
    return tmp_path


def test_the_walk_through_of_keys_runs(ledger):
    said = run(blocks()["keys"], ledger)
    assert "nightly job" in said
    assert "is revoked" in said


def test_the_walk_through_of_backup_and_restore_runs(ledger):
    assert "events to backup-" in run(blocks()["backup"], ledger)
    later = Campaign("llm", storage=f"sqlite:///{ledger / 'spend.db'}")
    later.tell(later.ask(), cost="0.09", reward=1)
    later.close()
    said = run(blocks()["restore"], ledger)
    assert "unreconciled" in said
    assert "spent 1.42" in said, "what the backup knew, and the bill"
    again = Campaign("llm", storage=f"sqlite:///{ledger / 'spend.db'}")
    assert again.state == "active"
    again.close()
    assert list(ledger.glob("spend.db.before-epoch-*")), "what was there is kept beside it"
