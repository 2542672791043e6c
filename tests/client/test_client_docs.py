# ruff: noqa: F811  (fixtures are imported by the names that tests take them by)
"""What the page of the client shows works, as it is written there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from service_app import Live, live  # noqa: F401

import bursar
from bursar import errors
from bursar.client import AsyncClient, Client
from bursar.service.responses import PROBLEM_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_programs_run(live: Live, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = []

    def kept(kind):
        def make(*args, **options):
            made.append(kind(*args, **options))
            return made[-1]

        return make

    names = vars(bursar) | {"Client": kept(Client), "AsyncClient": kept(AsyncClient)}
    names = {"bursar": SimpleNamespace(**names)}
    programs = blocks("python")
    assert len(programs) == 4
    for program in programs:
        program = program.replace("import bursar\n", "")
        program = program.replace("http://127.0.0.1:8321", live.url)
        exec(compile(program.replace("bursar_…", live.token), "docs/client.md", "exec"), names)
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "0.005100 active small"
    assert told[1].startswith("0.007100 [Decision(")
    assert told[2].endswith("may ['ask', 'tell']")
    assert not (tmp_path / "outcomes.spool").exists()
    for one in made:
        if isinstance(one, Client):
            one.close()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_three_lines_of_curl(live: Live):
    (lines,) = blocks("sh")
    assert len(lines.splitlines()) == 3
    for _ in range(2):  # the second time they are replays
        answers = []
        for line in lines.splitlines():
            done = subprocess.run(
                ["bash", "-c", line], env={**os.environ, "U": live.url, "K": live.token},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            answers.append(json.loads(done.stdout))
        assert answers[0]["budget"] == "25.000000"
        assert (answers[1]["arm"], answers[1]["hold"]) == ("small", "0.004000")
        assert (answers[2]["money"], answers[2]["cost"]) == ("settled", "0.003100")
    assert str(live.service.campaign("ads").spent) == "0.003100"


def test_the_table_of_errors_is_true():
    table = PAGE[PAGE.index("| the service says") : PAGE.index("All are in")].strip()
    for row in table.splitlines()[2:]:
        said, caught = row.strip("| ").split(" | ")
        codes = re.findall(r"`([a-z-]+)`", said) or ["unauthenticated", "forbidden"]
        kinds = re.findall(r"`([A-Z]\w+)`", caught)[: len(codes)]
        for code, kind in zip(codes, kinds, strict=True):
            assert getattr(errors, kind).code == code
            assert str(PROBLEM_KINDS[code].status) in said or code == "unauthenticated"
