"""Compilation: leaves are written with ``@compiled``, kernels are made from templates.

Numba's own ``cache=True`` has two gaps that matter here. It cannot re-find a kernel that takes
functions as arguments, and it does not notice when a function *called* by the cached one changed in
another file, so an edited policy would silently run its old formula. `specialize` closes both: the
functions a template calls become its globals, and a digest of all their sources becomes part of the
name under which Numba stores the machine code.

Numba takes longer to import than all of bursar, so nothing here imports it before a kernel is
called. A process that makes only a few calls need not import it at all: see `delay_compilation`.
"""

import hashlib
from collections.abc import Callable, Iterator
from functools import update_wrapper
from importlib import import_module
from threading import RLock
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_NOTHING = object()
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
}  # no fastmath: it breaks inf, ties and NaN rules
_BUILDING = RLock()
_interpreted_calls = 0  # calls of kernels that are still to be run as plain Python


def compiled(function: F) -> F:
    """Compile a leaf: a small function that kernels call and that is compiled into them."""
    return cast(F, Kernel(function))


def inlined(function: F) -> F:
    """Compile a leaf into its callers: a call that passes arrays costs 10 ns for each of them."""
    return cast(F, Kernel(function, forceinline=True))


def specialize(template: F, name: str, **functions: Any) -> F:
    """Compile ``template`` with its free names bound to ``functions``; cached on disk.

    Parameters
    ----------
    template : function
        A plain Python function that calls names it does not define.
    name : str
        Tells the specializations of one template apart, for example a policy's slug.
    **functions : compiled functions or constants
        What the free names of the template stand for.
    """
    return cast(F, Kernel(_rebind(template, functions), name, cache=True))


class Kernel:
    """A function that becomes machine code when it is first called.

    Other kernels may call it: Numba sees its ``callee`` in place of it.
    """

    def __init__(self, function: Callable[..., Any], name: str = "", **options: Any) -> None:
        self.py_func: Any = function
        self._name, self._options = name, options
        self._dispatcher: Any = None
        self._callee: Any = None
        self._plain: Any = None
        update_wrapper(self, function)

    @property
    def dispatcher(self) -> Any:
        """The same as an object of Numba's, which has less to do at a call."""
        if self._dispatcher is None:
            with _BUILDING:
                if self._dispatcher is None:
                    self._dispatcher = self._build()
        return self._dispatcher

    @property
    def callee(self) -> Any:
        """The same for other kernels to call.

        It has no entry from Python, which takes long to compile.
        """
        if self._callee is None:
            with _BUILDING:
                if self._callee is None:
                    # not stored: the machine code of a caller contains it
                    self._callee = self._build(cache=False, no_cpython_wrapper=True)
        return self._callee

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code; compile it, or load it from the disk, at the first call."""
        if _interpreted_calls > 0:
            return self._interpret(arguments)
        return (self._dispatcher or self.dispatcher)(*arguments)

    def _interpret(self, arguments: tuple[Any, ...]) -> Any:
        global _interpreted_calls
        _interpreted_calls -= 1
        self._plain = self._plain or interpreted(self)
        with np.errstate(all="ignore"):  # machine code divides by 0 without a warning, too
            return self._plain(*map(as_records, arguments))

    def _build(self, **changes: Any) -> Any:
        numba, typeof_impl = import_module("numba"), import_module("numba.extending").typeof_impl
        if Kernel not in typeof_impl.registry:
            typeof_impl.register(Kernel)(lambda kernel, c: typeof_impl(kernel.callee, c))
        if self._name:
            digest = _digest(self.py_func)
            self.py_func.__qualname__ = f"{self.py_func.__name__}.{self._name}.{digest}"
        return numba.njit(**{**self._options, **_OPTIONS, **changes})(self.py_func)


def direct(kernel: Callable[..., Any], *example: Any) -> Callable[..., Any]:
    """Return a kernel's machine code for arguments of the types of an example, and no others.

    A call through Numba looks at the type of every argument to find the code that fits, which costs
    more than a short kernel does. What is returned trusts the caller instead: other types than
    those of the example are read as if they were these.
    """
    if _interpreted_calls > 0:
        return kernel
    dispatcher = cast(Any, kernel).dispatcher
    types = tuple(import_module("numba").typeof(value) for value in example)
    dispatcher.compile(types)
    return cast("Callable[..., Any]", dispatcher.overloads[types].entry_point)


def dispatcher_of(kernel: Any) -> Callable[..., Any]:
    """Return what calls a kernel with the least overhead.

    This is Numba's dispatcher, or the kernel itself while its calls are interpreted.
    """
    return cast("Callable[..., Any]", kernel if _interpreted_calls > 0 else kernel.dispatcher)


def delay_compilation(calls: int) -> None:
    """Run the next calls of kernels as plain Python, for a process that makes only a few.

    To load Numba and the machine code of a campaign takes about as long as thousands of calls of
    its kernels in plain Python, and a command makes a handful. After ``calls`` calls the machine
    code takes over; the numbers are the same.
    """
    global _interpreted_calls
    _interpreted_calls = calls


def as_records(value: Any) -> Any:
    """Return an array of records as plain Python needs it to read fields as attributes."""
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    return value


def interpreted(kernel: F) -> F:
    """Return the same function as plain Python, and with it every compiled function that it calls.

    It is the slow twin of a kernel: what it computes must be what the machine code computes.
    Functions that rely on integer overflow name a twin of their own as ``__interpreted__``.
    """
    return cast(F, _interpreted(kernel, {}))


def _interpreted(kernel: Any, done: dict[int, Any]) -> Any:
    if not isinstance(kernel, Kernel):
        return kernel
    if id(kernel) not in done:
        calls = {
            key: _interpreted(value, done)
            for key, value in _used_globals(kernel.py_func)
            if isinstance(value, Kernel) and key in kernel.py_func.__globals__
        }
        own = getattr(kernel.py_func, "__interpreted__", None)
        done[id(kernel)] = own or _rebind(kernel.py_func, calls)
    return done[id(kernel)]


def _rebind(function: Any, names: dict[str, Any]) -> FunctionType:
    scope = {**function.__globals__, **names}
    twin = FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    twin.__module__ = function.__module__  # Numba refuses to cache a function of no module
    twin.__doc__ = function.__doc__
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
            if isinstance(value, Kernel):
                queue.append(value.py_func)
            elif isinstance(value, int | float | str | tuple | np.generic):
                text.update(f"{name}={value!r}".encode())
            elif isinstance(value, np.ndarray):
                text.update(name.encode() + value.tobytes())
    return text.hexdigest()
