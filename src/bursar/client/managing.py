"""Scripts of the whole service: its campaigns and its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from bursar.campaign.status import Status
from bursar.client.apikey import ApiKey
from bursar.client.call import Answer, Call, path_of
from bursar.client.delivery import Delivery
from bursar.client.reading import made
from bursar.client.script import Script
from bursar.errors import InvalidInput
from bursar.money import Amount, Coin

__all__ = ["Managing"]

_PAGE = 500


class Managing:
    """What concerns no single campaign."""

    def __init__(self, line: Delivery) -> None:
        self.line = line

    def create(
        self,
        name: str,
        budget: Amount,
        arms: Mapping[str, Amount],
        policy: str | None,
        rules: Mapping[str, Any],
    ) -> Script[None]:
        """Make a campaign; one that is there already must be the same."""
        if not isinstance(arms, Mapping):
            raise InvalidInput(f"arms is a mapping of keys to their most, got {arms!r}")
        coin = Coin(rules.get("exponent", 6), rules.get("currency", ""))

        def money(what: str, value: Amount) -> str:
            return coin.text(coin.units(what, value))

        caps = rules.get("caps") or {}
        body = dict(rules) | {
            "name": name,
            "budget": money("budget", budget),
            "arms": [
                {"key": key, "max_cost": money(f"the most that {key!r} can cost", most)}
                for key, most in arms.items()
            ],
            "policy": policy,
            "caps": {scope: money(f"the cap of {scope}", cap) for scope, cap in caps.items()},
        }
        yield from self.line.call(Call("POST", path_of("campaigns"), _nothing, body))

    def campaigns(self) -> Script[list[Status]]:
        """Return how every campaign stands that the key may read."""
        found: list[Status] = []
        after: Any = None
        while True:
            query = {"limit": _PAGE, "after": after}
            page = yield from self.line.call(
                Call("GET", path_of("campaigns"), lambda answer: answer.data, query=query)
            )
            found += [made(Status, one) for one in page["campaigns"]]
            after = page.get("next")
            if after is None:
                return found

    def keys(self) -> Script[list[ApiKey]]:
        """Return all keys, without their secrets."""
        call = Call(
            "GET",
            path_of("keys"),
            lambda answer: [made(ApiKey, one) for one in answer.data["keys"]],
        )
        return (yield from self.line.call(call))

    def create_key(
        self,
        scopes: Sequence[str],
        *,
        campaigns: Sequence[str] | None = None,
        note: str = "",
        expires: datetime | None = None,
    ) -> Script[ApiKey]:
        """Make a key; its token is told now and never again.

        Parameters
        ----------
        scopes : sequence of str
            Of ask, tell, read, admin, adjust, keys.
        campaigns : sequence of str, optional
            Where it may; by default everywhere.
        note : str
            A word for people.
        expires : datetime, optional
            When it ends; with a time zone.
        """
        if isinstance(scopes, str):
            raise InvalidInput(f"scopes must be a list such as ['ask', 'tell'], got {scopes!r}")
        body = {
            "scopes": list(scopes),
            "campaigns": None if campaigns is None else list(campaigns),
            "note": note or None,
            "expires": None if expires is None else expires.isoformat(),
        }
        # sent twice it would be two keys, one of them with a token that nobody has seen
        return (yield from self.line.call(Call("POST", path_of("keys"), _key, body, again=False)))

    def revoke_key(self, id: str) -> Script[None]:
        """End a key at once."""
        yield from self.line.call(Call("DELETE", path_of("keys", id), _nothing))

    def rotate_key(self, id: str, grace: float = 0.0) -> Script[ApiKey]:
        """Make a key like another, which ends after ``grace`` seconds."""
        call = Call("POST", path_of("keys", id, verb="rotate"), _key, {"grace": grace}, again=False)
        return (yield from self.line.call(call))

    def flush(self) -> Script[int]:
        """Deliver what the spool keeps; return how many outcomes were taken."""
        return (yield from self.line.flush())


def _key(answer: Answer) -> ApiKey:
    return made(ApiKey, answer.data)


def _nothing(answer: Answer) -> None:
    return None
