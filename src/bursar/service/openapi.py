"""The OpenAPI 3.1 document of the service, made of the same list as its routes."""

from __future__ import annotations

import re
import types
import typing
from typing import Any

import msgspec

from bursar.service.operation import Operation, OperationLink, Parameter
from bursar.service.operations import OPERATIONS
from bursar.service.responses import PROBLEM_KINDS
from bursar.service.schemas import ProblemBody
from bursar.version import __version__

__all__ = ["make_document"]

_REF = "#/components/schemas/{name}"
_KEYED = ("unauthenticated", "forbidden")
_EVERY = ("malformed", "invalid", "bad-host", "rate-limited", "internal", "storage-unavailable",
          "storage-in-use", "corrupt-ledger")  # fmt: skip
_BODY = ("too-large", "unsupported-media-type")
_PATH = {
    "campaign": "Name of a campaign",
    "id": "Id of a decision",
    "arm": "Key of an arm",
    "key": "Id of a key",
}


def make_document() -> dict[str, Any]:
    """Return the document."""
    schemas = _Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bursar",
            "version": __version__,
            "summary": "Campaigns that spend a budget where it brings most",
            "description": "Money is decimal text. Every error is a problem of RFC 9457, with a"
            " `code` that programs can compare. Asks and outcomes are idempotent by the caller's"
            " ids.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas.found(),
            "responses": _problems(),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "bursar_ID_SECRET"}
            },
        },
    }


class _Schemas:
    """Schemas of the types that were asked for."""

    def __init__(self) -> None:
        self._types: list[Any] = [ProblemBody]

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type, which refers to those of its parts."""
        parts = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        self._types.extend(parts)
        refs, _ = msgspec.json.schema_components(parts, ref_template=_REF)
        return refs[0] if len(refs) == 1 else {"anyOf": list(refs)}

    def found(self) -> dict[str, Any]:
        """Return all of them by name."""
        _, components = msgspec.json.schema_components(self._types, ref_template=_REF)
        return dict(sorted(components.items()))


def _operation(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [
            *(_path(name) for name in re.findall(r"{(\w+)}", one.path)),
            *map(_parameter, one.parameters),
        ],
        "responses": _responses(one, schemas),
        "security": [] if one.scope is None else [{"key": []}],
    }
    if one.scope is not None:
        found["description"] = f"Needs a key with the scope `{one.scope}`."
    if one.takes is not None:
        content = {"application/json": {"schema": schemas.of(one.takes)}}
        needed = any(field.required for field in msgspec.structs.fields(one.takes))
        found["requestBody"] = {"content": content, "required": needed}
    return found


def _path(name: str) -> dict[str, Any]:
    return {
        "name": name, "in": "path", "required": True, "description": _PATH[name],
        "schema": {"type": "string", "minLength": 1, "maxLength": 128},
    }  # fmt: skip


def _parameter(one: Parameter) -> dict[str, Any]:
    return {
        "name": one.name, "in": one.where, "required": one.required,
        "description": one.description, "schema": dict(one.schema),
    }  # fmt: skip


def _responses(one: Operation, schemas: _Schemas) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, kind in sorted(one.gives.items()):
        found[str(status)] = {"description": _WORDS[status], "content": _content(kind, schemas)}
        if one.headers:
            found[str(status)]["headers"] = {
                name: {"description": word, "schema": {"type": "string"}}
                for name, word in one.headers.items()
            }
        links = {link.to: _link(link) for link in one.links if link.status == status}
        if links:
            found[str(status)]["links"] = links
    codes = {*_EVERY, *one.codes, *(_KEYED if one.scope else ()), *(_BODY if one.takes else ())}
    for status in sorted({PROBLEM_KINDS[code].status for code in codes}):
        which = sorted(code for code in codes if PROBLEM_KINDS[code].status == status)
        found[str(status)] = {
            "$ref": f"#/components/responses/Problem{status}",
            "description": ", ".join(which),
        }
    return found


def _content(kind: Any, schemas: _Schemas) -> dict[str, Any]:
    if not isinstance(kind, str):
        return {"application/json": {"schema": schemas.of(kind)}}
    return {media: {"schema": _TEXTS.get(media, {})} for media in kind.split(", ")}


_PARTS = {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}}
_TEXTS = {
    "text/plain": {"type": "string"},
    "text/event-stream": {"type": "object", "properties": _PARTS},  # of one event
}


def _problems() -> dict[str, Any]:
    """Return the answers that are problems, one a status."""
    found: dict[str, Any] = {}
    for status in sorted({kind.status for kind in PROBLEM_KINDS.values()}):
        answer: dict[str, Any] = {
            "description": ", ".join(
                code for code in PROBLEM_KINDS if PROBLEM_KINDS[code].status == status
            ),
            "content": {
                "application/problem+json": {
                    "schema": {"$ref": _REF.format(name=ProblemBody.__name__)}
                }
            },
        }
        if status in (429, 503):
            wait = {"description": "Seconds to wait", "schema": {"type": "integer"}}
            answer["headers"] = {"Retry-After": wait}
        found[f"Problem{status}"] = answer
    return found


_WORDS = {200: "Done", 201: "Made"}


def _link(one: OperationLink) -> dict[str, Any]:
    return {"operationId": one.to, "parameters": dict(one.parameters)}
