"""Parts of bursar that stand on libraries of the extra ``service``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from bursar.errors import MissingExtra

__all__ = ["service_part"]

_EXTRA = ("starlette", "uvicorn", "uvloop", "httptools", "jinja2", "prometheus_client")


def service_part(module: str) -> Any:
    """Import a part of bursar, or say what to install."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in _EXTRA:
            raise MissingExtra(
                f"this needs {missing}, which is not installed; pip install 'bursar[service]'"
            ) from None
        raise
