"""What only a service refuses: calls that cannot be understood, found or waited for."""

from __future__ import annotations

from typing import Any

from bursar.errors import BursarError

__all__ = ["Refused"]


class Refused(BursarError, ValueError):
    """A call that HTTP itself gives a reason to refuse; ``code`` says which.

    Parameters
    ----------
    code : str
        A row of the table of problems.
    message : str
        What was wrong, the value got, and the way out.
    **extra
        More members of the problem.
    """

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.extra = extra
