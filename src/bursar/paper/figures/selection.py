"""Which policies and settings a figure or page shows unless it is asked for others."""

from __future__ import annotations

from collections.abc import Sequence

from bursar.errors import InvalidInput, UnknownSetting, suggest
from bursar.paper.analysis.games import has_games, played_settings
from bursar.paper.labels import main_policies
from bursar.settings import setting as setting_of
from bursar.simulation.result import Result

_MANY = 12  # up to this number all policies are shown, beyond it those of the paper's figures


def select_policies(result: Result, policies: Sequence[str] | None = None) -> list[str]:
    """Return the policies to show: those asked for, or all, or of many those of the paper."""
    if policies is None:
        many = len(result.policies) > _MANY
        return list(main_policies(result.policies) if many else result.policies)
    for slug in policies:
        if slug not in result.policies:
            raise InvalidInput(f"the result has no policy {slug!r}{suggest(slug, result.policies)}")
    return list(policies)


def select_panel_policies(
    result: Result, setting: str, policies: Sequence[str] | None = None
) -> list[str]:
    """Return the policies of one panel: as in the paper, of many without ω* on Bernoulli arms."""
    chosen = [s for s in select_policies(result, policies) if has_games(result, setting, s)]
    if policies is None and len(result.policies) > _MANY and _is_bernoulli(setting):
        return [slug for slug in chosen if not slug.startswith("omega-star")]
    return chosen


def find_bernoulli_setting(result: Result, *policies: str, largest: bool) -> str:
    """Return the synthetic Bernoulli setting with the most or the fewest arms."""
    found = [
        name
        for name in played_settings(result)
        if _is_bernoulli(name) and has_games(result, name, *policies)
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
        setting = setting_of(name)
    except UnknownSetting:  # a problem of the user's own
        return False
    return setting.kind == "synthetic" and setting.distribution == "Bernoulli"
