"""Campaigns behind HTTP: a service for programs in any language."""

from bursar.service.app import application
from bursar.service.service import Service
from bursar.service.settings import Settings

__all__ = ["Service", "Settings", "application"]
