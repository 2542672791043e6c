"""Read the Facebook ads of the paper, checked line by line.

Lemsalu (2017). Facebook ad campaign.
https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign (data.csv)

bursar does not ship it. In 382 of its 1143 lines the two campaign columns are missing and the
other values stand two columns too far left; such lines are left out, and counted.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import re
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bursar.errors import InvalidData, MissingData
from bursar.files import data_folder
from bursar.settings.csv_table import read_content, read_rows
from bursar.validation import Floats

__all__ = [
    "COLUMNS",
    "AdCampaign",
    "Ads",
    "Exclusions",
    "data_folder",
    "find_file",
    "keep_file",
    "load",
    "load_kept",
    "parse",
]

# ==== settings.ads
# Ads: what a click on each cost and brought, and the campaigns they make up.

Key = tuple[str, str, str]
_SHOWN = 5  # line numbers kept a reason


@dataclass
class Exclusions:
    """How many lines were left out, by reason, and where the first few are."""

    counts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)

    def add(self, line: int, reason: str) -> None:
        """Count a line."""
        self.counts[reason] = self.counts.get(reason, 0) + 1
        first = self.lines.setdefault(reason, [])
        if len(first) < _SHOWN:
            first.append(line)


@dataclass(frozen=True, eq=False)
class AdCampaign:
    """The ads of one campaign for one age and gender, as arms with means in (0, 1), best first."""

    name: str
    reward: Floats
    cost: Floats

    @property
    def arms(self) -> int:
        """Number of ads."""
        return int(self.reward.size)


@dataclass(frozen=True, eq=False)
class Ads:
    """The usable ads of a file, in its order, and what was left out and why.

    Attributes
    ----------
    key : list of (str, str, str)
        Campaign, age and gender of each ad.
    reward, cost : ndarray
        Conversions and money spent a click, of each ad.
    excluded : dict of str to int
        How many lines were left out, by reason.
    lines : dict of str to list of int
        The first few lines left out, by reason.
    """

    key: list[Key]
    reward: Floats = field(repr=False)
    cost: Floats = field(repr=False)
    excluded: dict[str, int]
    lines: dict[str, list[int]]

    def __len__(self) -> int:
        return len(self.key)

    def digest(self) -> str:
        """Return a short name for the content, to tell results of other ads apart."""
        content = hashlib.sha256(repr(self.key).encode())
        content.update(self.reward.tobytes() + self.cost.tobytes())
        return content.hexdigest()[:20]

    def campaigns(self) -> list[AdCampaign]:
        """Group the ads by campaign, age and gender, in sorted order."""
        members: defaultdict[Key, list[int]] = defaultdict(list)
        for position, key in enumerate(self.key):
            members[key].append(position)
        return [
            AdCampaign("/".join(key), *_as_arms(self.reward[at], self.cost[at]))
            for key, at in sorted(members.items(), key=lambda item: _order(item[0]))
        ]


def _order(key: Key) -> tuple[bool, int, Key]:
    # 916 comes before 1178, as numbers do; ids that are not numbers come after those that are
    number = key[0].isdecimal()
    return (not number, int(key[0]) if number else 0, key)


def _as_arms(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Scale to (0, 1) and sort as the authors of the paper do (docs/deviations.md, row 12)."""
    reward = np.where(reward == 0.0, 0.01, reward)  # before scaling, in conversions a click
    reward, cost = reward / reward.max() * 0.99, cost / cost.max() * 0.99
    # stable: ads with equal ratios keep the order of the file on every machine
    order = np.argsort(cost / reward, kind="stable")
    return reward[order], cost[order]


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
    return parse(read_content(path), Path(path).name)


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
    for line, fields in read_rows(data, name, COLUMNS, _ALIASES):
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


# ==== settings.store
# The user's own copy of data that bursar may not ship.

_FILE = "facebook_ads.csv"
_HOW = (
    "get data.csv of 'Facebook ad campaign' by Madis Lemsalu"
    " (https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign),"
    " then run: bursar data facebook-ads --from FILE"
)


def keep_file(source: str | PathLike[str]) -> Path:
    """Check a CSV or ZIP file of Facebook ads, keep the CSV for later commands, say where.

    The copy is written under another name first, so that there is a whole file or none.
    """
    data = read_content(source)
    parse(data, Path(source).name)
    target = data_folder() / _FILE
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{_FILE}.")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(temporary, target)  # noqa: PTH105 - both are plain names here
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
            raise
    except OSError as error:
        raise InvalidData(
            f"cannot write {str(target)!r}: {error.strerror};"
            " set BURSAR_DATA to a folder that can be written"
        ) from error
    return target


def find_file(path: str | PathLike[str] | None = None) -> Path:
    """Return the file of Facebook ads: the given path, or the kept copy; or say how to get it."""
    if path is not None:
        given = Path(path)
        if not given.is_file():
            raise MissingData(f"no file {str(path)!r}; {_HOW}")
        return given
    copy = load_kept()
    if copy is None:
        raise MissingData(f"no Facebook ads in {str(data_folder())!r}; {_HOW}")
    return copy


def load_kept() -> Path | None:
    """Return the kept copy of the ads, if there is one."""
    copy = data_folder() / _FILE
    return copy if copy.is_file() else None
