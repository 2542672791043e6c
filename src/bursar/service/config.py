"""The configuration of a service."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ServiceConfig:
    """Where a service listens, and what it allows.

    Attributes
    ----------
    host, port
        The address.
    allowed_hosts : tuple of str
        Host names that requests may use in addition to ``host``.
    require_keys : bool
        Whether requests need a key; False is for demos and tests on one machine.
    body_limit, batch_limit : int
        Largest body in bytes, and largest body with many outcomes.
    rate : float
        Requests per second and key; 0 for no limit.
    queue : int
        Commands of a campaign that may be queued.
    docs_url : str
        Prefix of the type of a problem, such as the address of a page; the code follows.
    reports : Path or None
        A folder with reports of ``bursar reproduce``.
    secure_cookies : bool
        Whether cookies are sent over HTTPS only.
    """

    host: str = "127.0.0.1"
    port: int = 8321
    allowed_hosts: tuple[str, ...] = ()
    require_keys: bool = True
    body_limit: int = 65_536
    batch_limit: int = 1_048_576
    rate: float = 0.0
    queue: int = 4096
    docs_url: str = "urn:bursar:problem:"
    reports: Path | None = None
    secure_cookies: bool = False
