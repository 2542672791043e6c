"""Write the page on less regret: python docs/less_regret.py PAPER FAMILIES GROWTH.

PAPER and FAMILIES are the results folders of ``bursar reproduce --less-regret --data FILE`` and
``bursar reproduce --families``; GROWTH is a file with the output of
``python benchmarks/growth.py``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from less_regret_words import WORDS
from PIL import Image

from bursar.estimate import Estimate
from bursar.paper.analysis.games import pair_regret
from bursar.paper.analysis.shares import RegretRatio, overall_ratio, regret_ratios
from bursar.paper.figures.comparison import draw_ratios
from bursar.paper.figures.style import STYLE
from bursar.paper.labels import OWN, RECOMMENDED
from bursar.settings.families import FAMILIES
from bursar.simulation import arrow

HERE = Path(__file__).parent
TARGET = 0.80


def main(paper: Path, families: Path, growth: str) -> None:
    """Write the page and its pictures."""
    first, second = (arrow.read(folder / "results.parquet") for folder in (paper, families))
    held = [name for name, one in FAMILIES.items() if one.held_out]
    chosen = [name for name in FAMILIES if name not in held]
    found = regret_ratios(first, OWN, RECOMMENDED)
    parts = [
        HEAD,
        _answer(found),
        "![What is left of the regret of ω*-UCB(1/4)](images/less-regret.png)\n",
        WORDS,
        "## The paper's settings\n",
        _made(paper),
        _table(found, first),
        "## Families that were held out\n",
        _made(families),
        _table(regret_ratios(second, OWN, RECOMMENDED, held), second),
        "## Families on which it was chosen\n",
        _table(regret_ratios(second, OWN, RECOMMENDED, chosen), second),
        _weak([*found, *regret_ratios(second, OWN, RECOMMENDED)]),
        GROWTH.replace("<!-- growth -->", growth.strip()),
        TAIL,
    ]
    page = "\n".join(parts).replace("ω*", r"ω\*")  # two bare asterisks would be emphasis
    (HERE / "less-regret.md").write_text(page, encoding="utf-8")
    with mpl.rc_context(STYLE):
        picture = HERE / "images" / "less-regret.png"
        draw_ratios(first, OWN, RECOMMENDED).savefig(picture, dpi=150)
    with Image.open(picture) as drawn:
        small = drawn.convert("RGB").quantize(64)
    small.save(picture, optimize=True)


def _answer(found: Sequence[RegretRatio]) -> str:
    """Return which of the goals were met, one by one."""
    whole = overall_ratio(found)
    worse = [row.setting for row in found if row.mean.compare_to(1.0) == "higher"]
    tails = [row.setting for row in found if row.tail.value >= 1.0]
    return "\n".join(
        [
            "| goal | result |  |",
            "|---|---|---|",
            f"| mean final regret at most {TARGET:.2f} of ω*-UCB(1/4), geometric mean of"
            f" {len(found)} settings | {_words(whole)} | {_met(whole.value <= TARGET)} |",
            f"| significantly worse in no setting | {_listed(worse)} | {_met(not worse)} |",
            f"| 95th percentile lower in every setting | {_listed(tails, 'not in ')} |"
            f" {_met(not tails)} |",
            "| regret grows like log B | [see below](#growth-with-the-budget) | |\n",
            _verdict(whole.value <= TARGET and not worse and not tails),
        ]
    )


def _verdict(won: bool) -> str:
    if won:
        return "It met all goals.\n"
    return (
        "It did not meet all goals. The default of campaigns is [`sf-omega-ucb`](real-costs.md);"
        ' `policy="pooled-gittins"` selects this one.\n'
    )


def _weak(found: Sequence[RegretRatio]) -> str:
    """Name the settings where it does not clearly win."""
    unclear = [row.setting for row in found if row.mean.compare_to(1.0) == "unclear"]
    worse = [row.setting for row in found if row.mean.compare_to(1.0) == "higher"]
    tails = [row.setting for row in found if row.tail.compare_to(1.0) == "higher"]
    return "\n".join(
        [
            "## Where it does not win\n",
            f"- Mean significantly higher: {_named(worse)}. Inconclusive: {_named(unclear)}.",
            f"- 95th percentile significantly higher: {_named(tails)}.",
            "- Our interpretation, which was not measured separately: these problems have many"
            " arms, or arms that are nearly free, so the best ratio is so high that one play of a"
            " wrong arm costs as much as dozens of plays elsewhere. There the first plays of each"
            " arm are most of the regret, and no policy here avoids them.\n",
        ]
    )


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none"


def _met(holds: bool) -> str:
    return "met" if holds else "**missed**"


def _listed(names: Sequence[str], before: str = "") -> str:
    return before + _named(names) if names else "holds in all"


def _made(folder: Path) -> str:
    made = json.loads((folder / "run.json").read_text())
    run, what = made["run"], made["experiment"]
    return (
        f"{len(what['settings'])} settings and {what['repetitions']:,} repetitions with budgets of"
        f" {what['budget_plays']:,.0f} plays at the lowest mean cost took {run['seconds']:,.0f} s"
        f" on {run['cores']} cores ({run['machine']}, {run['started'][:10]}; bursar"
        f" {run['bursar']}, code {run['digest'][:8]}, seed {what['seed']}). The 95% intervals come"
        " from resampled repetitions; those that do not contain 1 are bold.\n"
    )


def _table(found: Sequence[RegretRatio], result: Any) -> str:
    lines = [
        "| setting | ω*-UCB(1/4) | pooled Gittins | ratio of means | ratio of 95th percentiles |"
        " ratio of medians |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in found:
        ours, theirs, _ = pair_regret(result, row.setting, OWN, RECOMMENDED)
        middle = float(np.median(ours) / np.median(theirs))
        lines.append(
            f"| {row.setting} | {row.mean_other:,.0f} | {row.mean_one:,.0f} | {_words(row.mean)} |"
            f" {_words(row.tail)} | {middle:.2f} |"
        )
    whole = overall_ratio(found)
    tails = np.exp(np.mean([np.log(row.tail.value) for row in found]))
    lines.append(f"| geometric mean | | | {_words(whole)} | {tails:.2f} | |\n")
    return "\n".join(lines)


def _words(one: Estimate) -> str:
    text = f"{one.value:.2f} ({one.low:.2f}–{one.high:.2f})"
    return text if one.compare_to(1.0) == "unclear" else f"**{text}**"


HEAD = """# Less regret

The paper recommends ω*-UCB with ρ = 1/4, the best published policy for budgets. `pooled-gittins` is
bursar's own policy. It was made to lose less, above all in the games that go wrong. This page
explains how it is derived, how it was chosen, and what it achieves.

<!-- written by docs/less_regret.py: change the text there -->
"""

GROWTH = """## Growth with the budget

A policy that knows its budget plays differently for each budget, so each is a run of its own, from
a tenth to a hundred times the paper's. If regret grows like log B, it rises by the same amount with
each factor of ten, and so does the lower bound: in the long run no policy that learns on all
problems has a smaller slope. While a budget is too small to tell close arms apart, regret may rise
more slowly.

```text
<!-- growth -->
```

Where arms are told apart early (X-uniform-20), the rises are equal within their errors. On
Bernoulli arms they grow towards the slope of the lower bound and, within their errors, not beyond
it.
"""

TAIL = """## How to repeat it

```text
bursar reproduce --less-regret --data ads.csv --out paper  # the paper's settings
bursar reproduce --families --out families                 # the other families
python benchmarks/growth.py > growth.txt
python docs/less_regret.py paper families growth.txt       # this page
```

Both `bursar` commands also print the ratios with their intervals.
"""


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]).read_text(encoding="utf-8"))
