"""Scripts of changes: arms, budget, caps, pauses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bursar.client.call import Answer, Call
from bursar.client.scope import Scope
from bursar.client.script import Script
from bursar.money import Amount

__all__ = ["Changing"]


class Changing(Scope):
    """The changes of a campaign.

    ``by`` says who asked for a change, beside the key; ``if_version`` refuses it when others came
    in between. What would be another thing if it was done twice is not sent again after a failure
    that leaves open whether it arrived.
    """

    def add_arm(
        self, key: str, max_cost: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Add an arm; it is tried like any new one, and what others learned stays."""
        most = yield from self.money(f"the most that {key!r} can cost", max_cost)
        body = {"key": key, "max_cost": most}
        yield from self._change("POST", self.path("arms"), body, by, if_version, again=False)

    def pause_arm(
        self, key: str, *, by: str = "", reason: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Choose an arm no more, for now; its open decisions go on."""
        body = {"state": "paused", "reason": reason}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def resume_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Let a paused arm be chosen again."""
        body = {"state": "active"}
        yield from self._change("PATCH", self.path("arms", key), body, by, if_version)

    def retire_arm(self, key: str, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Choose an arm never again; outcomes that are still to come are booked."""
        yield from self._change("DELETE", self.path("arms", key), None, by, if_version)

    def set_budget(
        self, budget: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Raise or cut the budget; a cut below what is spent and held grants no more asks."""
        yield from self.change(budget=budget, by=by, if_version=if_version)

    def set_cap(
        self, scope: str, cap: Amount | None, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """Set what may be spent a "day" or on "arm:KEY"; None: as much as the budget allows."""
        yield from self.change(caps={scope: cap}, by=by, if_version=if_version)

    def change(
        self,
        *,
        budget: Amount | None = None,
        caps: Mapping[str, Amount | None] | None = None,
        by: str = "",
        if_version: int | None = None,
    ) -> Script[None]:
        """Set the budget and caps in one go: all of it, or nothing if something is wrong."""
        body: dict[str, Any] = {}
        if budget is not None:
            body["budget"] = yield from self.money("budget", budget)
        limits: dict[str, str | None] = {}
        for scope, cap in (caps or {}).items():
            limits[scope] = None
            if cap is not None:
                limits[scope] = yield from self.money(f"the cap of {scope}", cap)
        body |= {"caps": limits} if limits else {}
        if body:  # else it changes nothing
            yield from self._change("PATCH", self.path(), body, by, if_version)

    def pause(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant no asks until resumed; outcomes are still booked."""
        yield from self._change("POST", self.path(verb="pause"), {}, by, if_version)

    def resume(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Grant asks again."""
        # twice is an error: what is active cannot be resumed
        yield from self._change("POST", self.path(verb="resume"), {}, by, if_version, again=False)

    def finish(self, *, by: str = "", if_version: int | None = None) -> Script[None]:
        """Close the campaign for good; outcomes are still booked."""
        yield from self._change("POST", self.path(verb="close"), {}, by, if_version)

    def reconcile(
        self, gap: Amount, *, by: str = "", if_version: int | None = None
    ) -> Script[None]:
        """After a restore: count what was spent since the backup, and go on."""
        body = {"gap": (yield from self.money("gap", gap))}
        path = self.path(verb="reconcile")
        yield from self._change("POST", path, body, by, if_version, again=False)

    def _change(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        by: str,
        if_version: int | None,
        again: bool = True,
    ) -> Script[None]:
        match = "*" if if_version is None else f'"{if_version}"'
        headers = {"if-match": match} if method == "PATCH" or if_version is not None else {}
        query = {"by": by} if by and body is None else {}
        if by and body is not None:
            body = {**body, "by": by}
        # with a version the second sending would meet the first one's
        call = Call(method, path, _nothing, body, query, headers, again and if_version is None)
        yield from self.line.call(call)


def _nothing(answer: Answer) -> None:
    return None
