"""The summary in plain words, made from the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from bursar.estimate import Estimate
from bursar.formatting import join_words
from bursar.paper.analysis.games import failed_share
from bursar.paper.analysis.nonstationary import PLAIN, ForgettingVerdict, verdicts
from bursar.paper.analysis.shares import (
    NEW,
    Gap,
    RegretShare,
    gap,
    overall,
    ratios,
    regret_shares,
)
from bursar.paper.figures import style
from bursar.paper.figures.style import RECOMMENDED, is_ours, short
from bursar.paper.report.facts import ReportData, amount, arms_range, percent, points, spoken_label
from bursar.simulation.result import Result

__all__ = ["Block", "ReportText", "describe_nonstationary", "describe_ratios", "write_text"]


@dataclass(frozen=True)
class Block:
    """A question that a reader has, and the answer."""

    title: str
    text: str


@dataclass(frozen=True)
class ReportText:
    """What the first screen says."""

    answer: str
    blocks: tuple[Block, ...]
    lost: RegretShare | None


def write_text(facts: ReportData) -> ReportText:
    """Return the summary of a page."""
    found = regret_shares(facts.result, style.main(facts.result))
    problem, regret = (
        Block("The problem", _problem(facts)),
        Block("What “lost” means", _regret(facts)),
    )
    if found is None:
        answer = "No setting was played to the end by every policy, so nothing can be compared."
        return ReportText(answer, (problem, regret), None)
    duel = _duel(found)
    blocks = [problem, regret, Block("Who lost least", _least(found))]
    if duel is not None:
        blocks.append(Block("How sure is that", f"{_sure(duel)} {_stuck(facts, found, duel)}"))
    return ReportText(_answer(facts, found, duel), tuple(blocks), found)


def _machine(facts: ReportData) -> str:
    return "ad" if facts.advice else "machine"


def _regret(facts: ReportData) -> str:
    return (
        f"Compare each player with one who knew the best {_machine(facts)} from the start and"
        " played only that. The shortfall is called regret; here it is a share of what that player"
        " would have won: 0% is perfect, at 100% nothing is won."
    )


def _problem(facts: ReportData) -> str:
    low, high = arms_range(facts)
    if facts.advice:
        count = f"{low} ads" if low == high else f"between {low} and {high} ads a group"
        return (
            f"Think of your ads ({count}) as slot machines and of your budget as one purse. Every"
            " click costs, some clicks sell, and only spending shows which ad sells most per coin."
        )
    count = f"{low}" if low == high else f"{low} to {high} of them"
    return (
        f"Picture a row of slot machines ({count}) and one purse. Each pull costs coins and may pay"
        " some back; how many is chance, and differs from machine to machine. Only by spending do"
        " you learn which one pays most per coin. Ads are such machines: clicks cost, some clicks"
        " sell. A policy is a rule for which machine to pull next."
    )


def _family(slug: str) -> str:
    """Return whose idea a policy is: the two ω policies are one idea."""
    return "omega" if is_ours(slug) else slug.partition(":")[0]


def _duel(found: RegretShare) -> Gap | None:
    """Compare the best policy with the best that is another idea."""
    best = found.policies[0]
    others = [slug for slug in found.policies if _family(slug) != _family(best)]
    return gap(found, best, others[0]) if others else None


def _answer(facts: ReportData, found: RegretShare, duel: Gap | None) -> str:
    best, share = spoken_label(found.policies[0]), percent(found.shares[0])
    if duel is None:
        return f"{best} lost {share} of what was possible, on average."
    other = percent(found.shares[found.policies.index(duel.other)])
    if duel.sure:
        whose = ", the paper’s own policy," if is_ours(duel.one) and not facts.advice else ""
        return (
            f"{best}{whose} spends the purse best: it lost {share} of what was possible;"
            f" the best of the others, {spoken_label(duel.other)}, lost {other}."
        )
    return (
        f"{best} and {spoken_label(duel.other)} are too close to call: they lost {share}"
        f" and {other} of what was possible."
    )


def _least(found: RegretShare) -> str:
    best, settings = found.policies[0], len(found.settings)
    places = "one setting" if settings == 1 else f"{settings} settings"
    text = f"{spoken_label(best)} lost {percent(found.shares[0])}, averaged over {places}"
    if len(found.policies) == 1:
        return f"{text}. No other policy played."
    if settings > 1:
        first = int((found.by_setting.argmin(axis=0) == 0).sum())
        text += f", and the least of all shown here in {first} of them"
    return (
        f"{text}. The worst, {spoken_label(found.policies[-1])}, lost {percent(found.shares[-1])}."
    )


def _sure(duel: Gap) -> str:
    other, times = spoken_label(duel.other), duel.repetitions
    if times < 2:
        return "Everything was played once only, so luck cannot be told from skill."
    spread = f"between {points(duel.low)} and {points(duel.high)}"
    text = (
        f"All was played {amount(times)} times with fresh luck. {spoken_label(duel.one)} lost less than"
        f" {other} in {duel.wins} of them, by {points(duel.mean)} points of a hundred on average;"
        f" with 95% confidence the true figure lies {spread}."
    )
    if duel.sure:
        return f"{text} Chance alone does not explain that."
    return f"{text} That includes no difference at all: more repetitions are needed."


def _stuck(facts: ReportData, found: RegretShare, duel: Gap) -> str:
    """Say how often the two stayed on a wrong arm: a mean hides that."""
    one, other = (
        sum(failed_share(facts.result, setting, slug) for setting in found.settings)
        / len(found.settings)
        for slug in (duel.one, duel.other)
    )
    return (
        f"{spoken_label(duel.one)} got stuck on a poor {_machine(facts)} in {percent(one)} of its games,"
        f" {spoken_label(duel.other)} in {percent(other)}."
    )


# ==== report.changing
# What a run on worlds that change came to, in sentences.


def describe_nonstationary(result: Result) -> list[str]:
    """Return from which speed on the plain policy loses, a sentence a way and policy."""
    found = [one for one in verdicts(result) if one.comparisons]
    asked = sum(len(one.comparisons) for one in found)
    note = (
        f"Each interval is for its comparison alone; {asked} were made, so a few are off by luck."
    )
    return [*map(_sentence, found), *([note] if found else [])]


def _sentence(one: ForgettingVerdict) -> str:
    plain, other = short(PLAIN), short(one.other)
    words = f"{one.way.capitalize()} worlds: against {other} {plain} "
    since = one.since
    if since is not None:
        at = one.speeds[one.comparisons.index(since)]
        words += (
            f"loses from {_counted(at, one.unit)} on (there {since.difference:+,.0f} regret,"
            f" 95% {since.low:+,.0f} to {since.high:+,.0f})"
        )
    elif one.loses:
        speeds = join_words([f"{speed:g}" for speed in one.loses])
        words += f"loses at {speeds} {one.unit} a budget and not clearly at all faster ones"
    else:
        words += f"loses at no speed up to {_counted(max(one.speeds), one.unit)}"
    return words + (
        f", and wins at {join_words([f'{speed:g}' for speed in one.wins])}." if one.wins else "."
    )


def _counted(amount: float, unit: str) -> str:
    return f"{amount:g} {unit.removesuffix('s') if amount == 1 else unit} a budget"


# ==== report.ratios
# What a new policy leaves of another's regret, in sentences.


def describe_ratios(result: Result) -> list[str]:
    """Return a line a setting and one of all together."""
    found = ratios(result, NEW, RECOMMENDED)
    if not found:
        return []
    head = f"Regret of {short(NEW)} over that of {short(RECOMMENDED)}, with 95% intervals:"
    lines = [
        f"{row.setting:<16} mean {_words(row.mean)}, 95th percentile {_words(row.tail)}"
        for row in found
    ]
    return [head, *lines, f"{'geometric mean':<16} mean {_words(overall(found))}"]


def _words(one: Estimate) -> str:
    return f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"
