"""Write the page on nonstationary settings: python docs/changing_worlds.py FOLDER SPEED.

FOLDER is the results folder of ``bursar reproduce --changing``; SPEED is a file with the output of
``python benchmarks/forgetting.py``.
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

from bursar.paper.analysis.compare import LEVEL, compare, holm
from bursar.paper.analysis.games import final_regret
from bursar.paper.analysis.nonstationary import (
    Sweep,
    compare_forgetting,
    find_sweeps,
    forgetting_policies,
    game_regret_shares,
)
from bursar.paper.figures.regret import draw_nonstationary
from bursar.paper.figures.style import STYLE, make_band
from bursar.paper.labels import RECOMMENDED, format_short_label
from bursar.paper.report.data import describe_nonstationary
from bursar.settings import setting
from bursar.settings.nonstationary import CHANGES
from bursar.simulation import arrow

HERE = Path(__file__).parent
PILOT = 16  # problems on which windows and discounts were chosen
SETTINGS_SHOWN = {
    "C-abrupt-10:changes=0": "nothing changes",
    "C-abrupt-10:changes=4": "4 abrupt changes",
    "C-drift-10": "drift",
    "C-season-10:periods=2": "2 seasons",
    "C-price-10": "price doubles",
    "C-fatigue-10": "ad fatigue",
}


def main(folder: Path, speed: str) -> None:
    """Write the page and its picture; ``speed`` is the output of benchmarks/forgetting.py."""
    made = json.loads((folder / "run.json").read_text())
    result = arrow.read(folder / "results.parquet")
    parts = [HEAD, _made(made), _answer(result), _sentences(result), _speeds(result)]
    parts += [_every(result), _against(result), _settings(), TAIL.replace("<!-- speed -->", speed)]
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
    shared = " that other jobs also used" if busy < 0.7 else ""
    return (
        f"{len(what['settings'])} settings, {len(what['policies'])} configurations and"
        f" {what['repetitions']} repetitions with budgets of {what['budget_plays']:,.0f} plays at the"
        f" lowest mean cost took {run['seconds']:,.0f} s on {run['cores']} cores{shared},"
        f" {run['core_seconds']:,.0f} core-seconds of play ({run['machine']},"
        f" {run['started'][:10]}; bursar {run['bursar']}, code {run['digest'][:8]}, seed"
        f" {what['seed']}).\n"
    )


def _answer(result: Any) -> str:
    """Return from which speed on the recommended policy loses, corrected for all comparisons."""
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
            f"| {change}, {unit} | interval above 0 | loses, Holm | wins, Holm | unseen problems:"
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
        f"Each number counts configurations that forget, out of {count}, against"
        f" {_name(RECOMMENDED)}. *Interval* is the 95% interval of a comparison alone. *Holm* is a"
        f" sign-flip test at 5%, corrected for all {asked} comparisons. That more than half of them"
        " must win for a verdict is a rule made after the numbers were seen.\n\n"
        "**How the configurations were chosen.** Windows and discounts were chosen after a pilot of"
        f" 11 values on problems 0 to {PILOT - 1} (with budgets three times as large), which are among"
        f" the {result.repetitions} problems here. The last two columns use the {fresh} problems that"
        " the pilot had not seen; these are few, so little survives the correction. The speeds are a"
        " grid: nothing between 0 and 1 was tried. How much a change hurts depends on its size; here"
        " all means are redrawn, which is the largest possible change.\n\n"
        "Our interpretation, which was not measured separately: a policy that never forgets hardly"
        " returns to an arm that was bad for long, so it does not see that the arm got better;"
        " periodic swings average out.\n"
    )
    return "\n".join(parts)


def _verdict(change: str, unit: str, count: int, speeds: list[float], lost: list[int]) -> str:
    name = _name(RECOMMENDED)
    first = next((i for i in range(len(speeds)) if min(lost[i:]) > count / 2), None)
    if first is None:
        return (
            f"In settings of the kind *{change}*, there is no speed at which most configurations"
            f" that forget beat {name}: at most {max(lost)} of {count} do."
        )
    text = (
        f"**From {speeds[first]:g} {unit} per budget on, {name} loses** in settings of the kind"
        f" *{change}*: from there on at least {min(lost[first:])} of {count} configurations that"
        " forget have less regret."
    )
    if first and lost[first - 1]:
        before = speeds[first - 1]
        text += f" At {before:g} the result is inconclusive: {lost[first - 1]} of {count} have."
    return text


def _corrected(found: list[Sweep]) -> dict[tuple[str, str, float], int]:
    """Return 1 where the recommended policy lost more, -1 where less, 0 where it is unclear."""
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
    """Return the games of the repetitions from ``first`` on."""
    kept = result.repetition >= first
    columns = ("setting", "problem", "repetition", "policy", "optimum", "values")
    return replace(result, **{name: getattr(result, name)[kept] for name in columns})


def _sentences(result: Any) -> str:
    lines = [
        f"- {sentence.replace('*', chr(92) + '*')}" for sentence in describe_nonstationary(result)
    ]
    return "The comparisons one by one, as the command prints them:\n\n" + "\n".join(lines) + "\n"


def _speeds(result: Any) -> str:
    shown = [RECOMMENDED, "omega-star-ucb:rho=1", *forgetting_policies(result.policies), "bts"]
    shown = [slug for slug in shown if slug in result.policies]
    parts = [
        "## Over the speed of change\n\n![Share lost over the speed of change](images/changing-speed.png)\n"
    ]
    parts.append("Mean final regret ± half of its 95% interval.\n")
    for change, speeds in find_sweeps(result).items():
        head = " | ".join(_name(slug) for slug in shown)
        lines = [f"| {change}, {CHANGES[change].option} | {head} |", "|---|" + "---:|" * len(shown)]
        for one in speeds:
            cells = [_mean(final_regret(result, one.name, slug)) for slug in shown]
            lines.append(f"| {one.amount:g} | {' | '.join(_bold(cells))} |")
        parts.append("\n".join(cells for cells in lines) + "\n")
    return "\n".join(parts)


def _every(result: Any) -> str:
    """Return what every policy lost under every kind of change, the best mean first."""
    there = [name for name in SETTINGS_SHOWN if name in result.settings]
    rows = []
    for slug in result.policies:
        lost = [float(game_regret_shares(result, name, slug).mean()) for name in there]
        rows.append((float(np.mean(lost[1:])), slug, lost))
    best = np.min([lost for _, _, lost in rows], axis=0)
    lines = [
        "| policy | "
        + " | ".join(SETTINGS_SHOWN[name] for name in there)
        + " | mean of those that change |"
    ]
    lines.append("|---|" + "---:|" * (len(there) + 1))
    for mean, slug, lost in sorted(rows):
        cells = [
            f"**{x:.1%}**" if x == least else f"{x:.1%}"
            for x, least in zip(lost, best, strict=True)
        ]
        lines.append(f"| {_name(slug)} | {' | '.join(cells)} | {mean:.1%} |")
    return (
        "## All policies, all kinds of change\n\nMean share of the possible reward that was lost.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def _against(result: Any) -> str:
    """Return paired comparisons with the middle window and discount, setting by setting."""
    others = [
        slug for slug in forgetting_policies(result.policies) if "=2000" in slug or "0.9995" in slug
    ]
    lines = [
        f"| setting | against | {_name(RECOMMENDED)} | other | difference, 95% interval |",
        "|---|---|---:|---:|---:|",
    ]
    for name, words in SETTINGS_SHOWN.items():
        for other in others:
            if name in result.settings:
                c = compare(result, name, RECOMMENDED, other)
                lines.append(
                    f"| {words} | {_name(other)} | {c.mean_one:,.0f} | {c.mean_other:,.0f} |"
                    f" {c.difference:+,.0f} [{c.low:+,.0f}, {c.high:+,.0f}] |"
                )
    text = (
        f"The regret of {_name(RECOMMENDED)} minus that of a policy that forgets, paired by"
        " repetition. Intervals are not corrected.\n\n"
    )
    return text + "\n".join(lines) + "\n"


def _settings() -> str:
    lines = ["| name | option | what changes |", "|---|---|---|"]
    for change, one in CHANGES.items():
        name = setting(f"C-{change}-10").name
        lines.append(f"| `{name}` | `{one.option}={one.default:g}` | {one.about} |")
    return "## The settings\n\n" + "\n".join(lines) + "\n"


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


HEAD = """# Nonstationary settings

<!-- written by docs/changing_worlds.py from a results folder; do not edit by hand -->

Prices rise, ads wear out, a model improves overnight. The paper leaves this to future work. bursar has four policies that forget, settings that change, and an
experiment that shows when forgetting pays.

```
bursar reproduce --changing          # this page: python docs/changing_worlds.py bursar-results/changing SPEED
bursar simulate C-abrupt-10:changes=8 --policy omega-star-ucb:rho=0.25 --policy d-omega-star-ucb:rho=0.25,gamma=0.9995
```

"""
TAIL = """
Any number of arms is possible (`C-abrupt-50`). `bursar settings` lists these settings, and they work wherever a setting does: in `bursar simulate`, in a TOML file for `bursar run`, and in `bursar.simulate`.
A nonstationary problem of your own is a `bursar.problems.Nonstationary`: the shares of the budget at which periods begin, and a row of mean rewards and mean costs for each.

**Time is measured in money.** The means at a moment depend on the share of the budget that is spent, not on the number of plays. So all policies meet the same means at the same
spend, and the best arm *now* is well defined. A play loses *mean cost now × (best ratio now − ratio of the arm now)*, and regret is the sum. With ad fatigue an arm's
reward depends on what this policy has spent on it, and "now" includes that: the best arm is the best of the arms in their current state. This benchmark
considers only the current moment, so resting an arm on purpose is not part of it. A policy that spreads its plays keeps the best arms fresh and is compared with fresh arms, which is why more than 100%
can be lost there.

**Policies share random numbers.** The n-th play of an arm compares its means with the same two uniform numbers for every policy. The same seed gives the same result with any number of threads. The problems of a
repetition are nested: the one with 8 changes has the change points of the one with 4 and starts in the same way.

Rewards and costs are 0 or 1. Mean costs are at least 0.1. The budget is counted in units of that minimum, so it does not depend on how often the means change.

## The policies

| slug | forgets | equals ω-UCB if |
|---|---|---|
| `sw-omega-ucb:rho=0.25,window=2000`, `sw-omega-star-ucb:…` | all but the last `window` plays of all arms | the window is longer than the game |
| `d-omega-ucb:rho=0.25,gamma=0.999`, `d-omega-star-ucb:…` | gradually: each further play multiplies the weight of a play by `gamma` | `gamma=1` |

[Policies](policies.md) has the formulas. With T the expected number of plays (the budget over a typical cost) and C the number of changes, rules of thumb are
`window = 2 sqrt(T log T / C)` and `gamma = 1 - sqrt(C / T) / 4`. The window must be far longer than the number of arms, because each arm is tried at least once in every window.
The theorems of the paper do not apply, since they assume that arms do not change. Where nothing changes, forgetting costs regret that grows in proportion to the budget, so none of
these policies is a default.

[Live campaigns](campaigns.md) reject these policies: between choices the policies keep state (the plays in the window, the time of weights) that cannot be rebuilt from a log in which outcomes may arrive late,
twice or corrected.

**Speed.** A play changes at most two arms of a window, so once it is full all other indices stay valid. Discounting changes one number for all arms, and bounds on indices
show which arms need no update. `python benchmarks/forgetting.py` prints the table below. Every play is a full decision here; the lazy loop of ω-UCB, which simulations of stationary settings use, is far faster
but needs indices that never fall.

<!-- speed -->
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]).read_text(encoding="utf-8"))
