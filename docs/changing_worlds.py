"""The page on worlds that change: python docs/changing_worlds.py FOLDER SPEED.

FOLDER is that of ``bursar reproduce --changing``, SPEED a file with what
``python benchmarks/forgetting.py`` printed.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from PIL import Image

from bursar.paper.analysis.compare import compare
from bursar.paper.analysis.games import final_regret
from bursar.paper.analysis.nonstationary import (
    Sweep,
    compare_forgetting,
    find_sweeps,
    forgetting_policies,
    game_regret_shares,
)
from bursar.paper.analysis.permutation import LEVEL, holm
from bursar.paper.figures.regret import draw_nonstationary
from bursar.paper.figures.style import STYLE, make_band
from bursar.paper.labels import RECOMMENDED, format_short_label
from bursar.paper.report.summary import describe_nonstationary
from bursar.settings import setting
from bursar.settings.nonstationary import CHANGES
from bursar.simulation import arrow

HERE = Path(__file__).parent
PILOT = 16  # worlds on which windows and discounts were chosen
WORLDS = {
    "C-abrupt-10:changes=0": "nothing changes",
    "C-abrupt-10:changes=4": "4 abrupt changes",
    "C-drift-10": "drift",
    "C-season-10:periods=2": "2 seasons",
    "C-price-10": "price doubles",
    "C-fatigue-10": "ad fatigue",
}


def main(folder: Path, speed: str) -> None:
    """Write the page and its picture; ``speed`` is what benchmarks/forgetting.py printed."""
    made = json.loads((folder / "run.json").read_text())
    result = arrow.read(folder / "results.parquet")
    parts = [HEAD, _made(made), _answer(result), _sentences(result), _speeds(result)]
    parts += [_every(result), _against(result), _ways(), TAIL.replace("<!-- speed -->", speed)]
    (HERE / "changing-worlds.md").write_text("\n".join(parts), encoding="utf-8")
    picture = HERE / "images" / "changing-speed.png"
    figure = draw_nonstationary(result)
    with mpl.rc_context(STYLE):
        figure.savefig(picture, dpi=150)
    with Image.open(picture) as drawn:
        small = drawn.convert("RGB").quantize(64)
    small.save(picture, optimize=True)


def _made(made: dict[str, Any]) -> str:
    run, what = made["run"], made["experiment"]
    busy = run["core_seconds"] / (run["seconds"] * run["cores"])
    shared = " that other jobs used, too" if busy < 0.7 else ""
    return (
        f"{len(what['settings'])} worlds, {len(what['policies'])} configurations,"
        f" {what['repetitions']} repetitions, budgets of {what['budget_plays']:,.0f} plays at the least"
        f" mean cost: {run['seconds']:,.0f} s on {run['cores']} cores{shared},"
        f" {run['core_seconds']:,.0f} core-seconds of play ({run['machine']},"
        f" {run['started'][:10]}; bursar {run['bursar']}, code {run['digest'][:8]}, seed"
        f" {what['seed']}).\n"
    )


def _answer(result: Any) -> str:
    """Say from which speed on the plain policy loses, corrected for asking so often."""
    found, unseen = compare_forgetting(result), compare_forgetting(_since(result, PILOT))
    sure, later = _corrected(found), _corrected(unseen)
    asked = sum(len(one.speeds) for one in found)
    parts = ["## The answer\n"]
    for change in dict.fromkeys(one.change for one in found):
        here = [one for one in found if one.change == change]
        unit, count = CHANGES[change].option, len(here)
        speeds = here[0].speeds
        lost = [sum(sure[change, one.other, s] > 0 for one in here) for s in speeds]
        parts.append(_verdict(change, unit, count, speeds, lost) + "\n")
        lines = [
            f"| {change}, {unit} | interval above 0 | plain loses, Holm | plain wins, Holm | unseen worlds:"
            " interval above 0 | unseen, Holm |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        for i, speed in enumerate(speeds):
            alone = sum(speed in one.loses for one in here)
            wins = sum(sure[change, one.other, speed] < 0 for one in here)
            again = sum(speed in one.loses for one in unseen if one.change == change)
            held = sum(later[change, one.other, speed] > 0 for one in here)
            lines.append(f"| {speed:g} | {alone} | {lost[i]} | {wins} | {again} | {held} |")
        parts.append("\n".join(lines) + "\n")
    fresh = np.unique(result.repetition[result.repetition >= PILOT]).size
    parts.append(
        f"Each number counts configurations that forget, of {count}. *Interval*: the 95% interval of this"
        f" comparison alone. *Holm*: p by sign flips at 5%, corrected for all {asked} comparisons."
        " That more than half of them must win for a verdict is a rule made after the numbers were seen.\n\n"
        f"**How these were chosen.** Windows and discounts were chosen after a pilot of 11 values of them on"
        f" worlds 0 to {PILOT - 1} (with budgets three times as large), which are among the"
        f" {result.repetitions} worlds here. The last two columns are the {fresh} worlds that the pilot had not seen: few, so"
        " little survives the correction there. The speeds are a grid: between 0 and 1 nothing was tried, and"
        " how much a change hurts depends on its size; here all means are drawn anew, which is as large as"
        " it gets.\n\nWhat we make of it, not measured apart: a plain policy hardly comes back to an arm"
        " that was bad for long, so it does not see that the arm got better; swings it averages out.\n"
    )
    return "\n".join(parts)


def _verdict(change: str, unit: str, count: int, speeds: list[float], lost: list[int]) -> str:
    name = _name(RECOMMENDED)
    most = next((i for i in range(len(speeds)) if min(lost[i:]) > count / 2), None)
    if most is None:
        top = max(lost)
        return (
            f"In worlds of the kind *{change}* at no speed most configurations that forget beat the plain"
            f" {name}: at most {top} of {count} do."
        )
    before = ""
    if most:
        before = (
            f" At {speeds[most - 1]:g} it is not settled: {lost[most - 1]} of {count} do."
            if lost[most - 1]
            else ""
        )
    return (
        f"**From {speeds[most]:g} {unit} a budget on the plain {name} loses** in worlds of the kind *{change}*:"
        f" from there on at least {min(lost[most:])} of {count} configurations that forget have less regret.{before}"
    )


def _corrected(found: list[Sweep]) -> dict[tuple[str, str, float], int]:
    """Return 1 where the plain policy lost more, -1 where less, 0 where nothing is sure."""
    every = [
        (one.change, one.other, speed, c)
        for one in found
        for speed, c in zip(one.speeds, one.comparisons, strict=True)
    ]
    sure = holm([c.p for *_, c in every]) <= LEVEL
    return {
        (change, other, speed): int(yes) * (1 if c.difference > 0 else -1)
        for (change, other, speed, c), yes in zip(every, sure, strict=True)
    }


def _since(result: Any, first: int) -> Any:
    """Return the games of the repetitions from one on."""
    kept = result.repetition >= first
    columns = ("setting", "problem", "repetition", "policy", "optimum", "values")
    return replace(result, **{name: getattr(result, name)[kept] for name in columns})


def _sentences(result: Any) -> str:
    lines = [
        f"- {sentence.replace('*', chr(92) + '*')}" for sentence in describe_nonstationary(result)
    ]
    return "One by one, as the command prints it:\n\n" + "\n".join(lines) + "\n"


def _speeds(result: Any) -> str:
    shown = [RECOMMENDED, "omega-star-ucb:rho=1", *forgetting_policies(result.policies), "bts"]
    shown = [slug for slug in shown if slug in result.policies]
    parts = ["## Over the speed of change\n\n![Lost over speed](images/changing-speed.png)\n"]
    parts.append("Final regret, mean ± half of its 95% interval.\n")
    for change, speeds in find_sweeps(result).items():
        head = " | ".join(_name(slug) for slug in shown)
        lines = [f"| {change}, {CHANGES[change].option} | {head} |", "|---|" + "---:|" * len(shown)]
        for one in speeds:
            cells = [_mean(final_regret(result, one.setting, slug)) for slug in shown]
            lines.append(f"| {one.amount:g} | {' | '.join(_bold(cells))} |")
        parts.append("\n".join(cells for cells in lines) + "\n")
    return "\n".join(parts)


def _every(result: Any) -> str:
    """Return what every policy lost in every kind of world, the least in the mean first."""
    there = [name for name in WORLDS if name in result.settings]
    rows = []
    for slug in result.policies:
        lost = [float(game_regret_shares(result, name, slug).mean()) for name in there]
        rows.append((float(np.mean(lost[1:])), slug, lost))
    best = np.min([lost for _, _, lost in rows], axis=0)
    lines = [
        "| policy | " + " | ".join(WORLDS[name] for name in there) + " | mean of the changing |"
    ]
    lines.append("|---|" + "---:|" * (len(there) + 1))
    for mean, slug, lost in sorted(rows):
        cells = [
            f"**{x:.1%}**" if x == least else f"{x:.1%}"
            for x, least in zip(lost, best, strict=True)
        ]
        lines.append(f"| {_name(slug)} | {' | '.join(cells)} | {mean:.1%} |")
    return (
        "## All policies, all worlds\n\nLost of what was possible, mean.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _against(result: Any) -> str:
    """Return the plain policy against the middle window and discount, world by world, paired."""
    others = [
        slug for slug in forgetting_policies(result.policies) if "=2000" in slug or "0.9995" in slug
    ]
    lines = [
        "| world | against | plain | forgetful | difference, 95% |",
        "|---|---|---:|---:|---:|",
    ]
    for name, words in WORLDS.items():
        for other in others:
            if name in result.settings:
                c = compare(result, name, RECOMMENDED, other)
                lines.append(
                    f"| {words} | {_name(other)} | {c.mean_one:,.0f} | {c.mean_other:,.0f} |"
                    f" {c.difference:+,.0f} [{c.low:+,.0f}, {c.high:+,.0f}] |"
                )
    text = f"Regret of {_name(RECOMMENDED)} minus that of one that forgets, paired by repetition; intervals not corrected.\n\n"
    return text + "\n".join(lines) + "\n"


def _ways() -> str:
    lines = ["| name | option | what changes |", "|---|---|---|"]
    for change, one in CHANGES.items():
        place = setting(f"C-{change}-10")
        lines.append(f"| `{place.name}` | `{one.option}={one.default:g}` | {one.about} |")
    return "## The worlds\n\n" + "\n".join(lines) + "\n"


def _mean(values: Any) -> str:
    one = make_band(values)
    return f"{float(one.middle):,.0f} ± {float(one.high - one.middle):,.0f}"


def _bold(cells: list[str]) -> list[str]:
    least = min(float(cell.split(" ")[0].replace(",", "")) for cell in cells)
    return [
        f"**{cell}**" if float(cell.split(" ")[0].replace(",", "")) == least else cell
        for cell in cells
    ]


def _name(slug: str) -> str:
    return format_short_label(slug).replace("*", "\\*")


HEAD = """# Worlds that change

<!-- written by docs/changing_worlds.py from a results folder; do not edit by hand -->

Prices rise, ads wear out, a model gets better overnight. The paper leaves this to future work; bursar has four policies that forget, worlds that change, and an
experiment that says when forgetting pays.

```
bursar reproduce --changing          # this page: python docs/changing_worlds.py bursar-results/changing SPEED
bursar simulate C-abrupt-10:changes=8 --policy omega-star-ucb:rho=0.25 --policy d-omega-star-ucb:rho=0.25,gamma=0.9995
```

"""
TAIL = """
Any number of arms will do (`C-abrupt-50`). `bursar settings` lists them; they work wherever a setting does: `bursar simulate`, `bursar run` with a TOML file, `bursar.simulate`.
A world of one's own is a `bursar.problems.Nonstationary`: shares of the budget at which moments begin, and a row of mean rewards and costs for each.

**Time is money here.** What the world is at a moment depends on the share of the budget that is spent, not on the number of plays: all policies meet the same world at the same
spend, and the best arm *now* is well defined. A play loses *mean cost now × (best ratio now − ratio of the arm now)*; regret adds that up. In worlds with ad fatigue an arm's
reward depends on what this very policy spent on it, and "now" includes that: the best arm is the best of the arms as they are, tired or not. It is a benchmark that
looks at the moment only; resting an arm on purpose is not in it. Who spreads his plays keeps the best arms fresh and is measured against them fresh, which is why shares above 100%
can be lost there.

**Luck is shared.** The n-th play of an arm compares its means with the same two uniform numbers, whoever plays. Same seed, same result, for any number of threads. Worlds of a
repetition are nested: that of 8 changes has the change points of that of 4, and begins as it does.

Rewards and costs are 0 or 1. Mean costs are at least 0.1, which is what the budget is counted in, so that it does not depend on how often the world changes.

## The policies

| slug | forgets | is ω-UCB if |
|---|---|---|
| `sw-omega-ucb:rho=0.25,window=2000`, `sw-omega-star-ucb:…` | all but the last `window` plays of all arms | the window is longer than the game |
| `d-omega-ucb:rho=0.25,gamma=0.999`, `d-omega-star-ucb:…` | a play counts `gamma` times as much at every further play | `gamma=1` |

[Policies](policies.md) has the formulas. Rules of thumb, T being the expected number of plays (the budget over a typical cost) and C the number of changes:
`window = 2 sqrt(T log T / C)`, `gamma = 1 - sqrt(C / T) / 4`. Both need a window far longer than the number of arms: each arm is tried at least once in every window.
The theorems of the paper do not carry over: they take it that an arm stays what it is. Where nothing changes forgetting costs regret that grows in proportion to the budget, so none of
them is a default.

Campaigns ([Live campaigns](campaigns.md)) refuse these policies: they keep notes between choices (the plays in the window, the time of weights) which a log of outcomes that come late,
twice or corrected cannot rebuild.

**How fast.** A play changes at most two arms of a window, and once it is full all other indices stay and are kept. Fading changes one number for all arms; bounds of indices
tell which arms need no look. `python benchmarks/forgetting.py` prints (every play a whole decision; ω-UCB's lazy loop, which simulations of worlds that stand still use, is far faster
and needs indices that never fall):

<!-- speed -->
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8"))
