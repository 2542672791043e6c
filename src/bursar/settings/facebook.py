"""Read the Facebook ads of the paper, checked line by line.

Lemsalu (2017). Facebook ad campaign.
https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign (data.csv)

bursar does not ship it. In 382 of its 1143 lines the two campaign columns are missing and the
other values stand two columns too far left; such lines are left out, and counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bursar.errors import InvalidData
from bursar.settings.ads import Ads, Exclusions, Key
from bursar.settings.sheet import content, rows

__all__ = ["COLUMNS", "load", "parse"]

COLUMNS = ("campaign_id", "age", "gender", "clicks", "spent", "total_conversion")
_ALIASES = {"xyz_campaign_id": "campaign_id"}  # of KAG_conversion_data.csv
_AGE = re.compile(r"\d{1,3}\s*[-–]\s*\d{1,3}|\d{1,3}\+")
_GENDERS = {"m", "f", "u", "male", "female", "unknown"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


class _Ad(NamedTuple):
    line: int
    key: Key
    reward: float
    cost: float


def load(path: str | PathLike[str]) -> Ads:
    """Read the ads of a CSV or ZIP file; see :func:`parse` for what is refused or left out."""
    return parse(content(path), Path(path).name)


def parse(data: bytes, name: str = "the file") -> Ads:
    """Read ads from the bytes of a CSV file.

    What is no table of ads is refused, with the line; ads that say nothing are left out, counted
    by reason. Columns may come in any order, among others; blank lines do not matter.

    Parameters
    ----------
    data : bytes
        UTF-8 text with a header and the columns of ``COLUMNS``.
    name : str
        What errors call the file.

    Returns
    -------
    Ads
        Ads with clicks, spend and at most one conversion a click, two or more a campaign.

    Examples
    --------
    >>> ads = parse(b'''campaign_id,age,gender,clicks,spent,total_conversion
    ... 916,30-34,M,10,12.5,2
    ... 916,30-34,M,4,5,1
    ... 916,30-34,M,0,0,0
    ... ''')
    >>> ads.cost.tolist(), ads.excluded
    ([1.25, 1.25], {'no clicks': 1})
    >>> [(c.name, c.arms) for c in ads.campaigns()]
    [('916/30-34/M', 2)]
    """
    out = Exclusions()
    kept = []
    for line, fields in rows(data, name, COLUMNS, _ALIASES):
        ad = _read(name, line, fields)
        if isinstance(ad, str):
            out.add(line, ad)
        else:
            kept.append(ad)
    sizes = Counter(ad.key for ad in kept)
    for ad in kept:
        if sizes[ad.key] < 2:
            out.add(ad.line, "the only ad of its campaign, age and gender")
    kept = [ad for ad in kept if sizes[ad.key] >= 2]
    if not kept:
        why = ", ".join(f"{reason}: {count}" for reason, count in out.counts.items())
        raise InvalidData(
            f"no usable ad in {name} ({why or 'no line below the header'}); is it the right file?"
        )
    reward, cost = np.array([(ad.reward, ad.cost) for ad in kept]).T
    return Ads([ad.key for ad in kept], reward, cost, out.counts, out.lines)


def _read(name: str, line: int, fields: list[str]) -> _Ad | str:
    """Return the ad of a line, or the reason to leave it out."""
    campaign, age, gender, *texts = fields
    shifted = not _AGE.fullmatch(age) or gender.casefold() not in _GENDERS
    if all(fields[:3]) and shifted:
        return "age or gender is something else (shifted columns)"
    if not all(fields):
        return "a needed field is empty"
    clicks, spent, converted = (
        _number(name, line, column, text) for column, text in zip(COLUMNS[3:], texts, strict=True)
    )
    if clicks == 0.0:
        return "no clicks"
    if spent == 0.0:
        return "nothing spent"
    if converted > clicks:
        return "more conversions than clicks"
    return _Ad(line, (campaign, age, gender), converted / clicks, spent / clicks)


def _number(name: str, line: int, column: str, text: str) -> float:
    # not float(text) alone: it takes 1_000, nan and infinity
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not 0.0 <= value < math.inf:
        raise InvalidData(
            f"{name}, line {line}: {column} must be a number, 0 or more, got {text!r};"
            " mend the line or take it out"
        )
    return value
