"""Logs: a line of JSON an event on stderr, with request and decision, and never a secret.

Whatever looks like a token, a session or a password in a URL is cut out of every line, wherever it
came from.
"""

from __future__ import annotations

import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

import msgspec

from bursar.errors import InvalidInput, nearest

__all__ = ["ACCESS", "LEVELS", "REQUEST", "Lines", "scrubbed", "set_up"]

LEVELS = ("debug", "info", "warning", "error")
REQUEST: ContextVar[str] = ContextVar("bursar.request", default="")
"""Id of the request that is being served; it is in every line that is logged meanwhile."""

ACCESS = logging.getLogger("bursar.access")
_FIELDS = ("request_id", "key", "campaign", "decision")
_SECRETS = re.compile(
    r"(bursar_[a-z0-9]{1,32}_)[\w-]{43}"  # tokens
    r"|(bursar_session=)[^\s;\"\\]+"  # cookies
    r"|(://[^\s/:@\"\\]*:)[^\s/@\"\\]+(?=@)"  # passwords in URLs
    r"|((?<![\w])[Bb]earer )[^\s\"\\]+"
)


_ENCODER = msgspec.json.Encoder(enc_hook=repr)


def scrubbed(text: str) -> str:
    """Return a text without secrets.

    >>> scrubbed("lost postgresql://ada:secret@db/spend")
    'lost postgresql://ada:…@db/spend'
    """
    if "bursar_" in text or "://" in text or "earer " in text:  # the pattern itself is slow
        return _SECRETS.sub(lambda found: f"{found[found.lastindex or 0]}…", text)
    return text


class Lines(logging.Formatter):
    """Records as lines of JSON; ``facts`` of a record are members of their own."""

    def __init__(self) -> None:
        super().__init__()
        self._second = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as JSON in one line."""
        facts: dict[str, object] = {
            "time": self._time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if record.args else record.msg,
        }
        have = record.__dict__
        if "facts" in have:
            facts.update(have["facts"])
        else:
            facts.update((name, have[name]) for name in _FIELDS if have.get(name))
            if "request_id" not in facts and (request := REQUEST.get()):
                facts["request_id"] = request
        if record.exc_info:
            facts["exception"] = self.formatException(record.exc_info)
        return scrubbed(_ENCODER.encode(facts).decode())

    def _time(self, seconds: float) -> str:
        second, text = self._second
        if second != int(seconds):
            second = int(seconds)
            text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            self._second = second, text
        return f"{text}.{int((seconds - second) * 1000):03d}Z"


def set_up(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Send what bursar and its server log to stderr as JSON; return the handler."""
    if level not in LEVELS:
        raise InvalidInput(f"no log level {level!r}{nearest(level, LEVELS)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    for name in ("bursar", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
    for name in ("uvicorn.error", "uvicorn.asgi"):
        logging.getLogger(name).handlers[:] = []
    logging.getLogger("uvicorn.access").disabled = True  # the guard's lines say more
    return handler
