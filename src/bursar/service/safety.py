"""Headers that make browsers careful with what a service sends."""

from __future__ import annotations

__all__ = ["PAGES", "headers_for"]

Headers = list[tuple[bytes, bytes]]

PAGES = (
    b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none';"
    b" form-action 'self'; frame-ancestors 'none'"
)
"""What pages may load: files of this service and nothing else, no script or style inside a page."""

_API = b"default-src 'none'; frame-ancestors 'none'"
_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_DENY = (b"x-frame-options", b"DENY")
_API_HEADERS = (*_ALWAYS, (b"content-security-policy", _API), _DENY)
_PAGE_HEADERS = (*_ALWAYS, (b"content-security-policy", PAGES), _DENY)
_TOO_LARGE = 413
_NO_STORE = (b"cache-control", b"no-store")


def headers_for(path: str, status: int, headers: Headers, request_id: str) -> Headers:
    """Return the headers of a response with ours; a policy or caching of its own is kept."""
    named = {name for name, _ in headers}
    ours: tuple[tuple[bytes, bytes], ...]
    if b"content-security-policy" in named:
        ours = _ALWAYS
    else:
        ours = _API_HEADERS if path.startswith("/v1/") else _PAGE_HEADERS
    found = [*headers, *ours, (b"x-request-id", request_id.encode())]
    if b"cache-control" not in named:
        found.append(_NO_STORE)
    if status == _TOO_LARGE:
        found.append((b"connection", b"close"))  # the rest of the body is not waited for
    return found
