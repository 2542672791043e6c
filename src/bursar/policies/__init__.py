"""Every policy, one file each, and the one table that names them."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from bursar.policies.base import Learner, Policy
from bursar.policies.slug import parse

__all__ = ["POLICIES", "Learner", "Policy", "policy"]

_TABLE = {
    "omega-ucb": "omega.OmegaUCB",
    "omega-star-ucb": "omega.OmegaStarUCB",
    "sw-omega-ucb": "omega_sliding.SlidingOmegaUCB",
    "sw-omega-star-ucb": "omega_sliding.SlidingOmegaStarUCB",
    "d-omega-ucb": "omega_discounted.DiscountedOmegaUCB",
    "d-omega-star-ucb": "omega_discounted.DiscountedOmegaStarUCB",
    "pooled-gittins": "pooled_gittins.PooledGittins",
    "sf-omega-ucb": "sf_omega_ucb.ScaleFreeOmegaUCB",
    "eps-first": "eps_first.EpsFirst",
    "kube": "kube.KUBE",
    "fractional-kube": "kube.FractionalKUBE",
    "ucb-bv1": "ucb_bv.UCBBV1",
    "ucb-bv2": "ucb_bv.UCBBV2",
    "pd-bwk": "pd_bwk.PDBwK",
    "budget-ucb": "budget_ucb.BudgetUCB",
    "bts": "bts.BTS",
    "mrcb": "mrcb.MRCB",
    "m-ucb": "xia_ucb.MUCB",
    "c-ucb": "xia_ucb.CUCB",
    "i-ucb": "xia_ucb.IUCB",
    "b-greedy": "b_greedy.BGreedy",
    "ucb-sc-plus": "ucb_sc.UCBSCPlus",
    "kl-ucb-sc-plus": "kl_ucb_sc.KLUCBSCPlus",
    "ucb-b2": "ucb_b2.UCBB2",
    "uniform": "uniform.Uniform",
}
"""The module and class of each policy."""


class _Policies(Mapping[str, type[Policy]]):
    """The classes by name; a module is imported when one of its policies is first looked up."""

    def __getitem__(self, name: str) -> type[Policy]:
        module, kind = _TABLE[name].split(".")
        found: type[Policy] = getattr(import_module(f"bursar.policies.{module}"), kind)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)


POLICIES: Mapping[str, type[Policy]] = _Policies()


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
