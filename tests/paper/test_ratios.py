"""Ratios of regret: of means and of 95th percentiles, with intervals, in figures and in words."""

from __future__ import annotations

import math

import numpy as np
import pytest

import bursar
from bursar.errors import InvalidInput
from bursar.estimate import Estimate
from bursar.paper.analysis.games import final_regret
from bursar.paper.analysis.shares import overall_ratio, regret_ratios
from bursar.paper.figures.comparison import draw_ratios
from bursar.paper.report.data import describe_ratios

NEW, OTHER = "pooled-gittins", "omega-star-ucb:rho=0.25"


@pytest.fixture(scope="module")
def played():
    return bursar.simulate(
        [NEW, OTHER, "uniform"], ["X-br-3", "X-stable-50"], 12, budget_plays=2000, shares=[0.5, 1.0]
    )


def test_a_ratio_is_that_of_the_means_and_of_the_worst_games(played):
    for row in regret_ratios(played, NEW, OTHER):
        ours, theirs = (final_regret(played, row.setting, slug) for slug in (NEW, OTHER))
        assert row.repetitions == 12
        assert row.mean.value == pytest.approx(ours.mean() / theirs.mean())
        assert row.tail.value == pytest.approx(np.quantile(ours, 0.95) / np.quantile(theirs, 0.95))
        assert row.mean.low <= row.mean.value <= row.mean.high


def test_the_interval_knows_a_clear_case_and_that_nothing_differs_from_itself(played):
    (row,) = regret_ratios(played, "uniform", OTHER, ["X-stable-50"])
    assert (row.mean.compare_to(1.0), row.tail.compare_to(1.0)) == ("higher", "higher")
    (back,) = regret_ratios(played, OTHER, "uniform", ["X-stable-50"])
    assert back.mean.compare_to(1.0) == "lower"
    (same,) = regret_ratios(played, OTHER, OTHER, ["X-stable-50"])
    assert same.mean == Estimate(1.0, 1.0, 1.0)
    assert same.mean.compare_to(1.0) == "unclear"


def test_the_overall_ratio_is_the_geometric_mean(played):
    found = regret_ratios(played, NEW, OTHER)
    whole = overall_ratio(found)
    assert whole.value == pytest.approx(math.prod(row.mean.value for row in found) ** 0.5)
    assert whole.low < whole.value < whole.high
    with pytest.raises(InvalidInput, match="nothing to average"):
        overall_ratio([])


def test_only_settings_that_both_played_count(played):
    assert regret_ratios(played, NEW, "bts") == []
    with pytest.raises(InvalidInput, match="no setting was played by both"):
        draw_ratios(played, NEW, "bts")


def test_the_figure_has_a_row_a_setting_and_one_of_all(played):
    figure = draw_ratios(played, NEW, OTHER)
    means, tails = figure.axes
    names = [label.get_text() for label in means.get_yticklabels()]
    assert names == ["X-br-3", "X-stable-50", "geometric mean"]
    rows = {round(line.get_ydata()[0]) for line in means.get_lines() if line.get_marker() != "None"}
    assert rows == {0, 1, 2}
    for panel, kind in ((means, "mean"), (tails, "tail")):
        shown = [line.get_xdata()[0] for line in panel.get_lines() if line.get_marker() == "o"]
        assert shown == [getattr(row, kind).value for row in regret_ratios(played, NEW, OTHER)]


def test_the_words_have_the_numbers(played):
    lines = describe_ratios(played)
    row = regret_ratios(played, NEW, OTHER)[0]
    assert lines[0].startswith("Regret of Pooled Gittins over that of ω*-UCB (1/4)")
    assert lines[1].startswith("X-br-3")
    assert f"mean {row.mean.value:.3f} ({row.mean.low:.3f} to {row.mean.high:.3f})" in lines[1]
    assert lines[-1].startswith("geometric mean")
