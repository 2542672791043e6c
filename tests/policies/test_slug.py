from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bursar
from bursar.errors import (
    BursarError,
    InvalidParameter,
    InvalidSlug,
    UnknownParameter,
    UnknownPolicy,
)


@pytest.mark.parametrize(
    "slug",
    [
        "omega-star-ucb:rho=0.25", "omega-ucb:rho=1", "omega-star-ucb:rho=0.25,min_samples=10",
        "m-ucb", "m-ucb:alpha=0.5,variant=authors", "bts", "bts:ties=first", "eps-first:eps=0.25",
        "budget-ucb:min_cost=0.01", "kl-ucb-sc-plus:plus=false", "pd-bwk:c_rad=2,horizon=500",
        "mrcb:kappa=0.5,set_size=3", "ucb-b2:alpha=3,min_cost=0.01,variant=authors", "uniform",
    ],
)  # fmt: skip
def test_a_slug_survives_the_round_trip(slug):
    assert str(bursar.policy(slug)) == slug


@given(st.floats(1e-300, 1e300), st.integers(1, 10**9), st.floats(0, 1))
def test_any_number_survives_the_round_trip(rho, min_samples, eta_min):
    policy = bursar.POLICIES["omega-star-ucb"](rho=rho, min_samples=min_samples, eta_min=eta_min)
    assert bursar.policy(str(policy)) == policy


def test_numbers_may_be_written_as_people_write_them():
    for text in ("rho=1/4", "rho=0.25", "rho=25e-2", " rho = .25 "):
        assert bursar.policy(f"omega-ucb:{text}") == bursar.policy("omega-ucb:rho=0.25")


def test_a_policy_stands_for_itself_and_does_not_change():
    policy = bursar.policy("omega-ucb:rho=1")
    assert bursar.policy(policy) is policy
    assert {policy: 1}[bursar.policy("omega-ucb:rho=1.0")] == 1
    with pytest.raises(FrozenInstanceError):
        policy.rho = 2.0
    assert str(policy.but(rho=2.0)) == "omega-ucb:rho=2"


@pytest.mark.parametrize(
    ("slug", "error", "message"),
    [
        ("omega-ubc", UnknownPolicy, "no policy named 'omega-ubc'; did you mean 'omega-ucb'?"),
        ("", UnknownPolicy, "no policy named ''; known: omega-ucb, omega-star-ucb, sw-omega-ucb,"),
        ("omega-ucb:roh=1", UnknownParameter, "omega-ucb has no parameter 'roh'; did you mean 'rho'?"),
        ("bts:x=1", UnknownParameter, "bts has no parameter 'x'; known: ties"),
        ("omega-ucb:rho", InvalidSlug, "'omega-ucb:rho': 'rho' is not of the form parameter=value"),
        ("omega-ucb:rho=", InvalidSlug, "not of the form parameter=value"),
        ("omega-ucb:rho=1,rho=2", InvalidSlug, "'omega-ucb:rho=1,rho=2' gives rho twice"),
        ("omega-ucb:rho=1,", InvalidSlug, "'' is not of the form parameter=value"),
        ("omega-ucb:rho=much", InvalidParameter, "omega-ucb: rho must be a number such as 0.25 or"),
        ("omega-ucb:rho=nan", InvalidParameter, "must be a number such as 0.25 or 1/4, got 'nan'"),
        ("omega-ucb:rho=1/0", InvalidParameter, "must be a number such as 0.25 or 1/4, got '1/0'"),
        ("omega-ucb:rho=-1", InvalidParameter, "omega-ucb: rho must be positive, got -1.0"),
        ("omega-ucb:rho=0", InvalidParameter, "omega-ucb: rho must be positive, got 0.0"),
        ("omega-star-ucb:min_samples=2.5", InvalidParameter, "must be a whole number, got '2.5'"),
        ("omega-star-ucb:min_samples=0", InvalidParameter, "min_samples must be 1 or more, got 0"),
        ("m-ucb:variant=code", InvalidParameter, "m-ucb: variant must be 'paper' or 'authors', got"),
        ("m-ucb:ties=last", InvalidParameter, "m-ucb: ties must be 'random' or 'first', got 'last'"),
        ("eps-first:eps=2", InvalidParameter, "eps-first: eps must be in [0, 1], got 2.0"),
        ("ucb-b2:alpha=2", InvalidParameter, "ucb-b2: alpha must be above 2, got 2.0"),
        ("budget-ucb:min_cost=0", InvalidParameter, "budget-ucb: min_cost must be positive, got 0.0"),
        ("ucb-bv1:min_cost=-1", InvalidParameter, "ucb-bv1: min_cost must be positive, got -1.0"),
        ("ucb-sc-plus:plus=maybe", InvalidParameter, "plus must be true or false, got 'maybe'"),
        ("kl-ucb-sc-plus:region=cube", InvalidParameter, "region must be 'ball' or 'box', got 'cube'"),
        ("mrcb:set_size=0", InvalidParameter, "mrcb: set_size must be 1 or more, got 0"),
        ("pd-bwk:c_rad=0", InvalidParameter, "pd-bwk: c_rad must be positive, got 0.0"),
        ("OMEGA-UCB", UnknownPolicy, "no policy named 'OMEGA-UCB'; did you mean 'omega-ucb'?"),
        ("omega-ucb:rho=1e99999999999", InvalidParameter, "rho must be a number such as 0.25 or 1/4"),
        ("mrcb:set_size=1e30", InvalidParameter, "mrcb: set_size must be a whole number, got '1e30'"),
        (25, InvalidSlug, "a policy is named by text such as 'omega-ucb:rho=0.25', got 25"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(slug, error, message):
    with pytest.raises(error) as caught:
        bursar.policy(slug)
    assert message in str(caught.value)
    assert isinstance(caught.value, BursarError)


def test_parameters_given_in_python_are_checked_too():
    with pytest.raises(InvalidParameter, match="rho must be positive, got nan"):
        bursar.POLICIES["omega-ucb"](rho=float("nan"))
    with pytest.raises(InvalidParameter, match="omega-ucb: rho must be a number, got 'x'"):
        bursar.POLICIES["omega-ucb"](rho="x")
    with pytest.raises(InvalidParameter, match=r"mrcb: set_size must be a whole number, got 1\.5"):
        bursar.POLICIES["mrcb"](set_size=1.5)
