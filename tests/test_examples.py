"""The examples run as they are, and tell the story that their first lines promise."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONUTF8": "1", "TMPDIR": str(folder)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_run_here():
    # the one that talks to a service is run in test_client_example.py
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {"ad_campaign.py", "llm_router.py", "llm_router_http.py", "my_policy.py"}


@pytest.mark.parametrize("name", ["ad_campaign.py", "llm_router.py"])
def test_campaigns_are_short(name):
    assert len((EXAMPLES / name).read_text().splitlines()) < 60


def test_the_router_spends_its_dollar_on_the_model_that_earns_most(tmp_path):
    told = run("llm_router.py", tmp_path)
    left = Decimal(re.search(r"no model fits: ([\d.]+) USD are left", told)[1])
    assert 0 <= left < Decimal("0.00052")  # less than the cheapest call may cost
    rows = re.findall(r"^(\w+) +([\d,]+) calls, +\d+% good, ([\d.]+) USD$", told, re.MULTILINE)
    calls = {model: int(count.replace(",", "")) for model, count, _ in rows}
    assert sum(Decimal(spent) for *_, spent in rows) == Decimal("1.00000000") - left
    assert calls["medium"] > 3 * (calls["tiny"] + calls["large"])
    assert "The last decision: " in told
    assert list(tmp_path.iterdir()) == []  # it cleans up after itself


def test_the_ads_obey_their_caps_and_find_the_best(tmp_path):
    told = run("ad_campaign.py", tmp_path)
    rows = dict(re.findall(r"^(\w+) +(active|paused) ", told, re.MULTILINE))
    assert rows == {"video": "paused", "banner": "active", "search": "active"}
    spent = {
        ad: Decimal(s) for ad, s in re.findall(r"^(\w+) .*, +([\d.]+) EUR", told, re.MULTILINE)
    }
    assert spent["search"] > spent["video"] + spent["banner"]
    assert sum(spent.values()) <= 600  # ten days of 60


def test_a_policy_of_ones_own(tmp_path):
    told = run("my_policy.py", tmp_path)
    assert "optimist" in told
    assert "omega-star-ucb" in told
