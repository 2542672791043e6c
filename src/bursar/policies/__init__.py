"""Every policy, one file each, and the one table that names them."""

from __future__ import annotations

from bursar.policies.b_greedy import BGreedy
from bursar.policies.base import Learner, Policy
from bursar.policies.bts import BTS
from bursar.policies.budget_ucb import BudgetUCB
from bursar.policies.eps_first import EpsFirst
from bursar.policies.kl_ucb_sc import KLUCBSCPlus
from bursar.policies.kube import KUBE, FractionalKUBE
from bursar.policies.mrcb import MRCB
from bursar.policies.omega import OmegaStarUCB, OmegaUCB
from bursar.policies.omega_discounted import DiscountedOmegaStarUCB, DiscountedOmegaUCB
from bursar.policies.omega_sliding import SlidingOmegaStarUCB, SlidingOmegaUCB
from bursar.policies.pd_bwk import PDBwK
from bursar.policies.pooled_gittins import PooledGittins
from bursar.policies.slug import parse
from bursar.policies.ucb_b2 import UCBB2
from bursar.policies.ucb_bv import UCBBV1, UCBBV2
from bursar.policies.ucb_sc import UCBSCPlus
from bursar.policies.uniform import Uniform
from bursar.policies.xia_ucb import CUCB, IUCB, MUCB

__all__ = ["POLICIES", "Learner", "Policy", "policy"]

POLICIES: dict[str, type[Policy]] = {
    cls.name: cls
    for cls in (
        OmegaUCB,
        OmegaStarUCB,
        SlidingOmegaUCB,
        SlidingOmegaStarUCB,
        DiscountedOmegaUCB,
        DiscountedOmegaStarUCB,
        PooledGittins,
        EpsFirst,
        KUBE,
        FractionalKUBE,
        UCBBV1,
        UCBBV2,
        PDBwK,
        BudgetUCB,
        BTS,
        MRCB,
        MUCB,
        CUCB,
        IUCB,
        BGreedy,
        UCBSCPlus,
        KLUCBSCPlus,
        UCBB2,
        Uniform,
    )
}


def policy(slug: str | Policy) -> Policy:
    """Return the policy that a slug names, for example ``omega-star-ucb:rho=0.25``.

    Examples
    --------
    >>> str(policy("m-ucb:alpha=1/4"))
    'm-ucb:alpha=0.25'
    >>> policy("omega-star-ucb:rho=0.25").min_samples
    30
    >>> policy("omega-ubc")
    Traceback (most recent call last):
    bursar.errors.UnknownPolicy: no policy named 'omega-ubc'; did you mean 'omega-ucb'?
    """
    return slug if isinstance(slug, Policy) else parse(slug, POLICIES)
