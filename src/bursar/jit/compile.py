"""Compilation: leaves are written with ``@compiled``, kernels are stamped from templates.

Numba's own ``cache=True`` has two gaps that matter here. It cannot re-find a kernel that takes
functions as arguments, and it does not notice when a function *called* by the cached one changed in
another file, so an edited policy would silently run its old formula. `specialize` closes both: the
functions a template calls become its globals, and a digest of all their sources becomes part of the
name under which Numba stores the machine code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, typeof
from numba.core.dispatcher import Dispatcher

__all__ = ["compiled", "direct", "inlined", "interpreted", "specialize"]

F = TypeVar("F", bound=Callable[..., Any])

_NOTHING = object()
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
}  # no fastmath: it breaks inf, ties and NaN rules


def compiled(function: F) -> F:
    """Compile a leaf: a small function that kernels call and that is compiled into them."""
    return cast(F, njit(**_OPTIONS)(function))


def inlined(function: F) -> F:
    """Compile a leaf into its callers: a call that hands over arrays costs 10 ns for each."""
    return cast(F, njit(forceinline=True, **_OPTIONS)(function))


def specialize(template: F, name: str, **functions: Callable[..., Any]) -> F:
    """Compile ``template`` with its free names bound to ``functions``; cached on disk.

    Parameters
    ----------
    template : function
        A plain Python function that calls names it does not define.
    name : str
        Tells the specializations of one template apart, for example a policy's slug.
    **functions : compiled functions
        What the free names of the template stand for.
    """
    kernel = _rebound(template, functions)
    kernel.__qualname__ = f"{template.__name__}.{name}.{_digest(kernel)}"
    return cast(F, njit(cache=True, **_OPTIONS)(kernel))


def direct(kernel: Callable[..., Any], *example: Any) -> Callable[..., Any]:
    """Return a kernel's machine code for arguments of the types of an example, and no others.

    A call through Numba looks at the type of every argument to find the code that fits, which costs
    more than a short kernel does. What is returned trusts the caller instead: other types than
    those of the example are read as if they were these.
    """
    dispatcher, type_of = cast(Any, kernel), cast(Any, typeof)
    types = tuple(type_of(value) for value in example)
    dispatcher.compile(types)
    return cast("Callable[..., Any]", dispatcher.overloads[types].entry_point)


def interpreted(kernel: F) -> F:
    """Return the same function as plain Python, and with it every compiled function that it calls.

    It is the slow twin of a kernel: what it computes must be what the machine code computes.
    Functions that carry ``__compiled_only__`` (integer overflow on purpose) stay compiled.
    """
    return cast(F, _interpreted(kernel, {}))


def _interpreted(kernel: Any, done: dict[int, Any]) -> Any:
    if not isinstance(kernel, Dispatcher) or hasattr(kernel.py_func, "__compiled_only__"):
        return kernel
    if id(kernel) not in done:
        calls = {
            key: _interpreted(value, done)
            for key, value in _used_globals(kernel.py_func)
            if isinstance(value, Dispatcher) and key in kernel.py_func.__globals__
        }
        done[id(kernel)] = _rebound(kernel.py_func, calls)
    return done[id(kernel)]


def _rebound(function: Any, names: dict[str, Any]) -> FunctionType:
    scope = {**function.__globals__, **names}
    twin = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__module__ = function.__module__  # Numba refuses to cache a function of no module
    return twin


def _used_globals(function: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a function refers to: globals, attributes of modules, closed-over cells."""
    names = sorted(_names(function.__code__))
    for name in names:
        value = function.__globals__.get(name, _NOTHING)
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{a}", getattr(value, a)) for a in names if hasattr(value, a))
        elif value is not _NOTHING:
            yield name, value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _names(code: CodeType) -> set[str]:
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _digest(function: Any) -> str:
    """Hash the bytecode and constants of a function and of all compiled functions that it calls."""
    text = hashlib.blake2b(digest_size=6)
    seen: set[int] = set()
    queue = [function]
    while queue:
        current = queue.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        code = current.__code__
        text.update(code.co_code)
        text.update(repr([c for c in code.co_consts if not isinstance(c, CodeType)]).encode())
        text.update(repr(code.co_names).encode())
        for name, value in _used_globals(current):
            if isinstance(value, Dispatcher):
                queue.append(value.py_func)
            elif isinstance(value, int | float | str | tuple | np.generic):
                text.update(f"{name}={value!r}".encode())
            elif isinstance(value, np.ndarray):
                text.update(name.encode() + value.tobytes())
    return text.hexdigest()
