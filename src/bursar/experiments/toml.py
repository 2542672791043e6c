"""Experiments as TOML files, read with line numbers in errors, and written so that they read back.

Python's own TOML reader keeps no positions of keys, so the line of a key is looked up in the text.
A file may name Python files that define the user's own policies. The experiments that bursar ships
are such files, too.
"""

import hashlib
import importlib.util
import json
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import as_file, files
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from bursar.errors import BursarError, InvalidInput, MissingData, suggest
from bursar.experiments.cells import FINE_SHARES, Experiment, experiment
from bursar.files import replace_file
from bursar.policies import POLICIES, Policy
from bursar.policies.slug import parse
from bursar.problems import Bernoulli, Beta, GeneralizedBernoulli, Problem
from bursar.settings import Setting, setting
from bursar.settings.ad_export import AdExportOptions, AdExportSetting, read_ad_export
from bursar.settings.base import Data
from bursar.simulation import BUDGET_PLAYS

Code = tuple[tuple[str, bytes], ...]  # names and contents of Python files

# the type of each field, in brackets that of the items of a list, and its name in errors
_FIELDS: dict[str, tuple[Any, str]] = {
    "name": (str, "a string"),
    "title": (str, "a string"),
    "settings": ([str], "a list of strings"),
    "policies": ([str], "a list of strings"),
    "repetitions": (int, "a whole number"),
    "budget_plays": ((int, float), "a number"),
    "budget": ((int, float), "a number"),
    "shares": ([(int, float)], "a list of numbers"),
    "seed": (int, "a whole number"),
    "overspend": (str, "a string"),
    "data": (str, "a string"),
    "policy_files": ([str], "a list of strings"),
    "problems": ([dict], "tables, each headed [[problems]]"),
    "ads": (dict, "a table, headed [ads]"),
}
_ADS = ("file", *signature(AdExportOptions).parameters)
_KINDS: dict[str, type[Problem]] = {
    kind.__name__: kind for kind in (Bernoulli, Beta, GeneralizedBernoulli)
}
_QUICK_REPETITIONS = {"changing": 8, "less-regret": 20, "families": 20}
# policies that the paper names but did not run, and bursar's own
_ALSO = (
    "kl-ucb-sc-plus", "eps-first", "kube", "fractional-kube", "ucb-bv1", "ucb-bv2", "pd-bwk",
    "mrcb", "pooled-gittins", "sf-omega-ucb", "uniform",
)  # fmt: skip


def load_experiment(
    name: str,
    data: Data = None,
    repetitions: int | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    all_policies: bool = False,
) -> Experiment:
    """Return an experiment that bursar ships.

    Parameters
    ----------
    name : {"quick", "full", "changing", "less-regret", "families"}
        The paper in brief, which takes minutes on two cores; the paper's evaluation; every policy
        on nonstationary settings; bursar's policy and the paper's best on the paper's settings, and
        on all families that are not from the paper.
    data : path, optional
        The ads; without them, settings made of ads are left out.
    repetitions : int, optional
        Another number of repetitions.
    seed : int
        The seed of the games.
    quick : bool
        Whether to play fewer repetitions, and only families on which the policy was chosen.
    all_policies : bool
        Whether to add policies that the paper names but did not run, and bursar's own.
    """
    with as_file(files("bursar.experiments").joinpath(f"{name}.toml")) as path:
        loaded = read_experiment(path)
    plan, default = loaded.plan, loaded.plan.repetitions
    settings = [
        one for one in plan.settings if data is not None or not getattr(one, "needs_data", False)
    ]
    if quick:
        settings = [one for one in settings if not getattr(one, "held_out", False)]
        default = _QUICK_REPETITIONS.get(name, default)
    return loaded.but(
        policies=plan.policies + (load_policies(_ALSO, ()) if all_policies else ()),
        settings=tuple(settings),
        repetitions=repetitions or default,
        data=data,
        seed=seed,
    )


class _Source:
    """The text of a file, with the lines of its keys."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        try:
            self.text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise MissingData(f"no file {str(path)!r}; check the path") from None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"cannot read {str(path)!r}: {error}") from error
        self.lines = self.text.splitlines()

    def find_line(self, key: str, value: str | None = None) -> int:
        """Return the line of a key, or of a text in its value; 1 if there is none."""
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
        return InvalidInput(f"{self.name}, line {self.find_line(key, value)}: {message}")

    @contextmanager
    def locate(self, key: str, value: str | None = None, what: str = "") -> Iterator[None]:
        """Let errors of a block name the line of a key."""
        try:
            yield
        except BursarError as error:
            raise self.error(f"{what}{error}", key, value) from error

    def check_keys(self, given: Iterable[str], known: Iterable[str], message: str) -> None:
        """Raise an error with the message, which has a place for the key, for an unknown key."""
        for key in given:
            if key not in known:
                raise self.error(message.format(repr(key)) + suggest(key, known), key)


def read_experiment(path: str | Path) -> Experiment:
    """Read an experiment from a TOML file; errors name the line.

    The fields are those of :func:`bursar.simulate`, a ``name`` and a ``title``; ``data`` and
    ``policy_files`` are relative to the file; ``[[problems]]`` are the user's own problems.
    """
    path = Path(path)
    source = _Source(path)
    try:
        given = tomllib.loads(source.text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source.name}: not TOML, {error}") from error
    source.check_keys(given, _FIELDS, "no field named {}")
    _check_types(source, given)
    if "budget" in given and "budget_plays" in given:
        raise source.error("set budget or budget_plays, not both", "budget")
    code = read_code(path.parent / file for file in given.pop("policy_files", ()))
    separate = ("name", "title", "problems", "ads")
    fields = {key: given[key] for key in given if key not in separate}
    if "data" in fields:
        fields["data"] = str(path.parent / fields["data"])
    fields["policies"] = []
    for slug in given.get("policies", ()):
        with source.locate("policies", slug):
            fields["policies"] += load_policies([slug], code)
    fields["settings"] = []
    for name in given.get("settings", ()):
        with source.locate("settings", name):
            fields["settings"].append(setting(name))
    fields["settings"] += _read_ads(source, given.get("ads", {}), path.parent)
    for number, problem in enumerate(given.get("problems", ()), start=1):
        fields["settings"].append(_make_problem(source, problem, number))
    try:
        name, title = given.get("name", path.stem), given.get("title", "")
        return experiment(name, title, code, given.get("ads"), **fields)
    except BursarError as error:
        field = next((key for key in _FIELDS if str(error).startswith(key)), "name")
        raise source.error(str(error), field) from error


def _read_ads(source: _Source, given: dict[str, Any], folder: Path) -> tuple[AdExportSetting, ...]:
    """Read the user's own ads with the options of the table [ads]."""
    if not given:
        return ()
    source.check_keys(given, _ADS, "no field named {} in [ads]")
    for key in ("file", "clicks", "cost", "reward"):
        if key not in given:
            raise source.error(f"[ads] lacks {key}", "ads")
    options = {key: value for key, value in given.items() if key != "file"}
    with source.locate("ads"):
        return read_ad_export(folder / str(given["file"]), **options).settings


def _make_problem(source: _Source, given: dict[str, Any], number: int) -> Problem:
    """Make one of the user's own problems from its distribution and parameters."""
    kind, fields = given.get("distribution", "Bernoulli"), dict(given)
    fields.pop("distribution", None)
    if kind not in _KINDS:
        hint = suggest(str(kind), _KINDS)
        raise source.error(f"no distribution named {kind!r}{hint}", "problems", str(kind))
    name = fields.setdefault("name", f"problem {number}")
    parameters = signature(_KINDS[kind]).parameters
    source.check_keys(fields, parameters, f"{kind} problems have no field {{}}")
    missing = [
        key for key, one in parameters.items() if one.default is one.empty and key not in fields
    ]
    if missing:
        raise source.error(f"problem {name!r} lacks {', '.join(missing)}", "problems", name)
    with source.locate("problems", name, f"problem {name!r}: "):
        return _KINDS[kind](**fields)


def _check_types(source: _Source, given: dict[str, Any]) -> None:
    """Check the types of all values."""
    for key, value in given.items():
        wanted, words = _FIELDS[key]
        is_list = isinstance(wanted, list)
        items = value if is_list and isinstance(value, list) else [value]
        one = wanted[0] if is_list else wanted
        fits = is_list == isinstance(value, list)
        if not fits or not all(isinstance(v, one) and not isinstance(v, bool) for v in items):
            raise source.error(f"{key} must be {words}, got {value!r}", key)


def format_experiment(experiment: Experiment) -> str:
    """Return an experiment as TOML; reading it gives the experiment back."""
    plan = experiment.plan
    fields: dict[str, Any] = {
        "name": experiment.name,
        "title": experiment.title,
        "settings": [one.name for one in plan.settings if isinstance(one, Setting)],
        "policies": [str(policy) for policy in plan.policies],
        "repetitions": plan.repetitions,
        "seed": plan.seed,
        "overspend": plan.overspend,
    }
    if plan.budget is not None:
        fields["budget"] = plan.budget
    elif plan.budget_plays != BUDGET_PLAYS:
        fields["budget_plays"] = plan.budget_plays
    if plan.shares != FINE_SHARES:
        fields["shares"] = list(plan.shares)
    if plan.data is not None:
        fields["data"] = str(plan.data)
    if experiment.code:
        fields["policy_files"] = [name for name, _ in experiment.code]
    tables = [_format_table("[ads]", experiment.ads)] if experiment.ads else []
    tables += [
        _format_table(
            "[[problems]]", {"name": p.name, "distribution": type(p).__name__, **p.parameters()}
        )
        for p in plan.settings
        if isinstance(p, Problem)
    ]
    return "\n".join([_format_table("", fields), *tables])


def _format_table(head: str, fields: Mapping[str, Any]) -> str:
    lines = (f"{key} = {_format_value(value)}\n" for key, value in fields.items())
    return (head and f"{head}\n") + "".join(lines)


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        items = [_format_value(one) for one in value]
        short = ", ".join(items)
        return f"[{short}]" if len(short) < 80 else "[\n  " + ",\n  ".join(items) + ",\n]"
    return json.dumps(value, ensure_ascii=False)  # JSON and TOML agree on strings and numbers


def read_code(paths: Iterable[Path]) -> Code:
    """Return the names and contents of files that define policies."""
    found = []
    for path in paths:
        try:
            found.append((path.name, path.read_bytes()))
        except OSError as error:
            raise InvalidInput(f"cannot read {str(path)!r}: {error.strerror}") from error
    return tuple(found)


def load_policies(slugs: Iterable[str], code: Code) -> tuple[Policy, ...]:
    """Return the policies of slugs, from bursar and from the files."""
    table = dict(POLICIES)
    for name, content in code:
        module = _import_module(name, content)
        classes = [one for one in vars(module).values() if isinstance(one, type)]
        own = [cls for cls in classes if cls.__module__ == module.__name__]
        found = [cls for cls in own if issubclass(cls, Policy)]
        if not found:
            raise InvalidInput(f"{module.__name__} defines no policy; see examples/my_policy.py")
        for cls in found:
            if cls.name in table:
                raise InvalidInput(f"{name}: the policy name {cls.name!r} is taken; choose another")
            table[cls.name] = cls
    return tuple(parse(slug, table) for slug in slugs)


@lru_cache(maxsize=32)
def _import_module(name: str, content: bytes) -> ModuleType:
    """Import a file once per process, from its own folder so that machine code can be cached."""
    digest = hashlib.sha256(content).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"bursar-policies-{digest}" / name
    if not path.is_file() or path.read_bytes() != content:
        with replace_file(path) as new:  # other processes may import the file at the same time
            new.write_bytes(content)
    unique_name = f"bursar_own_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(unique_name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{name} must be a Python file that defines policies")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[unique_name]
        raise InvalidInput(f"{name} cannot be run: {type(error).__name__}: {error}") from error
    return module
