"""Which policies and settings a figure shows when nobody says: those of the paper's figures."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.analysis import games
from bursar.errors import InvalidInput, UnknownSetting, nearest
from bursar.figures.labels import RECOMMENDED
from bursar.result import Result
from bursar.settings import setting as setting_of

__all__ = ["bernoulli", "here", "main", "paper", "played"]

_MAIN = ("omega-ucb:rho=0.25", "omega-ucb:rho=1", RECOMMENDED, "omega-star-ucb:rho=1")
_MANY = 12  # as many policies are shown all; from more the paper's are picked


def main(result: Result, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies to show: those asked for, or all, or of many those of the paper."""
    if policies is not None:
        for slug in policies:
            if slug not in result.policies:
                raise InvalidInput(
                    f"the result has no policy {slug!r}{nearest(slug, result.policies)}"
                )
        return list(policies)
    if len(result.policies) <= _MANY:
        return list(result.policies)
    return [slug for slug in result.policies if slug in _MAIN or not slug.startswith("omega")]


def paper(result: Result, setting: str, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies of one panel: as the paper, without ω* on Bernoulli arms of many."""
    chosen = [slug for slug in main(result, policies) if games.has(result, setting, slug)]
    if policies is None and len(result.policies) > _MANY and _is_bernoulli(setting):
        return [slug for slug in chosen if not slug.startswith("omega-star")]
    return chosen


def played(result: Result) -> list[str]:
    """Return the settings that have games, in the order of the result."""
    return games.settings_of(result)


def here(result: Result, setting: str, *policies: str) -> bool:
    """Whether all these policies played a setting."""
    return all(games.has(result, setting, slug) for slug in policies)


def bernoulli(result: Result, *policies: str, largest: bool) -> str:
    """Return the synthetic Bernoulli setting with the most or the fewest arms."""
    found = [
        name for name in played(result) if _is_bernoulli(name) and here(result, name, *policies)
    ]
    if not found:
        raise InvalidInput(
            f"no Bernoulli setting was played by {' and '.join(policies)};"
            " add S-Br-10 and these policies to the run"
        )
    order = sorted(found, key=lambda name: setting_of(name).arms)
    return order[-1] if largest else order[0]


def _is_bernoulli(name: str) -> bool:
    try:
        one = setting_of(name)
    except UnknownSetting:  # a problem of the user's own
        return False
    return one.kind == "synthetic" and one.distribution == "Bernoulli"
