"""A service's campaigns from elsewhere, with the verbs of the embedded ones."""

from bursar.errors import MissingExtra

try:
    import httpx2  # noqa: F401 - the one library this part stands on
except ImportError as error:
    raise MissingExtra("bursar.Client needs httpx2: pip install 'bursar[client]'") from error

from bursar.client.apikey import ApiKey
from bursar.client.async_campaign import AsyncCampaign
from bursar.client.async_client import AsyncClient
from bursar.client.campaign import RemoteCampaign
from bursar.client.client import Client
from bursar.client.retry import Retry

__all__ = ["ApiKey", "AsyncCampaign", "AsyncClient", "Client", "RemoteCampaign", "Retry"]
