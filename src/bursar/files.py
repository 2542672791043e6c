"""Files that are written completely or not at all, and the folder for stored data."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from platformdirs import user_data_path

from bursar.errors import BursarError, InvalidInput, StorageUnavailable


def data_folder() -> Path:
    """Return the folder for stored data: ``BURSAR_DATA``, or the user's data folder."""
    chosen = os.environ.get("BURSAR_DATA")
    return Path(chosen).expanduser() if chosen else user_data_path("bursar")


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; rename it to ``path`` if the block succeeds.

    Examples
    --------
    >>> with replace_file(Path("numbers.txt")) as partial:
    ...     _ = partial.write_text("1 2 3")
    >>> Path("numbers.txt").read_text()
    '1 2 3'
    >>> Path("numbers.txt").unlink()
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{uuid4().hex[:12]}.part{path.suffix}")
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())  # the content must reach the disk before the name
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """Make a folder for results; raise InvalidInput if it cannot be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "it is not writable")
    except OSError as error:
        raise InvalidInput(
            f"cannot use {str(path)!r} for results: {error.strerror};"
            " pass a folder that you can write to with --out"
        ) from error
    return path


@contextmanager
def explain_full_disk(folder: Path) -> Iterator[None]:
    """Raise StorageUnavailable with the way out if results cannot be written to a folder."""
    try:
        yield
    except BursarError:
        raise
    except OSError as error:
        raise StorageUnavailable(
            f"cannot write to {str(folder)!r}: {error.strerror or error}; units that were finished"
            " before are stored: make room, then run the same command again"
        ) from error


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner may read, unless the file exists."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
