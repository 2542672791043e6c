"""Snapshots: the state of a campaign as bytes, the same bytes for the same state."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from bursar.arms import ARM
from bursar.campaign.records import Arm, Cap, Changed, Choice
from bursar.campaign.state import State
from bursar.detector import used, with_room
from bursar.ledger import Event

__all__ = ["restored", "taken"]

VERSION = 3
_PLAIN = (
    "budget", "spent", "held", "overrun", "stored", "day_cap", "flags", "seq", "ts",
    "version", "asks", "reward",
)  # fmt: skip


def taken(state: State) -> bytes:
    """Return a state as bytes; floats and statistics keep every bit."""
    brain = state.brain
    rows = used(brain.watch)
    content: dict[str, Any] = {
        "v": VERSION,
        "name": state.name,
        "config": state.config.body(),
        "plain": {name: getattr(state, name) for name in _PLAIN},
        "arms": state.arms,
        "days": [[day, cap] for day, cap in sorted(state.days.items())],
        "choices": [choice for _, choice in sorted(state.choices.items())],
        "brain": {
            "arms": brain.arms.tobytes(),
            "open": brain.open,
            "costs": brain.costs,
            "most": brain.most,
            "plays": int(brain.game["plays"][0]),
            "spent": float(brain.game["spent"][0]),
            "watch": [rows, brain.watch[:rows, : 2 * len(brain.open)].tobytes()],
        },
    }
    return msgspec.msgpack.encode(content, order="deterministic")


def restored(content: bytes) -> State | None:
    """Return the state of a snapshot; None if another version of bursar wrote it."""
    data = msgspec.msgpack.decode(content)
    if data["v"] != VERSION:
        return None
    body = {"name": data["name"], "config": data["config"], "budget": 0, "arms": [], "caps": {}}
    plain = data["plain"]
    state = State(Event(plain["seq"], plain["ts"], "created", "", body), empty=True)
    for name in _PLAIN:
        setattr(state, name, plain[name])
    state.arms = [_arm(arm) for arm in data["arms"]]
    state.keys = {arm.key: number for number, arm in enumerate(state.arms)}
    state.days = {day: Cap(**cap) for day, cap in data["days"]}
    state.choices = {choice["id"]: Choice(**choice) for choice in data["choices"]}
    state.rebuild_deadlines()
    brain, kept = state.brain, data["brain"]
    brain.arms = np.frombuffer(kept["arms"], dtype=ARM).copy()
    brain.open, brain.costs, brain.most = kept["open"], kept["costs"], kept["most"]
    brain.game["plays"], brain.game["spent"] = kept["plays"], kept["spent"]
    rows, watch = kept["watch"]
    brain.watch = with_room(brain.watch, 2 * len(brain.open))
    brain.watch[:rows, : 2 * len(brain.open)] = np.frombuffer(watch).reshape(rows, -1)
    brain.look_again()
    state.know()
    return state


def _arm(kept: dict[str, Any]) -> Arm:
    changed = {what: Changed(**one) for what, one in kept["changed"].items()}
    return Arm(**(kept | {"money": Cap(**kept["money"]), "changed": changed}))
