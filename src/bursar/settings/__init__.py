"""The settings of the paper: families of problems, drawn anew each repetition."""

from bursar.settings.catalog import SETTINGS, list_settings, setting
from bursar.settings.setting import Setting

__all__ = ["SETTINGS", "Setting", "list_settings", "setting"]
