"""Result of assembly: the errors of the rows before and after it, and the changes of coordinates or rates."""

from __future__ import annotations

from multibody_cli.immutable import Immutable
from multibody_cli.model import Floats

ASSEMBLED = 1e-10
"""Largest error of position or of velocity of a consistent state."""


class RowError(Immutable):
    """The largest relative error of any row.

    Parameters
    ----------
    value, relative
        The error, in m, rad or their rates, and relative.
    row
        The row; -1 without rows.
    largest
        The largest error of any row, in its unit.
    """

    value: float
    relative: float
    row: int
    largest: float

    @property
    def small(self) -> bool:
        """Whether it is that of a consistent state."""
        return self.relative <= ASSEMBLED


class AssemblyResult(Immutable):
    """Result of assembly at the level of positions, or of velocities.

    Parameters
    ----------
    before, after
        Largest error of any row, as written and after assembly.
    moved
        (nv,) change of each coordinate or rate of the tree; 0 for those of loop joints.
    change
        The largest of these, relative.
    changed_given
        Whether coordinates or rates that the scene states were changed.
    """

    before: RowError
    after: RowError
    moved: Floats
    change: float
    changed_given: bool

    @property
    def closed(self) -> bool:
        """Whether all rows are satisfied."""
        return self.after.small

    @property
    def row(self) -> int:
        """The row of the largest error: after assembly, if that failed; otherwise before."""
        return self.before.row if self.closed else self.after.row
