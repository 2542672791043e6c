"""The page on the paper's reproduction, from a results folder: python docs/reproduction.py FOLDER.

The folder is that of ``bursar reproduce --full --data ads.csv``. Pictures are copied with fewer
colours; the density of an ad campaign is not, since it shows the ads, which are not ours to ship.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from PIL import Image

from bursar.experiments.catalog import MAIN
from bursar.paper.analysis.compare import compare
from bursar.paper.analysis.games import played_settings
from bursar.paper.analysis.shares import regret_shares
from bursar.paper.labels import RECOMMENDED, format_label, format_short_label
from bursar.simulation import arrow

HERE = Path(__file__).parent
PICTURES = ("regret", "failures", "sensitivity", "dominance", "coverage")
BEST_OTHER = "bts"


def main(folder: Path) -> None:
    """Write the page and its pictures."""
    made = json.loads((folder / "run.json").read_text())
    claims = json.loads((folder / "claims.json").read_text())
    with (folder / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    result = arrow.read(folder / "results.parquet")
    parts = [
        HEAD,
        _time(made),
        "## Who lost least\n",
        _lost(result),
        _regret(rows, result),
        _against(result),
        _claims(claims),
        TAIL,
    ]
    (HERE / "reproduction.md").write_text("\n".join(parts), encoding="utf-8")
    for name in PICTURES:
        with Image.open(folder / "figures" / f"{name}.png") as picture:
            picture.convert("RGB").quantize(64).save(
                HERE / "images" / f"paper-{name}.png", optimize=True
            )


def _time(made: dict[str, Any]) -> str:
    run, experiment = made["run"], made["experiment"]
    return (
        f"{len(experiment['settings'])} settings, {len(experiment['policies'])} configurations,"
        f" {experiment['repetitions']} repetitions, with figures, claims and report:"
        f" **{run['seconds']:,.0f} s** on {run['cores']} cores ({run['core_seconds']:,.0f} core-seconds of"
        f" play; {run['machine']}, {run['started'][:10]}). The authors' code needs about 24 hours on 30"
        f" cores, 720 core-hours: a factor of {720 * 3600 / run['core_seconds']:,.0f} in core time.\n\n"
        f"Versions: bursar {run['bursar']} (code {run['digest'][:8]}), Python {run['python']}, "
        + ", ".join(f"{name} {number}" for name, number in run["versions"].items())
        + f". Seed {experiment['seed']}; repetition *i* has the problem of the published repetition *i*.\n"
    )


def _lost(result: Any) -> str:
    found = regret_shares(result, list(result.policies))
    lines = ["| policy | lost of what was possible, mean over settings |", "|---|---:|"]
    for slug, share in zip(found.policies, found.shares, strict=True):
        name = format_label(slug).replace("*", "\\*")
        name = f"**{name}**" if slug == RECOMMENDED else name
        lines.append(f"| {name} | {share:.2%} |")
    return "\n".join(lines) + "\n"


def _regret(rows: list[dict[str, str]], result: Any) -> str:
    """Return mean and median of final regret, and failures, of the main policies."""
    shown = [slug for slug in MAIN if slug in result.policies]
    head = (
        "| setting | "
        + " | ".join(format_short_label(slug).replace("*", "\\*") for slug in shown)
        + " |"
    )
    lines = [head, "|---|" + "---:|" * len(shown)]
    cells = {(row["setting"], row["policy"]): row for row in rows}
    for setting in played_settings(result):
        words = []
        for slug in shown:
            row = cells[setting, slug]
            mean, median = float(row["regret_mean"]), float(row["regret_median"])
            words.append(f"{mean:,.0f} / {median:,.0f} / {float(row['failed_share']):.1%}")
        lines.append(f"| {setting} | " + " | ".join(words) + " |")
    return (
        "\n## Final regret\n\nMean / median over games / share of games that failed (that lost more than a"
        " tenth of what was possible over the last half of the budget).\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _against(result: Any) -> str:
    lines = [
        "| setting | ω\\*-UCB(1/4) | BTS | difference, 95% | p | lost less in | typical game |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for setting in played_settings(result):
        c = compare(result, setting, RECOMMENDED, BEST_OTHER)
        lines.append(
            f"| {setting} | {c.mean_one:,.0f} | {c.mean_other:,.0f} |"
            f" {c.difference:+,.0f} [{c.low:+,.0f}, {c.high:+,.0f}] | {c.p:.2g} | {c.wins:.0%} |"
            f" {c.typical} |"
        )
    return (
        "\n## The recommended policy against the best of the others\n\nPaired by repetition: the same"
        " problems, the same luck. Interval by bootstrap, p by sign flips, the typical game by Wilcoxon's"
        " test.\n\n" + "\n".join(lines) + "\n"
    )


def _claims(claims: list[dict[str, Any]]) -> str:
    verdicts = [claim["verdict"] for claim in claims]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
    lines = [f"\n## The paper's claims\n\n{len(claims)} claims: {tally}. *Depends*: true in some"]
    lines[0] += (
        " settings or by some measures only, or not settled by this many repetitions. The tests and all"
        " numbers are in `claims.json` and in the report.\n"
    )
    section = ""
    for claim in claims:
        if claim["section"] != section:
            section = claim["section"]
            lines += [f"\n### {section}\n", "| verdict | claim | what we found |", "|---|---|---|"]
        found = claim["why"].replace("|", "\\|").replace("*", "\\*")
        text = claim["text"].replace("|", "\\|").replace("*", "\\*")
        lines.append(f"| **{claim['verdict']}** | {text} | {found} |")
    return "\n".join(lines) + "\n"


HEAD = """# The paper, reproduced

<!-- written by docs/reproduction.py from a results folder; do not edit by hand -->

```
bursar reproduce --full --data ads.csv   # then: python docs/reproduction.py bursar-results/full
```

runs the evaluation of Heyden et al. and writes a report. This page is made from its folder.
"""
TAIL = """
## Figures

![Regret over the share of the budget](images/paper-regret.png)

Mean regret over the share of the budget that is spent (Fig. 3). Policies that leave a panel at its top are named above it.

![How final regret is distributed](images/paper-failures.png)

Every game. A few games that stay on a wrong arm make the mean: with 100 repetitions it is unstable, and `--repetitions 1000` moves some orderings.

![Sensitivity to rho](images/paper-sensitivity.png)

Final regret over ρ (Fig. 4), mean with its 95% interval and median.

![Who beat whom](images/paper-dominance.png)

Who beat whom (Fig. 2): published comparisons, and those of this run.

![Bounds of the ratio: violations and tightness](images/paper-coverage.png)

How often a 99% bound is violated, and how loose it is (Fig. 1), with the errors of the published script corrected ([Deviations](deviations.md), rows 18 to 21); its own
values are hollow.

## What bounds the time

`benchmarks/paper.py` prints wall time, core time and plays a second by policy and setting. Three quarters of the work are the 38 ad problems; BTS, whose rivals must be drawn
play by play, takes a quarter of all, the drawing of outcomes a sixth, and figures and report about 40 s. The aim of 4 minutes is missed; what would be needed is a tighter envelope
for BTS's tails than Chernoff's, which has it draw arms that hardly matter, and figures drawn beside the games.

Threads, not processes: compiled loops do not hold Python's lock, and processes load the machine code anew (`python benchmarks/paper.py --engines`).
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]))
