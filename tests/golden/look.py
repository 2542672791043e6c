"""What is held against the golden files: games, commands, answers. Used by make.py and the test."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import parquet
from starlette.testclient import TestClient
from typer.main import get_command
from typer.testing import CliRunner

import bursar
from bursar.campaign.state import State, encode_snapshot
from bursar.cli import app
from bursar.service import Service, ServiceConfig, create_app

# games


def problem(arms: int) -> bursar.Bernoulli:
    """Return Bernoulli arms that do not depend on any code of ours."""
    chance = random.Random(arms)
    means = [[round(chance.uniform(0.1, 0.9), 3) for _ in range(arms)] for _ in "rc"]
    return bursar.Bernoulli(reward=means[0], cost=means[1])


def digest(choices: list[int], arms: int) -> dict[str, Any]:
    """Return a sequence of arms in short."""
    return {
        "sha256": hashlib.sha256(",".join(map(str, choices)).encode()).hexdigest(),
        "first": choices[:20],
        "counts": np.bincount(choices, minlength=arms).tolist(),
    }


def played(policy: bursar.Policy, arms: int) -> dict[str, Any]:
    """Play the plain loop."""
    run = bursar.play(policy, problem(arms), 20.0 * arms, seed=3, record=True)
    assert run.choices is not None
    sums = {name: getattr(run, name) for name in ("plays", "spent", "reward", "regret")}
    return digest(run.choices.tolist(), arms) | sums


def learned(policy: bursar.Policy) -> dict[str, Any]:
    """Choose and record one by one: outcomes between 0 and the ends of their ranges."""
    learner = policy.learner(
        5, seed=(4, 2), budget=120.0, min_cost=0.05, reward_range=(0.0, 2.0), cost_range=(0.0, 0.5)
    )
    chance, choices = random.Random(9), []
    for _ in range(500):
        arm = learner.choose()
        reward, cost = (round(chance.uniform(0.0, 0.4 + 0.1 * arm), 4) for _ in "rc")
        learner.record(arm, 2 * reward, cost / 2 + 0.05)
        choices.append(arm)
    return digest(choices, 5) | {"spent": learner.spent, "earned": learner.earned}


WORLDS = ("S-Br-10", "S-GBr-10", "S-Bt-50", "C-abrupt-10")


def simulated(policy: bursar.Policy) -> dict[str, Any]:
    """Play the loops of the engine; plays, spend and regret at half and all of the budget."""
    found = {}
    for world in WORLDS:
        result = bursar.simulate(
            policy, world, 2, budget_plays=2000, shares=(0.5, 1.0), seed=6, jobs=1
        )
        found[world] = result.values.tolist()
    return found


def games(name: str) -> dict[str, Any]:
    """Return the games of all examples of a policy, by slug."""
    return {
        str(one): {
            "play 5": played(one, 5),
            "play 30": played(one, 30),
            "learner": learned(one),
            "simulate": simulated(one),
        }
        for one in bursar.POLICIES[name].examples()
    }


SIMULATIONS = (
    ("S-Br-10", "--policy", "omega-star-ucb:rho=0.25", "--policy", "bts", "--seed", "3"),
    ("S-Bt-10", "--policy", "pooled-gittins", "--policy", "uniform", "--policy", "m-ucb"),
    ("C-price-10", "--policy", "sw-omega-ucb:rho=0.25,window=2000", "--seed", "1"),
    ("X-copula-12", "--policy", "kl-ucb-sc-plus", "--policy", "eps-first", "--seed", "2"),
)


def simulation(words: tuple[str, ...]) -> Any:
    """Return what a simulation prints, at some shares of the budget."""
    more = ("--repetitions", "5", "--budget-plays", "5000", "--json")
    found = json.loads(cli("simulate", *words, *more))
    rows = [row for row in found["rows"] if row["budget_share"] in (0.1, 0.5, 1.0)]
    return found | {"rows": rows}


def reproduced(folder: Path) -> dict[str, Any]:
    """Return the numbers in the results folder of an experiment: a row a setting and policy."""
    table = parquet.read_table(folder / "results.parquet")
    sums = table.group_by(["setting", "policy"]).aggregate([("plays", "sum"), ("regret", "sum")])
    rows = {}
    for row in csv.DictReader(io.StringIO((folder / "summary.csv").read_text())):
        whose = f"{row.pop('setting')} {row.pop('policy')}"
        rows[whose] = {key: float(f"{float(value):.10g}") for key, value in row.items()}
    for one in sums.to_pylist():
        rows[f"{one['setting']} {one['policy']}"] |= {
            "all_plays": one["plays_sum"],
            "all_regret": float(f"{one['regret_sum']:.10g}"),
        }
    return {
        "columns": types(folder / "results.parquet"),
        "rows": rows,
        "claims": {
            one["id"]: one["verdict"] for one in json.loads((folder / "claims.json").read_text())
        },
        "experiment": tomllib.loads((folder / "experiment.toml").read_text()),
        "files": sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and "parts" not in path.parts
        ),
    }


def replayed(folder: Path) -> Any:
    """Return what policies would have earned where arms were drawn at random."""
    chance, rows = random.Random(8), ["arm,propensity,cost,reward"]
    for _ in range(900):
        arm = chance.randrange(3)
        cost, won = chance.uniform(0.1, 0.4 + 0.2 * arm), chance.random() < 0.8 - 0.2 * arm
        rows.append(f"{'abc'[arm]},{1 / 3!r},{cost:.3f},{won:d}")
    (folder / "log.csv").write_text("\n".join(rows) + "\n")
    policies = ("uniform", "omega-ucb:rho=0.25", "bts", "always:a")
    words = [word for one in policies for word in ("--policy", one)]
    more = ("--resamples", "40", "--seed", "5", "--json")
    return stable(json.loads(cli("replay", str(folder / "log.csv"), *words, *more)))


# the command line


def cli(*words: str) -> str:
    """Run a command in this process; return what it prints."""
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


def commands() -> dict[str, Any]:
    """Return every command with its options and arguments, by its words."""
    found: dict[str, Any] = {}

    def walk(path: tuple[str, ...], command: Any) -> None:
        found[" ".join(path)] = {
            _spelling(one): {
                "kind": one.param_type_name,
                "required": bool(one.required),
                "many": bool(one.multiple or one.nargs != 1),
                "default": _plain(one.default),
                "envvar": one.envvar,
            }
            for one in command.params
            if one.name != "help"
        }
        for name, sub in getattr(command, "commands", {}).items():
            walk((*path, name), sub)

    walk(("bursar",), get_command(app))
    return found


def _spelling(one: Any) -> str:
    """Return how an option is written; an argument has its name only."""
    if one.param_type_name == "argument":
        return str(one.metavar or one.name)
    return " ".join(sorted((*one.opts, *one.secondary_opts)))


def _plain(default: Any) -> Any:
    if callable(default):
        default = default()
    return default if isinstance(default, bool | int | float | None) else str(default)


# a ledger


def snapshot(campaign: bursar.Campaign, last: int | None = None) -> bytes:
    """Return the state after an event as bytes: all events up to it, folded."""
    first, *rest = (e for e in campaign.events() if last is None or e.seq <= last)
    state = State(first)
    for event in rest:
        state.apply(event)
    return encode_snapshot(state)


def sha(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def types(path: Path) -> dict[str, str]:
    """Return the columns of a Parquet file with their types."""
    return {field.name: str(field.type) for field in parquet.read_schema(path)}


def printed(name: str, storage: str, folder: Path) -> dict[str, Any]:
    """Return what commands print and write of a campaign; long texts as hashes."""
    url = ("--storage", storage)
    rows, raw, table = (folder / f for f in ("rows.csv", "raw.csv", "rows.parquet"))
    cli("campaign", "export", name, str(rows), *url)
    cli("campaign", "export", name, str(table), *url)
    cli("campaign", "export", name, str(raw), "--events", *url)
    decisions, written = without_context(rows)
    return {
        "events": sha(cli("campaign", "events", name, *url)),
        "events json": sha(cli("campaign", "events", name, "--json", *url)),
        "export": decisions if len(decisions) < 400 else sha(written),
        "export types": types(table),
        "export events": sha(raw.read_bytes()),
        "show": json.loads(cli("campaign", "show", name, "--json", *url)),
        "arms": json.loads(cli("campaign", "arms", name, "--json", *url)),
        "verify": json.loads(cli("campaign", "verify", name, "--choices", "--json", *url)),
    }


def without_context(path: Path) -> tuple[list[list[str]], str]:
    """Return the rows and the text of an export without its last column, which came later."""
    rows = list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))
    assert rows[0][-1] == "context"
    kept, file = [row[:-1] for row in rows], io.StringIO(newline="")
    csv.writer(file).writerows(kept)
    return kept, file.getvalue()


# HTTP

_OF_CAMPAIGN = ("", "/state", "/arms", "/decisions?limit=20", "/events?limit=40", "/audit",
                "/series")  # fmt: skip
ANSWERS = (
    "/v1/campaigns",
    "/v1/keys",
    "/v1/decisions/late-5?why=true",
    "/v1/campaigns/default/decisions/d99?why=true",
    "/v1/decisions/nobody",
    *(f"/v1/campaigns/{name}{part}" for name in ("default", "late", "changed", "restored")
      for part in _OF_CAMPAIGN),
)  # fmt: skip


class Site:
    """The service of a storage, without a server; use it in a ``with``."""

    def __init__(self, storage: str) -> None:
        self.service = Service(storage, ServiceConfig(allowed_hosts=("testserver",)))
        self.client = TestClient(create_app(self.service), raise_server_exceptions=False)

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.service.close()

    def get(self, path: str, token: str = "") -> Any:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return self.client.get(path, headers=headers)

    def metrics(self, token: str) -> list[str]:
        """Return the names of metrics, with the names of their labels."""
        lines = self.get("/metrics", token).text.splitlines()
        found = {re.sub(r'="[^"]*"', "", line.rpartition(" ")[0]) for line in lines}
        return sorted(line for line in found if line and not line.startswith("#"))


def answers(storage: str, token: str) -> dict[str, Any]:
    """Return status and body of what a service says of a ledger; of a forecast the fields only."""
    with Site(storage) as site:
        found = {}
        for path in ANSWERS:
            answer = site.get(path, token)
            found[path] = {"status": answer.status_code, "body": stable(answer.json())}
        ahead = site.get("/v1/campaigns/default/forecast", token)
        found["forecast"] = {"status": ahead.status_code, "fields": fields(ahead.json())}
        return found


def stable(body: Any) -> Any:
    """Return data without what depends on today, and without sentences for people."""
    if isinstance(body, list):
        return [stable(one) for one in body]
    if not isinstance(body, dict):
        return body
    left_out = ("sentences", "detail", "title", "verdict", "notes", "day_spent")
    return {key: None if key in left_out else stable(one) for key, one in body.items()}


def fields(body: dict[str, Any], before: str = "") -> list[str]:
    """Return the names of all fields, those of parts as in ``plays.low``."""
    found = []
    for key, one in body.items():
        found += [before + key, *(fields(one, f"{before}{key}.") if isinstance(one, dict) else [])]
    return sorted(found)


def openapi() -> Any:
    """Return the document that a service serves."""
    with Site("memory") as site:
        return site.get("/v1/openapi.json").json()
