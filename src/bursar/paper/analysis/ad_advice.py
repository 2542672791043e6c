"""Advice on a user's own ads: how much the file says about them, and what a comparison means."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from bursar.arrays import Floats
from bursar.formatting import format_number, join_words, pluralize
from bursar.paper.analysis.compare import FEWEST, LEVEL, compare, holm
from bursar.paper.analysis.games import final_regret, rows_of
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
    facts = _measure(settings, played, budget)
    number = f"{budget:,.2f}".removesuffix(".00")
    worded = f"{number} {currency}".strip() if currency.isalpha() else f"{currency}{number}"
    text = _template().render(
        facts,
        budget=worded,
        money=currency or "unit of money",
        unit=settings[0].unit,
        trial=settings[0].trial,
        few=_FEW,
    )
    return [line for line in text.splitlines() if line]


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


def _measure(groups: Sequence[AdExportSetting], result: Result, budget: float) -> dict[str, Any]:
    """Return the numbers of the sentences."""
    looks = [assess_group(group, budget) for group in groups]
    pooled = replace(result, settings=(_ALL,), setting=np.zeros_like(result.setting))
    rows = rows_of(pooled, _ALL, result.policies[0])
    possible = float(pooled.optimum[rows].mean()) * len(groups)
    regret = {
        slug: float(final_regret(pooled, _ALL, slug).mean()) * len(groups)
        for slug in result.policies
    }
    reward = {slug: max(possible - lost, 0.0) for slug, lost in regret.items()}
    best, *others = ranked = sorted(reward, key=reward.__getitem__, reverse=True)
    runs = int(np.unique(result.repetition).size)
    losses = [_regret_share(result, group.name, best) for group in groups]
    return {
        "looks": looks,
        "possible": possible,
        "reward": reward,
        "ranked": ranked,
        "runs": runs,
        "equal": _find_equal(pooled, best, others) if runs >= FEWEST else None,
        "losses": losses,
        "trusted": [
            look for look, lost in zip(looks, losses, strict=True) if look.trust_loss <= lost
        ],
    }


def _find_equal(pooled: Result, best: str, others: Sequence[str]) -> list[str]:
    """Return the policies that did not earn significantly less than the best."""
    p = holm([compare(pooled, _ALL, best, other).p for other in others])
    return [other for other, value in zip(others, p, strict=True) if value > LEVEL]


def _regret_share(result: Result, group: str, policy: str) -> float:
    """Return the share of what was possible in a group that a policy lost."""
    optimum = float(result.optimum[rows_of(result, group, policy)].mean())
    return min(float(final_regret(result, group, policy).mean()) / optimum, 1.0)


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("bursar.paper.analysis", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: str(value).replace("\n", " "),  # a line is an item
    )
    environment.filters |= {
        "number": partial(format_number, keep_whole=True),
        "share": lambda share: f"about {share:.0%}" if share >= 0.01 else "less than 1%",
        "policy": format_sentence_label,
        "pluralize": pluralize,
        "quote": repr,
        "listing": lambda words: join_words(list(words), _SHOWN),
        "in_group": lambda look, field: f"{getattr(look, field)!r} in {look.setting}",
    }
    return environment.get_template("ad_advice.jinja")
