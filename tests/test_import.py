"""Importing bursar is cheap and brings in nothing heavy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = [
    "matplotlib", "PIL", "pandas", "polars", "pyarrow", "duckdb", "sqlite3", "apsw",
    "psycopg", "starlette", "uvicorn", "httpx2", "msgspec", "jinja2", "dask", "joblib", "typer",
    "rich", "click",
]  # fmt: skip


def test_import_pulls_in_no_plotting_web_database_or_dataframe_module():
    program = f"import sys, bursar; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_import_compiles_nothing():
    """Compiling takes seconds; it waits until a kernel is called (the time itself: make bench)."""
    program = (
        "import bursar\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "import gc\n"
        "found = [d for d in gc.get_objects() if isinstance(d, Dispatcher)"
        " and d.py_func.__module__.startswith('bursar')]\n"
        "print(len(found) > 50, sum(len(d.signatures) for d in found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True 0\n"
