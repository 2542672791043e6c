"""A new policy is one file, one line of the table and one twin: everything else finds it.

A copy of the package gets such a policy, and one process after the other looks for it there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bursar

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

POLICY = '''
"""Fading hope (2026): index = (mean reward + hope / n) / mean cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from bursar.jit.compile import compiled
from bursar.policies.base import Policy, PolicyContext


class Params(NamedTuple):
    hope: float


@compiled
def clock(p: Params, plays: float) -> float:
    return 0.0


@compiled
def index(p: Params, n: float, r: float, c: float, vr: float, vc: float, now: float) -> float:
    return (r + p.hope / n) / c if c > 0.0 else math.inf


@dataclass(frozen=True)
class FadingHope(Policy):
    """Fading hope; a larger ``hope`` explores more."""

    hope: float = 1.0

    name = "fading-hope"
    title = "Fading hope"
    year = 2026
    source = "a test, 2026"
    formula = "(r + hope / n) / c"
    monotone = True
    uses_variance = False
    index = staticmethod(index)
    clock = staticmethod(clock)

    def kernel_params(self, context: PolicyContext) -> Params:
        return Params(self.hope)

    def bounds(self, p, n, r, c, vr, vc, now):
        return r + p.hope / n, c
'''

LAST = '    "uniform": "uniform.Uniform",\n'
LINE = '    "fading-hope": "fading_hope.FadingHope",\n'

TWIN = """

class FadingHope(IndexTwin, slug="fading-hope", hope=1.0):
    def index(self, n, r, c, vr, vc, plays):
        return (r + self.p.hope / n) / c if c > 0.0 else math.inf
"""

PROGRAM = """
import json, sys
import bursar
from typer.testing import CliRunner
from bursar.cli import app
from bursar.dashboard.forms import list_policies as offered
from bursar.paper import labels
from bursar.paper.figures.regret import draw_regret

problem = bursar.Bernoulli(reward=[0.9, 0.5], cost=[0.3, 0.5])
result = bursar.simulate(["fading-hope", "uniform"], problem, 2, budget_plays=300)
lost = {r["policy"]: r["regret_mean"] for r in result.summary() if r["budget_share"] == 1.0}
run = lambda *words: CliRunner().invoke(app, words, env={"COLUMNS": "200"}).output
campaign = bursar.Campaign("test", budget="10", arms={"a": "0.5", "b": "0.5"}, policy="fading-hope")
for reward in (1.0, 0.0, 1.0):
    decision = campaign.ask()
    campaign.tell(decision.id, cost="0.25", reward=reward)
why = campaign.explain(decision.id)
sys.path.insert(0, sys.argv[1])
import hooks
figure = draw_regret(result)
print(json.dumps({
    "regret": lost,
    "listed": run("policies"),
    "card": run("policy", "fading-hope:hope=0.5"),
    "why": [why.how, why.options[0].index, why.options[0].reward_bound, *why.sentences],
    "probability": decision.propensity,
    "offered": list(offered()),
    "docs": hooks.policies(),
    "label": labels.format_label("fading-hope:hope=2"),
    "colours": labels.line_styles(["fading-hope", "omega-star-ucb:rho=0.25"])["fading-hope"],
    "marker": labels.line_markers(["fading-hope"])["fading-hope"],
    "drawn": [text.get_text() for axis in figure.axes for text in axis.texts]
        + [text.get_text() for legend in figure.legends for text in legend.texts],
}))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of package and twins with one file, one line and one twin more."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "src" / "bursar"
    shutil.copytree(Path(bursar.__file__).parent, package)
    shutil.copytree(ROOT / "tests" / "policies", folder / "tests" / "policies")
    (package / "policies" / "fading_hope.py").write_text(POLICY.lstrip())
    table = package / "policies" / "__init__.py"
    table.write_text(table.read_text().replace(LAST, LAST + LINE))
    twins = (ROOT / "tests" / "twins.py").read_text() + TWIN
    (folder / "tests" / "twins.py").write_text(twins)
    shutil.copy(ROOT / "tests" / "extent.py", folder / "tests")
    return folder


def run(folder: Path, *words: str) -> str:
    paths = os.pathsep.join((str(folder / "src"), str(folder / "tests")))
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def found(copy) -> dict:
    return json.loads(run(copy, "-c", PROGRAM, str(ROOT / "docs")))


def test_the_simulator_plays_it(found):
    assert found["regret"]["fading-hope"] < found["regret"]["uniform"]


def test_the_shell_lists_and_shows_it(found):
    assert "Fading hope" in found["listed"]
    assert "(r + hope / n) / c" in found["card"]
    assert "hope=0.5" in found["card"]


def test_the_table_of_the_docs_has_it(found):
    assert "| [`fading-hope`](#fading-hope) | Fading hope | 2026 | nothing |" in found["docs"]


def test_a_campaign_asks_it_and_explains_its_choice(found):
    how, index, bound, *sentences = found["why"]
    assert how == "index"
    assert index == pytest.approx(bound / 0.25)
    assert sentences
    assert found["probability"] == 1.0
    assert "fading-hope" in found["offered"]


def test_figures_label_colour_and_draw_it(found):
    assert found["label"] == "Fading hope, hope = 2"
    assert found["colours"][0].startswith("#")
    assert found["marker"]
    assert any("Fading hope" in text for text in found["drawn"])


def test_its_twin_is_compared_with_it(copy):
    told = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/policies/test_twins.py",
               "-k", "fading or every_policy_has")  # fmt: skip
    assert "7 passed" in told
