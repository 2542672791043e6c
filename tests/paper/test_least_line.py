"""The least regret that is possible in the long run, as a line in the figures of regret."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ads import the_file

import bursar
from bursar import theory
from bursar.experiments import experiment, run
from bursar.paper.analysis.growth import least_regret
from bursar.paper.figures.draw import draw_all
from bursar.paper.figures.regret import LEAST, draw_regret
from bursar.settings.ad_export import AdExportSetting
from bursar.simulation.result import Result

SHARES = (0.01, 0.1, 1.0)
TWO = bursar.Bernoulli([0.05, 0.30], [0.10, 0.40], name="two ads")


def played(settings, repetitions=3, plays=3000, **options) -> Result:
    return bursar.simulate(
        ["uniform", "m-ucb"], settings, repetitions, budget_plays=plays, shares=SHARES, **options
    )


def lines(panel) -> dict:
    return {one.get_label(): one for one in panel.get_lines()}


def bound(problem, plays: float) -> np.ndarray:
    budget = plays * problem.min_cost * np.array(SHARES)
    return np.array([max(theory.lower_bound(b, problem.reward, problem.cost), 0.0) for b in budget])


def test_bernoulli_settings_have_the_line_and_others_do_not():
    settings = ["S-Br-10", "S-GBr-10", "S-Bt-10", "C-abrupt-10"]
    figure = draw_regret(played(settings))
    first, *others = figure.axes[:4]
    problems = [p for r in range(3) for p in bursar.setting("S-Br-10").problems(r)]
    line = lines(first)[LEAST]
    assert line.get_ydata() == pytest.approx(np.mean([bound(p, 3000) for p in problems], axis=0))
    assert line.get_xdata() == pytest.approx(SHARES)
    assert line.is_dashed()
    for panel in others:
        assert LEAST not in lines(panel)
    assert LEAST in [text.get_text() for text in figure.axes[4].get_legend().get_texts()]


def test_without_bernoulli_arms_and_for_medians_nothing_is_said_of_it():
    for figure in (
        draw_regret(played("S-Bt-10")),
        draw_regret(played("S-Br-10"), statistic="median"),
    ):
        assert LEAST not in lines(figure.axes[0])
        assert LEAST not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_it_is_averaged_over_the_repetitions_that_there_are():
    whole = played("S-Br-10", 4)
    kept = whole.repetition != 1
    columns = ("setting", "problem", "repetition", "policy", "optimum", "values")
    some = replace(whole, **{name: getattr(whole, name)[kept] for name in columns})
    problems = [p for r in (0, 2, 3) for p in bursar.setting("S-Br-10").problems(r)]
    want = np.mean([bound(p, 3000) for p in problems], axis=0)
    assert least_regret(some, "S-Br-10") == pytest.approx(want)


def test_a_budget_of_less_than_a_cost_of_one_counts_as_none():
    result = played(TWO, plays=500)
    drawn = least_regret(result, "two ads", [TWO])
    assert drawn[0] == 0.0  # a hundredth of 50, the logarithm of which is below 0
    assert drawn[2] == pytest.approx(theory.lower_bound(50.0, TWO.reward, TWO.cost))


def test_ads_are_averaged_over_campaigns():
    ads = bursar.setting("FB-Br").problems(0, the_file())
    result = played(["FB-Br", "FB-Bt"], 2, plays=50, data=the_file())
    want = np.mean([bound(problem, 50) for problem in ads], axis=0)
    assert least_regret(result, "FB-Br", data=the_file()) == pytest.approx(want)
    assert least_regret(result, "FB-Bt", data=the_file()) is None
    assert least_regret(result, "FB-Br", data="no-such-file.csv") is None


def test_ones_own_ads_are_in_their_own_money(tmp_path):
    facts = {"arm_names": ("a", "b"), "clicks": (100.0, 100.0), "cost": (50.0, 80.0),
             "reward": (300.0, 200.0), "prize": 10.0}  # fmt: skip
    mine = AdExportSetting(name="mine", **facts)
    what = experiment("ads", policies=["uniform"], settings=[mine], repetitions=2, budget=200.0)
    (problem,) = mine.problems(0)
    units = 200.0 / mine.coin  # of what a click costs if it costs anything
    drawn = least_regret(run(what, tmp_path / "a").result, "mine", [mine])
    assert drawn[-1] == pytest.approx(
        10.0 * theory.lower_bound(units, problem.reward, problem.cost)
    )
    varied = AdExportSetting(name="mine", **facts, model="beta")
    what = experiment("ads", policies=["uniform"], settings=[varied], repetitions=2, budget=200.0)
    assert least_regret(run(what, tmp_path / "b").result, "mine", [varied]) is None


def test_a_problem_of_ones_own_has_the_line_where_it_is_known(tmp_path):
    result = played([TWO, "S-Bt-10"])
    assert least_regret(result, "two ads") is None  # a name says nothing of its arms
    assert LEAST in lines(draw_regret(result, settings=[TWO]).axes[0])
    others = bursar.Beta([1, 2], [2, 1], [1, 1], [1, 1], name="two ads")
    assert least_regret(played(others), "two ads", [others]) is None
    assert draw_all(result, tmp_path, coverage_rows=(), about_paper=False, settings=[TWO])


def test_nothing_is_possible_to_lose_where_nothing_can_be_won():
    nothing = bursar.Bernoulli([0.0, 0.0], [0.5, 0.6], name="nothing")
    assert least_regret(played(nothing), "nothing", [nothing]).tolist() == [0.0, 0.0, 0.0]


def test_policies_decide_how_high_a_panel_is():
    result = played("S-Br-10")
    before = draw_regret(result, statistic="median").axes[0]
    result.values[:, :, 2] *= 1e-4 / before.get_ylim()[1]
    panel = draw_regret(result, intervals=False).axes[0]
    assert panel.get_ylim()[1] < 1e-3 < lines(panel)[LEAST].get_ydata().min()
    (remark,) = panel.texts
    assert remark.get_text().startswith("the dashed line is above: ")


def test_a_line_little_above_the_policies_is_seen_whole():
    result = played("S-Br-10")
    end = least_regret(result, "S-Br-10")[-1]
    result.values[:, :, 2] = end * np.array(SHARES)  # so that the panel ends near the line's end
    panel = draw_regret(result, intervals=False).axes[0]
    assert end < panel.get_ylim()[1] < 1.3 * end


def test_a_panel_that_names_policies_above_does_not_grow_to_show_them():
    policies = ["uniform", "m-ucb", "c-ucb", "i-ucb", "b-greedy"]
    result = bursar.simulate(policies, "S-Br-10", 2, budget_plays=1000, shares=SHARES)
    end = least_regret(result, "S-Br-10")[-1]
    finals = np.array([10.0, 0.99, 0.85, 0.85, 0.11])[result.policy] * end
    result.values[:, :, 2] = finals[:, np.newaxis] * np.array(SHARES)
    panel = draw_regret(result, intervals=False).axes[0]
    assert panel.get_title(loc="right") == "above: Uniform random, m-UCB"
    assert panel.get_ylim()[1] < 0.99 * end
