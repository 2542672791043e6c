"""Experiments: declared, run in units that survive, read back; failures are kept and repeated."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

import bursar
from bursar.errors import BursarError, InvalidData, InvalidInput, StorageUnavailable
from bursar.experiments import (
    FINE_SHARES,
    experiment,
    format_experiment,
    load_experiment,
    read_experiment,
    run,
    toml,
)
from bursar.experiments.cells import CellStore, code_digest, read_statements
from bursar.experiments.runner import DRAWING, make_thread_engine, plan_run
from bursar.experiments.toml import load_policies, read_code
from bursar.simulation import arrow

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_policy.py"
FICKLE = '''
import os
from dataclasses import dataclass
from bursar.policies.uniform import Uniform

@dataclass(frozen=True)
class Fickle(Uniform):
    """Fails while the variable is set."""
    name = "fickle"
    def kernel_params(self, context):
        if os.environ.get("BURSAR_TEST_FAIL"):
            raise RuntimeError("broken policy")
        return super().kernel_params(context)
'''


def small(repetitions=3, policies=("bts", "m-ucb"), **fields):
    usual = {"settings": ["S-Br-10", "S-Bt-10"], "budget_plays": 3000}
    return experiment("small", policies=policies, repetitions=repetitions, **(usual | fields))


def written(tmp_path, body, name="mine.toml"):
    path = tmp_path / name
    path.write_text(body)
    return path


# the grid as data


def test_the_papers_grid_is_24_configurations_on_9_settings_without_the_ads():
    grid = load_experiment("full").plan
    assert (len(grid.policies), len(grid.settings), grid.repetitions) == (24, 9, 100)
    assert grid.budget_plays == 150_000
    assert len({str(p) for p in grid.policies}) == 24
    more = load_experiment("full", all_policies=True).plan
    names = {str(p).partition(":")[0] for p in more.policies}
    forgetful = {slug for slug in bursar.POLICIES if slug.startswith(("sw-", "d-"))}
    assert names == set(bursar.POLICIES) - forgetful  # they are for worlds that change


def test_the_quick_grid_is_part_of_what_the_package_has():
    grid = load_experiment("quick").plan
    assert set(load_experiment("full").plan.policies) & set(grid.policies)
    assert "uniform" in {str(p) for p in grid.policies}
    assert len(grid.settings) == 9


@pytest.mark.parametrize(
    "what",
    [
        load_experiment("full", repetitions=3, seed=7),
        small(shares=(0.5, 1.0), overspend="never"),
        small(budget=12.5, budget_plays=150_000),
    ],
    ids=["full", "shares", "budget"],
)
def test_an_experiment_that_is_written_reads_back(what, tmp_path):
    again = read_experiment(written(tmp_path, format_experiment(what)))
    assert again == what


def test_a_file_has_the_fields_of_simulate(tmp_path):
    path = written(
        tmp_path,
        """
        title = "Two ads"
        policies = ["bts", "uniform"]
        settings = ["S-GBr-10:authors"]
        repetitions = 4
        [[problems]]
        name = "two ads"
        reward = [0.1, 0.3]
        cost = [0.5, 0.9]
        [[problems]]
        distribution = "Beta"
        reward_alpha = [1.0]
        reward_beta = [2.0]
        cost_alpha = [3.0]
        cost_beta = [1.0]
        """,
    )
    what = read_experiment(path)
    assert (what.name, what.title, what.plan.shares) == ("mine", "Two ads", FINE_SHARES)
    assert [p.name for p in what.plan.settings][:2] == ["S-GBr-10:authors", "two ads"]
    result = run(what.but(budget_plays=200), tmp_path / "out").result
    assert result.settings[1] == "two ads"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\nrepetition = 3\n',
            "mine.toml, line 3: no field named 'repetition'; did you mean 'repetitions'?",
        ),
        (
            'settings = ["S-Br-10"]\npolicies = [\n  "bts",\n  "bst",\n]\n',
            "mine.toml, line 4: no policy named 'bst'; did you mean 'bts'?",
        ),
        (
            'policies = ["bts"]\nsettings = [\n "S-Br-10", "S-Br-11"]\n',
            "mine.toml, line 3: no setting named 'S-Br-11'; did you mean 'S-Br-10'?",
        ),
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\n\nrepetitions = 0\n',
            "mine.toml, line 4: repetitions must be a whole number, 1 or more, got 0;"
            " 100 in the paper",
        ),
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\nrepetitions = "many"\n',
            "mine.toml, line 3: repetitions must be a whole number, got 'many'",
        ),
        (
            'policies = "bts"\nsettings = ["S-Br-10"]\n',
            "mine.toml, line 1: policies must be a list of strings, got 'bts'",
        ),
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\nbudget_plays = -5\n',
            "mine.toml, line 3: budget_plays must be positive and finite, got -5;"
            " 150,000 in the paper",
        ),
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\nshares = [0.5, 0.2]\n',
            "mine.toml, line 3: shares must rise within (0, 1], got [0.5, 0.2]",
        ),
        (
            'policies = ["bts"]\nsettings = ["S-Br-10"]\noverspend = "often"\n',
            "mine.toml, line 3: overspend must be 'last' or 'never', got 'often'",
        ),
        (
            'name = "a/b"\npolicies = ["bts"]\nsettings = ["S-Br-10"]\n',
            "mine.toml, line 1: name must consist of letters, digits, '-', '_' and '.', got 'a/b'",
        ),
        (
            'settings = ["S-Br-10"]\n',
            "mine.toml, line 1: policies must name at least one, got none",
        ),
        (
            'policies = ["bts"]\n[[problems]]\nname = "x"\nreward = [0.5]\ncost = [0]\n',
            "mine.toml, line 3: problem 'x': cost must be in (0, 1], got 0 as the mean cost"
            " of arm 0; a zero-cost arm would never use up the budget; remove it",
        ),
        (
            'policies = ["bts"]\n[[problems]]\nreward = [0.5]\n\ncosts = [1]\n',
            "mine.toml, line 5: Bernoulli problems have no field 'costs'; did you mean 'cost'?",
        ),
        (
            'policies = ["bts"]\n[[problems]]\nreward = [0.5]\n',
            "mine.toml, line 2: problem 'problem 1' lacks cost",
        ),
        (
            'policies = ["bts"]\nbudget = 3\nbudget_plays = 4\nsettings = ["S-Br-10"]\n',
            "mine.toml, line 2: set budget or budget_plays, not both",
        ),
        (
            'policies = ["bts"]\n[[problems]]\ndistribution = "Gauss"\n',
            "mine.toml, line 3: no distribution named 'Gauss';"
            " known: Bernoulli, Beta, GeneralizedBernoulli",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(body, message, tmp_path):
    with pytest.raises(InvalidInput) as caught:
        read_experiment(written(tmp_path, body))
    assert str(caught.value) == message


def test_what_is_no_toml_is_refused_with_its_line(tmp_path):
    with pytest.raises(InvalidInput, match=r"mine.toml: not TOML, .*line 2"):
        read_experiment(written(tmp_path, "name = 'x'\npolicies = [bts]\n"))
    with pytest.raises(BursarError, match="no file"):
        read_experiment(tmp_path / "absent.toml")


# running


def test_an_experiment_gives_what_simulate_gives(tmp_path):
    what = small()
    ours = run(what, tmp_path).result
    fields = {"budget_plays": 3000, "shares": FINE_SHARES}
    theirs = bursar.simulate(["bts", "m-ucb"], ["S-Br-10", "S-Bt-10"], 3, **fields)
    assert arrow.table(ours).equals(arrow.table(theirs))


def test_parts_are_found_again_and_only_what_is_missing_is_computed(tmp_path):
    first = run(small(), tmp_path)
    assert (first.counts.done, first.counts.cached) == (6, 0)
    again = run(small(), tmp_path)
    assert (again.counts.done, again.counts.cached) == (0, 6)
    assert arrow.table(first.result).equals(arrow.table(again.result))
    longer = run(small(repetitions=4), tmp_path)
    assert (longer.counts.done, longer.counts.cached) == (2, 6)
    more = plan_run(small(policies=("bts", "i-ucb")), CellStore(tmp_path))
    assert [task.policies for task in more.missing] == [("i-ucb",)] * 6


def test_another_policy_joins_without_moving_the_others(tmp_path):
    run(small(policies=("m-ucb",)), tmp_path)
    mixed = run(small(policies=("bts", "m-ucb")), tmp_path)
    alone = run(small(policies=("bts", "m-ucb")), tmp_path / "fresh")
    assert arrow.table(mixed.result).equals(arrow.table(alone.result))


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"budget_plays": 2999}, {"overspend": "never"}, {"shares": (0.5, 1.0)}],
    ids=str,
)
def test_what_the_numbers_depend_on_is_in_the_key(change, tmp_path):
    run(small(), tmp_path)
    assert len(plan_run(small(**change), CellStore(tmp_path)).missing) == 6


def test_other_code_does_not_take_old_parts(tmp_path, monkeypatch):
    run(small(), tmp_path)
    monkeypatch.setattr("bursar.experiments.cells.code_digest", lambda: "another version")
    assert len(plan_run(small(), CellStore(tmp_path)).missing) == 6
    assert len(code_digest()) == 20


def test_the_digest_of_code_sees_statements_but_not_prose():
    source = (
        '"""Doc."""\nimport os\n__all__ = ["f"]\nX = 1\ndef f(x):\n    """Say."""\n    return x\n'
    )
    same = "# moved\nX = 1\n\n\ndef f(x):\n    # why\n    return x\n"
    other = same.replace("return x", "return -x")
    assert list(read_statements(source)) == list(read_statements(same))
    assert list(read_statements(same)) != list(read_statements(other))


def test_a_part_that_was_cut_off_is_computed_again(tmp_path):
    whole = run(small(), tmp_path)
    victims = sorted((tmp_path / "parts").glob("*/*.parquet"))
    victims[0].write_bytes(victims[0].read_bytes()[:-40])
    victims[1].write_bytes(b"")
    again = run(small(), tmp_path)
    assert again.counts.done == 2
    assert arrow.table(again.result).equals(arrow.table(whole.result))


def test_13_13_a_flipped_bit_in_a_part_is_noticed_wherever_it_is(tmp_path, caplog):
    whole = run(small(repetitions=1, settings=["S-Br-10"]), tmp_path)
    (part,) = (tmp_path / "parts").glob("*/*.parquet")
    content, store = part.read_bytes(), CellStore(tmp_path)
    assert store.find()
    for at in range(8 * len(content)):
        if at % 131 and at > 400:  # every byte that begins a page or a footer, and a sample
            continue
        part.write_bytes(flip(content, at))
        assert store.find() == {}, f"bit {at} of {len(content)} bytes"
        part.with_name(part.name + ".damaged").unlink()
    part.write_bytes(content)
    assert store.find()
    assert caplog.text.count("1 damaged file in") > 45
    assert arrow.table(run(small(repetitions=1, settings=["S-Br-10"]), tmp_path).result).equals(
        arrow.table(whole.result)
    )


def flip(content, bit):
    """Return bytes with one bit flipped."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.9999])
def test_13_13_a_damaged_part_is_computed_again_and_said_once(share, tmp_path, caplog):
    what = small(repetitions=2, settings=["S-Br-10"])
    whole = run(what, tmp_path)
    victim = min((tmp_path / "parts").glob("*/*.parquet"))
    content = victim.read_bytes()
    victim.write_bytes(flip(content, int(share * 8 * len(content))))
    again = run(what, tmp_path)
    assert (again.counts.done, again.counts.cached) == (1, 1)
    assert arrow.table(again.result).equals(arrow.table(whole.result))
    assert "what was in it is computed again" in caplog.text
    assert victim.name in caplog.text
    caplog.clear()
    last = run(what, tmp_path)
    assert (last.counts.done, last.counts.cached, caplog.text) == (0, 2, "")


def test_13_13_a_part_without_a_checksum_is_computed_again(tmp_path, caplog):
    what = small(repetitions=1, settings=["S-Br-10"])
    run(what, tmp_path)
    (part,) = (tmp_path / "parts").glob("*/*.parquet")
    parquet.write_table(parquet.read_table(part).replace_schema_metadata({}), part)
    assert run(what, tmp_path).counts.done == 1
    assert "1 damaged file" in caplog.text


def test_13_13_a_part_that_is_damaged_during_the_run_is_an_error_with_a_way_out(tmp_path):
    what = small(repetitions=1, settings=["S-Br-10"])
    run(what, tmp_path)
    (part,) = (tmp_path / "parts").glob("*/*.parquet")
    content, plan = part.read_bytes(), plan_run(what, CellStore(tmp_path))
    part.write_bytes(flip(content, 999))
    with pytest.raises(InvalidData, match="run the same command again"):
        run(what, tmp_path, plan=plan)
    assert run(what, tmp_path).counts.done == 1


def test_13_13_a_table_of_results_that_a_disk_changed_is_refused(tmp_path):
    result = run(small(repetitions=1, settings=["S-Br-10"]), tmp_path).result
    path = tmp_path / "results.parquet"
    arrow.write(result, path)
    content, wrong, refused = path.read_bytes(), 0, 0
    for at in range(0, 8 * len(content), 53):
        path.write_bytes(flip(content, at))
        try:
            wrong += not arrow.table(arrow.read(path)).equals(arrow.table(result))
        except InvalidData:
            refused += 1
    assert refused > 45
    assert wrong == 0


def test_13_a_full_disk_keeps_what_is_done_and_says_what_to_do(tmp_path, monkeypatch):
    stored = []

    def write(path, content):
        if len(stored) == 2:
            raise OSError(28, "No space left on device")
        stored.append(path)
        with path.open("wb") as file:
            return file.write(content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", write)
        with pytest.raises(StorageUnavailable, match="No space left on device; units that were"):
            run(small(), tmp_path)
    again = run(small(), tmp_path)
    assert (again.counts.cached, again.counts.done) == (2, 4)


def test_what_a_killed_run_was_writing_is_removed_later(tmp_path):
    run(small(), tmp_path)
    old, new = (tmp_path / "parts" / "S-Br-10" / f".{n}.part.parquet" for n in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    assert run(small(), tmp_path).counts.cached == 6
    assert (old.exists(), new.exists()) == (False, True)


def test_the_number_of_threads_does_not_matter(tmp_path):
    one, three = (
        run(small(), tmp_path / str(j), engine=make_thread_engine(j)).result for j in (1, 3)
    )
    assert arrow.table(one).equals(arrow.table(three))


def test_a_stopped_run_keeps_what_is_done_evenly_over_settings(tmp_path):
    asked = []

    def stop():
        asked.append(1)
        return len(asked) > 4

    partial = run(small(repetitions=10), tmp_path, engine=make_thread_engine(1), stop=stop)
    assert not partial.is_complete
    assert 0 < partial.counts.done < 20
    counts = np.bincount(partial.result.setting)
    assert abs(int(counts[0]) - int(counts[1])) <= 2
    full_run = run(small(repetitions=10), tmp_path)
    assert full_run.counts.cached == partial.counts.done
    fresh = run(small(repetitions=10), tmp_path / "fresh")
    assert arrow.table(full_run.result).equals(arrow.table(fresh.result))


def test_parts_can_be_read_by_anyone(tmp_path):
    run(small(), tmp_path)
    table = parquet.read_table(next((tmp_path / "parts").glob("S-Br-10/00000-*.parquet")))
    assert set(table.column("policy").to_pylist()) == {"bts", "m-ucb"}
    assert table.num_rows == 2 * len(FINE_SHARES)


def test_timings_count_plays_and_seconds(tmp_path):
    outcome = run(small(), tmp_path)
    rows = {(t["setting"], t["policy"]): t for t in outcome.timings}
    played = outcome.result.values[:, -1, 0].sum()
    assert sum(t["plays"] for t in rows.values()) == played == outcome.counts.plays
    assert rows["S-Br-10", "bts"]["seconds"] > 0.0
    assert rows["S-Br-10", DRAWING]["plays"] == 0  # the drawing of outcomes


# failures


@pytest.fixture
def fickle(tmp_path):
    (tmp_path / "fickle.py").write_text(FICKLE)
    body = (
        'policies = ["fickle", "m-ucb"]\nsettings = ["S-Br-10"]\nrepetitions = 3\n'
        'budget_plays = 500\npolicy_files = ["fickle.py"]\n'
    )
    return read_experiment(written(tmp_path, body))


def test_a_failure_keeps_traceback_and_seed_and_the_rest_goes_on(fickle, tmp_path, monkeypatch):
    out = tmp_path / "out"

    monkeypatch.setenv("BURSAR_TEST_FAIL", "1")
    outcome = run(fickle, out)
    assert (outcome.counts.failed, outcome.counts.done) == (3, 0)
    assert [f.policy for f in outcome.failures] == ["fickle"] * 3
    failure = outcome.failures[0]
    assert failure.error == "RuntimeError: broken policy"
    assert "Traceback" in failure.traceback
    assert (failure.seed, failure.repetition) == (0, 0)
    kept = json.loads(next((out / "failed").glob("*.json")).read_text())
    assert kept["setting"] == "S-Br-10"
    assert set(outcome.result.policy) == {1}  # m-ucb played all the same
    assert outcome.result.values.shape[0] == 3

    monkeypatch.delenv("BURSAR_TEST_FAIL")
    idle = run(fickle, out)  # not repeated unless asked to
    assert (idle.counts.failed, idle.counts.done) == (3, 0)
    healed = run(fickle, out, rerun_failed=True)
    assert (healed.counts.failed, healed.counts.done, healed.failures) == (0, 3, [])
    assert not list((out / "failed").glob("*.json"))
    fresh = run(fickle, tmp_path / "fresh")
    assert arrow.table(healed.result).equals(arrow.table(fresh.result))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 0.6, 0.8, 0.99])
def test_13_13_a_damaged_failure_is_repeated(share, fickle, tmp_path, monkeypatch, caplog):
    out = tmp_path / "out"
    monkeypatch.setenv("BURSAR_TEST_FAIL", "1")
    run(fickle, out)
    monkeypatch.delenv("BURSAR_TEST_FAIL")
    victim = min((out / "failed").glob("*.json"))
    content = victim.read_bytes()
    victim.write_bytes(flip(content, int(share * 8 * len(content))))
    healed = run(fickle, out)
    assert (healed.counts.failed, healed.counts.done) == (2, 1)
    assert "1 damaged file" in caplog.text


# the user's own policies


def test_a_policy_file_joins_the_policies_and_its_content_is_in_the_key(tmp_path):
    code = read_code([EXAMPLE])
    mine, other = load_policies(["optimist:hope=2", "bts"], code)
    assert (str(mine), str(other)) == ("optimist:hope=2", "bts")
    what = small(policies=(mine,), settings=["S-Br-10"], repetitions=1)
    ours = experiment("own", code=code, policies=(mine,), settings=["S-Br-10"], repetitions=1,
                      budget_plays=300)  # fmt: skip
    run(ours, tmp_path)
    changed = experiment("own", code=[("my_policy.py", b"# other\n")], policies=(mine,),
                         settings=["S-Br-10"], repetitions=1, budget_plays=300)  # fmt: skip
    assert len(plan_run(ours, CellStore(tmp_path)).missing) == 0
    assert len(plan_run(changed, CellStore(tmp_path)).missing) == 1
    assert what.plan.policies == (mine,)


def test_a_policy_file_that_other_processes_import_is_not_written_again(tmp_path, monkeypatch):
    """A reader would find it empty for a moment, and cached machine code would be discarded."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = read_code([EXAMPLE])

    def load():
        toml._import_module.cache_clear()  # as in another process
        load_policies(["optimist"], code)
        (path,) = tmp_path.glob("bursar-policies-*/my_policy.py")
        return path, path.stat().st_mtime_ns

    path, before = load()
    assert load()[1] == before
    path.write_text("")  # by a version that wrote in place, and was killed
    load()
    assert path.read_bytes() == code[0][1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1/0", "bad.py cannot be run: ZeroDivisionError: division by zero"),
        ("x = 1", "defines no policy; see examples/my_policy.py"),
        (FICKLE.replace('"fickle"', '"bts"'), "the policy name 'bts' is taken; choose another"),
    ],
)
def test_policy_files_that_cannot_be_used(source, message, tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(source)
    with pytest.raises(InvalidInput, match=message):
        load_policies(["bts"], read_code([path]))
    with pytest.raises(InvalidInput, match="cannot read"):
        read_code([tmp_path / "absent.py"])
