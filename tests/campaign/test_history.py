"""Past outcomes count for the learner, and never for the money."""

from __future__ import annotations

import csv
import gzip
import random
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hand_clock import folded, live_state
from pyarrow import parquet

import bursar
from bursar.campaign import Campaign
from bursar.campaign.audit import Audit
from bursar.campaign.state import decode_snapshot, encode_snapshot
from bursar.dashboard.events import EventDescriber
from bursar.errors import (
    IdempotencyMismatch,
    InvalidData,
    InvalidInput,
    MissingData,
    MissingExtra,
    UnknownArm,
)

ARMS = {"small": "0.01", "large": "0.05", "huge": "0.50"}
COLUMNS: dict[str, list[Any]] = {
    "arm": ["small", "large", "small", "large", "small"],
    "reward": [1, 1, 0, 0.25, 0],
    "cost": [0.004, 0.03, 0.001, 0.05, 0.002],
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def made(policy: str = "omega-star-ucb:rho=0.25", **rules: Any) -> Campaign:
    return Campaign("llm", budget="10.00", arms=ARMS, policy=policy, **rules)


def past_of(campaign: Campaign, key: str) -> Any:
    return next(arm for arm in campaign.arms() if arm.key == key)


def same_after_replay(campaign: Campaign) -> None:
    state = live_state(campaign)
    content = encode_snapshot(state)
    again = decode_snapshot(content)
    assert again is not None
    for other in (folded(campaign), again):
        assert encode_snapshot(other) == content
        assert other.learner.seen.tobytes() == state.learner.seen.tobytes()
        assert other.learner.game.tobytes() == state.learner.game.tobytes()
    assert campaign.verify(choices=True).choices is not None


def test_past_outcomes_are_sums_of_the_table_and_no_money() -> None:
    campaign = made()
    before = campaign.status()
    learned = campaign.learn_from(COLUMNS, source="evals", by="ada")
    assert (learned.arms, learned.outcomes, learned.replayed) == (("large", "small"), 5, False)
    now = campaign.status()
    for name in ("budget", "spent", "held", "available", "asks", "open", "reward", "version"):
        assert getattr(now, name) == getattr(before, name)
    small = past_of(campaign, "small")
    assert (small.plays, small.asks, small.history.outcomes) == (0, 0, 3)
    assert small.reward.value == pytest.approx(1 / 3)
    assert small.cost.value == pytest.approx(0.007 / 3)
    assert past_of(campaign, "huge").history is None
    assert past_of(campaign, "huge").reward is None
    one = live_state(campaign).learner.arms[1]
    assert one["reward_m2"] == pytest.approx(2 * 0.375**2)
    assert one["cost_m2"] == pytest.approx(2 * 0.01**2 / 0.05**2)  # costs in units of the dearest
    same_after_replay(campaign)


def test_the_same_outcomes_are_learned_as_if_they_had_been_told() -> None:
    warm, told = made(), made()
    for row in ROWS:
        told.tell(told.ask(among=[row["arm"]]), cost=f"{row['cost']:.3f}", reward=row["reward"])
    warm.tell(warm.ask(among=["small"]), cost="0.004", reward=1)  # merged with its own
    warm.learn_from(ROWS[1:])
    mine, others = (live_state(one).learner.arms for one in (warm, told))
    for name in ("n", "reward", "cost", "reward_m2", "cost_m2"):
        assert mine[name] == pytest.approx(others[name])
    assert live_state(warm).learner.game["plays"] == 5
    assert past_of(warm, "small").plays == 1


def test_the_same_table_again_changes_nothing(tmp_path: Path) -> None:
    campaign = made()
    first = campaign.learn_from(ROWS, source="evals")
    seq = campaign.status().seq
    for table in (ROWS, ROWS[::-1], COLUMNS, pa.table(COLUMNS)):
        again = campaign.learn_from(table)
        assert (again.replayed, again.outcomes, again.seq) == (True, 0, first.seq)
        assert "learned before, in event 2; nothing changed" in str(again)
    assert campaign.status().seq == seq
    with pytest.raises(IdempotencyMismatch, match=r"already learned with weight 1 \(event 2\)"):
        campaign.learn_from(ROWS, weight=0.5)
    campaign.learn_from(ROWS[:4])  # other outcomes are another table
    assert campaign.status().seq == seq + 1


def test_an_arm_that_is_added_later_learns_from_the_same_table() -> None:
    campaign = made()
    rows = [*ROWS, {"arm": "new", "reward": 1, "cost": 0.01}]
    first = campaign.learn_from(rows, unknown="skip", source="evals")
    assert (first.unknown, first.outcomes) == (("new",), 5)
    assert "Unknown arms were left out: new." in str(first)
    campaign.add_arm("new", "0.02")
    second = campaign.learn_from(rows, source="evals")
    assert (second.arms, second.outcomes) == (("new",), 1)
    assert past_of(campaign, "small").history.outcomes == 3
    assert campaign.learn_from(rows).replayed
    same_after_replay(campaign)


def test_weight_is_how_many_plays_an_outcome_counts_as() -> None:
    whole, half = made(), made()
    whole.learn_from(COLUMNS)
    half.learn_from(COLUMNS, weight=0.5, source="old evals")
    of_whole, of_half = (live_state(one).learner.arms for one in (whole, half))
    for name in ("n", "reward", "cost", "reward_m2", "cost_m2"):
        assert 2 * of_half[name] == pytest.approx(of_whole[name])
    assert past_of(half, "small").history.plays == 1.5
    assert past_of(half, "small").reward.value == past_of(whole, "small").reward.value
    why = half.explain(half.ask(among=["small"]))
    assert "3 past outcomes from old evals count for small as 1.5 plays." in str(why)
    assert why.option("small").tried == 2
    for wrong in (0, -1, 1.5, float("nan"), "half"):
        with pytest.raises(InvalidInput, match="weight"):
            half.learn_from(COLUMNS, weight=wrong)  # type: ignore[arg-type]


def test_who_knows_twenty_arms_does_not_try_the_bad_ones_again() -> None:
    chance = random.Random(4)
    means = {f"m{i}": 0.9 if i in (3, 7) else 0.02 * i for i in range(20)}
    rows = [
        {"arm": arm, "reward": float(chance.random() < mean), "cost": chance.uniform(0.005, 0.015)}
        for arm, mean in means.items()
        for _ in range(500)
    ]
    for policy in ("omega-star-ucb:rho=0.25", "pooled-gittins", "bts"):
        asked: dict[bool, list[str]] = {}
        for warm in (True, False):
            campaign = Campaign(
                "llm", budget="5", arms=dict.fromkeys(means, "0.10"), policy=policy, seed=1,
                history=rows if warm else None,
            )  # fmt: skip
            asked[warm] = []
            for _ in range(40):
                one = campaign.ask()
                asked[warm].append(one.arm)
                campaign.tell(one, cost="0.01", reward=float(chance.random() < means[one.arm]))
        assert set(asked[True]) <= {"m3", "m7"}, policy
        assert len(set(asked[False])) > 8, policy


@pytest.mark.parametrize("policy", bursar.POLICIES)
def test_every_policy_of_campaigns_chooses_after_fractions_of_plays(policy: str) -> None:
    try:
        campaign = made(policy, min_cost="0.001")
    except InvalidInput as error:
        assert "keeps notes" in str(error) or "at once" in str(error)  # noqa: PT017 - no campaign
        return
    campaign.learn_from(COLUMNS, weight=0.01)
    for number in range(12):
        asked = campaign.ask()
        campaign.tell(asked, cost="0.004", reward=number % 2)
    campaign.correct(asked, reward=0.5)
    assert campaign.explain(asked).verified
    assert campaign.forecast().plays is not None
    same_after_replay(campaign)


def test_a_reset_forgets_past_outcomes_and_a_correction_does_not() -> None:
    campaign = made(on_change="reset")
    campaign.learn_from(COLUMNS, weight=0.3)
    campaign.correct(
        campaign.tell(campaign.ask(among=["small"], id="one"), cost="0.004", reward=1), reward=0
    )
    assert past_of(campaign, "small").history.outcomes == 3
    body = {"key": "small", "what": "cost", "before": 0.5, "after": 0.7, "older": 9, "newer": 5}
    campaign.execute(lambda one: one.append_event("changed", body | {"reset": True}))
    small = past_of(campaign, "small")
    assert (small.history, small.plays, small.reward) == (None, 0, None)
    assert past_of(campaign, "large").history.outcomes == 2
    assert campaign.learn_from(COLUMNS, weight=0.3).replayed  # it is not how the arm is now
    same_after_replay(campaign)


def test_paused_and_retired_arms_learn_and_costs_above_a_maximum_are_clipped() -> None:
    campaign = made(hold="quantile:0.9")
    campaign.pause_arm("small")
    campaign.retire_arm("large")
    campaign.learn_from({"arm": ["small", "large"], "reward": [1, 1], "cost": [9, 0.04]})
    assert campaign.ask().arm == "huge"
    assert campaign.arms()[0].hold == campaign.arms()[0].max_cost  # past costs hold nothing
    arms = live_state(campaign).learner.arms
    assert arms["cost"].max() == 1.0
    same_after_replay(campaign)


def test_a_campaign_is_made_with_its_history_or_not_at_all(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'spend.db'}"
    wrong = [*ROWS, {"arm": "tiny", "reward": 1, "cost": 0.01}]
    with pytest.raises(UnknownArm, match=r"'tiny' \(1 outcome\)"):
        made(storage=url, history=wrong)
    with pytest.raises(bursar.UnknownCampaign):
        Campaign("llm", storage=url)
    for _ in range(2):  # a script may run again
        campaign = made(storage=url, history=COLUMNS)
        assert campaign.status().seq == 2
        campaign.close()
    again = Campaign("llm", storage=url)
    assert past_of(again, "small").history.outcomes == 3
    assert again.forecast().best == "small"
    again.close()


class Stream:
    """Something with the Arrow C stream interface and nothing else, as DuckDB's relations have."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(schema)


class Frame(Stream):
    """A frame with columns, as pandas and polars have them."""

    columns = tuple(COLUMNS)

    def __getitem__(self, name: str) -> Any:
        return iter(COLUMNS[name])


def files(folder: Path) -> list[Path]:
    plain, packed, columns = (folder / f"evals.{end}" for end in ("csv", "csv.gz", "parquet"))
    with plain.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(ROWS)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    parquet.write_table(pa.table(COLUMNS), columns)
    return [plain, packed, columns]


def test_tables_of_any_kind_are_the_same_table(tmp_path: Path) -> None:
    tables = [*files(tmp_path), Stream(pa.table(COLUMNS)), Frame(pa.table(COLUMNS)), iter(ROWS)]
    digests = set()
    for table in (COLUMNS, ROWS, pa.table(COLUMNS), *tables, str(tables[0])):
        campaign = made(history=table)
        digests |= {one.digest for one in live_state(campaign).tables}
        assert campaign.learn_from(COLUMNS).replayed
    assert len(digests) == 1
    assert live_state(made(history=tables[1])).tables[0].source == "evals.csv.gz"
    campaign = made()
    renamed = {"model": COLUMNS["arm"], "score": COLUMNS["reward"], "usd": COLUMNS["cost"]}
    campaign.learn_from(renamed, arm="model", reward="score", cost="usd")
    assert campaign.learn_from(COLUMNS).replayed


def test_frames_need_no_pyarrow_but_streams_name_the_extra(monkeypatch: Any) -> None:
    stream, frame = Stream(pa.table(COLUMNS)), Frame(pa.table(COLUMNS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert made().learn_from(frame).outcomes == 5
    with pytest.raises(MissingExtra, match=r"pip install 'bursar\[paper\]'"):
        made().learn_from(stream)


def with_row(**values: Any) -> list[dict[str, Any]]:
    return [*ROWS, {"arm": "small", "reward": 1, "cost": 0.01} | values]


@pytest.mark.parametrize(
    ("table", "error", "text"),
    [
        (with_row(arm="tiny"), UnknownArm, "'tiny' (1 outcome); add them, rename them in the table,"
         " or leave them out with unknown='skip' (--unknown skip)"),
        (with_row(reward=1.5), InvalidData, "row 6: reward is not in the campaign's reward_range"
         " [0, 1], got 1.5; correct or remove the row"),
        (with_row(reward="good"), InvalidData, "row 6: reward is not a number, got 'good'"),
        (with_row(reward=float("inf")), InvalidData, "row 6: reward is not finite, got inf"),
        (with_row(cost=-0.01), InvalidData, "row 6: cost is negative, got -0.01"),
        (with_row(cost=1e19), InvalidData, "row 6: cost must be below 10^18, got 1e+19"),
        (with_row(cost=None), InvalidData, "row 6: cost is empty; 1 row without an arm, a reward"
         " or a cost: complete them, or leave them out with missing='skip' (--missing skip)"),
        (with_row(reward=float("nan")), InvalidData, "row 6: reward is empty; 1 row without"),
        (with_row(arm=" "), InvalidData, "row 6: arm is empty"),
        ([], InvalidData, "has no outcomes to learn from"),
        ({"model": ["a"], "reward": [1], "cost": [1]}, InvalidData, "no column 'arm'; it has model,"
         " reward, cost; name the column of the arm with arm='…' (--column arm=…)"),
        ({"arm": ["small"], "reward": [1, 0], "cost": [1]}, InvalidInput, "must have one length"),
        ([("small", 1, 0.01)], InvalidInput, "row 1 of past outcomes must be a mapping with arm,"),
        (7, InvalidInput, "a mapping of columns or a list of mappings, got int"),
        ("nowhere.csv", MissingData, "no file 'nowhere.csv'"),
        ("nowhere.parquet", MissingData, "no file 'nowhere.parquet'"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned_is_named_with_the_way_out(
    table: Any, error: type[Exception], text: str
) -> None:
    campaign = made()
    with pytest.raises(error) as found:
        campaign.learn_from(table)
    assert text in str(found.value)
    assert campaign.status().seq == 1


def test_rows_may_be_left_out_and_are_counted() -> None:
    campaign = made()
    rows = [*with_row(cost=None), {"arm": "tiny", "reward": 1, "cost": 1}, {"arm": "large"}]
    learned = campaign.learn_from(rows, unknown="skip", missing="skip")
    assert (learned.left_out, learned.unknown, learned.outcomes) == (2, ("tiny",), 5)
    assert "were left out: 2." in str(learned)
    with pytest.raises(UnknownArm, match="'tiny'"):  # nothing else is in it
        campaign.learn_from(rows[6:7], unknown="skip")
    with pytest.raises(InvalidInput, match="missing must be 'refuse' or 'skip', got 'drop'"):
        campaign.learn_from(rows, missing="drop")  # type: ignore[arg-type]


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "evals.csv"
    path.write_text("arm,reward,cost\nsmall,1,0.01\nlarge,1\n")
    with pytest.raises(InvalidData, match=r"evals\.csv, line 3: not as many fields"):
        made().learn_from(path)
    path.write_text("arm,reward,cost\nsmall,1,0.01\nlarge,1,cheap\n")
    with pytest.raises(InvalidData, match=r"evals\.csv, line 3: cost is not a number, got 'cheap'"):
        made().learn_from(path)
    broken = tmp_path / "evals.csv.gz"
    broken.write_bytes(gzip.compress(b"arm,reward,cost\n" * 99)[:30])
    with pytest.raises(InvalidData, match=r"cannot read evals\.csv\.gz as a gzip file"):
        made().learn_from(broken)


def test_truths_are_rewards(tmp_path: Path) -> None:
    path = tmp_path / "evals.csv"
    path.write_text("arm,reward,cost\nsmall,True,0.01\nsmall,false,0.01\n")
    one, other = made(history=path), made()
    assert past_of(one, "small").reward.value == 0.5
    other.learn_from({"arm": ["small"] * 2, "reward": [True, False], "cost": [0.01] * 2})
    assert other.learn_from(path).replayed


def test_an_earlier_bursar_does_not_take_a_snapshot_for_all_there_is() -> None:
    campaign = made()
    version = msgspec.msgpack.decode(encode_snapshot(live_state(campaign)))["v"]
    campaign.learn_from(COLUMNS)  # which it would not count
    assert msgspec.msgpack.decode(encode_snapshot(live_state(campaign)))["v"] > version


def test_a_decision_export_is_a_history(tmp_path: Path) -> None:
    from bursar.campaign.export import export_decisions  # noqa: PLC0415

    first = made()
    first.run(lambda arm: ("0.01" if arm == "small" else "0.05", 1.0), most=20)
    first.ask()  # without an outcome
    path = tmp_path / "last.parquet"
    export_decisions(first, path)
    second = made()
    learned = second.learn_from(path, missing="skip")
    assert (learned.outcomes, learned.left_out) == (20, 1)
    assert past_of(second, "small").cost.value == pytest.approx(past_of(first, "small").cost.value)


def test_the_audit_refuses_what_no_campaign_writes() -> None:
    campaign = made(history=COLUMNS)
    first, learned = campaign.events()
    assert "5 past outcomes of 2 arms learned from the table" in EventDescriber(
        campaign.coin, list(ARMS)
    ).describe(learned)
    body = learned.body
    for wrong in (
        body | {"weight": 2.0},
        body | {"arms": [body["arms"][0] | {"arm": "tiny"}]},
        body | {"arms": body["arms"] * 2},
    ):
        event = type(learned)(learned.seq, learned.ts, learned.kind, "", wrong)
        assert Audit(first).follow(event) is not None
