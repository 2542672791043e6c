"""How a campaign is created: its store is opened and its first event is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from bursar.campaign.config import DEFAULT_POLICY, FORMER_DEFAULT_POLICY, Config
from bursar.campaign.events import CREATED
from bursar.campaign.state import State
from bursar.errors import CampaignExists, InvalidInput, suggest
from bursar.formatting import hide_password, join_words
from bursar.ledger import Event, MemoryStore, Store
from bursar.money import Amount, Coin
from bursar.validation import check_name, check_text

_KINDS = ("memory", "sqlite", "postgresql")
_VERBS = (":pause", ":resume", ":close", ":reconcile")  # ends of HTTP addresses of a campaign


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
        "storage must be 'memory', 'sqlite:///file.db' or 'postgresql://…', got"
        f" {hide_password(storage)!r}{suggest(kind, _KINDS)}"
    )


def create_campaign(
    store: Store,
    name: str,
    config: Config,
    *,
    budget: Amount,
    arms: Mapping[str, Amount],
    caps: Mapping[str, Amount],
    now: int,
    by: str = "",
) -> None:
    """Write the first event of a campaign; if it exists already, it must be the same."""
    check_name("name", name, 100)
    if name.endswith(_VERBS) and name not in store.names():  # older versions allowed them
        raise InvalidInput(
            f"name must not end with {name[name.rindex(':') :]!r}, got {name!r}: the HTTP API would"
            f" take it for a command to campaign {name.rpartition(':')[0]!r}; choose another name"
        )
    body = {
        "name": name,
        "config": config.to_body(),
        **_check_money(config.coin, budget, arms, caps),
    }
    author = {"by": check_text("by", by)} if by else {}
    first = Event(1, now, CREATED, "", body | author)
    summary = State(first).summary(granted=False)  # refuses what the policy cannot work with
    if name not in store.names():
        _check_affordable(config.coin, body["budget"], body["arms"], body["caps"])
        try:
            store.create(name, first, summary)
        except CampaignExists:  # by another process, just now
            pass
        else:
            return
    before, _ = next(store.read(name))
    # through Config, so that a rule that an older bursar did not know counts as its default
    kept = Config.from_body(before.body["config"])
    old = before.body | {"config": kept.to_body()}
    config = replace(config, scale=kept.scale)  # the log's, not a user's choice
    policies = kept.policy, config.policy
    if kept.scale == "declared" and policies == (FORMER_DEFAULT_POLICY, DEFAULT_POLICY):
        config = replace(config, policy=kept.policy)  # the default, then as now
    body["config"] = config.to_body()
    differs = [key for key in body if _as_logged(old.get(key)) != _as_logged(body[key])]
    if differs:
        raise CampaignExists(
            f"a campaign named {name!r} already exists with a different {join_words(differs)};"
            " change that one, or choose another name"
        )


def check_arm_key(key: str) -> str:
    """Return the key of an arm; refuse what people could not read."""
    return check_name("an arm's key", key)


def check_arm(coin: Coin, key: str, max_cost: Amount) -> int:
    """Return the maximum cost of an arm in units; refuse a bad key and an arm that is free."""
    units = coin.units(f"the maximum cost of {key!r}", max_cost)
    check_arm_key(key)
    if units == 0:
        raise InvalidInput(
            f"the maximum cost of arm {key!r} must be above 0, got {max_cost!r};"
            " a zero-cost arm would never use up the budget"
        )
    return units


def check_scope(scope: str) -> str:
    """Return the scope of a cap; refuse what is neither the day nor an arm."""
    if check_text("scope", scope) != "day" and not scope.startswith("arm:"):
        raise InvalidInput(f"a cap is for 'day' or 'arm:KEY', got {scope!r}")
    return scope


def _check_money(
    coin: Coin, budget: Amount, arms: Mapping[str, Amount], caps: Mapping[str, Amount]
) -> dict[str, Any]:
    if not isinstance(arms, Mapping) or not isinstance(caps, Mapping):
        raise InvalidInput(
            "arms must be a mapping of keys to maximum costs, caps one of scopes to amounts,"
            f" got {arms!r} and {caps!r}"
        )
    if not arms:
        raise InvalidInput("arms must have at least one arm and its maximum cost, got none")
    max_costs = [[key, check_arm(coin, key, cost)] for key, cost in arms.items()]
    limits = {}
    for scope, cap in caps.items():
        if check_scope(scope) != "day" and scope.removeprefix("arm:") not in arms:
            raise InvalidInput(f"a cap is for 'day' or 'arm:KEY', got {scope!r}")
        limits[scope] = coin.units(f"the cap of {scope}", cap)
    units = coin.units("budget", budget)
    if units == 0:
        raise InvalidInput(f"budget must be above 0, got {budget!r}; give what may be spent")
    return {"budget": units, "arms": max_costs, "caps": limits}


def _check_affordable(
    coin: Coin, budget: int, arms: Sequence[Sequence[Any]], caps: Mapping[str, int]
) -> None:
    """Refuse a campaign that could never grant an ask."""
    limits = {
        key: min(budget, caps.get("day", budget), caps.get(f"arm:{key}", budget)) for key, _ in arms
    }
    if all(most > limits[key] for key, most in arms):
        key, most = min(arms, key=lambda one: int(one[1] - limits[one[0]]))
        limit = coin.format(limits[key])
        what = "budget" if limits[key] == budget else "cap"
        raise InvalidInput(
            f"no arm fits: the {what} allows {limit}, and {key!r}, the arm that needs least more,"
            f" has a maximum cost of {coin.format(most)}; raise the {what}, or give the most that"
            " an ask really costs"
        )


def _as_logged(value: Any) -> Any:
    """Return data as it comes back from a log: tuples are lists there."""
    return msgspec.json.decode(msgspec.json.encode(value))
