"""How a decision is explained: the state before it, every arm in it, and the choice once more."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from bursar.campaign.arm_view import arm_views
from bursar.campaign.explanation import Explanation, Option
from bursar.campaign.index import indices
from bursar.campaign.past import Past, again, among_of, before
from bursar.campaign.records import Cap
from bursar.campaign.state import State, day_of
from bursar.campaign.wording import Case, worded
from bursar.ledger import Store

__all__ = ["explained"]


class _Room(NamedTuple):
    """What could be held before an ask: of the budget and, if it is less, of the day's cap."""

    units: int
    by: str


def explained(store: Store, name: str, decision: str) -> Explanation:
    """Explain a decision from the log."""
    past = before(store, name, decision)
    state, asked = past.state, past.asked
    room = _room(state, asked.ts)
    options = _options(past, room)
    fits = [number for number, one in enumerate(options) if one.status in ("chosen", "open")]
    how, wanted = _how(past, options, fits)
    coin, config = state.config.coin, state.config
    arm = options[asked.body["arm"]]
    verified, now = again(state, asked)  # the last look: it spoils the state
    case = Case(
        arm, tuple(options), how, str(state.brain.policy.name), config.explore, wanted,
        past.failure, coin.shown(max(room.units, 0)), room.by, verified, now,
    )  # fmt: skip
    return Explanation(
        decision, arm.key, asked.seq, config.seed, datetime.fromtimestamp(asked.ts / 1e6, UTC),
        config.policy, how, coin.amount(asked.body["hold"]), asked.body["p"],
        asked.body["constrained"], coin.amount(room.units), wanted, verified, tuple(options),
        worded(case),
    )  # fmt: skip


def _room(state: State, ts: int) -> _Room:
    left = state.available
    if state.day_cap is None:
        return _Room(left, "")
    today = state.days.get(day_of(ts), Cap())
    of_day = state.day_cap - today.spent - today.held
    return _Room(of_day, " of the day's cap") if of_day < left else _Room(left, "")


def _options(past: Past, room: _Room) -> list[Option]:
    state, asked = past.state, past.asked
    among = among_of(state, asked)
    told = [_status(state, number, among, room) for number in range(len(state.arms))]
    told[asked.body["arm"]] = ("chosen", "")
    fits = [number for number, (status, _) in enumerate(told) if status in ("chosen", "open")]
    found = indices(state.brain, fits)
    options = []
    for number, view in enumerate(arm_views(state)):
        index = None if found is None else found[number]
        options.append(
            Option(
                view,
                *told[number],
                int(state.brain.seen["n"][number]),
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
    return "unaffordable", f"needs {coin.shown(hold)}, {coin.shown(max(left, 0))} were left{by}"


def _how(past: Past, options: list[Option], fits: list[int]) -> tuple[str, str | None]:
    """Return the way that the arm was chosen, and the arm that the policy wanted."""
    state, asked = past.state, past.asked
    if past.failure is not None:
        return "fallback", None
    brain, explore = state.brain, state.config.explore
    try:
        everyone = len(fits) == len(options)
        wanted = options[brain.choose(None if everyone else fits, asked.seq)].key
    except Exception:  # a policy that works no more can still be explained
        wanted = None
    if len(fits) == 1:
        return "only", wanted
    if explore > 0.0 and brain.uniform(asked.seq)[0] < explore:
        return "explored", wanted
    policy = brain.policy
    if policy.index is not None and any(options[number].tried == 0 for number in fits):
        return "first", wanted
    return ("index" if policy.index is not None and policy.choose is None else "drawn"), wanted
