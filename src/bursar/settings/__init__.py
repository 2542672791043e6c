"""Settings: families of problems, those of the paper among them, drawn for each repetition."""

from bursar.settings.base import Setting
from bursar.settings.catalog import SETTINGS, list_settings, setting

__all__ = ["SETTINGS", "Setting", "list_settings", "setting"]
