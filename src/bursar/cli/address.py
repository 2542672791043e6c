"""The address of a service: taken before anything is promised, shown as people can click it."""

from __future__ import annotations

import errno
import socket

from bursar.errors import InvalidInput

__all__ = ["bound", "shown_address"]

_WAITING = 2048  # connections that may wait to be accepted


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InvalidInput(f"there is no address {host!r}; give one of this machine") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise InvalidInput(_why(host, port, error)) from None
    return listener


def _why(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken; stop who has it, or give another --port"
    if error.errno == errno.EACCES:
        return f"port {port} needs special rights; give a --port above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"{host} is not an address of this machine; give one that is"
    return f"cannot listen at {host} port {port}: {error.strerror}"


def shown_address(host: str, listener: socket.socket) -> str:
    """Return the URL of a service, with the port that it really has."""
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
