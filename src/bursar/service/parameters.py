"""Parameters that several operations take: of the query, and headers."""

from __future__ import annotations

from typing import Any

from bursar.service.operation import Parameter

__all__ = [
    "AFTER", "AFTER_NAME", "BY", "DAYS", "FORMAT", "IF_MATCH", "IF_MATCH_REQUIRED", "KEY", "KIND",
    "LAST", "OPEN_ONLY", "POINTS", "TIMEOUT", "WHY", "limit",
]  # fmt: skip

_WHOLE: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 10**17}
_FLAG: dict[str, Any] = {"type": "string", "enum": ["true", "false"]}
_VERSION: dict[str, Any] = {"type": "string", "examples": ['"7"', "*"], "pattern": r'^("\d+"|\*)$'}

AFTER = Parameter("after", _WHOLE, "Only what comes after this number")
AFTER_NAME = Parameter("after", {"type": "string", "maxLength": 100}, "Only names after this one")
KIND = Parameter(
    "kind", {"type": "array", "items": {"type": "string"}}, "Only events of these kinds"
)
OPEN_ONLY = Parameter("open", _FLAG, "Only decisions that wait for their outcome")
WHY = Parameter("why", _FLAG, "With what was known when the decision was made")
DAYS = Parameter(
    "days",
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 10**6},
    "How far to look ahead",
)
POINTS = Parameter("points", {"type": "integer", "minimum": 2, "maximum": 2000}, "At most so many")
FORMAT = Parameter(
    "format", {"type": "string", "enum": ["jsonl", "csv", "parquet"]}, "What kind of file"
)
BY = Parameter("by", {"type": "string", "maxLength": 500}, "Whom the key acts for, for the log")
IF_MATCH = Parameter(
    "If-Match", _VERSION, "Only if this is still the version of the campaign", "header"
)
IF_MATCH_REQUIRED = Parameter(
    "If-Match", _VERSION, "The version that this is a change of, or *", "header", required=True
)
KEY = Parameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]+$"},
    "The caller's own id: the same again gets the same answer",
    "header",
)
TIMEOUT = Parameter(
    "Request-Timeout",
    {"type": "number", "exclusiveMinimum": 0, "maximum": 3600},
    "Seconds after which the call is dropped if it is still in line",
    "header",
)
LAST = Parameter("Last-Event-ID", _WHOLE, "The last event that was seen", "header")


def limit(most: int) -> Parameter:
    """Return the parameter for how many to return."""
    return Parameter("limit", {"type": "integer", "minimum": 1, "maximum": most}, "At most so many")
