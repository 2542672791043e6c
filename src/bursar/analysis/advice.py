"""Advice: what a comparison on a user's own ads means, in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bursar.analysis.outlook import Outlook, outlook
from bursar.analysis.standing import Standing, standing
from bursar.result import Result
from bursar.settings.own import OwnSetting

__all__ = ["advice"]

_FEW = 10  # clicks an arm below which little can be learned
_RUNS = 6  # below which nothing is more than chance
_SHOWN = 5


@dataclass(frozen=True)
class _Case:
    """What all sentences share."""

    groups: list[OwnSetting]
    outlooks: list[Outlook]
    standing: Standing
    budget: str
    unit: str
    money: str
    label: Callable[[str], str]

    @property
    def one(self) -> bool:
        return len(self.groups) == 1


def advice(
    settings: Sequence[OwnSetting],
    result: Result,
    budget: float,
    currency: str = "",
    label: Callable[[str], str] = str,
) -> list[str]:
    """Say what a finished comparison means for the user's money.

    Parameters
    ----------
    settings : sequence of OwnSetting
        The groups, of :func:`bursar.settings.own.read`.
    result : Result
        The comparison, in the user's units of reward; repetitions that miss a game do not count.
    budget : float
        What was spent on each group, in the user's money.
    currency : str
        Sign or code of that money.
    label : callable
        What to call a policy of a slug.
    """
    stood = standing(settings, result)
    if stood is None:
        return ["No run was played to the end, so there is nothing to advise yet."]
    groups = list(settings)
    looks = [outlook(group, budget) for group in groups]
    money, unit = currency or "unit of money", groups[0].unit
    case = _Case(
        groups, looks, stood, _in_money(budget, currency), unit, money,
        lambda slug: _named(label(slug)),
    )  # fmt: skip
    return [
        _headline(case),
        *_others(case),
        *(_file_of_one(case) if case.one else _file_of_many(case)),
        *_too_small(case),
        _next(case),
    ]


def _headline(case: _Case) -> str:
    stood, ranked = case.standing, case.standing.ranked
    best, worst = ranked[0], "uniform" if "uniform" in ranked else ranked[-1]
    where = "" if case.one else f" for each of {len(case.groups)} groups"
    runs = f"on average over {stood.runs} simulated run{'s' * (stood.runs > 1)}"
    said = (
        f"With a budget of {case.budget}{where}, {case.label(best)} found"
        f" {_short(stood.found(best))} of the {_short(stood.possible())} {case.unit} that were"
        f" possible, {runs}"
    )
    if worst == best:
        return f"{said}."
    who = "choosing at random" if worst == "uniform" else f"the weakest, {case.label(worst)},"
    return f"{said}; {who} found {_short(stood.found(worst))}."


def _others(case: _Case) -> list[str]:
    stood = case.standing
    others = stood.ranked[1:]
    if not others:
        return []
    if stood.runs < _RUNS:
        runs = "1 run is" if stood.runs == 1 else f"{stood.runs} runs are"
        return [f"{runs} too few to tell policies apart; repeat with 100 or more."]
    level = stood.as_good()
    if level:
        names = _listed([case.label(slug) for slug in level])
        return [f"As far as {stood.runs} runs can tell, {names} did as well."]
    following = f"{case.label(others[0])} came next with {_short(stood.found(others[0]))}"
    return [f"{following}; the difference is more than chance."]


def _file_of_one(case: _Case) -> list[str]:
    (look,) = case.outlooks
    said = [
        f"In the file {look.best!r} brings most: {_short(look.ratio)} {case.unit} for each"
        f" {case.money}, in truth likely between {_short(look.low)} and {_short(look.high)}."
    ]
    if not look.rivals:
        said.append("The file is enough to tell it from every other arm.")
    else:
        names = _listed([repr(name) for name in look.rivals])
        said.append(f"The file does not tell it apart from {names}.")
    if look.safe != look.best:
        said.append(
            f"Its lead rests on few {case.groups[0].trial} ({look.clicks:,.0f});"
            f" {look.safe!r} is the safer bet."
        )
    return said


def _file_of_many(case: _Case) -> list[str]:
    clear = [f"{look.best!r} in {look.setting}" for look in case.outlooks if not look.rivals]
    total = len(case.groups)
    if not clear:
        return [f"In none of the {total} groups does the file tell the best arm from the others."]
    names = _listed(clear)
    return [
        f"In {len(clear)} of {total} groups the file tells the best arm from all others: {names}."
    ]


def _too_small(case: _Case) -> list[str]:
    small = [look for look in case.outlooks if look.plays_per_arm < _FEW]
    if not small:
        return []
    trial = case.groups[0].trial
    if case.one:
        return [
            f"{case.budget} buys about {_short(small[0].plays)} {trial},"
            f" {_short(small[0].plays_per_arm)} for each of {small[0].arms} arms:"
            " too few to learn much. A larger budget or fewer arms would help."
        ]
    names = _listed([look.setting for look in small])
    return [
        f"In {len(small)} of {len(case.groups)} groups {case.budget} buys fewer than {_FEW} {trial}"
        f" an arm, too few to learn much: {names}."
    ]


def _next(case: _Case) -> str:
    best = case.standing.ranked[0]
    losses = [case.standing.loss(group, best) for group in range(len(case.groups))]
    trusted = [
        look for look, loss in zip(case.outlooks, losses, strict=True) if look.trust_loss <= loss
    ]
    policy = case.label(best)
    if case.one:
        file, learning = _percent(case.outlooks[0].trust_loss), _percent(losses[0])
        if trusted:
            return (
                f"What to do: spend it on {trusted[0].safe!r}. While ads do what they did in the"
                f" file, that may lose {file} of what is possible; learning from nothing lost"
                f" {learning}."
            )
        return (
            f"What to do: let {policy} divide the budget. It lost {learning} of what is possible;"
            f" going by the file alone may lose {file}."
        )
    if not trusted:
        return f"What to do: let {policy} divide the budget of every group."
    arms = _listed([f"{look.safe!r} in {look.setting}" for look in trusted])
    rest = "" if len(trusted) == len(case.groups) else f" Elsewhere let {policy} divide the budget."
    return (
        f"What to do: in {len(trusted)} of {len(case.groups)} groups going by the file loses less"
        f" than learning from nothing, while ads do what they did in it; spend on {arms}.{rest}"
    )


def _in_money(value: float, currency: str) -> str:
    number = f"{value:,.2f}".removesuffix(".00")
    return f"{number} {currency}".strip() if currency.isalpha() else f"{currency}{number}"


def _percent(share: float) -> str:
    return f"about {share:.0%}" if share >= 0.01 else "less than 1%"


def _named(label: str) -> str:
    """Return ``A (b = 1)`` for a legend's ``A, b = 1``, which would read badly in a sentence."""
    name, _, parameters = label.partition(", ")
    return f"{name} ({parameters})" if parameters else name


def _short(value: float) -> str:
    """Return three digits of a number, all of those before the point."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.3g}"


def _listed(names: Sequence[str]) -> str:
    if len(names) > _SHOWN:
        return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
