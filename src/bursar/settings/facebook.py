"""Read the Facebook ads of the paper, with every line checked.

Lemsalu (2017). Facebook ad campaign.
https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign (data.csv)

bursar does not ship the file, so users keep a copy of their own. In 382 of its 1143 lines the two
campaign columns are missing and the other values are shifted two columns to the left; such lines
are left out and counted.
"""

import hashlib
import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bursar import csv_table
from bursar.arrays import Floats
from bursar.errors import InvalidData, MissingData
from bursar.files import data_folder, replace_file
from bursar.problems import Bernoulli

COLUMNS = ("campaign_id", "age", "gender", "clicks", "spent", "total_conversion")
_ALIASES = {"xyz_campaign_id": "campaign_id"}  # the name in KAG_conversion_data.csv
_AGE = re.compile(r"\d{1,3}\s*[-–]\s*\d{1,3}|\d{1,3}\+")
_GENDERS = {"m", "f", "u", "male", "female", "unknown"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_FILE = "facebook_ads.csv"
_HOW = (
    "download data.csv of 'Facebook ad campaign' by Madis Lemsalu"
    " (https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign),"
    " then run: bursar data facebook-ads --from FILE"
)


class AdRow(NamedTuple):
    """The totals of an ad over one or more lines of a file, and the group it belongs to."""

    lines: tuple[int, ...]
    group: tuple[str, ...]
    arm: tuple[str, ...]
    clicks: float
    cost: float
    reward: float


@dataclass(frozen=True, eq=False)
class Ads:
    """The usable ads of a file, in its order, and the lines that were left out."""

    key: list[tuple[str, ...]]  # campaign, age and gender of each ad
    reward: Floats = field(repr=False)  # conversions per click
    cost: Floats = field(repr=False)  # money spent per click
    left_out: csv_table.Exclusions

    def __len__(self) -> int:
        return len(self.key)

    def digest(self) -> str:
        """Return a digest of the ads, which distinguishes results of different files."""
        content = hashlib.sha256(repr(self.key).encode())
        content.update(self.reward.tobytes() + self.cost.tobytes())
        return content.hexdigest()[:20]

    def campaigns(self) -> list[Bernoulli]:
        """Return a problem per campaign, age and gender, in sorted order; its arms are the ads."""
        members: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for position, key in enumerate(self.key):
            members[key].append(position)
        return [
            Bernoulli(*_scale_to_arms(self.reward[at], self.cost[at]), "/".join(key))
            for key, at in sorted(members.items(), key=lambda item: _sort_key(item[0]))
        ]


def _sort_key(key: tuple[str, ...]) -> tuple[bool, int, tuple[str, ...]]:
    # 916 comes before 1178, as numbers do; ids that are not numbers come last
    number = key[0].isdecimal()
    return (not number, int(key[0]) if number else 0, key)


def _scale_to_arms(reward: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Scale to (0, 1) and sort as the authors of the paper do (docs/deviations.md, row 12)."""
    reward = np.where(reward == 0.0, 0.01, reward)  # before scaling, in conversions per click
    reward, cost = reward / reward.max() * 0.99, cost / cost.max() * 0.99
    # stable: ads with equal ratios keep the order of the file on every machine
    order = np.argsort(cost / reward, kind="stable")
    return reward[order], cost[order]


def load(path: str | PathLike[str]) -> Ads:
    """Read the ads of a CSV or ZIP file; see :func:`parse` for what is refused or left out."""
    return parse(csv_table.read_content(path), Path(path).name)


def parse(data: bytes, name: str = "the file") -> Ads:
    """Read ads from the bytes of a CSV file that has the columns of ``COLUMNS``.

    A file that is not a table of ads is refused, with the line at fault. Ads without clicks or
    spend, with more than one conversion per click, or alone in their campaign are left out and
    counted by reason. ``name`` is what errors call the file.

    Examples
    --------
    >>> ads = parse(b'''campaign_id,age,gender,clicks,spent,total_conversion
    ... 916,30-34,M,10,12.5,2
    ... 916,30-34,M,4,5,1
    ... 916,30-34,M,0,0,0
    ... ''')
    >>> ads.cost.tolist(), ads.left_out.counts
    ([1.25, 1.25], {'no clicks': 1})
    >>> [(c.name, c.arms) for c in ads.campaigns()]
    [('916/30-34/M', 2)]
    """
    table = csv_table.parse_table(data, name, COLUMNS, _ALIASES)
    left_out = csv_table.Exclusions()
    ads = list(left_out.parse_rows(table.rows, partial(_parse_ad, table)))
    sizes = Counter(ad.group for ad in ads)
    for ad in ads:
        if sizes[ad.group] < 2:
            left_out.add(ad.lines[0], "the only ad of its campaign, age and gender")
    ads = [ad for ad in ads if sizes[ad.group] >= 2]
    if not ads:
        why = ", ".join(f"{reason}: {count}" for reason, count in left_out.counts.items())
        raise InvalidData(
            f"no usable ad in {name} ({why or 'no line below the header'}); is it the right file?"
        )
    reward, cost = np.array([(ad.reward / ad.clicks, ad.cost / ad.clicks) for ad in ads]).T
    return Ads([ad.group for ad in ads], reward, cost, left_out)


def _parse_ad(table: csv_table.CsvTable, row: csv_table.CsvRow) -> AdRow:
    if not table.is_complete(row):
        raise InvalidData(
            f"{table.name}, line {row.line}: {len(row.fields)} fields where the header has"
            f" {len(table.header.fields)}; correct or remove the line"
        )
    fields = [row.fields[position] for position in table.positions(COLUMNS).values()]
    campaign, age, gender, *texts = fields
    shifted = not _AGE.fullmatch(age) or gender.casefold() not in _GENDERS
    if all(fields[:3]) and shifted:
        raise csv_table.UnusableRow("age or gender is something else (shifted columns)")
    if not all(fields):
        raise csv_table.UnusableRow("a required field is empty")
    values = []
    for column, text in zip(COLUMNS[3:], texts, strict=True):
        # not float(text) alone, which accepts 1_000, nan and infinity
        value = float(text) if _NUMBER.fullmatch(text) else math.nan
        if not 0.0 <= value < math.inf:
            raise InvalidData(
                f"{table.name}, line {row.line}: {column} must be a number, 0 or more, got"
                f" {text!r}; correct or remove the line"
            )
        values.append(value)
    clicks, spent, converted = values
    if clicks == 0.0:
        raise csv_table.UnusableRow("no clicks")
    if spent == 0.0:
        raise csv_table.UnusableRow("nothing spent")
    if converted > clicks:
        raise csv_table.UnusableRow("more conversions than clicks")
    return AdRow((row.line,), (campaign, age, gender), (), clicks, spent, converted)


def keep_file(source: str | PathLike[str]) -> Path:
    """Check a CSV or ZIP file of Facebook ads, copy the CSV to the data folder, return its path."""
    data = csv_table.read_content(source)
    parse(data, Path(source).name)
    target = data_folder() / _FILE
    try:
        with replace_file(target) as partial:
            partial.write_bytes(data)
    except OSError as error:
        raise InvalidData(
            f"cannot write {str(target)!r}: {error.strerror};"
            " set BURSAR_DATA to a folder that can be written"
        ) from error
    return target


def find_file(path: str | PathLike[str] | None = None) -> Path:
    """Return the given file of Facebook ads, or the kept copy; raise MissingData without one."""
    found = find_kept_file() if path is None else Path(path)
    if found is None:
        raise MissingData(f"no Facebook ads in {str(data_folder())!r}; {_HOW}")
    if not found.is_file():
        raise MissingData(f"no file {str(path)!r}; {_HOW}")
    return found


def find_kept_file() -> Path | None:
    """Return the copy of the ads in the data folder, if there is one."""
    copy = data_folder() / _FILE
    return copy if copy.is_file() else None
