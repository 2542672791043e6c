"""Words that users give: checked before they go into a log that must be readable for ever."""

from __future__ import annotations

from bursar.errors import InvalidInput

__all__ = ["safe", "words"]


def words(name: str, value: str, least: int = 0, most: int = 1000) -> str:
    """Return a text that a log can keep; refuse what is none, is too long or cannot be written."""
    if not isinstance(value, str) or not least <= len(value) <= most or safe(value) != value:
        raise InvalidInput(f"{name} must be a text of {least} to {most} characters, got {value!r}")
    return value


def safe(text: str) -> str:
    r"""Return a text with whatever UTF-8 cannot write spelt out.

    >>> safe("half a pair: " + chr(0xD83D))
    'half a pair: \\ud83d'
    """
    return text.encode(errors="backslashreplace").decode()
