"""The walks in docs/design.md are the files that run, and they stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from walks import trace_walks, traced_files

from bursar.money import Coin

DESIGN = Path(__file__).parents[1] / "docs" / "design.md"
MOST = {
    "one simulated play": 18,
    "one HTTP ask": 30,
    "one report of a client": 7,
    "one figure": 35,
}


def listed_files(title: str) -> list[str]:
    """Return the files in the list under a heading of the page on design."""
    section = DESIGN.read_text().split(f"### The walk of {title}\n")[1].split("\n#")[0]
    return sorted(re.findall(r"^- `([\w/]+\.py)`", section, re.MULTILINE))


def test_the_walks_of_the_page_on_design_are_those_that_run() -> None:
    walks = trace_walks()
    assert walks == {title: listed_files(title) for title in walks}
    assert {title for title in MOST if len(walks[title]) > MOST[title]} == set()


def test_a_trace_ends_with_its_block() -> None:
    with traced_files(all_threads=False) as found:
        Coin().text(1)
    assert found == {"money.py"}
    Coin().amount(1)
    with pytest.raises(ZeroDivisionError), traced_files(all_threads=False) as nothing:
        raise ZeroDivisionError
    assert not nothing
