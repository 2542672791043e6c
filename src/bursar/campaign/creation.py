"""How a campaign comes to be: its store is opened, its first event is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bursar.campaign.config import Config, check_text
from bursar.campaign.events import CREATED
from bursar.campaign.state import State
from bursar.errors import CampaignExists, InvalidInput, nearest
from bursar.ledger import Event, MemoryStore, Store
from bursar.money import Amount

__all__ = ["check_arm_key", "create_campaign", "open_store"]

_KINDS = ("memory", "sqlite", "postgresql")


def open_store(storage: str | Store) -> Store:
    """Return the store of a URL, or the store that was given."""
    if not isinstance(storage, str):
        return storage
    kind = storage.partition(":")[0]
    if storage == "memory":
        return MemoryStore()
    if kind == "sqlite":
        from bursar.ledger.sqlite import SQLiteStore  # noqa: PLC0415 - apsw only where it is used

        return SQLiteStore(storage)
    if kind in ("postgresql", "postgres"):
        from bursar.ledger.postgres import PostgresStore  # noqa: PLC0415 - an extra

        return PostgresStore(storage)
    raise InvalidInput(
        f"storage must be 'memory', 'sqlite:///file.db' or 'postgresql://…', got {storage!r}"
        f"{nearest(kind, _KINDS)}"
    )


def create_campaign(
    store: Store,
    name: str,
    config: Config,
    budget: Amount,
    arms: Mapping[str, Amount],
    caps: Mapping[str, Amount],
    now: int,
    by: str = "",
) -> None:
    """Write the first event of a campaign; one that is there already must be the same."""
    if not isinstance(name, str) or not 1 <= len(name) <= 100 or not name.isprintable():
        raise InvalidInput(f"name must be a text of 1 to 100 characters, got {name!r}")
    body = _body(name, config, budget, arms, caps)
    who = {"by": check_text("by", by)} if by else {}
    first = Event(1, now, CREATED, "", body | who)
    summary = State(first).summary(granted=False)  # refuses what the policy cannot work with
    if name not in store.names():
        try:
            store.create(name, first, summary)
        except CampaignExists:  # by another process, just now
            pass
        else:
            return
    before, _ = next(store.read(name))
    # through Config, so that a rule that an older bursar did not know counts as its default
    old = before.body | {"config": Config.of(before.body["config"]).body()}
    differs = [key for key in body if _plain(old.get(key)) != _plain(body[key])]
    if differs:
        raise CampaignExists(
            f"there is a campaign {name!r} already, with other {', '.join(differs)};"
            f" open it with Campaign({name!r}, storage=…) and change it, or give another name"
        )


def check_arm_key(key: str) -> str:
    """Return the key of an arm; refuse what people could not read."""
    if not isinstance(key, str) or not 1 <= len(key) <= 128 or not key.isprintable():
        raise InvalidInput(f"an arm's key must be a text of 1 to 128 characters, got {key!r}")
    return key


def _body(
    name: str,
    config: Config,
    budget: Amount,
    arms: Mapping[str, Amount],
    caps: Mapping[str, Amount],
) -> dict[str, Any]:
    coin = config.coin
    if not isinstance(arms, Mapping) or not isinstance(caps, Mapping):
        raise InvalidInput(
            "arms is a mapping of keys to the most that each can cost, caps of scopes to amounts,"
            f" got {arms!r} and {caps!r}"
        )
    if not arms:
        raise InvalidInput("arms must have at least one arm and the most it can cost, got none")
    most = []
    for key, cost in arms.items():
        check_arm_key(key)
        units = coin.units(f"the most that {key!r} can cost", cost)
        if units == 0:
            raise InvalidInput(f"arm {key!r} must be able to cost something, got {cost!r}")
        most.append([key, units])
    limits = {}
    for scope, cap in caps.items():
        if scope != "day" and (
            not scope.startswith("arm:") or scope.removeprefix("arm:") not in arms
        ):
            raise InvalidInput(f"a cap is for 'day' or 'arm:KEY', got {scope!r}")
        limits[scope] = coin.units(f"the cap of {scope}", cap)
    if coin.units("budget", budget) == 0:
        raise InvalidInput(f"budget must be above 0, got {budget!r}; give what may be spent")
    return {
        "name": name,
        "config": config.body(),
        "budget": coin.units("budget", budget),
        "arms": most,
        "caps": limits,
    }


def _plain(value: Any) -> Any:
    """Return data as it comes back from a log: tuples are lists there."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value
