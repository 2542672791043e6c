# ruff: noqa: F811  (fixtures are imported by the names that tests take them by)
"""The example of the client runs as it is, against a real service."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

from service_app import Live, live  # noqa: F401

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "llm_router_http.py"


def test_the_router_spends_on_the_model_that_earns_most(live: Live, tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), live.url, live.token, "200"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    spent = Decimal(re.search(r"200 requests, ([\d.]+) of 1\.00000000 USD", done.stdout)[1])
    rows = re.findall(r"^(\w+) +(\d+) calls, +\d+% good, ([\d.]+) USD$", done.stdout, re.MULTILINE)
    calls = {model: int(count) for model, count, _ in rows}
    assert sum(Decimal(money) for *_, money in rows) == spent
    assert sum(calls.values()) == 200
    assert calls["medium"] > calls["tiny"] + calls["large"]
    assert re.search(r"The last decision: \w+ was chosen", done.stdout)
    assert live.service.campaign("router").spent > spent  # it is the service's money
    assert live.service.campaign("router").open == 0


def test_the_example_is_the_embedded_one_but_for_the_campaign():
    assert len(EXAMPLE.read_text().splitlines()) < 60
    here = (ROOT / "examples" / "llm_router.py").read_text()
    loop = "campaign.run(lambda model: call(model, chance)"
    assert loop in here
    assert loop in EXAMPLE.read_text()
    calls = here[here.index("PRICES = ") : here.index("def main")]
    assert calls in EXAMPLE.read_text()
