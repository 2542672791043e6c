"""A matrix of who did better than whom, measured or published."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dominance", "Entry"]

Entry = int | None  # 1: the row did better, -1: the column, 0: no clear difference, None: unknown


@dataclass(frozen=True)
class Dominance:
    """Who lost less than whom.

    Attributes
    ----------
    names : tuple of str
        The policies, in the order of rows and columns.
    matrix : tuple of tuple of {1, -1, 0, None}
        Row against column; None if the two were not compared.
    settings : tuple of str
        On what they were compared; empty for what was published.
    settings_won : tuple of tuple of int
        On how many settings the mean regret of the row is significantly lower than the column's.
    settings_shared : tuple of tuple of int
        On how many settings both played.
    """

    names: tuple[str, ...]
    matrix: tuple[tuple[Entry, ...], ...]
    settings: tuple[str, ...] = ()
    settings_won: tuple[tuple[int, ...], ...] = ()
    settings_shared: tuple[tuple[int, ...], ...] = ()

    def entry(self, row: str, column: str) -> Entry:
        """Return the entry of two policies; None if one of them is not in the matrix."""
        if row not in self.names or column not in self.names:
            return None
        return self.matrix[self.names.index(row)][self.names.index(column)]
