"""A user's own ad export: what is read, what is counted, what is refused, and what is advised."""

from __future__ import annotations

import codecs
import csv
import io
import math
import zipfile

import numpy as np
import pytest
from ads import the_file
from hypothesis import assume, given
from hypothesis import strategies as st

from bursar.csv_table import Amount, parse_amount
from bursar.errors import InvalidData, InvalidInput, MissingData
from bursar.paper.analysis.ad_advice import advise, assess_group
from bursar.problems import Bernoulli
from bursar.settings import facebook, setting
from bursar.settings.ad_export import (
    AdExportOptions,
    AdExportSetting,
    parse_ad_export,
    read_ad_export,
)
from bursar.simulation.result import Result, plan
from bursar.simulation.simulate import play_cells

NUMBERS = {"clicks": "clicks", "cost": "spent", "reward": "sales"}
GOOD = "ad,clicks,spent,sales\nA,100,50.00,10\nB,200,80.00,4\n"


def of(text: str | bytes, **options):
    data = text.encode() if isinstance(text, str) else text
    options = NUMBERS | {"arm": "ad"} | options
    return parse_ad_export(data, "ads.csv", AdExportOptions(**options))


def refused(text: str | bytes, **options) -> str:
    with pytest.raises(InvalidData) as caught:
        of(text, **options)
    return str(caught.value)


# what is read


@pytest.mark.parametrize(
    "data",
    [
        GOOD.encode(),
        codecs.BOM_UTF8 + GOOD.encode(),
        GOOD.encode("utf-16"),
        GOOD.replace(",", "\t").encode("utf-16"),
        GOOD.replace(",", ";").replace(".", ",").encode(),
        GOOD.replace(",", "|").encode(),
        GOOD.replace("\n", "\r\n").encode(),
        GOOD.upper().replace("SPENT", " Spent ").encode(),
        f'Ad report,,\n"1 May 2024 - 31 May 2024"\n\n{GOOD}'.encode(),
        f"sep=,\n{GOOD}".encode(),
        GOOD.replace("50.00", "€ 50.00").replace("80.00", "80.00 €").encode(),
        GOOD.replace("A,100", '"A","100"').encode(),
        b"notes,sales,spent,ad,clicks\nx,10,50,A,100\ny,4,80,B,200\n",
    ],
)
def test_one_table_in_many_formats(data):
    export = of(data)
    (one,) = export.settings
    assert (one.name, one.arm_names) == ("all", ("A", "B"))
    assert (one.clicks, one.cost, one.reward) == ((100, 200), (50, 80), (10, 4))
    assert (export.rows, export.used, export.left_out.counts) == (2, 2, {})


def test_zip_and_missing_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "r.zip", "w") as archive:
        archive.writestr("report.csv", GOOD)
    options = NUMBERS | {"arm": ["ad"]}
    assert read_ad_export(tmp_path / "r.zip", **options).arms == 2
    with pytest.raises(MissingData, match="no file"):
        read_ad_export(tmp_path / "none.csv", **options)


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("1,234.50", 1234.5, None),
        ("1.234,50", None, 1234.5),
        ("1,234", 1234.0, 1.234),
        ("0,123", None, 0.123),
        ("12,34,567.5", 1234567.5, None),
        ("1 234 567", 1234567.0, 1234567.0),
        ("1'234.5", 1234.5, None),
        ("1 234,567", None, 1234.567),
        ("US$ 12.5", 12.5, None),
        ("12 kr", 12.0, 12.0),
        ("1.2E+3", 1200.0, None),
        ("-3", -3.0, -3.0),
        ("$-3", -3.0, -3.0),
        ("(3)", -3.0, -3.0),
        (".5", 0.5, None),
        ("1,2345.0", None, None),
        ("12k", None, None),
        ("3%", None, None),
        ("30-34", None, None),
        ("1e999", None, None),
        ("nan", None, None),
        ("1_000", None, None),
        ("٣", None, None),
    ],
)
def test_amounts(text, point, comma):
    for mark, value in ((".", point), (",", comma)):
        found = parse_amount(text, mark)
        assert (found.value if found else None) == value


@given(st.floats(0.0, 1e12).map(lambda x: round(x, 2)), st.sampled_from(["", "€", "USD"]))
def test_amounts_are_read_as_they_were_written(value, sign):
    english = f"{value:,.2f}"
    german = english.translate(str.maketrans(",.", ".,"))
    assert parse_amount(f"{sign} {english}".strip(), ".") == Amount(value, sign)
    assert parse_amount(f"{german} {sign}".strip(), ",") == Amount(value, sign)
    assert parse_amount(english, ",") is None
    assert parse_amount(german, ".") is None


def test_lines_of_an_arm_are_added_up_even_days_without_clicks():
    export = of(GOOD + "A,0,1.50,1\nB,0,0,0\n")
    assert export.settings[0].cost == (51.5, 80.0)
    assert export.settings[0].reward == (11.0, 4.0)
    assert export.used == 4


def test_without_arm_columns_each_line_is_an_arm():
    export = of(GOOD, arm=())
    assert export.settings[0].arm_names == ("line 2", "line 3")


GROUPS = """campaign,ad,clicks,spent,sales
x,A,10,5.0,1
x,B,10,5.0,2
y,A,10,5.0,1
z,A,10,5.0,0
z,B,10,5.0,0
"""


def test_groups_are_settings_and_those_that_cannot_be_compared_are_named():
    export = of(GROUPS, group=("campaign",))
    assert [one.name for one in export.settings] == ["x"]
    assert export.describe() == [
        "ads.csv: 2 of 5 lines are used, for 2 arms.",
        "Left out: 1 line, the only arm of its group (line 4).",
        "Left out: 2 lines, no arm of its group earned sales (lines 5, 6).",
        "Left out: 1 group with a single usable arm (y).",
        "Left out: 1 group whose arms earned no sales (z).",
    ]


def test_groups_of_one_arm_each_are_compared_with_one_another():
    export = of(GOOD, group="ad", arm=())
    assert export.settings[0].arm_names == ("A", "B")
    assert export.notes == (
        "Each group (ad) has one arm, so groups are compared with one another.",
    )


def test_names_that_join_to_the_same_text_stay_apart():
    text = "g,h,clicks,spent,sales\n" + "a/b,c,9,5,1\na,b/c,9,5,2\n" * 2
    export = of(text, group=("g", "h"), arm=())
    assert [one.name for one in export.settings] == ["a/b/c", "a/b/c (2)"]


def test_every_reason_has_its_name():
    export = of(
        GOOD
        + "C,0,1,0\nD,5,0,0\nE,5,1,\nF,5,--,1\n,5,1,1\nG,x,1,1\nH,5,-1,1\nI,2.5,1,1\nM,$5,1,1\n"
        "J,5,1\nK,5,1,1,9\nL,5,1,6\nTotal: all,322,136.00,20\n"
    )
    assert export.left_out.counts == {
        "not as many fields as the header": 2,
        "sales is empty": 1,
        "spent is empty": 1,
        "ad is empty": 1,
        "clicks is not a number": 1,
        "spent is negative": 1,
        "clicks is not a whole number": 1,
        "clicks is an amount of money": 1,
        "a line of totals": 1,
        "no clicks": 1,
        "nothing spent": 1,
        "more sales than clicks": 1,
    }
    assert export.left_out.lines["a line of totals"] == [16]
    assert export.left_out.lines["not as many fields as the header"] == [13, 14]
    assert export.used + sum(export.left_out.counts.values()) == export.rows == 15


def test_a_broken_line_does_not_spoil_the_next():
    export = of(GOOD.replace("A,100", "A,$9,x,1\nA,100"))
    assert export.left_out.lines == {"clicks is an amount of money": [2]}


def test_totals_without_a_name_are_known_by_their_sums():
    body = "A,1,2,1\nB,10,4,2\nC,5,6.25,3\n"
    last = of(f"ad,clicks,spent,sales\n{body},16,12.25,6\n", arm=())
    first = of(f"ad,clicks,spent,sales\n,16,12.25,6\n{body}", arm=())
    named = of(f"ad,clicks,spent,sales\n{body}D,16,12.25,6\n", arm=())
    other = of(f"ad,clicks,spent,sales\n{body},16,12.25,7\n", arm=())
    assert last.left_out.counts == {"a line of totals": 1}
    assert last.left_out.lines == {"a line of totals": [5]}
    assert first.left_out.lines == {"a line of totals": [2]}
    assert named.left_out.counts == other.left_out.counts == {}


def test_an_ad_may_be_called_totally_different():
    assert of(GOOD.replace("A,", "Totally new,")).used == 2


def test_empty_rewards_can_mean_none():
    text = GOOD + "C,50,9.50,\n"
    assert of(text).notes == (
        "If an empty sales means none, set blank_is_zero=True (--blank-is-zero); check the lines"
        " first, because their columns may be shifted.",
    )
    assert of(text, blank_is_zero=True).settings[0].reward == (10.0, 4.0, 0.0)


# what is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "ads.csv is empty; its header must name clicks, spent, sales, ad"),
        (
            GOOD.replace("spent", "Spend"),
            "ads.csv has no column 'spent'; did you mean 'Spend'? line 1 has ad, clicks, Spend,"
            " sales",
        ),
        (
            "Report\n" + GOOD.replace("sales", "xyz"),
            "ads.csv has no column 'sales'; line 2 has ad, clicks, spent, xyz",
        ),
        (
            "ad,clicks,spent,sales,Clicks\n",
            "ads.csv, line 1: the column 'clicks' appears twice; rename or remove one",
        ),
        (
            GOOD.replace("50.00", '"1,234"').replace("80.00", '"2,345"'),
            "ads.csv, line 2: spent '1,234' may be 1234 or 1.234, and no other line shows which;"
            " choose with decimal='.' or decimal=',' (--decimal)",
        ),
        (
            GOOD.replace("50.00", '"50,00"'),
            "ads.csv uses both decimal marks: line 3 has spent '80.00', line 2 has spent '50,00';"
            " choose one with decimal='.' or decimal=',' (--decimal)",
        ),
        (
            GOOD.replace("50.00", "€50").replace("80.00", "$80"),
            "ads.csv: spent is in € on line 2 and in $ on line 3; convert them to one currency",
        ),
        (
            GOOD.replace(",10\n", ",1000\n").replace(",4\n", ",900\n"),
            "ads.csv: sales exceeds clicks in 2 of 2 arms, so it does not count clicks;"
            " if it is money, set money=True (--money)",
        ),
        (
            "ad,clicks,spent,sales\n",
            "no two arms to compare in ads.csv (no line below the header)",
        ),
        (
            GOOD.replace("B,200", "B,0"),
            "no two arms to compare in ads.csv (no clicks: 1, first on line 3;"
            " the only arm of its group: 1, first on line 2)",
        ),
        (GOOD + '"C,5\n', "ads.csv, line 4: not CSV, unexpected end of data;"
         " correct or remove the line"),
        (
            GOOD.encode("utf-16-le"),
            "ads.csv contains zero bytes, so it is not text; save it as CSV UTF-8",
        ),
        (
            GOOD.replace("A", "Käse").encode("latin-1"),
            "ads.csv, line 2: not UTF-8 text, got byte 0xe4; save it as CSV UTF-8",
        ),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong_and_the_way_out(text, message):
    assert refused(text) == message


def test_the_ways_out_work():
    unclear = GOOD.replace("50.00", '"1,234"').replace("80.00", '"2,345"')
    assert of(unclear, decimal=".").settings[0].cost == (1234.0, 2345.0)
    assert of(unclear, decimal=",").settings[0].cost == (1.234, 2.345)
    money = GOOD.replace(",10\n", ",1000\n").replace(",4\n", ",900\n")
    export = of(money, money=True)
    assert export.settings[0].prize == pytest.approx(10.0 / 0.99)
    assert "sales is read as an amount" in export.notes[0]
    assert of(money, prize=50.0).settings[0].prize == 50.0
    assert of(money.replace(",1000\n", ",$1000\n")).settings[0].prize == pytest.approx(10.0 / 0.99)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"decimal": ";"}, "decimal must be '.' or ',', got ';'"),
        ({"model": "normal"}, "model must be 'bernoulli' or 'beta', got 'normal'"),
        ({"prize": 0.0}, "prize must be positive and finite, got 0.0; the reward of one success, or"
                         " 'largest'"),
    ],
)  # fmt: skip
def test_options_are_checked(option, message):
    with pytest.raises(InvalidInput) as caught:
        AdExportOptions(**NUMBERS, **option)
    assert str(caught.value) == message


# nothing is lost

BROKEN = st.sampled_from(["", "--", "x", "-3", "$7", "Total", "2.5"])
CLICKS = st.one_of(*[st.integers(0, 2000).map(lambda n: f"{n:,}")] * 9, BROKEN)
COST = st.one_of(*[st.integers(0, 4000).map(lambda cents: f"{cents / 100:.2f}")] * 9, BROKEN)
SALES = st.one_of(*[st.integers(0, 20).map(str)] * 9, BROKEN)
ROWS = st.lists(
    st.tuples(st.sampled_from("ppqq-"), st.sampled_from("ABC"), CLICKS, COST, SALES),
    min_size=3,
    max_size=14,
)


@given(ROWS, st.booleans(), st.booleans(), st.booleans())
def test_every_line_is_in_an_arm_or_counted_and_sums_are_kept(rows, group, arm, money):
    text = io.StringIO()
    csv.writer(text).writerows([("g", "ad", "clicks", "spent", "sales"), *rows])
    columns = {"group": ("g",) * group, "arm": ("ad",) * arm}
    try:
        export = of(text.getvalue(), decimal=".", money=money, **columns)
    except InvalidData as error:
        assume("to compare" not in str(error) and "does not count clicks" not in str(error))
        raise
    assert export.rows == len(rows)
    assert export.used >= export.arms >= 2 * len(export.settings)
    assume(
        all(
            count == len(export.left_out.lines[why])
            for why, count in export.left_out.counts.items()
        )
    )
    out = {line for lines in export.left_out.lines.values() for line in lines}
    assert len(out) == export.rows - export.used  # no line is counted twice
    for column, position in (("clicks", 2), ("cost", 3), ("reward", 4)):
        kept = [parse_amount(row[position], ".") for n, row in enumerate(rows, 2) if n not in out]
        total = math.fsum(sum(getattr(one, column)) for one in export.settings)
        assert total == pytest.approx(math.fsum(found.value for found in kept))


# the paper's file

FACEBOOK = {
    "group": ("campaign_id", "age", "gender"),
    "clicks": "clicks",
    "cost": "spent",
    "reward": "total_conversion",
}


def test_the_papers_file_gives_its_campaigns():
    ours = {one.name: one for one in read_ad_export(the_file(), **FACEBOOK).settings}
    ads = facebook.load(the_file())
    assert (len(ours), sum(one.arms[0] for one in ours.values())) == (19, 545)
    for campaign in ads.campaigns():
        mine = ours[campaign.name]
        (problem,) = mine.problems(0)
        assert sorted(problem.cost) == pytest.approx(sorted(campaign.cost))
        # rewards are not stretched: a click converts as often as it did
        scale = mine.reward_rate.max() / 0.99
        best = campaign.reward[0] / campaign.cost[0]
        assert problem.reward[problem.best] / problem.cost[problem.best] == pytest.approx(
            best * scale
        )


def test_without_the_limit_of_a_conversion_a_click_more_lines_of_the_papers_file_are_arms():
    export = read_ad_export(the_file(), prize="largest", **FACEBOOK)
    assert export.left_out.counts == {
        "total_conversion is empty": 382,
        "no clicks": 203,
        "the only arm of its group": 1,
    }
    assert export.used == 545 + 13 - 1
    for mine in export.settings:
        assert mine.problems(0)[0].reward.max() == pytest.approx(0.99)


def test_the_shifted_lines_of_the_papers_file_are_found_by_their_empty_field():
    export = read_ad_export(the_file(), **FACEBOOK)
    ads = facebook.load(the_file())
    shifted = "age or gender is something else (shifted columns)"
    assert export.left_out.counts == {
        "total_conversion is empty": ads.left_out.counts[shifted],
        "no clicks": ads.left_out.counts["no clicks"],
        "more total_conversion than clicks": ads.left_out.counts["more conversions than clicks"],
    }
    assert export.left_out.lines["total_conversion is empty"] == ads.left_out.lines[shifted]
    # read as zeros they would be accepted, hence the note
    assert "their columns may be shifted" in export.notes[-1]
    believed = read_ad_export(the_file(), blank_is_zero=True, **FACEBOOK)
    assert any(line.startswith("Left out: ") and "45-49/" in line for line in believed.notes)


# the setting


def one(model="bernoulli", **changes):
    fields = {"clicks": (100, 50), "cost": (50.0, 100.0), "reward": (10, 0), **changes}
    return AdExportSetting(name="g", arm_names=("A", "B"), model=model, **fields)


def test_a_setting_plays_the_files_rates_in_the_users_money():
    for model in ("bernoulli", "beta"):
        mine = one(model)
        (problem,) = mine.problems(3)
        assert mine.arms == (problem.arms,) == (2,)
        assert (problem.cost * mine.coin) == pytest.approx([0.5, 2.0])
        assert (problem.reward * mine.prize) == pytest.approx([0.1, 0.0])  # 0 is not made 0.01
        assert problem.cost.max() == pytest.approx(0.99)
        rewards, costs = problem.sample(np.random.default_rng(1), [0, 1], 40_000)
        assert rewards.mean(axis=1) == pytest.approx(problem.reward, abs=0.01)
        assert costs.mean(axis=1) == pytest.approx(problem.cost, abs=0.01)
        assert set(np.unique(rewards)) == {0.0, 1.0}
    assert isinstance(one().problems(0)[0], Bernoulli)
    assert one("beta").problems(1) == one("beta").problems(1)
    assert one("beta").problems(1) != one("beta").problems(2)


def test_identity_follows_the_content():
    base = one().identity()
    assert base == one(source="elsewhere.csv").identity()
    assert base not in {
        one("beta").identity(), one(prize=2.0).identity(), one(cost=(50.0, 99.0)).identity(),
    }  # fmt: skip
    assert setting("S-Br-10").identity() != setting("S-Br-50").identity()
    assert setting("S-GBr-10").identity() != setting("S-GBr-10:authors").identity()
    assert (setting("S-Br-10").coin, setting("S-Br-10").prize) == (1.0, 1.0)


def test_identity_of_ads_follows_the_file():
    head = "campaign_id,age,gender,clicks,spent,total_conversion\n"
    ads = [facebook.parse(f"{head}9,30-34,M,10,5,2\n9,30-34,M,4,{n},1\n".encode()) for n in (1, 2)]
    assert len({setting("FB-Br").identity(data) for data in ads}) == 2


@pytest.mark.parametrize(
    "changes",
    [{"clicks": (0, 1)}, {"cost": (0.0, 1.0)}, {"reward": (-1, 1)}, {"prize": 0.05}, {"model": "x"},
     {"clicks": (1,)}],
)  # fmt: skip
def test_impossible_settings_are_refused(changes):
    with pytest.raises(InvalidInput):
        one(**changes)


# the advice


def played(settings, budget, repetitions=12, policies=("omega-star-ucb:rho=0.25", "uniform")):
    todo = plan(policies, settings, repetitions, budget=budget, shares=(0.5, 1.0))
    return Result.of(todo, list(play_cells(todo, 1)))


CLEAR = "ad,clicks,spent,sales\nA,4000,2000,400\nB,4000,2000,40\n"
THIN = "ad,clicks,spent,sales\nA,5,2.5,1\nB,4,2,2\nC,4,2,1\nD,5,2.5,0\n"


def test_a_clear_file_is_to_be_trusted():
    export = of(CLEAR)
    said = advise(export.settings, played(export.settings, 100.0), 100.0, "€")
    assert said[0].startswith("With a budget of €100, ω*-UCB (ρ = 1/4) earned ")
    assert " of the 20 sales that were possible, on average over 12 simulated runs;" in said[0]
    assert "random choice earned " in said[0]
    assert said[1].startswith("Uniform random came next with ")
    assert said[2].startswith("In your data, 'A' performs best: 0.2 sales per € (95% interval ")
    assert said[3] == "Your data clearly identify the best ad."
    assert said[4].startswith(
        "What to do: spend the budget on 'A'. If performance stays the same, that may lose less"
        " than 1% of what is possible; learning from scratch lost about "
    )
    assert len(said) == 5


def test_with_few_data_learning_is_advised():
    export = of(THIN)
    said = advise(export.settings, played(export.settings, 2000.0), 2000.0)
    assert "Your data do not clearly separate it from 'C', 'A' and 'D'." in said
    assert said[-1].startswith("What to do: let ω*-UCB (ρ = 1/4) divide the budget. It lost ")


def test_a_small_budget_is_said_to_be_small():
    export = of(THIN)
    said = advise(export.settings, played(export.settings, 10.0), 10.0, "USD")
    assert (
        "10 USD buys about 20 clicks, 5 for each of 4 arms, which is too few to learn much."
        " A larger budget or fewer arms would help."
    ) in said


def test_few_runs_and_none():
    export = of(CLEAR)
    result = played(export.settings, 50.0, repetitions=3)
    said = advise(export.settings, result, 50.0)
    assert said[0].startswith("With a budget of 50, ω*-UCB (ρ = 1/4) earned ")
    assert said[1] == "3 runs are too few to tell policies apart; use 100 or more."
    other = of(GOOD.replace("B,", "C,"), group="ad", arm=())
    empty = played(export.settings, 50.0, repetitions=1)
    lonely = (other.settings[0], *export.settings)
    assert advise(lonely, empty, 50.0) == [
        "No simulated run was completed, so there is nothing to advise yet."
    ]


def test_several_groups_share_one_advice():
    text = "g,ad,clicks,spent,sales\n" + "".join(
        f"{g},{line}\n"
        for g, body in (("x", CLEAR), ("y", THIN))
        for line in body.split("\n")[1:-1]
    )
    export = of(text, group="g")
    result = played(export.settings, 300.0)
    said = advise(export.settings, result, 300.0)
    assert said[0].startswith("With a budget of 300 for each of 2 groups, ω*-UCB")
    assert "of the 360 sales" in said[0]  # 300 · (0.2 + 1)
    assert "In 1 of 2 groups your data clearly identify the best ad: 'A' in x." in said
    assert said[-1].startswith(
        "What to do: in 1 of 2 groups, if performance stays the same, using your"
    )
    assert "spend on 'A' in x. Elsewhere let ω*-UCB (ρ = 1/4) divide the budget." in said[-1]


def test_the_best_arm_of_few_clicks_is_not_the_safe_one():
    export = of(
        "ad,clicks,spent,sales\nA,1,0.5,1\nB,2000,1000,300\nC,2000,1000,100\nD,900,450,30\n"
    )
    look = assess_group(export.settings[0], 100.0)
    assert (look.best, look.safe, look.clicks) == ("A", "B", 1.0)
    assert look.low <= look.ratio <= look.high
    assert 0.0 <= look.trust_loss < 0.5
    assert look.plays_per_arm == pytest.approx(50.0)
    said = advise(export.settings, played(export.settings, 100.0), 100.0)
    assert "Its lead rests on few clicks (1); 'B' is the safer choice." in said
