from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from made import made
from scipy.stats import bootstrap, ttest_1samp

import bursar
from bursar.errors import InvalidInput
from bursar.paper.analysis.compare import (
    bootstrap_interval,
    compare,
    compare_results,
    holm,
    load_published,
    measure_dominance,
    sign_flip,
)
from bursar.paper.analysis.coverage import correct_bounds, example_2, measure_coverage
from bursar.paper.analysis.games import (
    describe_spread,
    failed_games,
    failed_share,
    final_regret,
    has_games,
    played_settings,
    regret_curves,
)
from bursar.paper.analysis.growth import measure_growth, measure_sensitivity, upper_bounds
from bursar.paper.labels import main_policies

S = "S-Br-10"


def noise(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).gamma(2.0, 100.0, size)


def two(one: np.ndarray, other: np.ndarray) -> bursar.Result:
    return made({(S, "bts"): one, (S, "m-ucb"): other})


# games


def test_games_are_ordered_by_repetition_and_problems_are_averaged():
    values = noise(20)
    result = made({(S, "bts"): values, (S, "m-ucb"): values + 1.0}, problems=3)
    np.testing.assert_allclose(final_regret(result, S, "bts"), values)
    assert regret_curves(result, S, "m-ucb").shape == (20, 4)
    assert describe_spread(result, S, "bts")["games"] == 60
    assert played_settings(result) == [S]
    assert has_games(result, S, "bts")
    assert not has_games(result, S, "c-ucb")
    assert not has_games(result, "S-Br-50", "bts")


def test_a_game_that_was_not_played_is_refused_with_what_there_is():
    with pytest.raises(InvalidInput, match=r"no game of 'c-ucb' on 'S-Br-10' .* it has bts, m-ucb"):
        final_regret(two(noise(3), noise(3)), S, "c-ucb")


def test_only_repetitions_of_both_are_paired():
    result = made({(S, "bts"): np.arange(10.0), (S, "m-ucb"): np.arange(7.0) + 1.0})
    found = compare(result, S, "bts", "m-ucb")
    assert found.repetitions == 7
    assert found.difference == pytest.approx(-1.0)


# comparisons


def test_ten_less_each_time_is_lower():
    values = noise(30)
    found = compare(two(values, values + 10.0), S, "bts", "m-ucb")
    assert (found.verdict, found.typical, found.wins) == ("lower", "lower", 1.0)
    assert found.difference == pytest.approx(-10.0)
    assert found.low == pytest.approx(-10.0)
    assert found.high == pytest.approx(-10.0)
    assert found.p < 0.001


def test_changing_places_changes_the_sign_and_nothing_else():
    result = two(noise(40), noise(40, 1) * 2.5)
    one, other = compare(result, S, "bts", "m-ucb"), compare(result, S, "m-ucb", "bts")
    assert one.difference == pytest.approx(-other.difference)
    assert one.median_difference == pytest.approx(-other.median_difference)
    assert one.p == other.p
    assert one.p_typical == pytest.approx(other.p_typical)
    assert (one.verdict, other.verdict) == ("lower", "higher")


def test_a_few_failures_make_the_mean_but_not_the_typical_game():
    base = noise(100)
    tail = np.zeros(100)
    tail[:8] = 5000.0
    found = compare(two(base - 20.0 + tail, base), S, "bts", "m-ucb")
    assert found.verdict == "higher"
    assert found.typical == "lower"
    assert found.median_difference == pytest.approx(-20.0)
    assert found.difference == pytest.approx(380.0)


def test_one_lucky_tail_is_unclear():
    base = noise(100)
    tail = np.zeros(100)
    tail[0] = 20_000.0
    found = compare(two(base - 1.0 + tail, base), S, "bts", "m-ucb")
    assert found.verdict == "unclear"
    assert found.low < 0.0 < found.high


@pytest.mark.parametrize("repetitions", [1, 5])
def test_few_repetitions_say_nothing(repetitions):
    values = noise(repetitions)
    found = compare(two(values, values + 10.0), S, "bts", "m-ucb")
    assert (found.verdict, found.typical, found.p, found.p_typical) == ("unclear",) * 2 + (1.0,) * 2


def test_equal_policies_are_unclear():
    found = compare(two(noise(30), noise(30)), S, "bts", "m-ucb")
    assert (found.verdict, found.typical, found.p, found.p_typical) == ("unclear",) * 2 + (1.0,) * 2
    assert found.low == found.high == 0.0


def test_regret_is_compared_at_a_share_and_since_a_share():
    early = np.outer(noise(20) + 50.0, [0.5, 1.0, 1.0, 1.0])  # loses at first, then no more
    late = np.outer(noise(20) + 50.0, [0.0, 0.1, 1.0, 3.0])
    result = two(early, late)
    assert compare(result, S, "bts", "m-ucb", share=0.1).verdict == "higher"
    assert compare(result, S, "bts", "m-ucb").verdict == "lower"
    since = compare(result, S, "bts", "m-ucb", since=0.5)
    assert (since.mean_one, since.since, since.verdict) == (0.0, 0.5, "lower")


def test_results_are_compared_policy_by_policy():
    before = two(noise(10), noise(10, 1))
    rows = {
        row["policy"]: row for row in compare_results(before, two(noise(10) + 5.0, noise(10, 1)))
    }
    assert (rows["bts"]["verdict"], rows["m-ucb"]["verdict"]) == ("B lost more", "identical")
    assert rows["bts"]["difference"] == pytest.approx(5.0)
    assert rows["bts"]["mean_b"] == pytest.approx(noise(10).mean() + 5.0)
    (few,) = compare_results(made({(S, "bts"): noise(3)}), made({(S, "bts"): noise(3) + 9.0}))
    assert (few["verdict"], few["repetitions"]) == ("no clear difference", 3)


def test_flips_are_exact_with_few_differences():
    d = np.array([3.0, -1.0, 4.0, 1.5, -0.5, 2.0, 0.7])
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=d.size)))
    expected = (np.abs(signs @ d) >= abs(d.sum()) - 1e-9).mean()
    assert sign_flip(d) == pytest.approx(expected)
    assert sign_flip(np.append(d, 0.0)) == pytest.approx(expected)


@pytest.mark.parametrize("size", [14, 57, 1000])
def test_flips_agree_with_a_t_test_on_normal_differences(size):
    d = np.random.default_rng(size).normal(1.6 / size**0.5, 1.0, size)
    assert sign_flip(d) == pytest.approx(ttest_1samp(d, 0.0).pvalue, abs=0.03)


def test_flips_are_level_under_no_difference():
    rng = np.random.default_rng(4)
    p = np.array([sign_flip(rng.standard_t(3, 25)) for _ in range(600)])
    assert 0.03 < (p <= 0.05).mean() < 0.07


def test_a_clear_difference_survives_many_comparisons():
    d = np.random.default_rng(0).normal(-1.0, 0.5, 100)
    assert holm([sign_flip(d)] + [1.0] * 5000)[0] < 0.001


def test_interval_covers_the_mean_of_skewed_samples():
    # 93.9% of 3,000 other samples were covered, by Student's interval 93.6%; 95% needs more than 60
    rng = np.random.default_rng(2)
    covered = [
        low < 1.0 < high
        for low, high in (bootstrap_interval(rng.exponential(1.0, 60)) for _ in range(3000))
    ]
    assert 0.925 < np.mean(covered) < 0.96


def test_interval_is_that_of_scipy():
    values = np.random.default_rng(3).exponential(1.0, 200)
    known = bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", random_state=0)
    np.testing.assert_allclose(bootstrap_interval(values), known.confidence_interval, atol=0.02)


def test_holm_is_monotone_and_capped():
    assert holm([0.01, 0.02, 0.03, 0.9]).tolist() == pytest.approx([0.04, 0.06, 0.06, 0.9])
    assert holm([0.6, 0.7]).tolist() == [1.0, 1.0]
    assert holm([]).size == 0


def test_comparisons_are_fast_and_repeatable():
    result = two(noise(1000), noise(1000, 1))
    first = compare(result, S, "bts", "m-ucb")
    start = time.perf_counter()
    assert all(compare(result, S, "bts", "m-ucb") == first for _ in range(10))
    assert time.perf_counter() - start < 1.0


# failures


def test_a_game_fails_that_loses_a_tenth_to_the_end():
    learned = np.tile([50.0, 190.0, 200.0, 249.0], (9, 1))  # 49 of 500 in the last half
    stuck = np.tile([1.0, 10.0, 20.0, 71.0], (1, 1))  # 51 of 500: little in all, yet it goes on
    result = made({(S, "bts"): np.vstack([learned, stuck])})
    assert failed_games(result).sum() == 1
    assert failed_share(result, S, "bts") == pytest.approx(0.1)
    assert failed_share(result, S, "m-ucb") == 0.0


def test_failures_without_the_half_look_at_what_was_noted():
    curve = {(S, "bts"): np.array([[0.0, 65.0], [0.0, 85.0]])}
    assert failed_games(made(curve, shares=(0.2, 1.0))).sum() == 1  # a tenth of 800
    assert failed_games(made(curve, shares=(0.8, 1.0))).sum() == 0  # a tenth of all
    assert failed_games(made({(S, "bts"): np.array([[120.0], [85.0]])}, shares=(1.0,))).sum() == 1


def test_failures_of_the_paper_are_as_many_as_known():
    result = bursar.simulate(
        "omega-ucb:rho=0.25", S, 1000, budget_plays=15_000, shares=[0.1, 0.5, 1.0]
    )
    assert 0.008 < failed_share(result, S, "omega-ucb:rho=0.25") < 0.04


def test_spread_is_that_of_games():
    row = describe_spread(made({(S, "bts"): np.arange(101.0)}), S, "bts")
    assert (row["games"], row["mean"], row["median"], row["p05"], row["p95"], row["max"]) == (
        101, 50.0, 50.0, 5.0, 95.0, 100.0,
    )  # fmt: skip


# growth


@pytest.mark.parametrize(
    ("curve", "shape", "curvature"),
    [
        (lambda b: 1.0 + np.log10(b * 100.0), "straight", 0.0),
        (lambda b: b, "convex", 9.0 / 11.0),
        (lambda b: 1.0 - 0.01 / b, "concave", -9.0 / 11.0),
    ],
)
def test_growth_tells_shapes_apart(curve, shape, curvature):
    shares = (0.01, 0.03, 0.1, 0.5, 1.0)
    scale = noise(50)[:, np.newaxis]
    wiggle = np.random.default_rng(1).uniform(0.9, 1.1, (50, 5)).cumsum(axis=1) * 0.01
    found = measure_growth(
        made({(S, "bts"): scale * curve(np.array(shares)) + wiggle}, shares), S, "bts"
    )
    assert (found.curvature_low > 0.0, found.curvature_high < 0.0) == (
        shape == "convex",
        shape == "concave",
    )
    assert found.curvature == pytest.approx(curvature, abs=0.01)
    assert found.curvature_of_median == pytest.approx(curvature, abs=0.02)


def test_growth_needs_two_decades():
    with pytest.raises(InvalidInput, match="record more shares"):
        measure_growth(made({(S, "bts"): noise(8)}, shares=(0.5, 1.0)), S, "bts")


def test_growth_of_few_repetitions_is_open():
    found = measure_growth(made({(S, "bts"): noise(3)}), S, "bts")
    assert (found.curvature_low, found.curvature_high) == (-1.0, 1.0)


# who beat whom


def test_dominance_gives_each_setting_the_same_weight():
    base = noise(30)
    result = made(
        {
            (S, "bts"): base,
            (S, "m-ucb"): base * 2.0,
            ("S-Br-50", "bts"): base * 1e5,  # a pooled mean would be this setting's
            ("S-Br-50", "m-ucb"): base * 0.9e5,
            (S, "c-ucb"): base * 2.0,
        }
    )
    table = measure_dominance(result)
    assert table.names == ("bts", "m-ucb", "c-ucb")
    assert table.entry("bts", "m-ucb") == 1
    assert table.entry("m-ucb", "bts") == -1
    assert table.entry("bts", "c-ucb") == 1
    assert table.entry("m-ucb", "c-ucb") == 0
    assert table.entry("bts", "i-ucb") is None
    assert table.settings_won[0] == (0, 1, 1)
    assert table.settings_won[1] == (1, 0, 0)
    assert table.settings_shared[0] == (0, 2, 1)


def test_policies_that_never_met_are_not_compared():
    result = made({(S, "bts"): noise(9), ("S-Br-50", "m-ucb"): noise(9)})
    assert measure_dominance(result).entry("bts", "m-ucb") is None


def test_main_policies_show_two_values_of_rho():
    slugs = ["omega-ucb:rho=0.25", "omega-ucb:rho=0.125", "omega-star-ucb:rho=1", "bts"]
    result = made({(S, slug): noise(3) for slug in slugs})
    assert main_policies(result.policies) == ("omega-ucb:rho=0.25", "omega-star-ucb:rho=1", "bts")


def test_the_published_matrix_is_antisymmetric():
    for one, other in itertools.combinations(load_published().names, 2):
        there, back = load_published().entry(one, other), load_published().entry(other, one)
        assert back == (None if there is None else -there)
    assert len(load_published().names) == 13
    assert all(slug in bursar.POLICIES for slug in load_published().names)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("kube", "eps-first"),
        ("ucb-bv1", "kube"),
        ("bts", "kube"),
        ("bts", "pd-bwk"),
        ("b-greedy", "pd-bwk"),
        ("i-ucb", "pd-bwk"),
        ("c-ucb", "pd-bwk"),
        ("m-ucb", "pd-bwk"),
    ],
)
def test_the_published_matrix_says_what_the_paper_says_of_it(better, worse):
    assert load_published().entry(better, worse) == 1


def test_policies_that_the_figure_does_not_compare():
    assert load_published().entry("budget-ucb", "bts") is None
    assert load_published().entry("bts", "ucb-sc-plus") == 0


# sensitivity


def test_rho_by_rho_in_rising_order():
    slugs = ["omega-ucb:rho=1", "omega-ucb:rho=0.25", "omega-star-ucb:rho=0.25", "bts"]
    slugs.append("omega-star-ucb:rho=0.5,eta_min=0.1")  # another policy, not another rho
    levels = (200.0, 100.0, 50.0, 1.0, 1.0)
    result = made({(S, s): np.full(8, level) for s, level in zip(slugs, levels, strict=True)})
    rows = measure_sensitivity(result, S)
    assert [(row["family"], row["rho"], row["mean"]) for row in rows] == [
        ("omega-ucb", 0.25, 100.0),
        ("omega-ucb", 1.0, 200.0),
        ("omega-star-ucb", 0.25, 50.0),
    ]
    assert measure_sensitivity(result, "S-Br-50") == []


# bounds


def test_bounds_are_those_of_the_level():
    r, c, n, level = 0.5, 0.4, 1000, 0.01
    e = (np.log(2.0 / level) / (2.0 * n)) ** 0.5
    disc = np.log(1.0 / level) / (2.0 * n)
    found = {
        k: float(v[0]) for k, v in correct_bounds(np.array([r]), np.array([c]), n, level).items()
    }
    assert found["i-ucb"] == pytest.approx(r / c + e)
    assert found["c-ucb"] == pytest.approx((r + e) / c)
    assert found["m-ucb"] == pytest.approx((r + e) / (c - e))
    assert found["budget-ucb"] == pytest.approx(r / c + e / c * (1.0 + (r + e) / (c - e)))
    reach = (r * c + (disc * (r * r + c * c - disc)) ** 0.5) / (c * c - disc)
    assert found["ucb-sc"] == pytest.approx(reach)
    assert found["kl-ucb-sc"] <= found["ucb-sc"]
    assert found["omega-ucb"] == pytest.approx(bursar.ratio_bound(r, c, n, alpha=level))


def test_figure_one_and_its_published_errors():
    rows = measure_coverage(pairs=3000, sizes=(100, 10_000))
    found = {(row["bound"], row["samples"], row["as_published"]): row for row in rows}
    assert found["i-ucb", 100, False]["violations_low"] > 0.1
    assert found["c-ucb", 100, False]["violations_low"] > 0.01
    assert found["omega-ucb", 100, False]["violations_high"] < 0.01
    # the published radius of UCB-SC does not shrink: its bound stays loose and is violated
    right, wrong = found["ucb-sc", 10_000, False], found["ucb-sc", 10_000, True]
    assert right["violations"] < 0.002 < wrong["violations"]
    assert right["tightness_median"] < 1.1 < 1.25 < wrong["tightness_median"]
    assert found["m-ucb", 100, False]["infinite"] > 0.1
    assert found["m-ucb", 100, True]["infinite"] == 0.0
    zero = found["omega-ucb", 100, False]
    assert zero["infinite"] * 3000 == pytest.approx(zero["zero_costs"])
    assert zero["zero_costs"] > 0
    assert rows == measure_coverage(pairs=3000, sizes=(100, 10_000))
    assert ("kl-ucb-sc", 100, True) not in found


def test_coverage_refuses_what_is_no_level():
    with pytest.raises(InvalidInput, match=r"level must be below 1, got 1\.5"):
        measure_coverage(level=1.5)


def test_example_two():
    one, two_ = example_2()
    assert one["m_ucb"] == pytest.approx(8.6126, abs=1e-4)
    assert two_["m_ucb"] == pytest.approx(48.6278, abs=1e-4)
    assert one["omega_at_bound"] == pytest.approx(5.50448, abs=1e-5)
    assert two_["omega_policy"] == pytest.approx(2.23755, abs=1e-5)


def test_theory_bounds_what_is_measured():
    problems = [p for i in range(5) for p in bursar.setting(S).problems(i)]
    line = upper_bounds(problems, 1.0, [0.1, 1.0], budget_plays=3000).mean(axis=0)
    result = bursar.simulate("omega-ucb:rho=1", S, 5, budget_plays=3000, shares=[0.1, 1.0])
    measured = regret_curves(result, S, "omega-ucb:rho=1").mean(axis=0)
    assert (line > measured).all()
    assert line.shape == (2,)
    one = upper_bounds(problems[:1], 1.0, [1.0], budget_plays=3000)[0, 0]
    expected = bursar.theory.regret_bound(
        3000 * problems[0].min_cost, 1.0, problems[0].reward, problems[0].cost
    )
    assert one == pytest.approx(expected)


def test_theory_is_silent_before_every_arm_was_played():
    (problem,) = bursar.setting(S).problems(0)
    assert np.isinf(upper_bounds([problem], 1.0, [1e-5, 1.0])[0]).tolist() == [True, False]
