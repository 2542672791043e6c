"""Changes of a running campaign: arms, budget, caps, pauses. Each is an event, and so audited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bursar.campaign.opening import checked_key
from bursar.campaign.telling import fits
from bursar.campaign.turn import Turn
from bursar.campaign.words import words
from bursar.errors import InvalidInput, NotActive, StaleVersion
from bursar.money import Amount

if TYPE_CHECKING:
    from bursar.campaign.desk import Desk
    from bursar.money import Coin

__all__ = ["Changes"]


class Changes:
    """The part of a campaign that changes its rules.

    ``by`` says who asked for a change; ``if_version`` refuses it when others came in between.
    """

    name: str
    coin: Coin
    _desk: Desk

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Add an arm; it is tried like any new one, and what others learned stays."""
        units = self.coin.units(f"the most that {key!r} can cost", max_cost)
        checked_key(key)
        if units == 0:
            raise InvalidInput(f"arm {key!r} must be able to cost something, got {max_cost!r}")
        words("by", by)

        def work(turn: Turn) -> None:
            self._fresh(turn, if_version)
            if key in turn.state.keys:
                state = turn.state.arms[turn.state.keys[key]].state
                raise InvalidInput(
                    f"there is or was an arm {key!r} ({state}); keys are never used again"
                )
            turn.emit("arm-added", key=key, max_cost=units, by=by)

        self._desk.serve(work)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> None:
        """Choose an arm no more, for now; its open decisions go on."""
        self._arm(key, "arm-paused", ("active",), if_version, by=by, reason=reason)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Let a paused arm be chosen again."""
        self._arm(key, "arm-resumed", ("paused",), if_version, by=by)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> None:
        """Choose an arm never again; outcomes that are still to come are booked."""
        self._arm(key, "arm-retired", ("active", "paused"), if_version, by=by)

    def set_budget(self, budget: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """Raise or cut the budget; a cut below what is spent and held grants no more asks."""
        self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> None:
        """Set what may be spent a "day" or on "arm:KEY"; None: as much as the budget allows."""
        self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> None:
        """Set the budget and caps in one go: all of it, or nothing if something is wrong."""
        units = None if budget is None else self.coin.units("budget", budget)
        limits = {
            words("scope", scope): None
            if cap is None
            else self.coin.units(f"the cap of {scope}", cap)
            for scope, cap in (caps or {}).items()
        }
        words("by", by)
        for scope in limits:
            if scope != "day" and not scope.startswith("arm:"):
                raise InvalidInput(f"a cap is for 'day' or 'arm:KEY', got {scope!r}")

        def work(turn: Turn) -> None:
            self._fresh(turn, if_version)
            for scope in limits:
                if scope != "day":
                    turn.arm(scope.removeprefix("arm:"))  # there must be one
            if units is not None:
                turn.emit("budget-set", budget=units, before=turn.state.budget, by=by)
            for scope, cap in limits.items():
                turn.emit("cap-set", scope=scope, cap=cap, by=by)

        self._desk.serve(work)

    def pause(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant no asks until resumed; outcomes are still booked."""
        self._whole("paused", ("active",), if_version, by=by)

    def resume(self, *, by: str = "", if_version: int | None = None) -> None:
        """Grant asks again."""
        self._whole("resumed", ("paused",), if_version, by=by)

    def finish(self, *, by: str = "", if_version: int | None = None) -> None:
        """Close the campaign for good; outcomes are still booked."""
        self._whole("closed", ("active", "paused", "unreconciled"), if_version, by=by)

    def reconcile(self, gap: Amount, *, by: str = "", if_version: int | None = None) -> None:
        """After a restore: count what was spent since the backup, and go on."""
        units = self.coin.units("gap", gap)
        self._whole("reconciled", ("unreconciled",), if_version, gap=units, by=by)

    def _arm(
        self, key: str, kind: str, states: tuple[str, ...], if_version: int | None, **body: Any
    ) -> None:
        for name, text in (("key", key), *body.items()):
            words(name, text)

        def work(turn: Turn) -> None:
            self._fresh(turn, if_version)
            arm = turn.state.arms[turn.arm(key)]
            if arm.state in states:
                turn.emit(kind, key=key, **body)
            elif arm.state == "retired":
                raise InvalidInput(f"arm {key!r} is retired for good; add another")

        self._desk.serve(work)

    def _whole(
        self, kind: str, states: tuple[str, ...], if_version: int | None, **body: Any
    ) -> None:
        words("by", body["by"])

        def work(turn: Turn) -> None:
            self._fresh(turn, if_version)
            now = turn.state.stored
            fits(turn.state, body.get("gap", 0))
            if now in states:
                turn.emit(kind, **body)
            elif kind not in (
                "paused" if now == "paused" else "",
                "closed" if now == "closed" else "",
            ):
                raise NotActive(f"{self.name} is {now}; it cannot be {kind} now")

        self._desk.serve(work)

    def _fresh(self, turn: Turn, if_version: int | None) -> None:
        if if_version is not None and if_version != turn.state.version:
            raise StaleVersion(
                f"{self.name} has changed: its version is {turn.state.version}, not {if_version};"
                " look again, then change it"
            )
