"""Policies of one's own: files that define them, loaded for a run."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from bursar.errors import InvalidInput
from bursar.policies import POLICIES, Policy
from bursar.policies.slug import parse

__all__ = ["policies_of", "read_code"]

Code = tuple[tuple[str, bytes], ...]


def read_code(paths: Iterable[Path]) -> Code:
    """Return names and contents of files that define policies."""
    found = []
    for path in paths:
        try:
            found.append((path.name, path.read_bytes()))
        except OSError as error:
            raise InvalidInput(f"cannot read {str(path)!r}: {error.strerror}") from error
    return tuple(found)


def policies_of(slugs: Iterable[str], code: Code) -> tuple[Policy, ...]:
    """Return the policies of slugs, among bursar's and those that the files define."""
    table = dict(POLICIES)
    for name, content in code:
        for cls in _defined(_module(name, content)):
            if cls.name in table:
                raise InvalidInput(
                    f"{name}: the policy name {cls.name!r} is taken; give yours another"
                )
            table[cls.name] = cls
    return tuple(parse(slug, table) for slug in slugs)


def _defined(module: ModuleType) -> list[type[Policy]]:
    found = [
        cls
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, Policy) and cls.__module__ == module.__name__
    ]
    if not found:
        raise InvalidInput(f"{module.__name__} defines no policy; see examples/my_policy.py")
    return found


@lru_cache(maxsize=32)
def _module(name: str, content: bytes) -> ModuleType:
    """Run a file once a process, from a place of its own so that its machine code can be kept."""
    mark = hashlib.sha256(content).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"bursar-policies-{mark}" / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    unique = f"bursar_own_{path.stem}_{mark}"
    spec = importlib.util.spec_from_file_location(unique, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{name} must be a Python file that defines policies")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[unique]
        raise InvalidInput(f"{name} cannot be run: {type(error).__name__}: {error}") from error
    return module
