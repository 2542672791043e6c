"""Optional libraries, imported when they are used."""

from importlib import import_module
from typing import Any

from bursar.errors import MissingExtra

_LIBRARIES = {
    "paper": ("pyarrow", "matplotlib", "scipy", "jinja2"),
    "service": ("starlette", "uvicorn", "uvloop", "httptools", "jinja2", "prometheus_client"),
}


def import_extra(module: str, extra: str = "paper") -> Any:
    """Return a module that needs an extra; raise MissingExtra if its library is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing in _LIBRARIES[extra]:
            raise MissingExtra(
                f"this needs {missing}, which is not installed; run: pip install 'bursar[{extra}]'"
            ) from None
        raise
