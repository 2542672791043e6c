"""Advice: what a comparison on a user's own ads means, in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bursar.formatting import format_number, join_words
from bursar.paper.analysis.compare import LEVEL, compare, holm
from bursar.paper.analysis.games import final, rows_of
from bursar.settings.ad_export import AdExportSetting
from bursar.simulation.result import Result
from bursar.theory.intervals import interval, ratio_bound
from bursar.validation import Floats

__all__ = ["AdOutlook", "AdStanding", "ad_outlook", "ad_standing", "advice"]

# ==== analysis.outlook
# Outlook: how much a user's own file says about its arms, and what a budget can add to it.

_Z = 1.959963984540054
_DRAWS = 2_000
_WEIGHT = (2.0, 1e6)  # fewest and most clicks that the average of all arms may count as


@dataclass(frozen=True)
class AdOutlook:
    """What a file says of a group, and what a budget buys there.

    Attributes
    ----------
    best : str
        The arm of the most reward per money in the file.
    ratio, low, high : float
        Its reward per money, and the 95% bounds of Theorem 2 on its own clicks.
    clicks : float
        Its clicks.
    rivals : tuple of str
        Arms whose bounds reach those of the best: the file does not tell them apart.
    safe : str
        The arm to trust: of the most reward per money once arms with few clicks are drawn towards
        the average of all.
    trust_loss : float
        Share of the reward that spending everything on ``safe`` is expected to lose against the arm
        that truly is best, of which the file cannot be certain.
    plays : float
        Clicks that the budget buys if spread over all arms.
    """

    setting: str
    arms: int
    best: str
    ratio: float
    low: float
    high: float
    clicks: float
    rivals: tuple[str, ...]
    safe: str
    trust_loss: float
    plays: float

    @property
    def plays_per_arm(self) -> float:
        """Clicks that the budget buys, an arm."""
        return self.plays / self.arms


def ad_outlook(setting: AdExportSetting, budget: float) -> AdOutlook:
    """Judge the file's numbers of a group, and what a budget, in its money, can add to them."""
    reward, cost, clicks = setting.reward_rate, setting.cost_rate, np.array(setting.clicks)
    ratio = reward / cost
    best = int(ratio.argmax())
    rewards, costs = (0.0, setting.prize), (0.0, setting.coin)
    high = ratio_bound(reward, cost, clicks, z=_Z, reward_range=rewards, cost_range=costs)
    low = (
        interval(reward, clicks, _Z, high=setting.prize)[0]
        / interval(cost, clicks, _Z, high=setting.coin)[1]
    )
    rivals = [k for k in np.argsort(-ratio, kind="stable") if k != best and high[k] >= low[best]]
    safe, loss = _trust(setting)
    return AdOutlook(
        setting.name, len(setting.arm_names), setting.arm_names[best],
        float(ratio[best]), float(low[best]), float(high[best]), float(clicks[best]),
        tuple(setting.arm_names[k] for k in rivals), setting.arm_names[safe], loss,
        budget / float(cost.mean()),
    )  # fmt: skip


def _trust(setting: AdExportSetting) -> tuple[int, float]:
    """Return the arm to trust and what trusting it loses; costs a click are taken as they are."""
    clicks = np.array(setting.clicks)
    hits = np.minimum(np.array(setting.reward) / setting.prize, clicks)
    mean = hits.sum() / clicks.sum()
    weight = _weight(hits, clicks)
    tiny = 1e-9  # if all clicks, or none, brought something
    alpha, beta = weight * mean + hits + tiny, weight * (1.0 - mean) + clicks - hits + tiny
    rng = np.random.default_rng(0)
    drawn = rng.beta(alpha, beta, (_DRAWS, clicks.size)) / setting.cost_rate
    safe = int((alpha / (alpha + beta) / setting.cost_rate).argmax())
    return safe, float(1.0 - drawn[:, safe].mean() / drawn.max(axis=1).mean())


def _weight(hits: Floats, clicks: Floats) -> float:
    """Return how many clicks the average of all arms counts as, by the method of moments.

    Arms that differ by no more than chance explains have one rate; arms that differ much keep
    their own.
    """
    total, mean = clicks.sum(), hits.sum() / clicks.sum()
    chance = mean * (1.0 - mean)
    between = (clicks * (hits / clicks - mean) ** 2).sum() - (clicks.size - 1) * chance
    scale = total - (clicks**2).sum() / total
    if between <= 0.0 or chance <= 0.0:
        return _WEIGHT[1]
    return float(np.clip(chance * scale / between - 1.0, *_WEIGHT))


# ==== analysis.standing
# Standing: what policies found on a user's own ads, in one group or over all of them.

_ALL = "all groups"


@dataclass(frozen=True)
class AdStanding:
    """How policies stood in the whole repetitions of a result on a user's own groups."""

    groups: list[AdExportSetting]
    result: Result
    pooled: Result  # the same with one setting

    @property
    def runs(self) -> int:
        """Whole repetitions."""
        return int(np.unique(self.result.repetition).size)

    @property
    def ranked(self) -> list[str]:
        """Policies, the one that found most first."""
        return sorted(self.result.policies, key=self.found, reverse=True)

    def as_good(self) -> list[str]:
        """Return the policies that cannot be told from the best, at 5% and tested all at once."""
        best, *others = self.ranked
        p = holm([compare(self.pooled, _ALL, best, other).p for other in others])
        return [other for other, value in zip(others, p, strict=True) if value > LEVEL]

    def possible(self) -> float:
        """Return what the best arms bring on average, over all groups."""
        rows = rows_of(self.pooled, _ALL, self.result.policies[0])
        return float(self.pooled.optimum[rows].mean()) * len(self.groups)

    def found(self, policy: str) -> float:
        """Return what a policy found on average, over all groups."""
        lost = float(final(self.pooled, _ALL, policy).mean()) * len(self.groups)
        return max(self.possible() - lost, 0.0)

    def loss(self, group: int, policy: str) -> float:
        """Return the share of what was possible in a group that a policy lost."""
        name = self.groups[group].name
        optimum = float(self.result.optimum[rows_of(self.result, name, policy)].mean())
        return min(float(final(self.result, name, policy).mean()) / optimum, 1.0)


def ad_standing(settings: Sequence[AdExportSetting], result: Result) -> AdStanding | None:
    """Take the games of the given settings in repetitions that have them all; None without one."""
    names = {setting.name for setting in settings}
    numbers = [i for i, name in enumerate(result.settings) if name in names]
    mine = np.isin(result.setting, numbers)
    games = np.bincount(result.repetition[mine], minlength=1)
    whole = np.flatnonzero(games == len(settings) * len(result.policies))
    keep = mine & np.isin(result.repetition, whole)
    if not keep.any():
        return None
    played = replace(
        result, setting=result.setting[keep], problem=result.problem[keep],
        repetition=result.repetition[keep], policy=result.policy[keep],
        optimum=result.optimum[keep], values=result.values[keep],
    )  # fmt: skip
    pooled = replace(played, settings=(_ALL,), setting=np.zeros_like(played.setting))
    return AdStanding(list(settings), played, pooled)


_FEW = 10  # clicks an arm below which little can be learned
_RUNS = 6  # below which nothing is more than chance
_SHOWN = 5


@dataclass(frozen=True)
class _Case:
    """What all sentences share."""

    groups: list[AdExportSetting]
    outlooks: list[AdOutlook]
    standing: AdStanding
    budget: str
    unit: str
    money: str
    label: Callable[[str], str]

    @property
    def one(self) -> bool:
        return len(self.groups) == 1


def advice(
    settings: Sequence[AdExportSetting],
    result: Result,
    budget: float,
    currency: str = "",
    label: Callable[[str], str] = str,
) -> list[str]:
    """Say what a finished comparison means for the user's money.

    Parameters
    ----------
    settings : sequence of OwnSetting
        The groups, of :func:`bursar.settings.ad_export.read_ad_export`.
    result : Result
        The comparison, in the user's units of reward; repetitions that miss a game do not count.
    budget : float
        What was spent on each group, in the user's money.
    currency : str
        Sign or code of that money.
    label : callable
        What to call a policy of a slug.
    """
    stood = ad_standing(settings, result)
    if stood is None:
        return ["No run was played to the end, so there is nothing to advise yet."]
    groups = list(settings)
    looks = [ad_outlook(group, budget) for group in groups]
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
        f" {_number(stood.found(best))} of the {_number(stood.possible())} {case.unit} that were"
        f" possible, {runs}"
    )
    if worst == best:
        return f"{said}."
    who = "choosing at random" if worst == "uniform" else f"the weakest, {case.label(worst)},"
    return f"{said}; {who} found {_number(stood.found(worst))}."


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
        names = join_words([case.label(slug) for slug in level], _SHOWN)
        return [f"As far as {stood.runs} runs can tell, {names} did as well."]
    following = f"{case.label(others[0])} came next with {_number(stood.found(others[0]))}"
    return [f"{following}; the difference is more than chance."]


def _file_of_one(case: _Case) -> list[str]:
    (look,) = case.outlooks
    said = [
        f"In the file {look.best!r} brings most: {_number(look.ratio)} {case.unit} for each"
        f" {case.money}, in truth likely between {_number(look.low)} and {_number(look.high)}."
    ]
    if not look.rivals:
        said.append("The file is enough to tell it from every other arm.")
    else:
        names = join_words([repr(name) for name in look.rivals], _SHOWN)
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
    names = join_words(clear, _SHOWN)
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
            f"{case.budget} buys about {_number(small[0].plays)} {trial},"
            f" {_number(small[0].plays_per_arm)} for each of {small[0].arms} arms:"
            " too few to learn much. A larger budget or fewer arms would help."
        ]
    names = join_words([look.setting for look in small], _SHOWN)
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
    arms = join_words([f"{look.safe!r} in {look.setting}" for look in trusted], _SHOWN)
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


def _number(value: float) -> str:
    return format_number(value, keep_whole=True)


def _named(label: str) -> str:
    """Return ``A (b = 1)`` for a legend's ``A, b = 1``, which would read badly in a sentence."""
    name, _, parameters = label.partition(", ")
    return f"{name} ({parameters})" if parameters else name
