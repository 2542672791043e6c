"""Advice on a user's own ads: how much the file says about them, and what a comparison means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bursar.arrays import Floats
from bursar.formatting import format_number, join_words, pluralize
from bursar.paper.analysis.compare import FEWEST, compare
from bursar.paper.analysis.games import final_regret, rows_of
from bursar.paper.analysis.permutation import LEVEL, holm
from bursar.paper.labels import format_sentence_label
from bursar.settings.ad_export import AdExportSetting
from bursar.simulation.result import Result
from bursar.theory.intervals import interval, ratio_bound

_Z = 1.959963984540054
_DRAWS = 2_000
_WEIGHT = (2.0, 1e6)  # the fewest and the most clicks that the average of all arms may count as
_FEW = 10  # clicks per arm below which little can be learned
_SHOWN = 5  # names in a sentence
_ALL = "all groups"


def advise(
    settings: Sequence[AdExportSetting], result: Result, budget: float, currency: str = ""
) -> list[str]:
    """Return sentences on what a finished comparison means for the user's money.

    ``settings`` are the groups, ``result`` is in the user's units of reward, and ``budget`` is what
    was spent on each group. Incomplete repetitions do not count.
    """
    played = _complete_repetitions(settings, result)
    if played is None:
        return ["No simulated run was completed, so there is nothing to advise yet."]
    advice = _Advice(list(settings), played, budget, currency)
    return [
        advice.headline(),
        *advice.other_policies(),
        *(advice.data_of_one_group() if advice.one else advice.data_of_many_groups()),
        *advice.small_budget(),
        advice.next_step(),
    ]


def _complete_repetitions(settings: Sequence[AdExportSetting], result: Result) -> Result | None:
    """Return the games on the settings in repetitions that have them all; None without one."""
    names = {setting.name for setting in settings}
    numbers = [i for i, name in enumerate(result.settings) if name in names]
    mine = np.isin(result.setting, numbers)
    games = np.bincount(result.repetition[mine], minlength=1)
    whole = np.flatnonzero(games == len(settings) * len(result.policies))
    keep = mine & np.isin(result.repetition, whole)
    if not keep.any():
        return None
    columns = ("setting", "problem", "repetition", "policy", "optimum", "values")
    return replace(result, **{name: getattr(result, name)[keep] for name in columns})


@dataclass(frozen=True)
class GroupOutlook:
    """What a file says about a group of ads, and what a budget buys there.

    ``best`` has the most reward per unit of money in the file, ``safe`` after arms with few clicks
    are shrunk towards the average of all. ``trust_loss`` is the share of the reward that spending
    everything on ``safe`` is expected to lose against the arm that is truly best.
    """

    setting: str
    arms: int
    best: str
    ratio: float  # reward of the best per unit of money
    low: float  # 95% bounds of Theorem 2 on its own clicks
    high: float
    clicks: float  # of the best
    rivals: tuple[str, ...]  # arms whose bounds overlap those of the best
    safe: str
    trust_loss: float
    plays: float  # clicks that the budget buys if spread over all arms

    @property
    def plays_per_arm(self) -> float:
        """Clicks per arm that the budget buys."""
        return self.plays / self.arms


def assess_group(setting: AdExportSetting, budget: float) -> GroupOutlook:
    """Assess what the file says about a group, and what a budget in its money can add."""
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
    safe, loss = _choose_safe_arm(setting)
    return GroupOutlook(
        setting=setting.name,
        arms=len(setting.arm_names),
        best=setting.arm_names[best],
        ratio=float(ratio[best]),
        low=float(low[best]),
        high=float(high[best]),
        clicks=float(clicks[best]),
        rivals=tuple(setting.arm_names[k] for k in rivals),
        safe=setting.arm_names[safe],
        trust_loss=loss,
        plays=budget / float(cost.mean()),
    )


def _choose_safe_arm(setting: AdExportSetting) -> tuple[int, float]:
    """Return the safe arm and its expected loss; costs per click are taken as known."""
    clicks = np.array(setting.clicks)
    hits = np.minimum(np.array(setting.reward) / setting.prize, clicks)
    mean = hits.sum() / clicks.sum()
    weight = _prior_weight(hits, clicks)
    tiny = 1e-9  # in case all clicks, or none, earned something
    alpha, beta = weight * mean + hits + tiny, weight * (1.0 - mean) + clicks - hits + tiny
    rng = np.random.default_rng(0)
    drawn = rng.beta(alpha, beta, (_DRAWS, clicks.size)) / setting.cost_rate
    safe = int((alpha / (alpha + beta) / setting.cost_rate).argmax())
    return safe, float(1.0 - drawn[:, safe].mean() / drawn.max(axis=1).mean())


def _prior_weight(hits: Floats, clicks: Floats) -> float:
    """Return the number of clicks that the average of all arms counts as (method of moments).

    Arms that differ no more than chance explains share one rate; arms that differ much keep
    their own.
    """
    total, mean = clicks.sum(), hits.sum() / clicks.sum()
    chance = mean * (1.0 - mean)
    between = (clicks * (hits / clicks - mean) ** 2).sum() - (clicks.size - 1) * chance
    scale = total - (clicks**2).sum() / total
    if between <= 0.0 or chance <= 0.0:
        return _WEIGHT[1]
    return float(np.clip(chance * scale / between - 1.0, *_WEIGHT))


class _Advice:
    """The sentences, and the numbers that they share."""

    def __init__(
        self, groups: list[AdExportSetting], result: Result, budget: float, currency: str
    ) -> None:
        self.groups = groups
        self.one = len(groups) == 1
        self.outlooks = [assess_group(group, budget) for group in groups]
        self.result = result
        self.pooled = replace(result, settings=(_ALL,), setting=np.zeros_like(result.setting))
        self.runs = int(np.unique(result.repetition).size)
        self.ranked = sorted(result.policies, key=self.reward, reverse=True)
        self.budget = _format_budget(budget, currency)
        self.unit, self.trial = groups[0].unit, groups[0].trial
        self.money = currency or "unit of money"

    def possible(self) -> float:
        """Return what the best arms earn on average, over all groups."""
        rows = rows_of(self.pooled, _ALL, self.result.policies[0])
        return float(self.pooled.optimum[rows].mean()) * len(self.groups)

    def reward(self, policy: str) -> float:
        """Return what a policy earned on average, over all groups."""
        regret = float(final_regret(self.pooled, _ALL, policy).mean()) * len(self.groups)
        return max(self.possible() - regret, 0.0)

    def regret_share(self, group: AdExportSetting, policy: str) -> float:
        """Return the share of what was possible in a group that a policy lost."""
        optimum = float(self.result.optimum[rows_of(self.result, group.name, policy)].mean())
        return min(float(final_regret(self.result, group.name, policy).mean()) / optimum, 1.0)

    def headline(self) -> str:
        best, worst = self.ranked[0], self.ranked[-1]
        worst = "uniform" if "uniform" in self.ranked else worst
        where = "" if self.one else f" for each of {len(self.groups)} groups"
        text = (
            f"With a budget of {self.budget}{where}, {format_sentence_label(best)} earned"
            f" {_format(self.reward(best))} of the {_format(self.possible())} {self.unit} that were"
            f" possible, on average over {pluralize(self.runs, 'simulated run')}"
        )
        if worst == best:
            return f"{text}."
        who = f"the weakest policy, {format_sentence_label(worst)},"
        who = "random choice" if worst == "uniform" else who
        return f"{text}; {who} earned {_format(self.reward(worst))}."

    def other_policies(self) -> list[str]:
        best, *others = self.ranked
        if not others:
            return []
        if self.runs < FEWEST:
            runs = "1 run is" if self.runs == 1 else f"{self.runs} runs are"
            return [f"{runs} too few to tell policies apart; use 100 or more."]
        p = holm([compare(self.pooled, _ALL, best, other).p for other in others])
        equal = [other for other, value in zip(others, p, strict=True) if value > LEVEL]
        if equal:
            names = join_words([format_sentence_label(slug) for slug in equal], _SHOWN)
            return [f"As far as {self.runs} runs can tell, {names} did as well."]
        second = format_sentence_label(others[0])
        return [
            f"{second} came next with {_format(self.reward(others[0]))}; the difference is"
            " statistically significant."
        ]

    def data_of_one_group(self) -> list[str]:
        (look,) = self.outlooks
        text = [
            f"In your data, {look.best!r} performs best: {_format(look.ratio)} {self.unit} per"
            f" {self.money} (95% interval {_format(look.low)} to {_format(look.high)})."
        ]
        if look.rivals:
            names = join_words([repr(name) for name in look.rivals], _SHOWN)
            text.append(f"Your data do not clearly separate it from {names}.")
        else:
            text.append("Your data clearly identify the best ad.")
        if look.safe != look.best:
            text.append(
                f"Its lead rests on few {self.trial} ({look.clicks:,.0f}); {look.safe!r} is the"
                " safer choice."
            )
        return text

    def data_of_many_groups(self) -> list[str]:
        clear = [f"{look.best!r} in {look.setting}" for look in self.outlooks if not look.rivals]
        total = len(self.groups)
        if not clear:
            return [f"In none of the {total} groups do your data clearly identify the best ad."]
        names = join_words(clear, _SHOWN)
        return [
            f"In {len(clear)} of {total} groups your data clearly identify the best ad: {names}."
        ]

    def small_budget(self) -> list[str]:
        small = [look for look in self.outlooks if look.plays_per_arm < _FEW]
        if not small:
            return []
        if self.one:
            return [
                f"{self.budget} buys about {_format(small[0].plays)} {self.trial},"
                f" {_format(small[0].plays_per_arm)} for each of {small[0].arms} arms, which is"
                " too few to learn much. A larger budget or fewer arms would help."
            ]
        names = join_words([look.setting for look in small], _SHOWN)
        return [
            f"In {len(small)} of {len(self.groups)} groups {self.budget} buys fewer than {_FEW}"
            f" {self.trial} per arm, which is too few to learn much: {names}."
        ]

    def next_step(self) -> str:
        best, total = self.ranked[0], len(self.groups)
        losses = [self.regret_share(group, best) for group in self.groups]
        pairs = zip(self.outlooks, losses, strict=True)
        trusted = [look for look, loss in pairs if look.trust_loss <= loss]
        policy = format_sentence_label(best)
        if self.one:
            data, learning = _format_share(self.outlooks[0].trust_loss), _format_share(losses[0])
            if trusted:
                return (
                    f"What to do: spend the budget on {trusted[0].safe!r}. If performance stays the"
                    f" same, that may lose {data} of what is possible; learning from scratch lost"
                    f" {learning}."
                )
            return (
                f"What to do: let {policy} divide the budget. It lost {learning} of what is"
                f" possible; using your past data alone may lose {data}."
            )
        if not trusted:
            return f"What to do: let {policy} divide the budget of every group."
        arms = join_words([f"{look.safe!r} in {look.setting}" for look in trusted], _SHOWN)
        rest = "" if len(trusted) == total else f" Elsewhere let {policy} divide the budget."
        return (
            f"What to do: in {len(trusted)} of {total} groups, if performance stays the same, using"
            f" your past data beats starting over; spend on {arms}.{rest}"
        )


def _format(value: float) -> str:
    return format_number(value, keep_whole=True)


def _format_budget(value: float, currency: str) -> str:
    number = f"{value:,.2f}".removesuffix(".00")
    return f"{number} {currency}".strip() if currency.isalpha() else f"{currency}{number}"


def _format_share(share: float) -> str:
    return f"about {share:.0%}" if share >= 0.01 else "less than 1%"
