"""What the documentation promises is there: every policy, command, deviation and figure."""

from __future__ import annotations

import json
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from typer.main import get_command

import bursar
from bursar import theory
from bursar.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = {path.name: path.read_text() for path in (ROOT / "docs").glob("*.md")}


def hooks():
    spec = spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_policies_has_them_all():
    page = hooks().on_page_markdown(PAGES["policies.md"])
    for slug, cls in bursar.POLICIES.items():
        assert f"### {slug}\n" in page
        assert cls.formula in page
        assert cls.source in page


def test_every_row_of_the_disagreements_is_decided():
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", PAGES["deviations.md"], re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 26))
    for number, row in rows:
        assert len(row.split("|")) == 5, f"row {number} does not have its five cells"


def test_options_named_in_the_deviations_exist():
    for name in re.findall(
        r"`(variant=authors|region=box|plus=false|factor=2|ties=first)`", PAGES["deviations.md"]
    ):
        key, value = name.split("=")
        takers = [s for s, cls in bursar.POLICIES.items() if key in cls().params()]
        assert takers
        assert all(bursar.policy(f"{slug}:{key}={value}") for slug in takers)


def test_every_command_is_in_readme_or_quick_start():
    for name in get_command(app).commands:
        assert f"bursar {name}" in README + PAGES["index.md"]


def test_every_theory_function_is_documented():
    for name in theory.__all__:
        assert f"`{name}`" in PAGES["theory.md"]


@pytest.mark.parametrize("word", ["demo", "test", "check", "bench", "docs", "format"])
def test_make_words_named_in_the_docs_exist(word):
    assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert f"make {word}" in README + (ROOT / "CONTRIBUTING.md").read_text()


def test_links_and_pictures_lead_somewhere():
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_the_vectors_are_kept_as_they_came():
    """60-digit strings and their nearest doubles: a slip of the hand would show."""
    data = json.loads((ROOT / "tests" / "data" / "vectors.json").read_text())

    def walk(node):
        if isinstance(node, dict) and set(node) == {"value", "float"}:
            assert float(node["value"]) == node["float"]
        elif isinstance(node, dict | list):
            for child in node.values() if isinstance(node, dict) else node:
                walk(child)

    walk(data)
