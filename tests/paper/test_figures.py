"""Figures show the numbers of the analysis, for whole results and for scraps."""

from __future__ import annotations

import struct
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from ads import the_file

import bursar
from bursar import theory
from bursar.errors import InvalidInput
from bursar.paper.analysis.compare import load_published, measure_dominance
from bursar.paper.analysis.coverage import measure_coverage
from bursar.paper.analysis.games import (
    describe_spread,
    failed_games,
    failed_share,
    regret_curves,
)
from bursar.paper.analysis.growth import measure_sensitivity, upper_bounds
from bursar.paper.figures.comparison import (
    OUTCOMES,
    draw_dominance,
    draw_failures,
    draw_headline,
    draw_speed,
    random_regret_share,
    rank_policies,
    seconds_per_million,
)
from bursar.paper.figures.draw import draw_all, load_captions
from bursar.paper.figures.intervals import (
    draw_asymmetry,
    draw_coverage,
    draw_density,
    estimate_density,
    find_paper_campaign,
)
from bursar.paper.figures.regret import (
    LEAST,
    draw_bounds,
    draw_curvature,
    draw_regret,
    draw_sensitivity,
    fit_line,
)
from bursar.paper.figures.style import make_band
from bursar.paper.labels import format_label, line_markers, line_styles
from bursar.problems import Bernoulli
from bursar.settings import facebook
from bursar.simulation.result import Result

SHARES = np.array([0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
RHOS = ("0.125", "0.25", "0.5", "1", "2")
OMEGA = [f"{name}:rho={rho}" for name in ("omega-ucb", "omega-star-ucb") for rho in RHOS]
OTHERS = ["ucb-b2", "b-greedy", "m-ucb", "bts"]
PLAYS = 20_000


def made_up(settings, policies, repetitions, seed=0, shares=SHARES, plays=PLAYS) -> Result:
    """Return a result of invented regret on the paper's own problems, the first policy the best."""
    rng = np.random.default_rng(seed)
    games_ = [
        (s, r, p)
        for s in range(len(settings))
        for r in range(repetitions)
        for p in range(len(policies))
    ]
    columns = np.array(games_, dtype=np.int32)
    size = np.array([0.002 * 1.5**p for _, _, p in games_])[:, np.newaxis]
    optimum = np.zeros(len(games_))
    for i, (s, r, _) in enumerate(games_):
        (problem,) = bursar.setting(settings[s]).problems(r)
        optimum[i] = plays * problem.min_cost * (problem.reward / problem.cost).max()
    steps = rng.uniform(0.2, 1.0, (len(games_), shares.size))
    regret = np.cumsum(steps, axis=1) * size * optimum[:, np.newaxis] / shares.size
    values = np.stack([np.ones_like(regret), np.ones_like(regret), regret], axis=2)
    return Result(
        settings=tuple(settings), problems=tuple(settings), policies=tuple(policies),
        shares=shares, setting=columns[:, 0], problem=columns[:, 0], repetition=columns[:, 1],
        policy=columns[:, 2], optimum=optimum, values=values, repetitions=repetitions,
    )  # fmt: skip


def only(result: Result, games) -> Result:
    """Return a result with some of its games."""
    columns = ("setting", "problem", "repetition", "policy", "optimum", "values")
    return replace(result, **{name: getattr(result, name)[games] for name in columns})


@pytest.fixture(scope="module")
def paper() -> Result:
    return made_up(["S-Br-10", "S-Br-50", "S-GBr-10", "S-Bt-10"], OMEGA + OTHERS, 8)


@pytest.fixture(scope="module")
def tiny() -> Result:
    return bursar.simulate("bts", "S-Bt-10", 1, budget_plays=300, shares=[1.0])


def named(panel) -> dict:
    return {one.get_label(): one for one in panel.get_lines()}


def texts(panel) -> list[str]:
    return [text.get_text() for text in panel.texts]


def test_labels_say_the_name_and_the_parameters():
    assert format_label("omega-ucb:rho=0.0625") == "ω-UCB, ρ = 1/16"
    assert format_label("my-own:depth=3") == "my-own, depth = 3"
    assert format_label("pooled-gittins:horizon=0.5") == "Pooled Gittins, horizon = 1/2"
    styles = line_styles([*OMEGA, *OTHERS, "pooled-gittins"])
    assert len(set(styles.values())) == len(styles)
    for slug in OTHERS:
        red, green, blue = (styles[slug][0][i : i + 2] for i in (1, 3, 5))
        assert red == green == blue
    assert styles["omega-ucb:rho=1"] == line_styles(["omega-ucb:rho=1"])["omega-ucb:rho=1"]
    marks = line_markers([*OMEGA, *OTHERS, "pooled-gittins"])
    assert len({marks[slug] for slug in OTHERS}) == len(OTHERS)
    assert styles["pooled-gittins"] == line_styles(["pooled-gittins"])["pooled-gittins"]
    assert marks["pooled-gittins"] == ""  # in colour: it needs no mark


def test_a_band_holds_the_middle_with_95_percent():
    rng = np.random.default_rng(3)
    for statistic in ("mean", "median"):
        below = above = 0
        for _ in range(1000):
            middle, low, high = make_band(rng.normal(size=(60, 1)), statistic)
            assert low[0] < middle[0] < high[0]
            below += low[0] > 0.0
            above += high[0] < 0.0
        assert 10 <= below <= 40  # 25 a side
        assert 10 <= above <= 40
    assert make_band(np.ones((1, 2)))[1:] == (pytest.approx([1.0, 1.0]),) * 2
    with pytest.raises(InvalidInput, match="must be 'mean' or 'median', got 'mode'"):
        make_band(np.ones((2, 2)), "mode")


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_curves_are_the_means_or_medians_of_the_games(paper, statistic):
    figure = draw_regret(paper, statistic=statistic)
    titles = [panel.get_title(loc="left") for panel in figure.axes]
    assert titles == ["S-Br-10", "S-Br-50", "S-GBr-10", "S-Bt-10", "", ""]  # two cells are free
    lines = named(figure.axes[2])
    for slug in ("omega-star-ucb:rho=0.25", "bts"):
        regret = regret_curves(paper, "S-GBr-10", slug)
        want = regret.mean(axis=0) if statistic == "mean" else np.median(regret, axis=0)
        assert lines[format_label(slug)].get_ydata() == pytest.approx(want)
        assert lines[format_label(slug)].get_xdata() == pytest.approx(SHARES)
    assert len(figure.axes[2].collections) == len(lines)  # an interval each
    assert not draw_regret(paper, intervals=False).axes[2].collections


def test_of_many_policies_those_of_the_paper_are_shown(paper):
    figure = draw_regret(paper)
    ours = {format_label(f"{name}:rho={rho}") for name in ("omega-ucb", "omega-star-ucb")
            for rho in ("0.25", "1")}  # fmt: skip
    others = {format_label(slug) for slug in OTHERS}
    assert set(named(figure.axes[2])) == ours | others
    bernoulli = set(named(figure.axes[0]))
    assert bernoulli == {name for name in ours if "*" not in name} | others | {LEAST}
    legend = [text.get_text() for text in figure.axes[4].get_legend().get_texts()]
    assert set(legend) == ours | others | {LEAST}
    chosen = draw_regret(paper, policies=["omega-ucb:rho=2", "bts"])
    assert list(named(chosen.axes[0])) == ["ω-UCB, ρ = 2", "BTS", LEAST]
    with pytest.raises(InvalidInput, match="no policy 'btts'; did you mean 'bts'"):
        draw_regret(paper, policies=["btts"])


def test_a_policy_far_worse_leaves_the_panel_and_is_named():
    result = made_up(["S-Br-10"], ["omega-ucb:rho=1", "bts", "m-ucb", "uniform"], 3)
    result.values[result.policy == 3, :, 2] *= 100.0
    panel = draw_regret(result).axes[0]
    assert panel.get_title(loc="right") == "above: Uniform random"
    top = panel.get_ylim()[1]
    finals = {name: one.get_ydata()[-1] for name, one in named(panel).items() if name != LEAST}
    assert finals.pop("Uniform random") > top > max(finals.values())


def test_coverage_marks_are_the_rows():
    rows = measure_coverage(pairs=300, sizes=(100, 1000))
    left, right = draw_coverage(rows).axes
    marks = [one for one in left.get_lines() if one.get_label() in ("correct", "as published")]
    assert [one.get_xdata()[0] for one in marks] == [row["violations"] for row in rows]
    hollow = [one.get_markerfacecolor() == "none" for one in marks]
    assert hollow == [row["as_published"] for row in rows]
    loose = [row["tightness_median"] - 1.0 for row in rows if row["tightness_median"] is not None]
    assert [one.get_xdata()[0] for one in right.get_lines()] == pytest.approx(loose)
    (allowed,) = (one for one in left.get_lines() if one not in marks)
    assert allowed.get_xdata() == [0.01, 0.01]
    with pytest.raises(InvalidInput, match="no rows to draw"):
        draw_coverage([])


def test_both_matrices_show_their_verdicts(paper):
    left, right = draw_dominance(paper).axes
    ours = measure_dominance(paper)
    marks = {"^": 1, "v": -1, "o": 0, "_": None}
    for panel, table in ((left, load_published()), (right, ours)):
        count = 0
        for one in panel.get_lines():
            for column, row in one.get_xydata().astype(int):
                assert table.matrix[row][column] == marks[one.get_marker()]
                count += 1
        assert count == len(table.names) * (len(table.names) - 1)
    rows = [tick.get_text() for tick in right.get_yticklabels()]
    assert len(rows) == len(ours.names)
    assert "ω*-UCB (1/4)" in rows


def test_a_single_policy_has_no_matrix_of_its_own(tiny):
    (panel,) = draw_dominance(tiny).axes
    assert len(panel.get_yticklabels()) == len(load_published().names)


def test_density_shows_every_arm():
    rng = np.random.default_rng(1)
    campaign = Bernoulli(rng.uniform(0.01, 0.99, 33), rng.uniform(0.01, 0.99, 33), "916/30-34/M")
    panel = draw_density(campaign).axes[0]
    dots, best = panel.collections[-2:]
    places = np.column_stack([campaign.cost, campaign.reward])
    assert np.asarray(dots.get_offsets()) == pytest.approx(places)
    where = np.argmax(campaign.reward / campaign.cost)
    assert np.asarray(best.get_offsets()) == pytest.approx(places[[where]])
    assert panel.get_title(loc="left") == "33 ads of campaign 916/30-34/M"
    line, height = estimate_density(campaign)
    mass = height.sum() * (line[1] - line[0]) ** 2
    assert 0.6 < mass < 1.0  # some of it lies outside of the square


@pytest.mark.parametrize("arms", [1, 2, 5])
def test_arms_on_a_line_have_no_density_and_are_drawn(arms):
    places = np.linspace(0.2, 0.8, arms)
    panel = draw_density(Bernoulli(places, places, "x")).axes[0]
    assert len(panel.collections[0].get_offsets()) == arms


def test_the_papers_campaign_is_found():
    chosen = find_paper_campaign(facebook.load(the_file()).campaigns())
    assert chosen.arms == 33
    few = [Bernoulli(np.ones(n), np.ones(n), str(n)) for n in (2, 30, 40)]
    assert find_paper_campaign(few).arms == 30


def test_sensitivity_shows_mean_and_median_of_every_rho(paper):
    figure = draw_sensitivity(paper)
    assert [p.get_title(loc="left") for p in figure.axes[:4]] == list(paper.settings)
    panel = figure.axes[3]
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1/8", "1/4", "1/2", "1", "2"]
    for family, title in (("omega-ucb", "ω-UCB"), ("omega-star-ucb", "ω*-UCB")):
        rows = [row for row in measure_sensitivity(paper, "S-Bt-10") if row["family"] == family]
        (means,) = (c for c in panel.containers if c.get_label() == f"{title}: mean, 95% interval")
        assert means[0].get_ydata() == pytest.approx([row["mean"] for row in rows])
        bars = np.array(means[2][0].get_segments())[:, :, 1]
        assert bars == pytest.approx(np.array([(row["low"], row["high"]) for row in rows]))
        medians = named(panel)[f"{title}: median"].get_ydata()
        assert medians == pytest.approx([row["median"] for row in rows])
    with pytest.raises(InvalidInput, match="two values of rho or more"):
        draw_sensitivity(made_up(["S-Br-10"], ["omega-ucb:rho=1", "bts"], 1))


def test_asymmetry_is_the_theory_squared_and_signed():
    left, right = draw_asymmetry(sizes=(1, 100), z=2.0).axes
    for panel, squared in ((left, True), (right, False)):
        for n in (1, 100):
            curve = named(panel)[f"n = {n}"]
            mean = curve.get_xdata()
            assert curve.get_ydata() == pytest.approx(
                theory.asymmetry(mean, n, 2.0, squared=squared)
            )


def test_the_line_of_a_logarithm_is_straight():
    straight = 3.0 + 2.0 * np.log(SHARES)
    assert fit_line(SHARES, straight) == pytest.approx(straight)
    bent = SHARES * 100.0
    assert fit_line(SHARES, bent)[0] < bent[0] - 10.0


def test_curvature_takes_the_largest_bernoulli_setting(paper):
    figure = draw_curvature(paper)
    for panel, slug in zip(figure.axes, ("omega-ucb:rho=1", "omega-ucb:rho=0.25"), strict=True):
        mean = regret_curves(paper, "S-Br-50", slug).mean(axis=0)
        measured, fitted = panel.get_lines()[:2]
        assert measured.get_ydata() == pytest.approx(mean)
        assert fitted.get_ydata() == pytest.approx(fit_line(SHARES, mean))
    assert "S-Br-50" in figure.axes[0].get_ylabel()
    assert "S-Br-10" in draw_curvature(paper, "S-Br-10").axes[0].get_ylabel()


def test_the_bound_is_that_of_the_budget_that_was_played(paper):
    figure = draw_bounds(paper)
    problems = [p for r in range(8) for p in bursar.setting("S-Br-10").problems(r)]
    for panel, slug, rho in zip(
        figure.axes, ("omega-ucb:rho=1", "omega-ucb:rho=0.25"), (1.0, 0.25), strict=True
    ):
        above, measured = panel.get_lines()
        want = upper_bounds(problems, rho, SHARES, PLAYS).mean(axis=0)
        said = np.isfinite(want)
        assert above.get_xdata() == pytest.approx(SHARES[said])
        assert above.get_ydata() == pytest.approx(want[said])
        mean = regret_curves(paper, "S-Br-10", slug).mean(axis=0)
        assert measured.get_ydata() == pytest.approx(mean)
        times = float(panel.get_title(loc="left").split("bound is ")[1].split()[0].replace(",", ""))
        assert times == pytest.approx(want[-1] / mean[-1], rel=0.06)


def test_failures_show_every_game_and_the_share_that_failed():
    result = made_up(["S-Br-10", "S-Bt-10"], ["omega-ucb:rho=1", "bts"], 6)
    lost = (result.policy == 1) & (result.repetition < 2) & (result.setting == 0)
    result.values[lost, :, 2] = SHARES * 0.9 * result.optimum[lost, np.newaxis]
    assert failed_games(result).sum() == 2
    figure = draw_failures(result)
    panel = figure.axes[0]
    assert texts(panel) == ["0%", "33%", "failed"]
    dots, crosses = panel.collections
    assert dots.get_rasterized()
    assert crosses.get_rasterized()
    bad = np.asarray(crosses.get_offsets())
    assert np.sort(bad[:, 0]) == pytest.approx(np.sort(result.values[lost, -1, 2]))
    assert set(bad[:, 1]) == {1.0}  # the row of BTS
    drawn = np.concatenate([np.asarray(dots.get_offsets())[:, 0], bad[:, 0]])
    assert np.sort(drawn) == pytest.approx(np.sort(result.values[result.setting == 0, -1, 2]))
    means = [one.get_xdata()[0] for one in panel.get_lines() if one.get_marker() == "D"]
    assert means == pytest.approx(
        [describe_spread(result, "S-Br-10", p)["mean"] for p in result.policies]
    )
    assert failed_share(result, "S-Br-10", "bts") == pytest.approx(1 / 3)


def test_speed_is_seconds_over_plays():
    rows = [
        {"policy": "bts", "setting": "S-Br-10", "plays": 1e6, "seconds": 1.0},
        {"policy": "bts", "setting": "S-Br-10", "plays": 1e6, "seconds": 3.0},
        {"policy": "bts", "setting": "S-Br-50", "plays": 1e6, "seconds": 8.0},
        {"policy": "m-ucb", "setting": "S-Br-10", "plays": 1e6, "seconds": 0.5},
        {"policy": OUTCOMES, "setting": "S-Br-10", "plays": 1e6, "seconds": 0.1},
    ]
    speeds = seconds_per_million(rows)
    seconds = {slug: speed.seconds for slug, speed in speeds.items()}
    assert seconds == {"bts": 4.0, "m-ucb": 0.5, OUTCOMES: pytest.approx(0.1)}
    assert speeds["bts"].by_setting == {"S-Br-10": 2.0, "S-Br-50": 8.0}
    assert speeds["bts"].plays == 3e6
    panel = draw_speed(rows).axes[0]
    names = [tick.get_text() for tick in panel.get_yticklabels()]
    assert names == ["m-UCB", "BTS", "drawing outcomes (for all)"]
    assert texts(panel) == ["0.5 s", "4 s", "0.1 s"]
    with pytest.raises(InvalidInput, match="no time was measured"):
        draw_speed([])


def test_the_headline_ranks_what_was_lost():
    result = made_up(["S-Br-10", "S-Bt-10"], ["bts", "omega-star-ucb:rho=0.25", "m-ucb"], 5)
    result.values[result.policy == 1, :, 2] /= 100.0
    found = rank_policies(result)
    assert list(found) == ["omega-star-ucb:rho=0.25", "bts", "m-ucb"]
    share = result.values[:, -1, 2] / result.optimum
    bts = result.policy == 0
    want = np.mean([share[bts & (result.setting == s)].mean() for s in (0, 1)])
    assert found["bts"] == pytest.approx(want)
    panel = draw_headline(result, random=0.5).axes[0]
    assert [tick.get_text() for tick in panel.get_yticklabels()] == [
        "ω*-UCB, ρ = 1/4 (recommended)", "BTS", "m-UCB", "choosing at random",
    ]  # fmt: skip
    widths = [bar.get_width() for bar in panel.patches]
    assert widths == pytest.approx([*found.values(), 0.5])
    best, *_, worst = texts(panel)
    assert best.strip().startswith("lost ")
    assert best.endswith("of what was possible")
    assert worst.strip() == "50%"


def test_the_headline_compares_repetitions_that_all_played():
    result = made_up(["S-Br-10"], ["bts", "m-ucb"], 4)
    there = ~((result.policy == 1) & (result.repetition == 0))
    partial = only(result, there)
    rest = (result.policy == 0) & (result.repetition > 0)
    want = (result.values[rest, -1, 2] / result.optimum[rest]).mean()
    assert rank_policies(partial)["bts"] == pytest.approx(want)


def test_chance_is_what_uniform_choices_lose():
    played = bursar.simulate("uniform", "S-Br-10", 30, budget_plays=5000)
    (measured,) = rank_policies(played).values()
    assert random_regret_share(played) == pytest.approx(measured, abs=0.02)
    mine = bursar.Bernoulli([0.5, 0.1], [0.5, 0.5], name="mine")
    assert random_regret_share(bursar.simulate("uniform", mine, 1, budget_plays=100)) is None


def picture_sizes(drawn) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return the size of the PNG in pixels and of the SVG in points, and that both are whole."""
    data = drawn.png.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert data.endswith(b"IEND\xaeB`\x82")
    root = ElementTree.parse(drawn.svg).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    wide, high = (float(root.get(side).removesuffix("pt")) for side in ("width", "height"))
    return struct.unpack(">II", data[16:24]), (wide, high)


@pytest.mark.slow
def test_everything_is_drawn_the_same_twice(tmp_path):
    policies = ["omega-ucb:rho=1", "omega-ucb:rho=0.25", "omega-star-ucb:rho=0.25", "bts"]
    result = made_up(["S-Br-10", "S-Bt-10"], policies, 7)
    rows = [{"policy": "bts", "setting": "S-Br-10", "plays": 1e6, "seconds": 2.0}]
    options = {"timings": rows, "coverage_rows": measure_coverage(pairs=50)}
    told = []
    one = draw_all(result, tmp_path / "a", progress=lambda *words: told.append(words), **options)
    two = draw_all(result, tmp_path / "b", **options)
    names = [drawn.name for drawn in one]
    # the ads may be in this user's folder, and nothing changes here
    assert set(load_captions()) - set(names) <= {"shared", "density", "changing", "ratios"}
    assert [name for name, reason in told if not reason] == names
    for first, second in zip(one, two, strict=True):
        assert first.svg.read_bytes() == second.svg.read_bytes()
        assert first.png.read_bytes() == second.png.read_bytes()
        pixels, points = picture_sizes(first)
        assert pixels == pytest.approx([side / 72 * 150 for side in points], abs=2)
        assert first.svg.stat().st_size < 1_500_000
        assert first.title
        assert "{" not in first.caption
    assert "This run: 2 settings × 7 repetitions, 56 games." in one[0].caption
    files = {path.name for path in (tmp_path / "a").iterdir()}
    assert files == {f"{name}.{kind}" for name in names for kind in ("png", "svg")}


def test_a_scrap_of_a_result_is_drawn_and_the_rest_explained(tiny, tmp_path):
    told = {}
    drawn = draw_all(
        tiny, tmp_path, data=tmp_path / "none.csv",
        coverage_rows=measure_coverage(pairs=20, sizes=(100,)),
        progress=told.__setitem__,
    )  # fmt: skip
    assert {one.name for one in drawn} == {
        "headline", "regret", "regret-intervals", "regret-medians", "failures", "dominance",
        "coverage", "asymmetry",
    }  # fmt: skip
    assert "no time was measured" in told["speed"]
    assert "none.csv" in told["density"]
    assert "omega-ucb:rho=1" in told["bounds"]
    (point,) = draw_regret(tiny).axes[0].get_lines()
    assert point.get_marker() == "o"


def test_without_games_the_figures_that_need_none_are_drawn(tmp_path):
    made = made_up(["S-Br-10"], ["bts"], 1)
    nothing = only(made, slice(0))
    ads = tmp_path / "ads.csv"
    ads.write_text(
        "campaign_id,age,gender,clicks,spent,total_conversion\n"
        "916,30-34,M,10,12.5,2\n916,30-34,M,4,5,1\n916,30-34,M,8,4,1\n"
    )
    rows = measure_coverage(pairs=20, sizes=(100,))
    drawn = draw_all(nothing, tmp_path / "out", data=ads, coverage_rows=rows)
    assert [one.name for one in drawn] == ["dominance", "coverage", "asymmetry", "density"]


@pytest.mark.parametrize(
    "draw",
    [draw_regret, draw_failures, draw_sensitivity, draw_headline, draw_curvature, draw_bounds],
)
def test_regret_of_zero_can_be_drawn(draw):
    result = made_up(["S-Br-10"], ["omega-ucb:rho=1", "omega-ucb:rho=0.25", "bts"], 7)
    result.values[:, :, 2] = 0.0
    draw(result).draw_without_rendering()
