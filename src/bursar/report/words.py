"""The summary in plain words, made from the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from bursar.analysis.failures import failed_share
from bursar.analysis.shares import Gap, Lost, gap, lost
from bursar.figures import choice
from bursar.figures.labels import is_ours
from bursar.report.facts import Facts
from bursar.report.setups import arms_range
from bursar.report.spelling import amount, percent, points, spoken

__all__ = ["Block", "Words", "words"]


@dataclass(frozen=True)
class Block:
    """A question that a reader has, and the answer."""

    title: str
    text: str


@dataclass(frozen=True)
class Words:
    """What the first screen says."""

    answer: str
    blocks: tuple[Block, ...]
    lost: Lost | None


def words(facts: Facts) -> Words:
    """Return the summary of a page."""
    found = lost(facts.result, choice.main(facts.result))
    problem, regret = (
        Block("The problem", _problem(facts)),
        Block("What “lost” means", _regret(facts)),
    )
    if found is None:
        answer = "No setting was played to the end by every policy, so nothing can be compared."
        return Words(answer, (problem, regret), None)
    duel = _duel(found)
    blocks = [problem, regret, Block("Who lost least", _least(found))]
    if duel is not None:
        blocks.append(Block("How sure is that", f"{_sure(duel)} {_stuck(facts, found, duel)}"))
    return Words(_answer(facts, found, duel), tuple(blocks), found)


def _machine(facts: Facts) -> str:
    return "ad" if facts.advice else "machine"


def _regret(facts: Facts) -> str:
    return (
        f"Compare each player with one who knew the best {_machine(facts)} from the start and"
        " played only that. The shortfall is called regret; here it is a share of what that player"
        " would have won: 0% is perfect, at 100% nothing is won."
    )


def _problem(facts: Facts) -> str:
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


def _duel(found: Lost) -> Gap | None:
    """Compare the best policy with the best that is another idea."""
    best = found.policies[0]
    others = [slug for slug in found.policies if _family(slug) != _family(best)]
    return gap(found, best, others[0]) if others else None


def _answer(facts: Facts, found: Lost, duel: Gap | None) -> str:
    best, share = spoken(found.policies[0]), percent(found.shares[0])
    if duel is None:
        return f"{best} lost {share} of what was possible, on average."
    other = percent(found.shares[found.policies.index(duel.other)])
    if duel.sure:
        whose = ", the paper’s own policy," if is_ours(duel.one) and not facts.advice else ""
        return (
            f"{best}{whose} spends the purse best: it lost {share} of what was possible;"
            f" the best of the others, {spoken(duel.other)}, lost {other}."
        )
    return (
        f"{best} and {spoken(duel.other)} are too close to call: they lost {share}"
        f" and {other} of what was possible."
    )


def _least(found: Lost) -> str:
    best, settings = found.policies[0], len(found.settings)
    places = "one setting" if settings == 1 else f"{settings} settings"
    text = f"{spoken(best)} lost {percent(found.shares[0])}, averaged over {places}"
    if len(found.policies) == 1:
        return f"{text}. No other policy played."
    if settings > 1:
        first = int((found.by_setting.argmin(axis=0) == 0).sum())
        text += f", and the least of all shown here in {first} of them"
    return f"{text}. The worst, {spoken(found.policies[-1])}, lost {percent(found.shares[-1])}."


def _sure(duel: Gap) -> str:
    other, times = spoken(duel.other), duel.repetitions
    if times < 2:
        return "Everything was played once only, so luck cannot be told from skill."
    spread = f"between {points(duel.low)} and {points(duel.high)}"
    text = (
        f"All was played {amount(times)} times with fresh luck. {spoken(duel.one)} lost less than"
        f" {other} in {duel.wins} of them, by {points(duel.mean)} points of a hundred on average;"
        f" with 95% confidence the true figure lies {spread}."
    )
    if duel.sure:
        return f"{text} Chance alone does not explain that."
    return f"{text} That includes no difference at all: more repetitions are needed."


def _stuck(facts: Facts, found: Lost, duel: Gap) -> str:
    """Say how often the two stayed on a wrong arm: a mean hides that."""
    one, other = (
        sum(failed_share(facts.result, setting, slug) for setting in found.settings)
        / len(found.settings)
        for slug in (duel.one, duel.other)
    )
    return (
        f"{spoken(duel.one)} got stuck on a poor {_machine(facts)} in {percent(one)} of its games,"
        f" {spoken(duel.other)} in {percent(other)}."
    )
