"""Experiments as TOML files: read with the line of what is wrong, written so that they read back.

Python's own reader keeps no positions of keys, so the line of a key is looked up in the text.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from bursar.errors import BursarError, InvalidInput, MissingData, suggest
from bursar.experiments.experiment import FINE_SHARES, Experiment, experiment
from bursar.policies import POLICIES, Policy
from bursar.policies.slug import parse
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem
from bursar.settings import Setting, setting
from bursar.settings.ad_export import AdExportOptions, AdExportSetting, read_ad_export
from bursar.simulation.result import BUDGET_PLAYS

__all__ = ["policies_of", "read", "read_code", "text"]

# ==== experiments.own
# Policies of one's own: files that define them, loaded for a run.

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


_FIELDS = (
    "name", "title", "settings", "policies", "repetitions", "budget_plays", "budget", "shares",
    "seed", "overspend", "data", "policy_files", "problems", "ads",
)  # fmt: skip
_ADS = ("file", *signature(AdExportOptions).parameters)
_KINDS: dict[str, type[Problem]] = {
    "Bernoulli": Bernoulli,
    "Beta": Beta,
    "GeneralizedBernoulli": GeneralizedBernoulli,
}


class _Page:
    """The text of a file, and where in it things are."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self.text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise MissingData(f"no file {str(path)!r}; check the path") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error
        self.lines = self.text.splitlines()

    def line(self, key: str, value: str | None = None) -> int:
        """Return the line of a key, or of a text in its value; 1 if it is nowhere."""
        pattern = re.compile(
            rf"""\s*["']?{re.escape(key)}["']?\s*(=|\.)|\s*\[+\s*{re.escape(key)}\b"""
        )
        at = next((i for i, line in enumerate(self.lines) if pattern.match(line)), None)
        if at is None:
            return 1
        if value is not None:
            within = range(at, len(self.lines))
            at = next((i for i in within if value in self.lines[i]), at)
        return at + 1

    def error(self, message: str, key: str, value: str | None = None) -> InvalidInput:
        return InvalidInput(f"{self.name}, line {self.line(key, value)}: {message}")


def read(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file; what cannot be is refused with its line.

    The fields are those of :func:`bursar.simulate`, a ``name`` and a ``title``; ``data`` and
    ``policy_files`` are looked for beside the file; ``[[problems]]`` are problems of one's own.
    """
    path = Path(path)
    page = _Page(path)
    try:
        given = tomllib.loads(page.text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{page.name}: not TOML, {error}") from error
    for key in given:
        if key not in _FIELDS:
            raise page.error(f"no field named {key!r}{suggest(key, _FIELDS)}", key)
    _typed(page, given)
    if "budget" in given and "budget_plays" in given:
        raise page.error("give budget or budget_plays, not both", "budget")
    beside = path.parent
    code = read_code(beside / file for file in given.pop("policy_files", ()))
    left = ("name", "title", "problems", "ads")
    fields = {key: given[key] for key in given if key not in left}
    if "data" in fields:
        fields["data"] = str(beside / fields["data"])
    fields["policies"] = _each(page, "policies", given, lambda slug: policies_of([slug], code)[0])
    fields["settings"] = [
        *_each(page, "settings", given, setting),
        *_own(page, given.get("ads", {}), beside),
        *(_problem(page, one, i) for i, one in enumerate(given.get("problems", ()), start=1)),
    ]
    try:
        name, title = given.get("name", path.stem), given.get("title", "")
        return experiment(name, title, code, given.get("ads"), **fields)
    except BursarError as error:
        guilty = next((key for key in _FIELDS if str(error).startswith(key)), "name")
        raise page.error(str(error), guilty) from error


def _each(page: _Page, key: str, given: Any, make: Callable[[str], Any]) -> list[Any]:
    """Make each of a list of names, or say on which line one cannot be made."""
    made = []
    for name in given.get(key, ()):
        try:
            made.append(make(name))
        except BursarError as error:
            raise page.error(str(error), key, name) from error
    return made


def _own(page: _Page, given: dict[str, Any], beside: Path) -> tuple[AdExportSetting, ...]:
    """Read the user's own ads as the table [ads] says."""
    if not given:
        return ()
    for key in given:
        if key not in _ADS:
            raise page.error(f"no field named {key!r} in [ads]{suggest(key, _ADS)}", key)
    for key in ("file", "clicks", "cost", "reward"):
        if key not in given:
            raise page.error(f"[ads] misses {key}", "ads")
    options = {key: value for key, value in given.items() if key != "file"}
    try:
        return read_ad_export(beside / str(given["file"]), **options).settings
    except BursarError as error:
        raise page.error(str(error), "ads") from error


def _problem(page: _Page, given: dict[str, Any], number: int) -> Problem:
    """Make a problem of one's own: its distribution, and what that is made of."""
    kind, fields = given.get("distribution", "Bernoulli"), dict(given)
    fields.pop("distribution", None)
    if kind not in _KINDS:
        hint = suggest(str(kind), _KINDS)
        raise page.error(f"no distribution named {kind!r}{hint}", "problems", str(kind))
    name = fields.setdefault("name", f"problem {number}")
    takes = signature(_KINDS[kind]).parameters
    for key in fields:
        if key not in takes:
            raise page.error(f"{kind} problems have no field {key!r}{suggest(key, takes)}", key)
    absent = [key for key, one in takes.items() if one.default is one.empty and key not in fields]
    if absent:
        raise page.error(f"problem {name!r} misses {', '.join(absent)}", "problems", name)
    try:
        return _KINDS[kind](**fields)
    except BursarError as error:
        raise page.error(f"problem {name!r}: {error}", "problems", name) from error


def _typed(page: _Page, given: dict[str, Any]) -> None:
    """Refuse values of the wrong kind before anything is made of them."""
    kinds: dict[str, tuple[Any, str]] = {
        **dict.fromkeys(("name", "title", "overspend", "data"), (str, "a text")),
        **dict.fromkeys(("settings", "policies", "policy_files"), ([str], "a list of texts")),
        **dict.fromkeys(("repetitions", "seed"), (int, "a whole number")),
        **dict.fromkeys(("budget_plays", "budget"), ((int, float), "a number")),
        "shares": ([(int, float)], "a list of numbers"),
        "problems": ([dict], "tables, each headed [[problems]]"),
        "ads": (dict, "a table, headed [ads]"),
    }
    for key, value in given.items():
        kind, words = kinds[key]
        inside = value if isinstance(kind, list) and isinstance(value, list) else [value]
        want = kind[0] if isinstance(kind, list) else kind
        fits = isinstance(kind, list) == isinstance(value, list)
        if not fits or not all(isinstance(v, want) and not isinstance(v, bool) for v in inside):
            raise page.error(f"{key} must be {words}, got {value!r}", key)


def text(what: Experiment) -> str:
    """Return an experiment as TOML; reading it gives the experiment back."""
    todo = what.plan
    places = [p for p in todo.settings if isinstance(p, Setting)]
    fields: dict[str, Any] = {
        "name": what.name,
        "title": what.title,
        "settings": [place.name for place in places],
        "policies": [str(policy) for policy in todo.policies],
        "repetitions": todo.repetitions,
        "seed": todo.seed,
        "overspend": todo.overspend,
    }
    if todo.budget is not None:
        fields["budget"] = todo.budget
    elif todo.budget_plays != BUDGET_PLAYS:
        fields["budget_plays"] = todo.budget_plays
    if todo.shares != FINE_SHARES:
        fields["shares"] = list(todo.shares)
    if todo.data is not None:
        fields["data"] = str(todo.data)
    if what.code:
        fields["policy_files"] = [name for name, _ in what.code]
    tables = [_table("[ads]", what.ads)] if what.ads else []
    tables += [
        _table("[[problems]]", {"name": p.name, "distribution": type(p).__name__, **p.parameters()})
        for p in todo.settings
        if isinstance(p, Problem)
    ]
    return "\n".join([_table("", fields), *tables])


def _table(head: str, fields: Mapping[str, Any]) -> str:
    lines = (f"{key} = {_value(value)}\n" for key, value in fields.items())
    return (head and f"{head}\n") + "".join(lines)


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return _list(map(_value, value))
    return json.dumps(value, ensure_ascii=False)  # texts and numbers are written alike in TOML


def _list(items: Iterable[str]) -> str:
    words = list(items)
    short = ", ".join(words)
    return f"[{short}]" if len(short) < 80 else "[\n" + "".join(f"  {w},\n" for w in words) + "]"
