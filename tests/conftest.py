from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import threading
from pathlib import Path

import pytest
from extent import extent
from hypothesis import settings
from postgres_server import database, postgres

__all__ = ["database", "postgres"]  # fixtures: imported by each file, each would start a server

# a background job of a shell without a terminal starts with SIGINT ignored, and its children
# inherit that: tests that send Ctrl-C to a process of their own would wait for ever
if (
    threading.current_thread() is threading.main_thread()  # no other may set it
    and signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# a ledger waits for the disk at every commit, and tests of it would spend their time so; they cut
# the power of a simulated disk only (power_cut.py), so memory serves as well; `make test-all` and
# machines with little memory use the disk
_MEMORY = Path("/dev/shm")
if extent(True, False) and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

# the first example pays for compiling; the same examples every time, so that no run is a gamble
settings.register_profile("bursar", deadline=None, derandomize=True)
settings.load_profile("bursar")

_MARKED = {"browser": "browser", "postgres": "postgres"}  # fixture: marker of the tests that use it
_SERVERS = {"live", "serve", "server"}
_BUILT_IN = {"tmp_path_factory", "request", "pytestconfig", "worker_id", "testrun_uid"}


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and keep those that share something costly in one process."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        given = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if any(isinstance(value, str) and value == "postgres" for value in given):
            names.add("postgres")  # a fixture that has a store of each kind asks for it later
        for fixture, marker in _MARKED.items():
            if fixture in names:
                item.add_marker(marker)
        if group := _group_of(item, names):
            item.add_marker(pytest.mark.xdist_group(group))


def _group_of(item: pytest.Item, names: set[str]) -> str | None:
    if item.path.name == "test_cluster.py":
        return "dask"
    for fixture in _MARKED:
        if fixture in names:
            return fixture
    if names & _SERVERS:
        return "servers"
    found = getattr(item, "_fixtureinfo", None)
    wide = found is not None and any(
        definitions[-1].scope in ("module", "session") and name not in _BUILT_IN
        for name, definitions in found.name2fixturedefs.items()
    )
    return item.nodeid.partition("::")[0] if wide else None


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")  # not longer: asyncio.run() is refused while Playwright runs
def browser():
    """A real browser, for all tests of a file."""
    missing = [] if CHROMIUM else ["chromium (apt-get install chromium)"]
    for name in ("playwright", "axe_playwright_python"):
        if importlib.util.find_spec(name) is None:
            missing.append(f"{name} (pip install {name.replace('_', '-')})")
    if missing:
        reason = f"the browser test needs {' and '.join(missing)}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with importlib.import_module("playwright.sync_api").sync_playwright() as player:
        started = player.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()
