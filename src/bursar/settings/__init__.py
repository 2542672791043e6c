"""Settings: families of problems, those of the paper among them, drawn for each repetition."""

from bursar.errors import UnknownSetting, suggest
from bursar.settings.base import Setting, load_table
from bursar.settings.families import FAMILIES
from bursar.settings.nonstationary import NONSTATIONARY, nonstationary_setting

__all__ = ["SETTINGS", "Setting", "list_settings", "setting"]

SETTINGS = {
    name: Setting(name, **(fields | {"arms": tuple(fields["arms"])}))
    for name, fields in load_table("paper.toml").items()
}
"""The paper's settings, in its order."""


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
