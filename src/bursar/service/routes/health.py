"""``/healthz``, ``/readyz`` and ``/metrics``: whether a process is alive, ready, and its numbers.

The first two need no key, since load balancers have none, and reveal nothing. Metrics contain
amounts of money, so they need a key that may read all campaigns.
"""

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from bursar.errors import Forbidden
from bursar.service.operation import Call, operation
from bursar.service.responses import BytesResponse, HTTPProblem, json_response

_PERSISTENT = 3  # commits of a campaign that fail in a row
_TEXT = (b"content-type", CONTENT_TYPE_PLAIN_0_0_4.encode())


@operation("GET", "/healthz", None, dict[str, str])
async def healthz(call: Call[None]) -> BytesResponse:
    """Return that the process is alive."""
    return json_response({"status": "ok"})


@operation(
    "GET", "/readyz", None, dict[str, str],
    codes=("stopping", "storage-unavailable", "storage-in-use"),
)  # fmt: skip
async def readyz(call: Call[None]) -> BytesResponse:
    """Return whether the store can be written."""
    service = call.service
    if service.stopping:
        raise HTTPProblem("stopping", "the service is stopping; use another one")
    await service.check_writable()
    failing = sum(one.failed_commits >= _PERSISTENT for one in service.committers().values())
    if failing:
        # one campaign must not take all others out of a load balancer; metrics have its name
        return json_response({"status": "degraded", "failing": str(failing)})
    return json_response({"status": "ready"})


@operation("GET", "/metrics", "read", "text/plain")
async def metrics(call: Call[None]) -> BytesResponse:
    """Return all metrics in Prometheus' text format."""
    service, key = call.service, call.key
    if key.campaigns is not None:
        raise Forbidden(f"key {key.id!r} is for some campaigns only; metrics are of all")
    return BytesResponse(200, await service.run_in_thread(service.metrics.to_text), (_TEXT,))
