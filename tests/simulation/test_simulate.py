"""`bursar.simulate` as researchers use it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import bursar
from bursar.errors import InvalidInput, UnknownPolicy, UnknownSetting

SMALL = {"repetitions": 4, "budget_plays": 2000}
POLICIES = ["omega-star-ucb:rho=0.25", "bts", "b-greedy", "kube", "mrcb:set_size=2", "uniform"]


def finals(result: bursar.Result) -> dict:
    return {
        (row["setting"], row["policy"]): row["regret_mean"]
        for row in result.summary()
        if row["budget_share"] == 1.0
    }


def test_same_numbers_for_any_jobs_and_order():
    one = bursar.simulate(POLICIES, ["S-Br-10", "S-Bt-10"], jobs=1, **SMALL)
    two = bursar.simulate(POLICIES, ["S-Br-10", "S-Bt-10"], jobs=2, **SMALL)
    assert np.array_equal(one.values, two.values)
    turned = bursar.simulate(POLICIES[::-1], ["S-Bt-10", "S-Br-10"], **SMALL)
    assert finals(turned) == finals(one)
    alone = bursar.simulate("bts", "S-Bt-10", **SMALL)
    # a tape keeps the columns its policies read, and draws BTS's trials with them or not at all
    assert finals(alone)[("S-Bt-10", "bts")] == finals(one)[("S-Bt-10", "bts")]


def test_another_seed_is_other_luck_on_the_same_problems():
    results = [bursar.simulate("uniform", "S-Br-10", seed=seed, **SMALL) for seed in (0, 1)]
    assert not np.array_equal(results[0].values, results[1].values)
    assert results[0].values[:, -1, 1] == pytest.approx(results[1].values[:, -1, 1], abs=1.0)


def test_the_table_goes_to_any_dataframe():
    result = bursar.simulate(["bts", "uniform"], "S-GBr-10", **SMALL)
    table = result.table
    assert table.num_rows == 4 * 2 * 100
    assert table.column_names == [
        "setting", "problem", "repetition", "policy", "budget_share", "plays", "spent", "regret",
        "optimum",
    ]  # fmt: skip
    assert pa.table(result).equals(table)
    assert set(table["policy"].to_pylist()) == {"bts", "uniform"}
    assert table.schema.metadata[b"bursar"].decode() == bursar.__version__


def test_summary_is_mean_spread_and_median_over_games():
    result = bursar.simulate("uniform", "S-Br-10", **SMALL)
    last = result.summary()[-1]
    regret = result.values[:, -1, 2]
    assert last["games"] == 4
    assert last["regret_mean"] == pytest.approx(regret.mean())
    assert last["regret_std"] == pytest.approx(regret.std(ddof=1))
    assert last["regret_median"] == pytest.approx(np.median(regret))
    half = 1.96 * regret.std(ddof=1) / 2
    assert last["regret_high"] - last["regret_mean"] == pytest.approx(half, rel=1e-3)


def test_problems_of_ones_own_run_like_the_papers():
    """Correlated reward and cost, drawn with NumPy: the loop does not know distributions."""

    def sampler(arm, rng, size):
        quality = rng.uniform(size=size)
        return quality * (0.3 + 0.2 * arm), 0.2 + 0.6 * quality

    mine = bursar.Sampled([0.15, 0.25], [0.5, 0.5], sampler, name="mine")
    table = np.array([[0.0, 0.5], [1.0, 0.5]])
    seen = bursar.Empirical([table, table * [0.5, 1.0]], name="seen")
    result = bursar.simulate(["omega-ucb:rho=1", "uniform"], [mine, seen, "S-Br-10"], **SMALL)
    got = finals(result)
    for name in ("mine", "seen"):
        assert got[(name, "omega-ucb:rho=1")] < got[(name, "uniform")]


def test_progress_is_told():
    told = []
    bursar.simulate(
        "uniform", "S-Br-10", progress=lambda done, total: told.append((done, total)), **SMALL
    )
    assert told == [(i, 4) for i in range(5)]


def test_overspend_never_stays_within():
    result = bursar.simulate(POLICIES, "S-Br-10", overspend="never", **SMALL)
    for repetition in range(4):
        budget = 2000 * bursar.setting("S-Br-10").problems(repetition)[0].min_cost
        games = result.values[result.repetition == repetition]
        assert (games[:, -1, 1] <= budget).all()


def test_shares_of_ones_own():
    result = bursar.simulate("uniform", "S-Br-10", 1, budget_plays=500, shares=[0.5, 1.0])
    assert result.values.shape == (1, 2, 3)


@pytest.mark.parametrize(("library", "use"), [("pyarrow", "table"), ("matplotlib", "plot")])
def test_what_an_extra_brings_is_asked_for_by_name(library, use):
    """In a process that cannot import the library; all else works there."""
    program = (
        "import sys, bursar\n"
        f"sys.modules['{library}'] = None\n"
        "result = bursar.simulate('uniform', 'S-Br-10', 1, budget_plays=100)\n"
        "assert result.summary()\n"
        "try:\n"
        f"    getattr(result, '{use}')()\n"
        "except bursar.errors.MissingExtra as error:\n"
        "    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        f"this needs {library}, which is not installed; run: pip install 'bursar[paper]'\n"
    )


def test_a_picture():
    figure = bursar.simulate(
        ["omega-ucb:rho=1", "bts", "uniform"], ["S-Br-10", "S-Bt-10"], **SMALL
    ).plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["S-Br-10", "S-Bt-10"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:-1] == ["ω-UCB, ρ = 1", "BTS", "Uniform random"]
    assert labels[-1].startswith("least slope possible")  # of the panel with Bernoulli arms


def test_the_paper_holds_in_the_small():
    """ω*-UCB(1/4) beats ω-UCB(1) and the yardstick where the paper says so: 20 fixed problems."""
    for setting in ("S-GBr-10", "S-Bt-10"):
        got = finals(
            bursar.simulate(
                ["omega-star-ucb:rho=0.25", "omega-ucb:rho=1", "uniform"],
                setting,
                20,
                budget_plays=20_000,
            )
        )
        star, omega, chance = got.values()
        assert star < omega < chance / 3


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["bts"], "S-Br-9"), UnknownSetting, "no setting named 'S-Br-9'; did you mean 'S-Br-"),
        ((["btss"], "S-Br-10"), UnknownPolicy, "no policy named 'btss'; did you mean 'bts'?"),
        (([], "S-Br-10"), InvalidInput, "policies must name at least one, got none"),
        ((["bts", "bts"], "S-Br-10"), InvalidInput, "a policy is given twice in bts, bts"),
        (
            (["bts"], "S-Br-10", 0),
            InvalidInput,
            "repetitions must be a whole number, 1 or more, got 0",
        ),
    ],
)
def test_what_cannot_be_played_is_named(arguments, error, message):
    with pytest.raises(error) as caught:
        bursar.simulate(*arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_plays": 0}, "budget_plays must be positive and finite, got 0"),
        ({"jobs": 0}, "jobs must be 1 or more, got 0"),
        ({"overspend": "always"}, "overspend must be 'last' or 'never', got 'always'"),
        ({"shares": [0.5, 0.5]}, "shares must rise within (0, 1], got [0.5, 0.5]"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InvalidInput) as caught:
        bursar.simulate("bts", "S-Br-10", 1, **options)
    assert message in str(caught.value)


def test_memory_does_not_grow_with_repetitions():
    """Tapes are freed: 60 repetitions of 100 arms need hardly more than 6."""
    program = (
        "import resource, sys, bursar\n"
        "bursar.simulate(['uniform', 'bts'], 'S-Bt-100', int(sys.argv[1]), budget_plays=20000)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    few, many = (
        int(
            subprocess.run(
                [sys.executable, "-c", program, n], capture_output=True, text=True, check=True
            ).stdout
        )
        for n in ("6", "60")
    )
    assert many < few + 60_000  # kB


def test_a_result_shows_itself_in_short():
    result = bursar.simulate(["uniform", "bts"], "S-Br-10", 2, budget_plays=500)
    text = repr(result)
    assert text.startswith("<Result of 2 policies, 1 setting, 2 repetitions: 4 games; least mean")
    assert len(text) < 150
    page = result._repr_html_()
    assert page.count("<tr>") == 3
    assert "<td>uniform</td>" in page
