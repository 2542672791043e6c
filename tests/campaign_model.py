"""What a campaign should do, said as plainly as possible: a list of bets, and sums over it.

No code of the campaign is used here. Amounts are whole cents, times whole seconds; times-to-live
end on half seconds, so that the microseconds by which a log keeps its events apart never matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

OPEN = ("held", "confirmed")


class Refused(Exception):
    """The campaign must refuse; the word is the name of the error."""


@dataclass
class Bet:
    """One decision."""

    arm: str
    hold: int
    among: frozenset[str] | None
    day: int
    expires: float
    due: float
    money: str = "held"
    reward_state: str = "pending"
    cost: int | None = None
    reward: float | None = None
    charged: int = 0  # of `spent`
    least: int = 0  # the least that counted for it since its hold ended
    reports: dict[str, tuple[int | None, float | None]] = field(default_factory=dict)
    forgotten: bool = False  # learned before its arm was learned anew

    @property
    def known(self) -> bool:
        """Whether it is learned from: cost known, reward known and in time."""
        return None not in (self.cost, self.reward) and self.reward_state != "late"

    @property
    def waits(self) -> bool:
        return self.money in OPEN or self.reward_state == "pending"

    @property
    def unheld(self) -> int:
        """What was charged within the hold after the hold had been given back."""
        if self.money in OPEN:
            return 0
        return max(min(self.charged, self.hold) - min(self.least, self.hold), 0)

    def end(self, how: str, charge: int) -> None:
        self.least = charge if self.money in OPEN else min(self.least, charge)
        self.money, self.charged = how, charge


@dataclass
class Model:
    """A campaign as a list of bets."""

    budget: int
    arms: dict[str, int]
    ask_ttl: float | None
    hold_ttl: float
    reward_ttl: float
    charge_lapsed: bool
    default_reward: float | None
    max_open: int
    overruns: int  # after which an arm is paused
    caps: dict[str, int | None]
    now: int
    steady: bool = True  # whether the clock can be trusted
    last: int = 0  # time of the last event
    state: str = "active"
    cuts: int = 0
    arm_state: dict[str, str] = field(default_factory=dict)
    bets: dict[str, Bet] = field(default_factory=dict)
    past: dict[str, dict[int, bool]] = field(default_factory=dict)  # tables by size; if they count

    def __post_init__(self) -> None:
        self.arm_state = dict.fromkeys(self.arms, "active")

    # sums

    def held(self, arm: str | None = None, day: int | None = None) -> int:
        return sum(b.hold for b in self._of(arm, day) if b.money in OPEN)

    def spent(self, arm: str | None = None, day: int | None = None) -> int:
        return sum(b.charged for b in self._of(arm, day))

    def _of(self, arm: str | None, day: int | None) -> list[Bet]:
        bets = self.bets.values()
        return [b for b in bets if arm in (None, b.arm) and day in (None, b.day)]

    @property
    def available(self) -> int:
        return self.budget - self.spent() - self.held()

    @property
    def overrun(self) -> int:
        return sum(max(b.cost - b.hold, 0) for b in self.bets.values() if b.cost is not None)

    @property
    def excused(self) -> int:
        """What may stand above the budget: overruns, cuts, and costs of holds that were over."""
        return self.overrun + self.cuts + sum(b.unheld for b in self.bets.values())

    @property
    def waiting(self) -> int:
        return sum(b.waits for b in self.bets.values())

    @property
    def reward(self) -> float:
        seen = [b.reward for b in self.bets.values() if b.reward_state in ("observed", "defaulted")]
        return sum(r for r in seen if r is not None)

    def learned(self, arm: str) -> list[float]:
        """Return the rewards that were learned from, and are not forgotten."""
        return [b.reward for b in self._of(arm, None) if b.known and not b.forgotten]

    def forget(self, arm: str) -> None:
        """Learn an arm anew: what was learned so far counts no more, even if it is corrected."""
        for bet in self._of(arm, None):
            bet.forgotten = bet.forgotten or bet.known
        self.past[arm] = dict.fromkeys(self.past.get(arm, {}), False)

    def history(self, arm: str) -> list[int]:
        """Return the sizes of the tables of past outcomes that count for an arm."""
        return [plays for plays, counts in self.past.get(arm, {}).items() if counts]

    def shown_state(self) -> str:
        if self.state != "active":
            return self.state
        if self.available < 0:
            return "overdrawn"
        active = [a for a, state in self.arm_state.items() if state == "active"]
        fits = any(self.arms[a] <= min(self.available, self.arm_room(a)) for a in active)
        return "active" if fits else "exhausted"  # a day's cap is there again tomorrow

    # asking

    @property
    def time(self) -> int:
        return max(self.last, self.now)

    def happened(self) -> None:
        self.last = self.time

    def room(self, arm: str) -> int:
        """Return what an ask of an arm may hold now."""
        day = self.time // 86_400
        rooms = [self.available]
        if self.caps.get("day") is not None:
            rooms.append(self.caps["day"] - self.spent(day=day) - self.held(day=day))
        return min(*rooms, self.arm_room(arm))

    def arm_room(self, arm: str) -> int:
        cap = self.caps.get(f"arm:{arm}")
        return self.available if cap is None else cap - self.spent(arm) - self.held(arm)

    def hold(self, arm: str, own: int | None) -> int:
        """Return what an ask holds; it may name a hold of its own, up to the arm's maximum."""
        return self.arms[arm] if own is None else min(own, self.arms[arm])

    def may_ask(
        self, among: frozenset[str] | None, own: int | None = None
    ) -> tuple[set[str], bool]:
        """Return the arms that an ask may get, and whether others were too dear; or refuse."""
        if self.state != "active":
            raise Refused("NotActive")
        if self.waiting >= self.max_open:
            raise Refused("TooManyOpen")
        active = {
            a
            for a, state in self.arm_state.items()
            if state == "active" and (among is None or a in among)
        }
        fits = {a for a in active if self.hold(a, own) <= self.room(a)}
        if not fits:
            raise Refused("BudgetExhausted")
        return fits, fits != active

    def asked(
        self, id: str, arm: str, among: frozenset[str] | None, own: int | None = None
    ) -> None:
        at, lives = self.time, self.hold_ttl if self.ask_ttl is None else self.ask_ttl
        day, due = at // 86_400, at + self.reward_ttl
        self.bets[id] = Bet(arm, self.hold(arm, own), among, day, at + lives, due)
        self.happened()

    # what happens by itself

    def reap(self) -> None:
        for bet in self.bets.values() if self.steady else ():
            if bet.money in OPEN and bet.expires <= self.now:
                if self.ask_ttl is not None and bet.money == "held":
                    bet.end("released", 0)
                else:
                    bet.end("lapsed", bet.hold if self.charge_lapsed else 0)
                if bet.money == "released" and bet.reward_state == "pending":
                    bet.reward_state = "none"
                self.happened()
            if bet.reward_state == "pending" and bet.due <= self.now:
                bet.reward_state, bet.reward = "defaulted", self.default_reward
                self.happened()

    # telling

    def bet(self, id: str) -> Bet:
        if id not in self.bets:
            raise Refused("UnknownDecision")
        return self.bets[id]

    def tell(self, id: str, cost: int | None, reward: float | None, report: str | None) -> bool:
        """Book an outcome; return whether it was known before."""
        self.reap()
        bet = self.bet(id)
        if report is not None and report in bet.reports:
            if bet.reports[report] != (cost, reward):
                raise Refused("OutcomeConflict")
            return True
        known = bet.reward_state in ("observed", "late")
        if cost is not None and bet.cost is not None and cost != bet.cost:
            raise Refused("OutcomeConflict")
        if reward is not None and known and reward != bet.reward:
            raise Refused("OutcomeConflict")
        new_cost = cost is not None and bet.cost is None
        new_reward = reward is not None and not known
        if not new_cost and not new_reward:
            return True
        if report is not None:
            bet.reports[report] = (cost, reward)
        if new_reward:
            to_come = bet.reward_state in ("pending", "defaulted")
            made_up = to_come and self.default_reward is not None
            bet.reward_state = "late" if self.now > bet.due and not made_up else "observed"
            bet.reward = reward
        self.happened()
        if new_cost:
            self._settle(bet, cost)
        return False

    def correct(self, id: str, cost: int | None, reward: float | None) -> None:
        self.reap()
        bet = self.bet(id)
        if reward is not None:
            bet.reward_state, bet.reward = "observed", reward
        self.happened()
        if cost is not None:
            self._settle(bet, cost)

    def _settle(self, bet: Bet, cost: int) -> None:
        bet.end("settled", cost)
        bet.cost = cost
        most = self.arms[bet.arm]  # a cost above a caller's own hold is no fault of the arm
        over = sum(b.cost is not None and b.cost > most for b in self._of(bet.arm, None))
        if cost > most and 0 < self.overruns <= over and self.arm_state[bet.arm] == "active":
            self.arm_state[bet.arm] = "paused"

    def void(self, id: str) -> bool:
        self.reap()
        bet = self.bet(id)
        if bet.money in ("voided", "released"):
            return True
        if bet.money not in OPEN:
            raise Refused("OutcomeConflict")
        bet.end("voided", 0)
        if bet.reward_state == "pending":
            bet.reward_state = "none"
        self.happened()
        return False

    def confirm(self, id: str) -> bool:
        self.reap()
        bet = self.bet(id)
        if bet.money == "confirmed":
            return True
        if bet.money != "held":
            raise Refused("OutcomeConflict")
        bet.money, bet.expires = "confirmed", self.now + self.hold_ttl
        self.happened()
        return False

    # changing

    def set_budget(self, budget: int) -> None:
        self.cuts += max(self.budget - budget, 0)
        self.budget = budget
        self.happened()
