"""The handlers of the API. Importing a module declares its operations; asks are declared first."""

from bursar.service.operation import OPERATIONS

from bursar.service.routes import decisions, campaigns, events, keys, health  # isort: skip

__all__ = ["OPERATIONS", "campaigns", "decisions", "events", "health", "keys"]
