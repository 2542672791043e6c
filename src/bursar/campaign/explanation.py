"""Why a decision was made: the state before it, every arm in it, and the reason in sentences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from html import escape
from importlib import import_module
from typing import NamedTuple

import numpy as np

from bursar.campaign.audit import PastAsk, options_of, replay_ask, state_before
from bursar.campaign.decision import to_datetime
from bursar.campaign.learner import CampaignLearner
from bursar.campaign.state import State
from bursar.campaign.views import ArmView, CampaignView, make_arm_views
from bursar.formatting import format_number, format_percent, join_words, pluralize
from bursar.ledger import Store
from bursar.policies import kernels


@dataclass(frozen=True, kw_only=True)
class Option:
    """An arm as it was before a decision.

    Attributes
    ----------
    arm : ArmView
        Counts, means and 95% intervals.
    status : str
        chosen, open (it could have been chosen), unaffordable, paused, retired or excluded.
    why : str
        Why it could not be chosen ("was paused", "needs 2.00 and 1.50 was left"), or "".
    tried : int
        Plays that the policy counted: those learned from, past outcomes, and those without an
        outcome.
    index : float or None
        The index by which the policy compared arms, the most that the arm may earn per unit spent;
        None if the policy has no index. Infinite for an arm without a play that would be tried
        next, -inf for one that waits.
    reward_bound, cost_bound : float or None
        The parts of the index, for policies whose index is a bound of the reward over a bound of
        the cost.
    waits : bool
        Whether the arm has no play and is not tried yet, because a cheaper one comes first or
        because it could not pay at its likely cost. Only policies that do not try every arm let
        arms wait. JSON has null for both infinite indices, and this tells which it is.
    """

    arm: ArmView
    status: str
    why: str
    tried: int
    index: float | None
    reward_bound: float | None
    cost_bound: float | None
    waits: bool = False

    @property
    def key(self) -> str:
        """Key of the arm."""
        return self.arm.key

    @property
    def mean(self) -> float | None:
        """Mean reward per unit spent; None before the first outcome."""
        return None if self.arm.ratio is None else self.arm.ratio.value


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(CampaignView):
    """A decision and what was known when it was made.

    Attributes
    ----------
    decision, arm : str
        Its id, and the arm that was chosen.
    seq, seed : int
        Number of its event and seed of the campaign: its random numbers depend on nothing else.
    at : datetime
        When it was made.
    policy : str
        Slug of the policy.
    how : str
        "index" (the largest one), "first" (an arm never tried), "drawn" (the policy draws),
        "explored" (at random, by the campaign's rule), "only" (no other arm could be chosen) or
        "fallback" (at random because the policy failed).
    hold : Decimal
        What was reserved.
    propensity : float or None
        Probability of the arm; None if it is unknown.
    constrained : bool
        Whether arms were left out because they did not fit into what was left.
    available : Decimal
        What was left before it of the budget and of the day's cap.
    policy_arm : str or None
        The policy's own choice; differs from ``arm`` if that was explored.
    verified : bool
        Whether repeating the ask on the state before it gives exactly what the log says.
    options : tuple of Option
        All arms.
    sentences : tuple of str
        The explanation in words.
    """

    decision: str
    arm: str
    seq: int
    seed: int
    at: datetime
    policy: str
    how: str
    hold: Decimal
    propensity: float | None
    constrained: bool
    available: Decimal
    policy_arm: str | None
    verified: bool
    options: tuple[Option, ...]
    sentences: tuple[str, ...]

    def option(self, key: str) -> Option:
        """Return one arm."""
        return next(option for option in self.options if option.key == key)

    def __str__(self) -> str:
        return " ".join(self.sentences)

    def __repr__(self) -> str:
        return f"<Explanation of {self.decision}: {self.sentences[0]}>"

    def _repr_html_(self) -> str:
        head = "<tr><th>arm</th><th>status</th><th>tried</th><th>mean</th><th>index</th></tr>"
        rows = "".join(
            f"<tr><td>{escape(one.key)}</td><td>{escape(one.why or one.status)}</td>"
            f"<td>{one.tried:,}</td><td>{format_number(one.mean)}</td>"
            f"<td>{format_number(None if one.waits else one.index)}</td></tr>"
            for one in self.options
        )
        return f"<p>{escape(str(self))}</p><table>{head}{rows}</table>"


def explain_decision(store: Store, name: str, decision: str) -> Explanation:
    """Explain a decision from the log."""
    past = state_before(store, name, decision)
    state, asked, config = past.state, past.asked, past.state.config
    available = state.day_balance(asked.ts).within(state.available)
    source = " of the day's cap" if available < state.available else ""
    options = _make_options(past, available, source)
    how, wanted = _find_reason(past, options)
    left = config.coin.format(max(available, 0)) + source
    # last, because it changes the state
    case = _Case(past, options, how, wanted, left, *replay_ask(state, asked))
    return Explanation(
        decision=decision,
        arm=case.arm.key,
        seq=asked.seq,
        seed=config.seed,
        at=to_datetime(asked.ts),
        policy=config.policy,
        how=how,
        hold=config.coin.amount(asked.body["hold"]),
        propensity=asked.body["p"],
        constrained=asked.body["constrained"],
        available=config.coin.amount(available),
        policy_arm=wanted,
        verified=case.verified,
        options=tuple(options),
        sentences=_write_sentences(case),
    )


def _make_options(past: PastAsk, available: int, source: str) -> list[Option]:
    state, asked = past.state, past.asked
    among, own = options_of(state, asked)
    statuses = [
        _find_status(state, number, among, state.hold_of(number, own), (available, source))
        for number in range(len(state.arms))
    ]
    statuses[asked.body["arm"]] = ("chosen", "")
    able = [number for number, (status, _) in enumerate(statuses) if status in ("chosen", "open")]
    views, tried = make_arm_views(state), np.ceil(state.learner.seen["n"]).astype(int).tolist()
    rows = zip(views, statuses, tried, _find_indices(state.learner, able), strict=True)
    return [
        Option(
            arm=view, status=status, why=why, tried=n, waits=index["index"] == -math.inf, **index
        )
        for view, (status, why), n, index in rows
    ]  # fmt: skip


def _find_status(
    state: State, number: int, among: tuple[str, ...] | None, hold: int, room: tuple[int, str]
) -> tuple[str, str]:
    """Return whether an arm could be chosen, and if not, why.

    ``room`` is what was left, and of what.
    """
    arm, coin, (left, source) = state.arms[number], state.config.coin, room
    if arm.state != "active":
        return arm.state, f"was {arm.state}"
    if among is not None and arm.key not in among:
        return "excluded", "was not asked for"
    within_cap = arm.money.within(left)
    if hold <= within_cap:
        return "open", ""
    if arm.money.within(math.inf) <= left:
        source = " of its cap"
    needs, rest = coin.format(hold), coin.format(max(within_cap, 0))
    return "unaffordable", f"needs {needs} and {rest} was left{source}"


def _find_indices(learner: CampaignLearner, among: Sequence[int]) -> list[dict[str, float | None]]:
    """Return the index of every arm and its bounds, as in a choice among some arms.

    They are in the user's units. Arms count with their open decisions, as the policy sees them. An
    untried arm's index is infinite, or -inf if it waits; for one that could not be chosen it is as
    if it could have been.
    """
    policy, seen, plays = learner.policy, learner.seen, float(learner.game["plays"][0])
    unknown: dict[str, float | None] = {"index": None, "reward_bound": None, "cost_bound": None}
    if policy.index is None:
        return [unknown] * seen.size
    untried = _find_untried_indices(learner, among)
    if plays == 0.0:
        return [unknown | {"index": untried.get(k, math.inf)} for k in range(seen.size)]
    n = seen["n"]
    tried, free = np.where(n > 0.0, n, 1.0), np.maximum(n - policy.ddof, 1.0)
    columns = (
        n.copy(), seen["reward"] / tried, seen["cost"] / tried,
        seen["reward_m2"] / free, seen["cost_m2"] / free,
    )  # fmt: skip
    p, scale = learner._kernel_params, learner.scale
    mine = np.array([k for k in among if n[k] > 0.0], dtype=np.intp)
    now = policy._now(p, plays, seen[mine], float(learner.game["spent"][0]))
    values = scale.ratio_out(kernels.of(type(policy), "tabulate")(p, *columns, now))
    indices = []
    rows = zip(values.tolist(), *(column.tolist() for column in columns), strict=True)
    for k, (value, count, r, c, vr, vc) in enumerate(rows):
        reward = cost = None
        bounds = policy.bounds(p, count, r, c, vr, vc, now) if count > 0.0 else None
        if bounds is not None:
            reward = scale.reward_low + scale.reward_width * bounds[0]
            cost = scale.cost_low + scale.cost_width * bounds[1]
        index = untried.get(k, value)
        indices.append({"index": index, "reward_bound": reward, "cost_bound": cost})
    return indices


def _find_untried_indices(learner: CampaignLearner, among: Sequence[int]) -> dict[int, float]:
    """Return the indices of arms without a play, if the policy does not try every arm anyway."""
    if learner.policy.tries_all:
        return {}
    fresh = set(np.flatnonzero(learner.seen["n"] == 0.0).tolist())
    found = {k: value for k, value in zip(among, learner.score(among), strict=True) if k in fresh}
    found |= {k: learner.score([*among, k])[-1] for k in fresh.difference(among)}
    return {k: learner.scale.ratio_out(value) for k, value in found.items()}


def _find_reason(past: PastAsk, options: list[Option]) -> tuple[str, str | None]:
    """Return how the arm was chosen (``Explanation.how``), and the policy's own choice."""
    state, asked = past.state, past.asked
    if past.failure is not None:
        return "fallback", None
    learner, explore = state.learner, state.config.explore
    able = [number for number, one in enumerate(options) if one.status in ("chosen", "open")]
    try:
        among = None if len(able) == len(options) else able
        wanted = options[learner.choose(among, asked.seq)].key
    except Exception:  # a policy that fails now can still be explained
        wanted = None
    if len(able) == 1:
        return "only", wanted
    if explore > 0.0 and learner.uniform(asked.seq)[0] < explore:
        return "explored", wanted
    fresh = [options[number].key for number in able if options[number].tried == 0]
    if learner.policy.index is not None and (
        fresh if learner.policy.tries_all else wanted in fresh
    ):
        return "first", wanted
    return ("index" if learner.policy.takes_largest_index else "drawn"), wanted


class _Case(NamedTuple):
    """What the sentences are about."""

    past: PastAsk
    options: list[Option]
    how: str
    wanted: str | None  # the policy's own choice
    left: str  # what was left of the budget or the day's cap
    verified: bool
    repeated: str | None  # the arm that repeating the ask gives

    @property
    def arm(self) -> Option:
        """The chosen arm."""
        return self.options[int(self.past.asked.body["arm"])]

    @property
    def able(self) -> list[Option]:
        """The chosen arm and then the others that could have been chosen."""
        return [self.arm, *self.with_status("open")]

    @property
    def second(self) -> Option:
        """The largest index beside the chosen arm; the arm itself if it was the only one."""
        rivals = [one for one in self.able[1:] if not one.waits]
        return max(rivals or [self.arm], key=lambda one: one.index or 0.0)

    @property
    def untried(self) -> list[Option]:
        """The arms that could have been chosen but wait."""
        return [one for one in self.able if one.waits]

    @property
    def best(self) -> Option:
        """The arm of the largest mean among those that could be chosen."""
        return max(self.able, key=lambda one: -math.inf if one.mean is None else one.mean)

    def with_status(self, *statuses: str) -> list[Option]:
        """Return the arms that have one of some statuses."""
        return [one for one in self.options if one.status in statuses]


@cache
def load_sentences() -> dict[str, str]:
    """Return the sentences by their keys, with names of values in braces."""
    # imported here, because most campaigns are never explained
    resources, toml = import_module("importlib.resources"), import_module("tomllib")
    text = resources.files("bursar.campaign").joinpath("explanation.toml").read_text("utf-8")
    sentences: dict[str, str] = toml.loads(text)
    return sentences


_OUT = ("unaffordable", "paused", "retired", "excluded")


def _write_sentences(case: _Case) -> tuple[str, ...]:
    """Return two sentences; more on untried arms, changes, past outcomes, and other repetitions."""
    keys = [_choose_reason(case), _choose_comparison(case)]
    if case.how == "index" and case.untried and (key := _choose_waiting(case)) not in keys:
        keys.append(key)
    if case.arm.arm.changed:
        keys.append("changed" if case.arm.arm.changed[0].reset else "changed, mixed")
    if case.arm.arm.history is not None:
        keys.append("history")
    # a policy that failed then may work now
    if not case.verified and case.past.failure is None:
        keys.append("not verified")
    sentences, values = load_sentences(), _describe(case)
    return tuple(sentences[key].format(**values) for key in keys)


def _choose_reason(case: _Case) -> str:
    arm, how = case.arm, case.how
    if how == "index" and case.second is arm:
        return "index, alone"
    if how == "index":
        tie = ", tie" if (arm.index or 0.0) == (case.second.index or 0.0) else ""
        return f"index{', infinite' if arm.index == math.inf else ''}{tie}"
    if how == "first" and arm.tried:
        return "first, tried"
    if how == "first":
        if any(change.reset for change in arm.arm.changed):
            how = "first, reset"
        if not case.past.state.learner.policy.tries_all:
            is_start = not any(one.tried for one in case.able)
            return "first, cheapest" if is_start else f"{how}, may pay"
    return how


def _choose_waiting(case: _Case) -> str:
    return "waits" if len(case.untried) == 1 else "wait"


def _choose_comparison(case: _Case) -> str:
    arm, how, left_out = case.arm, case.how, case.with_status("unaffordable")
    if how == "only":
        return "others" if case.with_status(*_OUT) else "alone"
    if left_out:
        return "one left out" if len(left_out) == 1 else "left out"
    if how == "index":
        is_alone = case.second is arm
        return _choose_waiting(case) if is_alone else _compare_means(arm, case.second)
    if how == "drawn":
        return "unknown" if arm.mean is None else "best" if case.best is arm else "not best"
    if how == "explored":
        return "wanted too" if case.wanted == arm.key else "wanted"
    return "tried" if how == "first" else "checked"


def _compare_means(arm: Option, second: Option) -> str:
    if arm.mean is None:
        return "no outcome"
    if second.mean is None:
        return "no other outcome"
    if second.mean > arm.mean:
        return "worse, tried less" if arm.tried < second.tried else "worse"
    if second.mean == arm.mean:
        return "equal, free" if arm.mean == math.inf else "equal"
    return "better"


def _describe(case: _Case) -> dict[str, object]:
    """Return every value that a sentence may name."""
    arm, second, able = case.arm, case.second, case.able
    left_out = case.with_status("unaffordable")
    changes = arm.arm.changed
    waiting = pluralize(arm.tried, "decision")
    return {
        "arm": arm.key,
        "second": second.key,
        "best": case.best.key,
        "equals": join_words([one.key for one in able[1:] if one.index == math.inf]),
        "bound": format_number(arm.index),
        "second_bound": format_number(second.index),
        "mean": format_number(arm.mean),
        "second_mean": format_number(second.mean),
        "best_mean": format_number(case.best.mean),
        "tried": _format_times(arm.tried),
        "second_tried": _format_times(second.tried),
        "tried_arms": sum(one.tried > 0 for one in able),
        "count": len(able),
        "untried": (
            join_words([one.key for one in case.untried])
            if len(case.untried) <= 3
            else f"{len(case.untried)} arms"
        ),
        "waiting": f"{waiting} {'waits' if arm.tried == 1 else 'wait'}",
        "draw": case.past.state.learner.policy.describe_draw(len(able)),
        "explore": format_percent(case.past.state.config.explore, digits=3),
        "failure": case.past.failure,
        "wanted": case.wanted or "no arm",
        "left_out": join_words([one.key for one in left_out]),
        "why": left_out[0].why if left_out else "",
        "left": case.left,
        "others": _describe_others(case.with_status(*_OUT)),
        "change": changes[0] if changes else "",
        "history": "" if arm.arm.history is None else arm.arm.history.describe(arm.key),
        "what": next((change.what for change in changes if change.reset), ""),
        "repeated": "another arm" if case.repeated in (None, arm.key) else case.repeated,
    }


def _describe_others(out: list[Option]) -> str:
    if len(out) <= 3:
        return "; ".join(f"{one.key} {one.why}" for one in out)
    counts = [(sum(one.status == status for one in out), status) for status in _OUT]
    groups = [f"{n} {'was' if n == 1 else 'were'} {status}" for n, status in counts if n]
    return f"Of the others, {join_words(groups)}"


def _format_times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
