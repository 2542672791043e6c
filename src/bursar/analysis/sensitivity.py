"""How much depends on rho: final regret of both ω policies for every rho that was played."""

from __future__ import annotations

from typing import Any

import numpy as np

from bursar.analysis.failures import failed_share
from bursar.analysis.games import final, has
from bursar.analysis.permutation import bootstrap_interval
from bursar.policies import policy as policy_of
from bursar.result import Result

__all__ = ["FAMILIES", "by_rho", "rhos"]

FAMILIES = ("omega-ucb", "omega-star-ucb")


def rhos(result: Result, family: str) -> dict[float, str]:
    """Return the slug of each rho of a family that is in the result, in rising order of rho.

    Only plain ones: a policy with another parameter changed is another policy.
    """
    found: dict[float, str] = {}
    for slug in result.policies:
        if slug.partition(":")[0] == family:
            parameters = policy_of(slug).settings()
            rho, _ = parameters.pop("rho")
            if all(value == default for value, default in parameters.values()):
                found[rho] = slug
    return dict(sorted(found.items()))


def by_rho(result: Result, setting: str) -> list[dict[str, Any]]:
    """Return a row a family and rho: mean with 95% interval, median, failed games of a setting.

    ``relative`` is the mean over the smallest mean of the family: 1 for its best rho.
    """
    rows: list[dict[str, Any]] = []
    for family in FAMILIES:
        played = {r: s for r, s in rhos(result, family).items() if has(result, setting, s)}
        rows_here = [_row(result, setting, family, rho, slug) for rho, slug in played.items()]
        best = min((row["mean"] for row in rows_here), default=0.0)
        for row in rows_here:
            row["relative"] = row["mean"] / best if best > 0.0 else 1.0
        rows.extend(rows_here)
    return rows


def _row(result: Result, setting: str, family: str, rho: float, slug: str) -> dict[str, Any]:
    values = final(result, setting, slug)
    low, high = bootstrap_interval(values)
    return {
        "setting": setting,
        "family": family,
        "policy": slug,
        "rho": rho,
        "repetitions": int(values.size),
        "mean": float(values.mean()),
        "low": low,
        "high": high,
        "median": float(np.median(values)),
        "failed": failed_share(result, setting, slug),
    }
