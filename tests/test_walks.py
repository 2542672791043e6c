"""The walks in docs/design.md are the files that run, and they stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walks import (
    client_tell_files,
    figure_files,
    http_ask_files,
    simulated_play_files,
    traced_files,
)

from bursar.money import Coin

DESIGN = Path(__file__).parents[1] / "docs" / "design.md"
WALKS = [
    ("one simulated play", lambda folder: simulated_play_files(), 18),
    ("one HTTP ask", http_ask_files, 30),
    ("one report of a client", client_tell_files, 7),
    ("one figure", lambda folder: figure_files(), 35),
]


def listed_files(title: str) -> list[str]:
    """Return the files in the list under a heading of the page on design."""
    section = DESIGN.read_text().split(f"### The walk of {title}\n")[1].split("\n#")[0]
    return sorted(re.findall(r"^- `([\w/]+\.py)`", section, re.MULTILINE))


@pytest.mark.parametrize(("title", "trace", "most"), WALKS, ids=[title for title, *_ in WALKS])
def test_the_walks_of_the_page_on_design_are_those_that_run(title, trace, most, tmp_path):
    files = trace(tmp_path)
    assert files == listed_files(title)
    assert len(files) <= most


def test_a_trace_ends_with_its_block() -> None:
    with traced_files(all_threads=False) as found:
        Coin().text(1)
    assert found == {"money.py"}
    Coin().amount(1)
    with pytest.raises(ZeroDivisionError), traced_files(all_threads=False) as nothing:
        raise ZeroDivisionError
    assert not nothing
