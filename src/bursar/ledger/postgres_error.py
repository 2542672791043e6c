"""What can go wrong with a PostgreSQL server, in bursar's words; also where psycopg is missed."""

from __future__ import annotations

from bursar.errors import BursarError, MissingExtra, StorageInUse, StorageUnavailable

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise MissingExtra(
        "postgresql:// needs psycopg, which is not installed; pip install 'bursar[postgres]'"
    ) from None

__all__ = ["Lost", "Refused", "failure", "place_of", "said"]

_BUSY = "55P03"  # the lock was not to be had in time


class Lost(Exception):
    """The server cannot be reached or is gone; whether it did what it was told is unknown."""


class Refused(Exception):
    """The server says no; of what it was told together with that, it did nothing."""


def failure(place: str, error: Exception) -> BursarError:
    """Return what an error of the server or of the line to it means to a user."""
    cause = error if isinstance(error, psycopg.Error) else error.__cause__
    if isinstance(cause, psycopg.Error) and cause.sqlstate == _BUSY:
        return StorageInUse(
            f"{place} was busy: another process keeps the campaign ({said(error)});"
            " see pg_stat_activity, and try again"
        )
    return StorageUnavailable(
        f"{place} could not be read or written: {said(error)}; nothing was acknowledged,"
        " try again when the server is well"
    )


def said(error: Exception) -> str:
    """Return the words of an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def place_of(url: str) -> str:
    """Return a URL without its password and options, for messages.

    >>> place_of("postgresql://ada:secret@db.example:5433/spend?sslmode=require")
    'postgresql://ada@db.example:5433/spend'
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error as error:
        raise StorageUnavailable(
            f"the URL of the PostgreSQL ledger cannot be read: {said(error)}"
        ) from None
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"
