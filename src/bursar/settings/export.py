"""An export: what was read from a user's own file, and what was not, in numbers and words."""

from __future__ import annotations

from dataclasses import dataclass, field

from bursar.settings.own_setting import OwnSetting

__all__ = ["Export"]


@dataclass(frozen=True)
class Export:
    """The arms of a file, a setting a group, and the lines that could not be used.

    Attributes
    ----------
    name : str
        The file.
    settings : tuple of OwnSetting
        One a group, in the order of the file.
    rows : int
        Lines below the header that are not blank; each is in an arm or counted in ``excluded``.
    excluded : dict of str to int
        How many lines were left out, by reason.
    lines : dict of str to list of int
        The first few lines left out, by reason.
    notes : tuple of str
        What else a user should know, in sentences.
    currency : str
        The sign or code beside the costs, if there is one.
    """

    name: str
    settings: tuple[OwnSetting, ...]
    rows: int
    excluded: dict[str, int] = field(default_factory=dict)
    lines: dict[str, list[int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    currency: str = ""

    @property
    def used(self) -> int:
        """Lines that are part of an arm."""
        return self.rows - sum(self.excluded.values())

    @property
    def arms(self) -> int:
        """Arms of all groups."""
        return sum(len(one.arm_names) for one in self.settings)

    def words(self) -> list[str]:
        """Return what was read, what was left out and why, and the notes, in sentences."""
        used = f"{self.name}: {self.used:,} of {self.rows:,} lines are used"
        groups = "" if len(self.settings) == 1 else f" in {len(self.settings)} groups"
        said = [f"{used}: {self.arms:,} arms{groups}."]
        return said + [self._left_out(reason) for reason in self.excluded] + list(self.notes)

    def _left_out(self, reason: str) -> str:
        count, first = self.excluded[reason], self.lines[reason]
        more = ", …" if count > len(first) else ""
        lines = "1 line" if count == 1 else f"{count:,} lines"
        return f"Left out: {lines}, {reason} ({_lines(first)}{more})."


def _lines(first: list[int]) -> str:
    return f"line{'s' * (len(first) > 1)} {', '.join(map(str, first))}"
