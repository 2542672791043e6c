"""How a service is set up."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["ServiceConfig"]


@dataclass(frozen=True)
class ServiceConfig:
    """Where a service listens, and what it allows.

    Attributes
    ----------
    host, port
        The address.
    allowed_hosts : tuple of str
        Names that a request may be for, beside the address itself.
    require_keys : bool
        Whether a request needs a key. False is for demos and tests on one machine.
    body_limit, batch_limit : int
        Bytes of a body, and of a body with many outcomes.
    rate : float
        Requests a second and key; 0: as many as there are.
    queue : int
        Calls of a campaign that may wait for its ledger.
    docs_url : str
        What the type of a problem starts with, such as the address of a page; its code follows.
    reports : Path or None
        A folder with reports of ``bursar reproduce``.
    secure_cookies : bool
        Whether cookies go over HTTPS only.
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
