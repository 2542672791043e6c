"""Campaigns behind HTTP: a service for programs in any language."""

from bursar.service.app import create_app
from bursar.service.service import Service, ServiceConfig

__all__ = ["Service", "ServiceConfig", "create_app"]
