"""Scripts of asks: ids are made first, and an ask that nobody waits for any more is given back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from bursar.campaign import Decision
from bursar.campaign.request import new_id
from bursar.campaign.wish import wish
from bursar.checks import whole
from bursar.client.call import Answer, Call
from bursar.client.scope import Scope
from bursar.client.script import Script
from bursar.errors import BursarError, InvalidInput

__all__ = ["Asking"]

T = TypeVar("T")

_BATCH = 1000  # of one request
_PATIENCE = 2.0  # seconds that giving back may hold up somebody who was told to stop


class Asking(Scope):
    """The asks of a campaign."""

    def ask(
        self,
        n: int | None = None,
        *,
        id: str | None = None,
        among: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        context: dict[str, Any] | None = None,
    ) -> Script[Any]:
        """Return the arm to play next, its money held; raise BudgetExhausted when nothing fits.

        Parameters
        ----------
        n : int, optional
            Ask for so many at once; fewer are returned if the budget ends on the way.
        id : str, optional
            A name of your own for the decision: asking again with it returns the same one.
        among, exclude : sequence of str, optional
            Choose only among these arms; not among those.
        context : dict, optional
            What to note with the decision: plain data of at most 16 KiB.
        """
        wish(among, exclude, context)  # refuses what no campaign takes
        said = {
            "among": None if among is None else list(among),
            "exclude": None if exclude is None else list(exclude),
            "context": context,
        }
        if n is None:
            return (yield from self._one(said, id))
        if id is not None:
            raise InvalidInput("give n or id, not both: a batch has an id for each decision")
        return (yield from self._many(said, whole("n", n, 1, "how many decisions to ask for")))

    def _one(self, said: dict[str, Any], own: str | None) -> Script[Decision]:
        if own is not None and (
            not isinstance(own, str) or not 1 <= len(own) <= 128 or not own.isprintable()
        ):
            raise InvalidInput(f"id must be a text of 1 to 128 printable characters, got {own!r}")
        key = own or new_id()
        body = said | {"id": key}
        call = Call("POST", self.path("decisions"), self.decided, body)
        return (yield from self._granted(call, [] if own is not None else [key]))

    def _many(self, said: dict[str, Any], count: int) -> Script[list[Decision]]:
        granted: list[Decision] = []
        while len(granted) < count:
            keys = [new_id() for _ in range(min(count - len(granted), _BATCH))]
            call = Call("POST", self.path("decisions"), self._several, said | {"ids": keys})
            try:
                some = yield from self._granted(call, keys)
            except BursarError:  # those that were granted are not lost with those that were not
                if not granted:
                    raise
                break
            granted += some
            if len(some) < len(keys):
                break
        return granted

    def _several(self, answer: Answer) -> list[Decision]:
        return [self.noted(one) for one in answer.data["decisions"]]

    def _granted(self, call: Call[T], nameless: list[str]) -> Script[T]:
        """Ask; holds that may have been made under ids that nobody else knows are given back."""
        try:
            found = yield from self.line.call(call)
        except GeneratorExit:
            raise
        except BaseException as error:
            if not isinstance(error, Exception):  # told to stop, just now
                yield from self._give_back(call, nameless)
            elif self.line.unsure(error):
                self.line.keep(
                    [self.voiding(one, "no answer to the ask") for one in nameless], error
                )
            raise
        yield from self.line.catch_up()
        return found

    def _give_back(self, call: Call[Any], nameless: list[str]) -> Script[None]:
        if not nameless:
            return
        patience = min(_PATIENCE, self.line.timeout)
        rest = [self.voiding(key, "stopped while asking") for key in nameless]
        try:  # asked once more: else the first ask might be granted after it was given back
            yield from self.line.call(call, patience)
            while rest:
                yield from self.line.call(rest[0], patience)
                del rest[0]
        except BursarError as error:
            if self.line.unsure(error):
                self.line.keep(rest, error)

    def voiding(self, key: str, reason: str, by: str = "") -> Call[Decision]:
        """Return the call that gives a hold back."""
        body = {"reason": reason} | ({"by": by} if by else {})
        return Call("POST", self.path("decisions", key, "void"), self.decided, body)
