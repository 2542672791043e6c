"""How a decision is explained: the state before it, every arm in it, and the choice once more."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from bursar.campaign.audit import PastAsk, among_of, replay_ask, state_before
from bursar.campaign.explanation import Explanation, Option, SentenceInput, write_sentences
from bursar.campaign.learner import CampaignLearner
from bursar.campaign.records import Balance
from bursar.campaign.state import State, day_of
from bursar.campaign.views import make_arm_views
from bursar.ledger import Store
from bursar.policies import kernels

__all__ = ["Index", "explain_decision", "indices"]

# ==== campaign.index
# The index by which a policy compared arms, in the user's units, and the bounds it is made of.


class Index(NamedTuple):
    """What an arm may bring per cost at best; the bounds are None where there are none to show."""

    value: float
    reward_bound: float | None = None
    cost_bound: float | None = None


def indices(learner: CampaignLearner, among: Sequence[int]) -> list[Index] | None:
    """Return the index of every arm, as in a choice among some; None if the policy has none.

    Arms count with their open decisions, as the policy sees them; one never tried is infinite.
    """
    policy, seen, plays = learner.policy, learner.seen, float(learner.game["plays"][0])
    if policy.index is None:
        return None
    if plays == 0.0:
        return [Index(math.inf)] * seen.size
    n = seen["n"]
    tried, free = np.maximum(n, 1.0), np.maximum(n - policy.ddof, 1.0)
    columns = (
        n.copy(), seen["reward"] / tried, seen["cost"] / tried,
        seen["reward_m2"] / free, seen["cost_m2"] / free,
    )  # fmt: skip
    p = learner._kernel_params
    mine = np.array([k for k in among if n[k] > 0.0], dtype=np.intp)
    now = policy._now(p, plays, seen[mine], float(learner.game["spent"][0]))
    values = learner.scale.ratio_out(kernels.of(type(policy), "tabulate")(p, *columns, now))
    scale, found = learner.scale, []
    for value, *arm in zip(values.tolist(), *(one.tolist() for one in columns), strict=True):
        plays, r, c, vr, vc = arm
        bounds = policy.bounds(p, plays, r, c, vr, vc, now) if plays > 0.0 else None
        if bounds is None:
            found.append(Index(value))
        else:
            reward, cost = bounds
            found.append(
                Index(
                    value,
                    scale.reward_low + scale.reward_width * reward,
                    scale.cost_low + scale.cost_width * cost,
                )
            )
    return found


class _Room(NamedTuple):
    """What could be held before an ask: of the budget and, if it is less, of the day's cap."""

    units: int
    by: str


def explain_decision(store: Store, name: str, decision: str) -> Explanation:
    """Explain a decision from the log."""
    past = state_before(store, name, decision)
    state, asked = past.state, past.asked
    room = _room(state, asked.ts)
    options = _options(past, room)
    fits = [number for number, one in enumerate(options) if one.status in ("chosen", "open")]
    how, wanted = _how(past, options, fits)
    coin, config = state.config.coin, state.config
    arm = options[asked.body["arm"]]
    verified, now = replay_ask(state, asked)  # the last look: it spoils the state
    case = SentenceInput(
        arm, tuple(options), how, state.learner.policy, config.explore, wanted,
        past.failure, coin.format(max(room.units, 0)), room.by, verified, now,
    )  # fmt: skip
    return Explanation(
        decision, arm.key, asked.seq, config.seed, datetime.fromtimestamp(asked.ts / 1e6, UTC),
        config.policy, how, coin.amount(asked.body["hold"]), asked.body["p"],
        asked.body["constrained"], coin.amount(room.units), wanted, verified, tuple(options),
        write_sentences(case),
    )  # fmt: skip


def _room(state: State, ts: int) -> _Room:
    left = state.available
    if state.day_cap is None:
        return _Room(left, "")
    today = state.days.get(day_of(ts), Balance())
    of_day = state.day_cap - today.spent - today.held
    return _Room(of_day, " of the day's cap") if of_day < left else _Room(left, "")


def _options(past: PastAsk, room: _Room) -> list[Option]:
    state, asked = past.state, past.asked
    among = among_of(state, asked)
    told = [_status(state, number, among, room) for number in range(len(state.arms))]
    told[asked.body["arm"]] = ("chosen", "")
    fits = [number for number, (status, _) in enumerate(told) if status in ("chosen", "open")]
    found = indices(state.learner, fits)
    options = []
    for number, view in enumerate(make_arm_views(state)):
        index = None if found is None else found[number]
        options.append(
            Option(
                view,
                *told[number],
                int(state.learner.seen["n"][number]),
                None if index is None else index.value,
                None if index is None else index.reward_bound,
                None if index is None else index.cost_bound,
            )
        )
    return options


def _status(
    state: State, number: int, among: tuple[str, ...] | None, room: _Room
) -> tuple[str, str]:
    """Return whether an arm could be chosen, and if not, why."""
    arm, coin = state.arms[number], state.config.coin
    if arm.state != "active":
        return arm.state, f"was {arm.state}"
    if among is not None and arm.key not in among:
        return "excluded", "was not asked for"
    hold, own = state.hold_of(number), arm.money.room()
    if own is not None and hold > own and own <= room.units:
        left, by = own, " of its cap"
    elif hold > room.units:
        left, by = room
    else:
        return "open", ""
    return "unaffordable", f"needs {coin.format(hold)}, {coin.format(max(left, 0))} were left{by}"


def _how(past: PastAsk, options: list[Option], fits: list[int]) -> tuple[str, str | None]:
    """Return the way that the arm was chosen, and the arm that the policy wanted."""
    state, asked = past.state, past.asked
    if past.failure is not None:
        return "fallback", None
    learner, explore = state.learner, state.config.explore
    try:
        everyone = len(fits) == len(options)
        wanted = options[learner.choose(None if everyone else fits, asked.seq)].key
    except Exception:  # a policy that works no more can still be explained
        wanted = None
    if len(fits) == 1:
        return "only", wanted
    if explore > 0.0 and learner.uniform(asked.seq)[0] < explore:
        return "explored", wanted
    policy = learner.policy
    if policy.index is not None and any(options[number].tried == 0 for number in fits):
        return "first", wanted
    return ("index" if policy.takes_largest_index else "drawn"), wanted
