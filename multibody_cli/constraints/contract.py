"""What a constraint must give: the specification that the compiler of scenes and every solver rely on.

A constraint is one file with four things:

    Spec     what a user writes,
    TABLE    the dtype of its records and the kernel `write`, which refreshes its rows and their terms,
    pack     from a Spec to records and the shapes of its rows,
    KIND     all of it under one name.

`write(table, signals, t, bodies, q, rows, terms)` runs after the bodies are placed.  It writes error, rate and bias
of the rows of every record, and all their terms, and adds nothing up from one evaluation to the next.  What it writes
is exact: each level is the time derivative of the one above, also off the constraint (`rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from multibody_cli.spec import Quantity, SignalSpec, Spec, Vector

Vector3 = np.ndarray[tuple[int], np.dtype[np.float64]]
Place = tuple[str | int, ...]
"""Where a name stands in an entry of the scene: `("between", 0, "body")`."""


class ConstraintSpec(Spec):
    """An entry of `constraints:` or `couplings:`.

    Attributes
    ----------
    RELATIVE
        Whether it holds between two different bodies, of which one may be the world; otherwise every body that it
        names must be one that moves.
    """

    type: str

    RELATIVE: ClassVar[bool] = False

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return 1

    @property
    def bodies(self) -> Sequence[tuple[Place, str]]:
        """The bodies that it names, each with its place in the entry."""
        return ()

    @property
    def points(self) -> Sequence[tuple[Place, str, Vector]]:
        """Those of its bodies of which it needs but a point, not an orientation, with the point."""
        return ()

    @property
    def coordinates(self) -> Sequence[tuple[Place, str]]:
        """The coordinates that it names, each with its place in the entry: `hinge`, or `wrist/1`."""
        return ()

    def objection(self, kinds: Sequence[str]) -> str:
        """What is wrong with coordinates of these kinds, `rad` or `m` each; nothing if they are right."""
        return ""

    def quantity(self, kinds: Sequence[str]) -> tuple[str, Quantity] | None:
        """A field whose unit depends on the kinds of the coordinates, and how it is read."""
        return None


def split_coordinate(word: str) -> tuple[str, str]:
    """Split the word of a coordinate, `wrist/1`, into its joint and its index; the index of `hinge` is empty."""
    joint, _, index = word.partition("/")
    return joint, index


class Site(Protocol):
    """What a constraint may ask of the model into which it is packed.

    A body is known by its row, 0 for the world.  Kernels know a body by its joint frame; users write points and
    directions in its body frame.
    """

    def row(self, body: str) -> int:
        """Row of a body; 0 for the world."""
        ...

    def point(self, body: str, point: Vector) -> Vector3:
        """A point of the body frame in the body's joint frame, m; of the world: itself."""
        ...

    def spot(self, body: str, point: Vector) -> tuple[int, Vector3]:
        """Row that moves with a point of a body, and the point there: its body, or a marker of a body that deforms."""
        ...

    def direction(self, body: str, direction: Vector) -> Vector3:
        """A direction of the body frame in the body's joint frame; of the world: itself."""
        ...

    def coordinate(self, word: str) -> tuple[int, int]:
        """Where a coordinate lies in q and in v, by its word as `split_coordinate` takes it."""
        ...

    def signal(self, spec: SignalSpec) -> int:
        """Number of a function of time."""
        ...


class RowShape(NamedTuple):
    """What does not change in a row.

    Its number of terms, whether it restrains positions, and words for the direction that it restrains: an error of
    1e-3 "along the normal".
    """

    terms: int
    holonomic: bool
    direction: str


class Packed(NamedTuple):
    """An element as arrays will hold it.

    Its rows follow one another, and so do their terms.  Each of the `records` of its table begins with the row and
    the term where it writes, counted from the first ones of the element.
    """

    rows: tuple[RowShape, ...]
    records: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Records of one dtype, which begins with `first_row` and `first_term`, and the kernel that writes their rows."""

    name: str
    dtype: np.dtype[np.void]
    write: Any


@dataclass(frozen=True)
class ConstraintKind:
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The word of the scene file, `type: name`.
    spec
        What a user may write for it.
    table
        Where its records go.
    pack
        From a spec and a `Site` to its records and the shapes of its rows.
    """

    name: str
    spec: type[ConstraintSpec]
    table: Table
    pack: Callable[..., Packed]
