"""Every policy x every conformance check, and the table of policies itself."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

import bursar
from bursar import policies
from bursar.testing import CHECKS

EVERY = [pytest.param(p, id=str(p)) for cls in bursar.POLICIES.values() for p in cls.examples()]


@pytest.mark.parametrize("check", CHECKS, ids=lambda f: f.__name__.removeprefix("check_"))
@pytest.mark.parametrize("policy", EVERY)
def test_contract(policy, check):
    check(policy)


def test_the_slugs_are_those_of_the_literature():
    assert set(bursar.POLICIES) >= {
        "omega-ucb", "omega-star-ucb", "sw-omega-ucb", "sw-omega-star-ucb", "d-omega-ucb",
        "d-omega-star-ucb", "pooled-gittins", "sf-omega-ucb", "eps-first", "kube",
        "fractional-kube", "ucb-bv1", "ucb-bv2", "pd-bwk", "budget-ucb", "bts", "mrcb", "m-ucb",
        "c-ucb", "i-ucb", "b-greedy", "ucb-sc-plus", "kl-ucb-sc-plus", "ucb-b2", "uniform",
    }  # fmt: skip


def test_the_table_lists_every_policy_that_a_file_defines():
    folder = Path(policies.__file__).parent
    modules = [import_module(f"bursar.policies.{f.stem}") for f in folder.glob("[a-z]*.py")]
    defined = {
        cls
        for module in modules
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, bursar.Policy) and "name" in vars(cls)
    }
    assert defined == set(bursar.POLICIES.values())


@pytest.mark.parametrize("name", bursar.POLICIES)
def test_a_policy_says_what_it_is(name):
    cls = bursar.POLICIES[name]
    for text in (cls.title, cls.source, cls.formula, cls.__doc__, inspect.getmodule(cls).__doc__):
        assert text
    assert (cls.year is None) == (name == "uniform")
    assert cls.year is None or str(cls.year) in cls.source
    assert cls.year is None or str(cls.year) in inspect.getmodule(cls).__doc__  # the citation
