"""The summary of a report in plain words, made from the numbers."""

from __future__ import annotations

from typing import NamedTuple

from bursar.estimate import Estimate
from bursar.formatting import join_words
from bursar.paper.analysis import shares
from bursar.paper.analysis.compare import Comparison
from bursar.paper.analysis.games import failed_share
from bursar.paper.analysis.nonstationary import Sweep, compare_forgetting
from bursar.paper.figures.selection import select_policies
from bursar.paper.labels import (
    OWN,
    RECOMMENDED,
    format_sentence_label,
    format_short_label,
    is_omega,
)
from bursar.paper.report.data import (
    ReportData,
    format_amount,
    format_points,
    format_share,
    list_setting_rows,
)
from bursar.simulation.result import Result

_LOSS = (
    "Compare each player with one who knew the best {arm} from the start and played only that one."
    " The shortfall is called regret. Here it is a share of what that player would have won: 0% is"
    " perfect, and at 100% nothing is won."
)


class Summary(NamedTuple):
    """What the first screen says: one sentence, then questions with their answers."""

    answer: str
    blocks: list[tuple[str, str]]
    shares: shares.RegretShares | None


def summarize(report: ReportData) -> Summary:
    """Return the summary of a report."""
    found = shares.regret_shares(report.result, select_policies(report.result))
    blocks = [
        ("The problem", _explain_problem(report)),
        ("What “lost” means", _LOSS.format(arm=_arm(report))),
    ]
    if found is None:
        answer = "No setting was played to the end by every policy, so nothing can be compared."
        return Summary(answer, blocks, None)
    duel = _compare_best(found)
    blocks.append(("Who lost least", _describe_ranking(found)))
    if duel is not None:
        certainty = f"{_describe_certainty(found, duel)} {_describe_failures(report, found, duel)}"
        blocks.append(("How certain is that", certainty))
    return Summary(_answer(report, found, duel), blocks, found)


def _explain_problem(report: ReportData) -> str:
    arms = [k for row in list_setting_rows(report) for k in row["arms"]] or [10]
    low, high = min(arms), max(arms)
    if report.advice:
        count = f"{low} ads" if low == high else f"between {low} and {high} ads per group"
        return (
            f"Think of your ads ({count}) as slot machines that share one budget. Every click costs"
            " money, some clicks sell, and only spending shows which ad sells most per unit spent."
        )
    count = f"{low}" if low == high else f"{low} to {high} of them"
    return (
        f"Picture a row of slot machines ({count}) and one budget. Each pull costs money and may"
        " pay some back; both are random and differ from machine to machine. Only by spending do"
        " you learn which machine pays most per unit spent. Ads are such machines: clicks cost"
        " money, and some clicks sell. A policy is a rule for which machine to pull next."
    )


def _arm(report: ReportData) -> str:
    return "ad" if report.advice else "machine"


def _compare_best(found: shares.RegretShares) -> Comparison | None:
    """Compare the best policy with the best of another family; the ω policies are one family."""
    families = ["omega" if is_omega(s) else s.partition(":")[0] for s in found.policies]
    best = found.policies[0]
    pairs = zip(found.policies, families, strict=True)
    others = [slug for slug, family in pairs if family != families[0]]
    return shares.compare_shares(found, best, others[0]) if others else None


def _answer(report: ReportData, found: shares.RegretShares, duel: Comparison | None) -> str:
    best, share = format_sentence_label(found.policies[0]), format_share(found.shares[0])
    if duel is None:
        return f"{best} lost {share} of what was possible, on average."
    rival, other = format_sentence_label(duel.other), format_share(found.share(duel.other))
    if _is_certain(duel):
        whose = ", the paper’s own policy," if is_omega(duel.one) and not report.advice else ""
        return (
            f"{best}{whose} makes the best use of the budget: it lost {share} of what was possible;"
            f" the best of the others, {rival}, lost {other}."
        )
    return (
        f"{best} and {rival} are too close to call: they lost {share} and {other} of what was"
        " possible."
    )


def _is_certain(duel: Comparison) -> bool:
    """Whether interval and test both exclude that the first policy is no better."""
    return duel.high < 0.0 and duel.verdict == "lower"


def _describe_ranking(found: shares.RegretShares) -> str:
    best, worst = found.policies[0], found.policies[-1]
    settings = len(found.settings)
    where = "one setting" if settings == 1 else f"{settings} settings"
    text = (
        f"{format_sentence_label(best)} lost {format_share(found.shares[0])}, averaged over {where}"
    )
    if worst == best:
        return f"{text}. No other policy played."
    if settings > 1:
        first = int((found.by_setting.argmin(axis=0) == 0).sum())
        text += f"; it was the best policy in {first or 'none'} of them"
    return (
        f"{text}. The worst, {format_sentence_label(worst)}, lost {format_share(found.shares[-1])}."
    )


def _describe_certainty(found: shares.RegretShares, duel: Comparison) -> str:
    times = duel.repetitions
    if times < 2:
        return "Each game was played only once, so chance and skill cannot be separated."
    saved = format_points(found.share(duel.other) - found.share(duel.one))
    text = (
        f"Each game was repeated {format_amount(times)} times with new random outcomes."
        f" {format_sentence_label(duel.one)} lost less than {format_sentence_label(duel.other)} in"
        f" {round(duel.wins * times)} of them, by {saved} percentage points on average"
        f" (95% interval {format_points(-duel.high)} to {format_points(-duel.low)})."
    )
    if _is_certain(duel):
        return f"{text} Chance alone does not explain that."
    return f"{text} No difference at all is possible, too: more repetitions are needed."


def _describe_failures(report: ReportData, found: shares.RegretShares, duel: Comparison) -> str:
    """Return how often the two stayed on a wrong arm, which a mean hides."""
    one, other = (
        sum(failed_share(report.result, setting, slug) for setting in found.settings)
        / len(found.settings)
        for slug in (duel.one, duel.other)
    )
    return (
        f"{format_sentence_label(duel.one)} got stuck on a poor {_arm(report)} in"
        f" {format_share(one)} of its games, {format_sentence_label(duel.other)} in"
        f" {format_share(other)}."
    )


def describe_nonstationary(result: Result) -> list[str]:
    """Return from which speed of change on the recommended policy loses to each that forgets."""
    found = [sweep for sweep in compare_forgetting(result) if sweep.comparisons]
    if not found:
        return []
    count = sum(len(sweep.comparisons) for sweep in found)
    note = (
        f"Each interval is for its comparison alone; {count} were made, so a few are off by chance."
    )
    return [*map(_describe_sweep, found), note]


def _describe_sweep(sweep: Sweep) -> str:
    other, since = format_short_label(sweep.other), sweep.since
    if since is not None:
        speed = sweep.speeds[sweep.comparisons.index(since)]
        text = (
            f"loses to {other} from {_format_speed(speed, sweep.unit)} on (there"
            f" {since.difference:+,.0f} regret, 95% interval {since.low:+,.0f} to"
            f" {since.high:+,.0f})"
        )
    elif sweep.loses:
        text = (
            f"loses to {other} at {_join_speeds(sweep.loses)} {sweep.unit} per budget, but not"
            " clearly at all faster ones"
        )
    else:
        fastest = _format_speed(max(sweep.speeds), sweep.unit)
        text = f"does not clearly lose to {other} at any speed up to {fastest}"
    wins = f", and wins at {_join_speeds(sweep.wins)}" if sweep.wins else ""
    name = format_short_label(RECOMMENDED)
    return f"In settings of the kind {sweep.change!r}, {name} {text}{wins}."


def _format_speed(amount: float, unit: str) -> str:
    return f"{amount:g} {unit.removesuffix('s') if amount == 1 else unit} per budget"


def _join_speeds(speeds: list[float]) -> str:
    return join_words([f"{speed:g}" for speed in speeds])


def describe_ratios(result: Result) -> list[str]:
    """Return a line for each setting, and one for all together."""
    found = shares.regret_ratios(result, OWN, RECOMMENDED)
    if not found:
        return []
    names = f"{format_short_label(OWN)} over that of {format_short_label(RECOMMENDED)}"
    lines = [
        f"{row.setting:<16} mean {_format_ratio(row.mean)},"
        f" 95th percentile {_format_ratio(row.tail)}"
        for row in found
    ]
    overall = f"{'geometric mean':<16} mean {_format_ratio(shares.overall_ratio(found))}"
    return [f"Regret of {names}, with 95% intervals:", *lines, overall]


def _format_ratio(ratio: Estimate) -> str:
    return f"{ratio.value:.3f} ({ratio.low:.3f} to {ratio.high:.3f})"
