"""The names a service answers to.

A page from elsewhere can have its own name lead to this machine (DNS rebinding) and then talk to a
service on it as if it were its own. The Host header tells: it has the name the browser was given.
An address of numbers is what nobody's name can be, so it may always be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

__all__ = ["Hosts", "is_loopback", "is_number"]

_KNOWN = 1000  # spellings that are remembered


class Hosts:
    """Names that requests may be for; ``*`` allows all, for a proxy that checks them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower().rstrip(".") for name in names} | {"localhost"}
        self._good: set[bytes] = set()

    def allow(self, host: bytes) -> bool:
        """Tell whether a Host header is one of ours, with any port."""
        if host in self._good:
            return True
        name = _name_of(host.decode("latin-1"))
        if not name or ("*" not in self._names and name not in self._names and not is_number(name)):
            return False
        if len(self._good) < _KNOWN:
            self._good.add(host)
        return True


def _name_of(host: str) -> str:
    """Return the name in a Host header without its port, or ``""`` if it is none.

    >>> _name_of("Bursar.example:8321"), _name_of("[::1]:8321"), _name_of("a b")
    ('bursar.example', '::1', '')
    """
    if host.startswith("["):
        name, bracket, port = host[1:].partition("]")
        port = port.removeprefix(":")
        fine = bracket and is_number(name)
    else:
        name, _, port = host.partition(":")
        fine = name.replace("-", "").replace(".", "").replace("_", "").isalnum()
    return name.lower().rstrip(".") if fine and (not port or port.isdecimal()) else ""


def is_number(name: str) -> bool:
    """Tell whether a name is an address of numbers."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    return host.lower() == "localhost" or (is_number(host) and ip_address(host).is_loopback)
