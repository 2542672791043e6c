"""The report is one honest, well-formed page that shows what it was given."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from report_sample import BTS, HOSTILE, OURS, RANDOM, REGRET, claim, drawn, full, result

from bursar.errors import MissingData
from bursar.paper.figures.draw import DrawnFigure
from bursar.paper.report import ReportData, build, render_report, write_report

VOID = {"meta", "img", "br", "link", "input", "hr", "source"}


class Reader(HTMLParser):
    """Reads a page strictly: every tag is closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "title"):
            self.words.append(data)

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def read(report: ReportData, folder: Path | None = None) -> Reader:
    reader = Reader(render_report(report, folder))
    assert reader.open == []
    return reader


def check_structure(reader: Reader) -> None:
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all((image.get("alt") or "").strip() for image in reader.all("img"))
    assert all(head.get("scope") for head in reader.all("th"))
    inside = [a["href"][1:] for a in reader.all("a") if (a["href"] or "").startswith("#")]
    named = [
        name
        for _, attributes in reader.tags
        for name in (attributes.get("aria-labelledby") or "").split()
    ]
    assert {*inside, *named} <= set(ids)
    assert [tag for tag, _ in reader.tags if tag in ("header", "main", "footer")] == [
        "header", "main", "footer",
    ]  # fmt: skip


def check_offline(text: str, reader: Reader) -> None:
    loading = ("src", "srcset", "poster", "data", "action", "background")
    for tag, attributes in reader.tags:
        assert tag not in ("script", "iframe", "object", "embed", "link", "base", "form")
        assert not any(name.startswith("on") for name in attributes)
        for name in loading:
            assert (attributes.get(name) or "data:").startswith("data:")
        assert "url(" not in (attributes.get("style") or "")
    style = text[text.index("<style>") : text.index("</style>")]
    assert "@import" not in style
    assert "url(" not in style


def test_structure_is_sound(tmp_path):
    text = render_report(full(tmp_path), tmp_path)
    reader = Reader(text)
    check_structure(reader)
    check_offline(text, reader)


def test_nothing_given_can_break_out_of_its_place(tmp_path):
    games = {(HOSTILE, HOSTILE): [1.0, 2.0], (HOSTILE, BTS): [3.0, 5.0]}
    failure = dict.fromkeys(("setting", "policy", "error", "traceback"), HOSTILE)
    report = full(
        tmp_path,
        title=HOSTILE,
        experiment={"name": HOSTILE, "settings": [{"name": HOSTILE, "source": HOSTILE}]},
        result=result(games),
        claims=[
            claim(**dict.fromkeys(claim(), HOSTILE) | {"numbers": [{HOSTILE: HOSTILE}]}),
            claim(numbers={HOSTILE: [HOSTILE, 1]}),
        ],
        figures=[replace(drawn(tmp_path, "one"), title=HOSTILE, caption=HOSTILE)],
        timings=[{"policy": HOSTILE, "setting": HOSTILE, "plays": 10, "seconds": 1.0}],
        run={"command": HOSTILE, "machine": HOSTILE, "versions": {HOSTILE: HOSTILE}},
        failures=[failure | {"repetition": 3}],
        notes=[HOSTILE],
        advice=[HOSTILE],
    )
    text = render_report(report, tmp_path)
    reader = Reader(text)
    check_structure(reader)
    check_offline(text, reader)
    assert len(reader.all("img")) == 1
    assert reader.text.count('<script>alert("x")</script>') >= 15


def test_a_hostile_svg_stays_a_picture(tmp_path):
    figure = drawn(tmp_path, "one")
    figure.svg.write_text(f'<svg viewBox="0 0 9 9">{HOSTILE}</svg>')
    reader = read(full(tmp_path, figures=[figure]))
    (image,) = reader.all("img")
    kind, _, content = (image["src"] or "").partition(",")
    assert kind == "data:image/svg+xml;base64"
    assert HOSTILE in b64decode(content).decode()
    assert reader.all("script") == []


def test_the_answer_names_who_lost_least_and_how_sure_that_is(tmp_path):
    text = read(full(tmp_path)).text
    # means of 1.3% and 5%; of 3.3% and 22.5%; 70% at random
    assert (
        "ω*-UCB (ρ = 1/4), the paper’s own policy, makes the best use of the budget: it lost 3.1%"
        " of what was possible; the best of the others, BTS, lost 13%." in text
    )
    assert "averaged over 2 settings; it was the best policy in 2 of them" in text
    assert "lost less than BTS in 7 of them, by 9.8 percentage points on average" in text
    assert "Chance alone does not explain that." in text
    assert "got stuck on a poor machine in 0% of its games, BTS in 6.2%." in text


def test_a_difference_that_may_be_chance_is_not_called_a_win(tmp_path):
    games = {("S-Br-10", OURS): [10.0, 30.0] * 4, ("S-Br-10", BTS): [29.0, 12.0] * 4}
    text = read(full(tmp_path, result=result(games))).text
    assert "are too close to call" in text
    assert "best use of the budget" not in text
    assert "more repetitions are needed" in text


def test_all_claims_are_there_and_counted(tmp_path):
    report = full(tmp_path)
    text = read(report).text
    for one in report.claims:
        for key in ("id", "section", "text", "verdict", "why"):
            assert one[key] in text
    assert "3 in all, checked against this run : 1 holds 1 does not hold 1 not tested" in text
    assert "S-Br-10 BTS −20 0.0078" in text


@pytest.mark.parametrize("setting", ["S-Br-10", "S-Bt-50"])
@pytest.mark.parametrize("policy", [OURS, BTS, RANDOM])
def test_numbers_are_those_of_the_result(tmp_path, setting, policy):
    report = full(tmp_path)
    names = {OURS: "ω*-UCB, ρ = 1/4", BTS: "BTS", RANDOM: "uniform random"}
    values = np.array(REGRET[setting, policy])
    table = render_report(report).split(f'aria-label="Regret in {setting}"')[1].split("</table>")[0]
    rows = [re.sub(r"<[^>]+>", "|", row) for row in table.split("<tr")]
    (row,) = [row for row in rows if names[policy].lower() in row.lower()]
    cells = [cell.strip() for cell in row.partition(">")[2].split("|") if cell.strip()]
    numbers = [cell for cell in cells[1:] if cell != "best"]
    assert float(numbers[0].replace(",", "")) == pytest.approx(values.mean(), rel=5e-3)
    low, high = (float(end.replace(",", "")) for end in numbers[1].split(" to "))
    assert low <= values.mean() * 1.005
    assert high >= values.mean() * 0.995
    assert float(numbers[2].replace(",", "")) == pytest.approx(np.median(values), rel=5e-3)
    assert float(numbers[3].rstrip("%")) == pytest.approx(values.mean() / 10.0, abs=0.5)


def test_the_best_of_a_setting_is_marked_in_words(tmp_path):
    rows = (
        render_report(full(tmp_path))
        .split('aria-label="Regret in S-Bt-50"')[1]
        .split("</table>")[0]
    )
    assert re.findall(r'scope="row">([^<]+?) <span class="badge yes">best', rows) == [
        "ω*-UCB, ρ = 1/4"
    ]


def test_speed_is_seconds_per_million_plays(tmp_path):
    assert "BTS 0.6 0.25 (S-Br-10) 1.3 (S-Bt-50) 3.0 million" in read(full(tmp_path)).text


def test_how_it_was_made_is_told(tmp_path):
    text = read(full(tmp_path)).text
    for told in (
        "bursar reproduce --quick --seed 7", "Seed 7", "Repetitions 8", "1 min 35 s", "abc123",
        "a small one", "numpy 2.1.0", "3.11.2", "0.4.0", "04 March 2025", "16 done",
        "150,000 × the mean cost of the cheapest arm", "The ads were left out",
    ):  # fmt: skip
        assert told in text


def test_failures_are_told_at_the_top_and_shown_whole(tmp_path):
    failure = {"setting": "S-Br-10", "repetition": 4, "policy": BTS, "error": "ValueError: no",
               "traceback": "Traceback:\n  line 1\n    line 2\n"}  # fmt: skip
    report = full(tmp_path, failures=[failure])
    text = render_report(report)
    assert "Incomplete:" in read(report).text
    assert text.index("Incomplete:") < text.index("In plain words</h2>")
    assert "Traceback:\n  line 1\n    line 2" in text


def test_advice_comes_first(tmp_path):
    text = render_report(full(tmp_path, advice=["Stop ad 7."], claims=[]))
    assert text.index("Stop ad 7.") < text.index("In plain words</h2>")
    assert "your ads" in text
    assert "paper’s own policy," not in text


def test_one_policy_one_setting_and_nothing_else():
    report = ReportData(title="Tiny", experiment={}, result=result({("mine", BTS): [20.0]}))
    text = render_report(report)
    reader = Reader(text)
    check_structure(reader)
    check_offline(text, reader)
    assert "BTS lost 2.0% of what was possible, on average." in reader.text
    assert "No other policy played." in reader.text
    assert "Figures" not in reader.text
    assert "Claims" not in reader.text


def test_no_game_at_all():
    none = result({("mine", BTS): [20.0]})
    empty = replace(
        none, setting=none.setting[:0], problem=none.problem[:0], repetition=none.repetition[:0],
        policy=none.policy[:0], optimum=none.optimum[:0], values=none.values[:0],
    )  # fmt: skip
    reader = read(ReportData(title="Empty", experiment={}, result=empty))
    check_structure(reader)
    assert "nothing can be compared" in reader.text


def test_games_that_are_missing_do_not_tilt_the_comparison(tmp_path):
    """A policy that misses its worst repetition is compared on those that both played."""
    games = {("S-Br-10", OURS): [10.0, 10.0, 10.0], ("S-Br-10", BTS): [20.0, 20.0]}
    games["S-Br-10", OURS][2] = 900.0
    assert "ω*-UCB (ρ = 1/4) lost 1.0%" in read(full(tmp_path, result=result(games))).text


def test_writing_links_what_lies_beside_and_leaves_no_rubbish(tmp_path):
    (tmp_path / "out" / "figures").mkdir(parents=True)
    figure = drawn(tmp_path / "out" / "figures", "a b#c")
    elsewhere = drawn(tmp_path, "elsewhere")
    (tmp_path / "out" / "claims.json").write_text("[]")
    report = full(tmp_path, figures=[figure, elsewhere])
    path = write_report(report, tmp_path / "out" / "report.html")
    reader = Reader(path.read_text(encoding="utf-8"))
    links = {a["href"] for a in reader.all("a") if not (a["href"] or "").startswith(("#", "http"))}
    assert links == {"figures/a%20b%23c.png", "figures/a%20b%23c.svg", "claims.json"}
    names = sorted(one.name for one in (tmp_path / "out").iterdir())
    assert names == ["claims.json", "figures", "report.html"]


def test_a_page_that_cannot_be_made_leaves_the_old_one(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    gone = DrawnFigure("gone", "Gone", "", tmp_path / "gone.png", tmp_path / "gone.svg")
    with pytest.raises(MissingData, match=r"figure 'gone' has no file '.*gone\.svg'; draw the"):
        write_report(full(tmp_path, figures=[gone]), path)
    assert path.read_text() == "old"


def test_13_12_no_cell_of_a_summary_is_a_formula(tmp_path: Path) -> None:
    rows = [{"setting": "=1+1", "policy": "@x", "regret": -1.5}]
    build._write_csv(tmp_path / "summary.csv", rows)
    assert (tmp_path / "summary.csv").read_text().splitlines()[1] == "'=1+1,'@x,-1.5"
