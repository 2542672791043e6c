"""Machine code on disk: found again by the next process, and never stale."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bursar.jit.compile import compiled, interpreted, specialize

LEAF = """
from bursar.jit.compile import compiled
FACTOR = 2.0

@compiled
def deep(x):
    return x + {deep}

@compiled
def leaf(x):
    return FACTOR * deep(x)
"""
PROGRAM = """
import leaf
from bursar.jit.compile import specialize
import template
kernel = specialize(template.kernel, "test", function=leaf.leaf)
print(kernel(3.0), sum(kernel.dispatcher.stats.cache_hits.values()))
"""


@pytest.fixture
def program(tmp_path: Path):
    (tmp_path / "template.py").write_text("def kernel(x):\n    return function(x)\n")
    (tmp_path / "main.py").write_text(PROGRAM)

    def run(deep: float, factor: str = "2.0") -> tuple[float, int]:
        text = LEAF.format(deep=deep).replace("FACTOR = 2.0", f"FACTOR = {factor}")
        (tmp_path / "leaf.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "main.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
                # edits within a second that keep the length would run old bytecode
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        value, hits = done.stdout.split()
        return float(value), int(hits)

    return run


def test_the_next_process_finds_the_code_and_an_edit_is_noticed(program):
    assert program(1.0) == (8.0, 0)
    assert program(1.0) == (8.0, 1), "the second process compiled again"
    assert program(5.0) == (16.0, 0), "an edited function two calls away was not noticed"
    assert program(5.0, "10.0") == (80.0, 0), "an edited constant was not noticed"
    assert program(1.0) == (8.0, 1), "the code of an earlier version was not found again"


def _total(values):
    total = 0.0
    for value in values:
        total += _twice(value)  # noqa: F821  (bound by specialize)
    return total


@compiled
def _doubled(x: float) -> float:
    return x + x


def test_the_interpreted_twin_calls_no_compiled_function():
    kernel = specialize(_total, "sum", _twice=_doubled)
    twin = interpreted(kernel)
    assert kernel(np.array([1.0, 2.5])) == 7.0
    assert twin(np.array([1.0, 2.5])) == 7.0
    with pytest.raises(TypeError):  # text reaches Python's own +, which no compiled code would
        twin(["a"])
    assert not hasattr(twin, "py_func")
    assert not hasattr(twin.__globals__["_twice"], "py_func")
