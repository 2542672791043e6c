"""A service's campaigns from elsewhere, with the verbs of the embedded ones."""

from bursar.client.admin_calls import ApiKey
from bursar.client.campaign import AsyncCampaign, RemoteCampaign
from bursar.client.client import AsyncClient, Client
from bursar.client.transport import Retry
from bursar.errors import MissingExtra

__all__ = ["ApiKey", "AsyncCampaign", "AsyncClient", "Client", "RemoteCampaign", "Retry"]

try:
    import httpx2  # noqa: F401 - the one library this part stands on
except ImportError as error:
    raise MissingExtra("bursar.Client needs httpx2: pip install 'bursar[client]'") from error
