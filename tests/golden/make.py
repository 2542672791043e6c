"""Make the golden files: what the code of commit fd0e415 writes, chooses and prints.

They were made once, with these files in ``tests/golden`` of a checkout of that commit, and stay as
they are; the tests never run this file. Once more would be::

    PYTHONPATH=src:tests python tests/golden/make.py

with the names of that commit, in ``look.py``: ``encode_snapshot`` was ``taken`` of
``bursar.campaign.snapshot``, ``ServiceConfig`` ``Settings``, ``create_app`` ``application``; and in
``story.py``: ``end`` was ``finish``. The ledger would then have other keys and tokens, and another
time of the restore.
"""

from __future__ import annotations

import base64
import gzip
import json
import lzma
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from golden import look, story

import bursar

HERE = Path(__file__).parent


def kept(name: str, content: Any) -> None:
    """Write a golden file."""
    data = content if isinstance(content, bytes) else _json(content)
    if name.endswith(".gz"):
        data = gzip.compress(data, 9, mtime=0)
    elif name.endswith(".xz"):
        data = lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    (HERE / name).write_bytes(data)
    sys.stderr.write(f"{name}: {len(data):,} bytes\n")


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def ledger(folder: Path) -> None:
    """Write a ledger, look at it, go on with it."""
    path = folder / "spend.db"
    storage = f"sqlite:///{path}"
    tokens = story.restored(path, look.cli)
    for one in story.STORIES:
        one(storage)
    keys = {}
    for word, more in (("all", ()), ("read", ("--campaign", "late")), ("ask", ())):
        words = ("keys", "create", "--scope", word, "--note", word, *more)
        keys[word] = json.loads(look.cli(*words, "--json", "--storage", storage))
    words = ("keys", "rotate", keys["read"]["id"], "--grace", "0s")
    keys["rotated"] = json.loads(look.cli(*words, "--json", "--storage", storage))
    look.cli("keys", "revoke", keys["ask"]["id"], "--by", "ada", "--storage", storage)

    golden = folder / "golden.db"
    look.cli("campaign", "backup", str(golden), "--storage", storage)
    kept("ledger.db.xz", golden.read_bytes())

    found: dict[str, Any] = {}
    shutil.copy(golden, path := folder / "seen.db")  # looking leaves marks of this machine
    storage = f"sqlite:///{path}"
    for name in ("restored", *(one.__name__ for one in story.STORIES)):
        campaign = bursar.Campaign(name, storage=storage, clock=story.Clock(story.LATER))
        found[name] = {
            "money": story.money(campaign),
            "snapshot": base64.b64encode(look.snapshot(campaign)).decode(),
            "printed": look.printed(name, storage, folder),
        }
        campaign.close()
    answers = look.answers(storage, keys["all"]["token"])
    with look.Site(storage) as site:
        metrics = site.metrics(keys["all"]["token"])
    shutil.copy(golden, path := folder / "on.db")
    for name, one in found.items():
        one["on"] = story.go_on(name, f"sqlite:///{path}", tokens)
    kept("ledger.json.gz", {"campaigns": found, "tokens": tokens, "keys": keys})
    kept("answers.json.gz", {"answers": answers, "metrics": metrics})


def results(folder: Path) -> None:
    """Print numbers of games."""
    simulated = {" ".join(words): look.simulation(words) for words in look.SIMULATIONS}
    look.cli("reproduce", "--quick", "--out", str(folder / "quick"), "--json")
    found = {"simulate": simulated, "replay": look.replayed(folder)}
    kept("results.json.gz", found | {"quick": look.reproduced(folder / "quick")})


def main() -> None:
    """Make all of them."""
    kept("openapi.json", look.openapi())
    kept("cli.json", look.commands())
    with tempfile.TemporaryDirectory() as folder, story.failing_policy():
        ledger(Path(folder))
    kept("choices.json.gz", {name: look.games(name) for name in bursar.POLICIES})
    with tempfile.TemporaryDirectory() as folder:
        results(Path(folder))


if __name__ == "__main__":
    main()
