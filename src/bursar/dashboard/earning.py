"""What money brings: now, and against the best single arm seen so far."""

from __future__ import annotations

from dataclasses import dataclass

from bursar.campaign import ArmView, Estimate
from bursar.dashboard.look import Look
from bursar.dashboard.spelling import number, percent

__all__ = ["Earning", "best_arm", "earning"]

_ENOUGH = 10  # outcomes before an arm can be called the best


@dataclass(frozen=True)
class Earning:
    """Reward per unit of cost, and how that compares.

    Attributes
    ----------
    now, best : str
        Reward per unit of cost lately, and that of the best arm seen.
    arm : str
        The best arm; "" if none can be told yet.
    tone : str
        yes, part, no or open: as good as the best arm, below, far below, not known.
    words : str
        The comparison in a sentence.
    lost : str
        What always playing the best arm would have brought more, with its interval.
    """

    now: str
    best: str
    arm: str
    tone: str
    words: str
    lost: str


def best_arm(arms: list[ArmView]) -> tuple[str, Estimate] | None:
    """Return the arm of the highest reward per cost, among those with enough outcomes."""
    known = [(one.key, one.ratio) for one in arms if one.ratio is not None and one.plays >= _ENOUGH]
    return max(known, key=lambda pair: pair[1].value, default=None)


def earning(look: Look) -> Earning:
    """Return what the money of a campaign brings."""
    spent, unit = float(look.status.spent), look.status.currency or "unit"
    overall = look.status.reward / spent if spent > 0.0 else None
    now = look.lately if look.lately is not None else overall  # all of it, until more is read
    best = best_arm(look.arms)
    if now is None:
        return Earning("–", "–", "", "open", "Nothing was spent yet.", "")
    if best is None:
        return Earning(number(now), "–", "", "open", "Too few outcomes to name a best arm.", "")
    key, ratio = best
    lost = _lost(look, ratio, spent)
    told = f"{number(now)} per {unit} lately; the best arm seen, {key}, {number(ratio.value)}"
    if ratio.value <= 0.0:
        return Earning(number(now), number(ratio.value), key, "open", f"{told} (estimated).", lost)
    share = now / ratio.value
    if now >= ratio.low:
        tone, verdict = "yes", "as good as the best arm seen"
    else:
        tone = "part" if share >= 0.5 else "no"
        verdict = f"{percent(max(share, 0.0))} of the best arm seen"
    words = f"{verdict[:1].upper()}{verdict[1:]} (estimated): {told}."
    return Earning(number(now), number(ratio.value), key, tone, words, lost)


def _lost(look: Look, ratio: Estimate, spent: float) -> str:
    ends = [max(end * spent - look.status.reward, 0.0) for end in (ratio.value, *ratio[1:])]
    return (
        f"about {number(ends[0])} ({number(ends[1])} to {number(ends[2])}),"
        " estimated against the best arm seen so far"
    )
