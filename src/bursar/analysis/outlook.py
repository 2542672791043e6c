"""Outlook: how much a user's own file says about its arms, and what a budget can add to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bursar.checks import Floats
from bursar.intervals import interval, ratio_bound
from bursar.settings.own import OwnSetting

__all__ = ["Outlook", "outlook"]

_Z = 1.959963984540054
_DRAWS = 2_000
_WEIGHT = (2.0, 1e6)  # fewest and most clicks that the average of all arms may count as


@dataclass(frozen=True)
class Outlook:
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


def outlook(setting: OwnSetting, budget: float) -> Outlook:
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
    return Outlook(
        setting.name, len(setting.arm_names), setting.arm_names[best],
        float(ratio[best]), float(low[best]), float(high[best]), float(clicks[best]),
        tuple(setting.arm_names[k] for k in rivals), setting.arm_names[safe], loss,
        budget / float(cost.mean()),
    )  # fmt: skip


def _trust(setting: OwnSetting) -> tuple[int, float]:
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
