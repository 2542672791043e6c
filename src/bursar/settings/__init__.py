"""The settings of the paper: families of problems, drawn anew each repetition."""

from bursar.settings.setting import Setting
from bursar.settings.table import SETTINGS, setting, settings

__all__ = ["SETTINGS", "Setting", "setting", "settings"]
