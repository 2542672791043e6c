"""The user's own copy of data that bursar may not ship."""

from __future__ import annotations

import contextlib
import os
import tempfile
from os import PathLike
from pathlib import Path

from platformdirs import user_data_path

from bursar.errors import InvalidData, MissingData
from bursar.settings.facebook import parse
from bursar.settings.sheet import content

__all__ = ["find", "folder", "keep", "kept"]

_FILE = "facebook_ads.csv"
_HOW = (
    "get data.csv of 'Facebook ad campaign' by Madis Lemsalu"
    " (https://www.kaggle.com/datasets/madislemsalu/facebook-ad-campaign),"
    " then run: bursar data facebook-ads --from FILE"
)


def folder() -> Path:
    """Return the folder of kept data: ``BURSAR_DATA``, or the user's data folder."""
    chosen = os.environ.get("BURSAR_DATA")
    return Path(chosen).expanduser() if chosen else user_data_path("bursar")


def keep(source: str | PathLike[str]) -> Path:
    """Check a CSV or ZIP file of Facebook ads, keep the CSV for later commands, say where.

    The copy is written under another name first, so that there is a whole file or none.
    """
    data = content(source)
    parse(data, Path(source).name)
    target = folder() / _FILE
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


def find(path: str | PathLike[str] | None = None) -> Path:
    """Return the file of Facebook ads: the given path, or the kept copy; or say how to get it."""
    if path is not None:
        given = Path(path)
        if not given.is_file():
            raise MissingData(f"no file {str(path)!r}; {_HOW}")
        return given
    copy = kept()
    if copy is None:
        raise MissingData(f"no Facebook ads in {str(folder())!r}; {_HOW}")
    return copy


def kept() -> Path | None:
    """Return the kept copy of the ads, if there is one."""
    copy = folder() / _FILE
    return copy if copy.is_file() else None
