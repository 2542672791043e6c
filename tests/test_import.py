"""Importing bursar is cheap, loads nothing heavy, and shows exactly the public names."""

from __future__ import annotations

import subprocess
import sys

import bursar

HEAVY = [
    "matplotlib", "PIL", "pandas", "polars", "pyarrow", "duckdb", "sqlite3", "apsw",
    "psycopg", "starlette", "uvicorn", "httpx2", "msgspec", "jinja2", "dask", "joblib", "typer",
    "rich", "click", "numba", "scipy",
]  # fmt: skip


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_import_pulls_in_no_plotting_web_database_or_dataframe_module():
    heavy = [*HEAVY, "numpy"]
    assert run(f"import sys, bursar; print([m for m in {heavy!r} if m in sys.modules])") == "[]\n"


def test_numba_waits_until_a_kernel_is_called():
    """Importing it takes longer than all of bursar (the time itself: make bench)."""
    program = (
        "import sys, bursar\n"
        "for name in bursar.__all__: getattr(bursar, name)\n"
        "policy = bursar.policy('omega-star-ucb:rho=0.25')\n"
        "print('numba' in sys.modules)\n"
        "policy.learner(arms=2)\n"
        "print('numba' in sys.modules)"
    )
    assert run(program) == "False\nTrue\n"


def test_dir_lists_the_public_names():
    assert dir(bursar) == sorted(bursar.__all__)
    for name in bursar.__all__:
        assert getattr(bursar, name) is not None


def test_no_public_name_hides_a_package():
    program = (
        "import bursar\n"
        "for name in bursar.__all__: getattr(bursar, name)\n"
        "import bursar.settings.facebook as facebook\n"
        "import bursar.simulation.simulate as simulate\n"
        "import bursar.policies.omega as omega\n"
        "print(facebook.__name__, simulate.__name__, omega.__name__, bursar.settings.__name__)"
    )
    assert run(program) == (
        "bursar.settings.facebook bursar.simulation.simulate bursar.policies.omega"
        " bursar.settings\n"
    )


def test_a_name_that_is_not_public_is_an_attribute_error():
    assert not hasattr(bursar, "nothing_of_the_kind")
