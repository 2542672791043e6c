"""An operation: one method of one address, what it does, and what its document says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import ASGIApp

if TYPE_CHECKING:
    from bursar.service.service import Service

__all__ = ["Handler", "Link", "Operation", "Parameter"]

Handler = Callable[["Service", Request], Awaitable[ASGIApp]]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the query or a header, as OpenAPI has it."""

    name: str
    schema: Mapping[str, Any]
    description: str
    where: str = "query"
    required: bool = False


@dataclass(frozen=True)
class Link:
    """Where an answer leads: an operation, and which of its parameters come from the answer."""

    to: str
    parameters: Mapping[str, str]
    status: int = 200


@dataclass(frozen=True)
class Operation:
    """What a method of an address does.

    Attributes
    ----------
    name : str
        Its operationId.
    method, path : str
        As in "POST" and "/v1/campaigns/{campaign}".
    run : callable
        Takes service and request, returns the answer.
    summary : str
        What it does, in a line.
    scope : str or None
        What a key needs; None: it needs no key.
    takes, gives : type or None
        Body of the request; bodies of the answers by status, or a media type for what is no JSON.
    codes : tuple of str
        Problems it may answer with, beside those of all.
    parameters : tuple of Parameter
        Of the query, and headers.
    links : tuple of Link
        Where answers lead.
    headers : mapping
        Headers of the answers, with a word on each.
    """

    name: str
    method: str
    path: str
    run: Handler
    summary: str
    scope: str | None
    gives: Mapping[int, Any]
    takes: Any = None
    codes: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    links: tuple[Link, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
