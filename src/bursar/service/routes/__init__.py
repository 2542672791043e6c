"""The handlers of the API. Importing a module declares its operations."""

from bursar.service.operation import OPERATIONS
from bursar.service.routes import campaigns, decisions, events, management

__all__ = ["OPERATIONS", "campaigns", "decisions", "events", "management"]
