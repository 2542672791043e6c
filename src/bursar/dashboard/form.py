"""A form: what was typed, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Form"]


@dataclass
class Form:
    """What was typed, by field, and what is wrong with it; nothing typed is ever lost.

    Attributes
    ----------
    values, errors : dict
        By name of the field; "all" is for what belongs to none.
    rows : int
        How many rows of arms there are.
    advanced_wrong : bool
        Whether something is wrong among the fields that are folded away.
    """

    values: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    rows: int = 0
    advanced_wrong: bool = False
