"""The line to a service: how a call gets through it, or is known not to have."""

from __future__ import annotations

import json
from typing import Any, TypeVar

import httpx2

from bursar.checks import positive
from bursar.client.call import Answer, Call, content_of
from bursar.client.problem import Problem, problem_of
from bursar.client.retry import Retry
from bursar.client.script import Exchange, Pause, Script
from bursar.errors import BursarError, InvalidData, InvalidInput, StorageUnavailable
from bursar.version import __version__

__all__ = ["Line"]

T = TypeVar("T")

_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_OURS = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)


class Line:
    """Where a service is, who asks, and how patiently.

    Parameters
    ----------
    url : str
        Address of the service.
    key : str or None
        The key to show.
    timeout : float
        Seconds within which a call must have its answer, all tries together.
    retry : Retry
        How to wait between tries.
    """

    def __init__(self, url: str, key: str | None, timeout: float, retry: Retry) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInput(f"a service is at 'http://…' or 'https://…', got {url!r}")
        self.url = url.rstrip("/")
        self.timeout = positive("timeout", timeout, "10 is the default")
        self.retry = retry
        self.headers = {"user-agent": f"bursar/{__version__}", "accept": "application/json"}
        if key is not None:
            if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not key:
                raise InvalidInput("key must be a text such as 'bursar_…'; got one that cannot be")
            self.headers["authorization"] = f"Bearer {key}"

    def call(self, call: Call[T], within: float | None = None) -> Script[T]:
        """Send a call until it is answered, or until there is no more time."""
        content, limit = content_of(call.body), self.timeout if within is None else within
        end, tries = self.retry.clock() + limit, 0
        doubt: BursarError | None = None
        while True:
            tries += 1
            left = end - self.retry.clock()
            # one try that hangs must not take the time of the next
            most = min(left, max(left / 2.0, 1.0))
            try:
                response = yield self._exchange(call, content, max(most, 0.001))
            except _OURS as error:
                raise InvalidInput(f"cannot be sent to {self.url}: {error}") from error
            except (httpx2.TransportError, httpx2.DecodingError) as error:
                problem = self._broken(call, error, tries, limit)
                doubt = problem.error if doubt or not isinstance(error, _UNSENT) else None
            else:
                if response.is_success:
                    return self._read(call, response)
                problem = problem_of(response)
            if not problem.again:
                raise problem.error
            wait = self.retry.wait(tries, problem.wait)
            if wait >= end - self.retry.clock():
                raise doubt or problem.error  # one of the tries may have been heard
            yield Pause(wait)

    def _exchange(self, call: Call[Any], content: bytes, timeout: float) -> Exchange:
        headers = self.headers | dict(call.headers) | {"request-timeout": f"{timeout:.3f}"}
        if content:
            headers["content-type"] = "application/json"
        return Exchange(call.method, self.url + call.address, headers, content, timeout)

    @staticmethod
    def unsure(error: BaseException) -> bool:
        """Return whether a call that failed so may have been done."""
        return isinstance(error, StorageUnavailable | InvalidData)

    def _broken(self, call: Call[Any], error: Exception, tries: int, limit: float) -> Problem:
        sure = isinstance(error, _UNSENT)
        state = "" if sure else "; whether it was done is not known"
        if not sure and call.again:
            state += ", but doing it again is safe"
        times = "1 try" if tries == 1 else f"{tries} tries"
        found = StorageUnavailable(
            f"no answer from {self.url} ({times} within {limit:g} s,"
            f" the last: {type(error).__name__} {error}".rstrip()
            + f"){state}"
        )
        found.__cause__ = error
        return Problem(found, call.again or sure, 0.0)

    def _read(self, call: Call[T], response: httpx2.Response) -> T:
        try:
            data = json.loads(response.content) if response.content else None
            return call.read(Answer(data, response.headers.get("idempotency-replayed") == "true"))
        except BursarError:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise InvalidData(
                f"{call.method} {self.url}{call.path} answered what this client cannot read"
                f" ({type(error).__name__}: {error}); is there a bursar service of its version?"
            ) from error
