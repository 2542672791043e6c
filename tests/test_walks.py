"""The walks of a reader stay short: how many files of bursar a call runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from walks import http_ask_files, traced_files

from bursar.money import Coin


def test_an_http_ask_runs_at_most_30_files(tmp_path: Path) -> None:
    files = http_ask_files(tmp_path)
    assert len(files) <= 30, files
    for part in ("service/middleware.py", "service/routes/decisions.py", "campaign/committer.py",
                 "campaign/state.py", "ledger/chain.py"):  # fmt: skip
        assert part in files


def test_a_trace_ends_with_its_block() -> None:
    with traced_files(all_threads=False) as found:
        Coin().text(1)
    assert found == {"money.py"}
    Coin().amount(1)
    with pytest.raises(ZeroDivisionError), traced_files(all_threads=False) as nothing:
        raise ZeroDivisionError
    assert not nothing
