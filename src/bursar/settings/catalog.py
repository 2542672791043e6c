"""The paper's eleven settings (Heyden et al. 2024, Sec. 5.1), and all settings by name."""

from __future__ import annotations

from typing import Literal

from bursar.errors import UnknownSetting, suggest
from bursar.settings.base import Setting
from bursar.settings.families import FAMILIES
from bursar.settings.nonstationary import NONSTATIONARY, nonstationary_setting

Distribution = Literal["Bernoulli", "generalized Bernoulli", "Beta"]

_XIA_A = "Xia et al. (2015), ACML"
_XIA_I = "Xia et al. (2015), IJCAI"
_XIA_16 = "Xia et al. (2016)"
_XIA_17 = "Xia et al. (2017)"
_FACEBOOK = "Lemsalu (2017), Facebook ad campaign"
# ads per campaign, age and gender in the paper's file
_CAMPAIGNS = (7, 9, 3, 6, 3, 2, 3, 54, 38, 33, 23, 34, 21, 54, 24, 93, 77, 57, 4)


def _make_synthetic(
    slug: str, distribution: Distribution, arms: int, how: str, *papers: str
) -> Setting:
    source = f"{how}; as in {' and '.join(papers)}"
    return Setting(f"S-{slug}-{arms}", "synthetic", distribution, (arms,), source)


def _make_ads(name: str, distribution: Distribution, how: str) -> Setting:
    return Setting(name, "ads", distribution, _CAMPAIGNS, f"{_FACEBOOK}; {how}")


_BR = "mean rewards U(0, 1), mean costs U(0.01, 1)"
_GBR = "values 0, 1/4, …, 1, their probabilities normalised U(0, 1)"
_BT = "all parameters U(0, 5)"

SETTINGS: dict[str, Setting] = {
    one.name: one
    for one in (
        _make_synthetic("Br", "Bernoulli", 10, _BR, _XIA_I, _XIA_17),
        _make_synthetic("Br", "Bernoulli", 50, _BR, _XIA_17),
        _make_synthetic("Br", "Bernoulli", 100, _BR, _XIA_A, _XIA_I),
        _make_synthetic("GBr", "generalized Bernoulli", 10, _GBR, _XIA_I, _XIA_16),
        _make_synthetic("GBr", "generalized Bernoulli", 50, _GBR, _XIA_16),
        _make_synthetic("GBr", "generalized Bernoulli", 100, _GBR, _XIA_I),
        _make_synthetic("Bt", "Beta", 10, _BT, _XIA_16, _XIA_17),
        _make_synthetic("Bt", "Beta", 50, _BT, _XIA_16, _XIA_17),
        _make_synthetic("Bt", "Beta", 100, _BT, _XIA_A),
        _make_ads("FB-Br", "Bernoulli", "means per click as given"),
        _make_ads("FB-Bt", "Beta", "means per click as given, parameters U(0, 5) made to match"),
    )
}


def list_settings() -> list[Setting]:
    """Return the settings of the paper, in its order.

    Examples
    --------
    >>> [str(one) for one in list_settings()][:3]
    ['S-Br-10', 'S-Br-50', 'S-Br-100']
    """
    return list(SETTINGS.values())


def setting(name: str | Setting) -> Setting:
    """Return the setting of a name, with the authors' choices if it ends in ``:authors``.

    Names with ``C-`` are of nonstationary settings; see :mod:`bursar.settings.nonstationary`.
    Names with ``X-`` are of other families; see :mod:`bursar.settings.families`.

    Examples
    --------
    >>> setting("S-GBr-50").arms
    (50,)
    >>> setting("S-GBr-50:authors").variant
    'authors'
    >>> setting("S-Brr-10")
    Traceback (most recent call last):
    bursar.errors.UnknownSetting: no setting named 'S-Brr-10'; did you mean 'S-Br-10'?
    """
    if isinstance(name, Setting):
        return name
    if name.startswith("C-"):
        return nonstationary_setting(name)
    base, colon, option = name.partition(":")
    known = SETTINGS | FAMILIES
    if base not in known:
        hint = suggest(base, [*SETTINGS, *NONSTATIONARY, *FAMILIES])
        raise UnknownSetting(f"no setting named {base!r}{hint}")
    if colon and base in FAMILIES:
        raise UnknownSetting(f"{base} has no option {option!r}; it is not from the paper")
    if colon and option != "authors":
        raise UnknownSetting(f"{base} has no option {option!r}; did you mean '{base}:authors'?")
    return known[base].authors() if colon else known[base]
