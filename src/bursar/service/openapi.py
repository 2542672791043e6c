"""The OpenAPI 3.1 document of the service, made from the operations that it routes."""

import re
import tomllib
import types
import typing
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import msgspec

from bursar.service.operation import Operation
from bursar.service.responses import PROBLEM_KINDS
from bursar.service.routes import OPERATIONS
from bursar.service.schemas import ProblemBody
from bursar.version import __version__

_TEXTS = tomllib.loads(files(__package__).joinpath("openapi.toml").read_text(encoding="utf-8"))
_REF = "#/components/schemas/{name}"
_KEYED = ("unauthenticated", "forbidden")
_EVERY = ("malformed", "invalid", "bad-host", "rate-limited", "internal", "storage-unavailable",
          "storage-in-use", "corrupt-ledger")  # fmt: skip
_BODY = ("too-large", "unsupported-media-type")
_NAME = {"type": "string", "minLength": 1, "maxLength": 128}


def make_document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
    document: dict[str, Any] = _TEXTS["document"]
    return document | {
        "info": document["info"] | {"version": __version__},
        "paths": paths,
        "components": document["components"] | {"schemas": _schemas(), "responses": _problems()},
    }


def _schemas() -> dict[str, Any]:
    """Return the schemas of all types of bodies by name."""
    kinds = [kind for one in OPERATIONS for kind in one.gives.values() if not isinstance(kind, str)]
    kinds += [one.takes for one in OPERATIONS if one.takes_body]
    members = [ProblemBody, *(member for kind in kinds for member in _members(kind))]
    _, components = msgspec.json.schema_components(members, ref_template=_REF)
    return dict(sorted(components.items()))


def _refer(kind: Any) -> dict[str, Any]:
    """Return a schema that refers to the one of a type."""
    refs, _ = msgspec.json.schema_components(_members(kind), ref_template=_REF)
    return refs[0] if len(refs) == 1 else {"anyOf": list(refs)}


def _members(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)


def _operation(one: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": list(_parameters(one)),
        "responses": _responses(one),
        "security": [] if one.scope is None else [{"key": []}],
    }
    if one.scope is not None:
        found["description"] = f"Requires a key with the scope `{one.scope}`."
    if one.takes_body:
        content = {"application/json": {"schema": _refer(one.takes)}}
        required = any(field.required for field in msgspec.structs.fields(one.takes))
        found["requestBody"] = {"content": content, "required": required}
    return found


def _parameters(one: Operation) -> Iterator[dict[str, Any]]:
    for name in re.findall(r"{(\w+)}", one.path):
        text = _TEXTS["path"][name]
        yield {"name": name, "in": "path", "required": True, "schema": _NAME, "description": text}
    headers = {text["name"]: text for code, text in _TEXTS["header"].items() if code in one.codes}
    for text in headers.values():
        yield {"in": "header", "required": False} | text
    if one.takes is not None and not one.takes_body:
        for field in msgspec.structs.fields(one.takes):
            schema = msgspec.json.schema(field.type)
            if "enum" in schema:  # msgspec sorts the words and leaves their type out
                words = typing.get_args(typing.get_args(field.type)[0])
                schema |= {"type": "string", "enum": list(words)}
            yield {
                "name": field.encode_name,
                "in": "header" if field.encode_name[0].isupper() else "query",
                "required": False,
                "description": schema.pop("description"),
                "schema": schema,
            }


def _responses(one: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for status, kind in sorted(one.gives.items()):
        if isinstance(kind, str):
            media = {name: {"schema": _TEXTS["media"].get(name, {})} for name in kind.split(", ")}
        else:
            media = {"application/json": {"schema": _refer(kind)}}
        text = _TEXTS["status"][str(status)]
        answer = found[str(status)] = {"description": text, "content": media}
        if one.response_headers:
            answer["headers"] = {
                name: {"description": _TEXTS["response_header"][name], "schema": {"type": "string"}}
                for name in one.response_headers
            }
        if status == 201 and one.name in _TEXTS["link"]:
            answer["links"] = {
                name: {"operationId": name, "parameters": parameters}
                for name, parameters in _TEXTS["link"][one.name].items()
            }
    codes = {*_EVERY, *one.codes, *(_KEYED if one.scope else ()), *(_BODY * one.takes_body)}
    if "{campaign}" in one.path:
        codes.add("unknown-campaign")
    elif "{id}" in one.path:
        codes.add("ambiguous-decision")
    for status in sorted({PROBLEM_KINDS[code].status for code in codes}):
        which = sorted(code for code in codes if PROBLEM_KINDS[code].status == status)
        found[str(status)] = {
            "$ref": f"#/components/responses/Problem{status}",
            "description": ", ".join(which),
        }
    return found


def _problems() -> dict[str, Any]:
    """Return the responses that are problems, one for each status."""
    found: dict[str, Any] = {}
    schema = {"$ref": _REF.format(name=ProblemBody.__name__)}
    for status in sorted({kind.status for kind in PROBLEM_KINDS.values()}):
        codes = [code for code, kind in PROBLEM_KINDS.items() if kind.status == status]
        answer: dict[str, Any] = {
            "description": ", ".join(codes),
            "content": {"application/problem+json": {"schema": schema}},
        }
        if status in (429, 503):
            wait = {"description": "Seconds to wait", "schema": {"type": "integer"}}
            answer["headers"] = {"Retry-After": wait}
        found[f"Problem{status}"] = answer
    return found
