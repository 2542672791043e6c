"""A client of the service, with the verbs of embedded campaigns; needs ``bursar[client]``."""

from bursar.errors import MissingExtra

try:
    import httpx2  # noqa: F401 - the library that the client needs
except ImportError as error:
    raise MissingExtra("bursar.Client needs httpx2: pip install 'bursar[client]'") from error

from bursar.client.campaign import AsyncCampaign, RemoteCampaign
from bursar.client.client import ApiKey, AsyncClient, Client
from bursar.client.spool import UndeliveredCall
from bursar.client.transport import Retry

__all__ = [
    "ApiKey", "AsyncCampaign", "AsyncClient", "Client", "RemoteCampaign", "Retry",
    "UndeliveredCall",
]  # fmt: skip
