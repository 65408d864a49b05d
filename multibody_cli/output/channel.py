"""What a channel is: one quantity that a run records, and all that is said of it."""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from multibody_cli.output.history import Block
    from multibody_cli.output.series import Item

    Array = NDArray[Any]

ROLES = ("instant", "input", "contact mode", "constraint", "coordinate", "reaction", "energy", "momentum", "solver")
"""What a channel tells of a run; where two runs part at one instant, what stands first here is the likelier cause."""

INSTANT, CONTACT, BOUND = "", "contact", "bound"

ROWS = {
    INSTANT: "each output instant",
    CONTACT: "each contact of each output instant",
    BOUND: "each bound between output instants, the first and the last among them",
}
"""What a channel has rows for: the attribute `per` of its dataset, and what it means."""


@dataclass(frozen=True)
class Channel:
    """One quantity that is recorded, at every output instant or for every contact there.

    Parameters
    ----------
    path
        Path in the result file; a word in braces is one of `EXPANSIONS`.
    units
        Of each number; `{q}` stands for the units of the joint's coordinates.
    description
        One sentence for users.
    select
        Gives the rows of one item of a block of output instants.
    frame
        The frame in which vectors are expressed, where one applies.
    dimensions
        Names in `DIMENSIONS` of the axes after the first.
    rtol, atol
        Difference between two runs of the same scene that `compare` accepts: atol + rtol * |reference|.
    role
        What it tells of a run, one of `ROLES`.
    same
        Which other numbers mean the same, a word of `comparison.equivalence`; `{q}` stands for those of the joint's
        coordinates.
    dtype
        Type of the numbers.
    per
        What it has a row for, one of `ROWS`.
    element
        For a path without braces: the word of `EXPANSIONS` that says whether a model has it; nothing where all have.
    """

    path: str
    units: str
    description: str
    select: Callable[[Block, Item], Array]
    frame: str = ""
    dimensions: tuple[str, ...] = ()
    rtol: float = 1e-6
    atol: float = 1e-9
    role: str = "coordinate"
    same: str = ""
    dtype: str = "<f8"
    per: str = INSTANT
    element: str = ""

    @property
    def expansion(self) -> str:
        """The word of `EXPANSIONS` that it is written for: that in braces of the path, else `element`."""
        return next((word for _, word, _, _ in string.Formatter().parse(self.path) if word), self.element)
