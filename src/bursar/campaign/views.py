"""Looking at a campaign: its arms, why it decided so, what is to come, whether it adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bursar.campaign.arm_view import ArmView, arm_views
from bursar.campaign.decision import Decision, decided
from bursar.campaign.explaining import explained
from bursar.campaign.explanation import Explanation
from bursar.campaign.forecast import Forecast
from bursar.campaign.foreseeing import facts_of, forecast_of
from bursar.campaign.records import OPEN
from bursar.campaign.snapshot import taken
from bursar.campaign.status import Status, status_of
from bursar.campaign.turn import Turn
from bursar.campaign.verification import Verification, verified

if TYPE_CHECKING:
    from bursar.campaign.desk import Desk
    from bursar.ledger import Store

__all__ = ["Views"]


class Views:
    """The part of a campaign that looks and changes nothing."""

    name: str
    store: Store
    _desk: Desk

    def arms(self) -> list[ArmView]:
        """Return every arm: counts, money, means and reward per cost with 95% intervals."""
        return cast("list[ArmView]", self._desk.serve(lambda turn: arm_views(turn.state)))

    def status(self) -> Status:
        """Return how the campaign stands: money, counts and rules of one moment."""
        return cast(Status, self._desk.serve(lambda turn: status_of(turn.state, turn.now)))

    def holds(self) -> list[Decision]:
        """Return the decisions whose money is held, the oldest first."""

        def work(turn: Turn) -> list[Decision]:
            found = [one for one in turn.state.choices.values() if one.money in OPEN]
            found.sort(key=lambda one: one.seq)
            return [decided(turn.state, one, replayed=False) for one in found]

        return cast("list[Decision]", self._desk.serve(work))

    def explain(self, decision: Decision | str) -> Explanation:
        """Return why a decision was what it was, from the log as it was then.

        The log before it is read again (from a snapshot if there is one that is old enough), and
        the choice made once more; ``str()`` of what is returned says it in two sentences.
        """
        key = decision if isinstance(decision, str) else decision.id
        return explained(self.store, self.name, key)

    def forecast(self, days: float | None = None) -> Forecast:
        """Return what the rest of the budget may bring, and when it will be used up.

        Parameters
        ----------
        days : float, optional
            How far to look ahead; by default until nothing fits.
        """
        return forecast_of(self._desk.serve(facts_of), days)

    def verify(self, *, choices: bool = False) -> Verification:
        """Check the whole log: hashes, money, snapshot, and the state in memory.

        Raises CorruptLedger with the first event that is wrong.

        Parameters
        ----------
        choices : bool
            Make every choice once more, too, and compare it with the log.
        """
        live = self._desk.serve(lambda turn: (turn.state.seq, taken(turn.state)))
        return verified(self.store, self.name, live, choices)
