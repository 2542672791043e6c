"""A call of the service: what is sent, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote, urlencode

from bursar.errors import InvalidInput

__all__ = ["Answer", "Call", "content_of", "path_of"]

T = TypeVar("T")


class Answer(NamedTuple):
    """A response that says yes."""

    data: Any
    replayed: bool


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request as it is meant.

    Attributes
    ----------
    method, path : str
        Of HTTP.
    read : callable
        Makes the result of the answer.
    body, query, headers : mapping
        What it says; members that are None are left out.
    again : bool
        Whether sending it twice does what sending it once does. If not, it is not sent again after
        a failure that leaves open whether it arrived.
    """

    method: str
    path: str
    read: Callable[[Answer], T]
    body: Mapping[str, Any] | None = None
    query: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = True

    @property
    def address(self) -> str:
        """Path and query."""
        said = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(said)}" if said else self.path


def path_of(*parts: str, verb: str = "") -> str:
    """Return a path of the API; whatever names contain is quoted.

    >>> path_of("campaigns", "a/b", verb="pause")
    '/v1/campaigns/a%2Fb:pause'
    """
    return "/v1/" + "/".join(quote(one, safe="") for one in parts) + (f":{verb}" if verb else "")


def content_of(body: Mapping[str, Any] | None) -> bytes:
    """Return a body as JSON: money as text, nothing that JSON does not have.

    >>> content_of({"cost": Decimal("1E-2"), "reward": 1.0, "rounding": None})
    b'{"cost":"0.01","reward":1.0}'
    """
    if body is None:
        return b""
    said = {name: value for name, value in body.items() if value is not None}
    try:
        return json.dumps(said, default=_text, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"cannot be sent as JSON: {error}, in {said!r}") from None


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return f"{value:f}"
    raise TypeError(f"{type(value).__name__} is no plain data")
