"""Interface of a constraint: the specification that the scene compiler and every solver rely on.

A constraint is one file with four definitions:

    Spec     the fields of the scene format,
    TABLE    the dtype of its records and the kernel `write`, which evaluates its rows and their terms (declared below),
    pack     from a Spec to records and the layout of its rows,
    KIND     all of these under one name.

"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import kernel_parameter
from multibody_cli.nodes import NodePath
from multibody_cli.spec import Quantity
from multibody_cli.spec.entries import EntrySpec
from multibody_cli.spec.path import coordinates_of


class ConstraintSpec(EntrySpec):
    """An entry of `constraints:` or `couplings:`.

    Attributes
    ----------
    RELATIVE
        Whether it connects two different bodies, of which one may be the world; otherwise every body that it names
        must be movable.
    VANISHES
        Whether its rows may have no effect on one of their bodies in some positions.
    UNDEFINED
        Remedy where it has no finite value.
    WITHOUT_SLOPE
        Remedy where no motion changes its value, of an equality that must not start there.
    SLACKENS
        Whether it is slack while it does not act, so that its angles are followed; others have no records then.
    """

    type: str
    active: bool = Field(True, description="Whether it acts; an event may change it.")

    RELATIVE: ClassVar[bool] = False
    VANISHES: ClassVar[bool] = False
    UNDEFINED: ClassVar[str] = "change the initial position"
    WITHOUT_SLOPE: ClassVar[str | None] = None
    SLACKENS: ClassVar[bool] = False

    @property
    def coordinates(self) -> Sequence[tuple[NodePath, str]]:
        """Coordinates of joints: those with which its points move, each once, unless it names others."""
        return coordinates_of(self.points)

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return 1

    @property
    def one_sided(self) -> bool:
        """Whether its rows require values of at least 0, instead of 0."""
        return False

    @property
    def is_driven(self) -> bool:
        """Whether the values that its one-sided rows require change with time, so that it does work."""
        return False

    @property
    def has_friction(self) -> bool:
        """Whether it has dry friction."""
        return False

    @property
    def account(self) -> Literal["", "work", "dissipation"]:
        """Account of its multipliers in the energy ledger: those of one-sided rows dissipate energy in impacts."""
        return "dissipation" if self.one_sided else ""

    def kind_error(self, kinds: Sequence[str]) -> str:
        """Error message for coordinates of these kinds, `rad` or `m` each; empty if they are valid."""
        return ""

    def quantity(self, kinds: Sequence[str]) -> tuple[str, Quantity] | None:
        """A field whose unit depends on the kinds of the coordinates, and its quantity."""
        return None


class RowShape(NamedTuple):
    """Constant properties of a row.

    Its number of terms, whether it is holonomic, words for its direction in messages: an error of 1e-3 "along the
    normal", and the restitution of a one-sided row.
    """

    terms: int
    holonomic: bool
    direction: str
    restitution: float = 0.0


class Packed(NamedTuple):
    """A constraint as records.

    Its rows are consecutive, and so are their terms.  Each record begins with the row and the term that it writes,
    counted from the first ones of the constraint.
    """

    rows: tuple[RowShape, ...]
    records: tuple[tuple[Any, ...], ...]


@kernel_parameter
def write(
    record: Any,
    signals: Any,
    points: Any,
    states: Any,
    buffers: Any,
    t: float,
    bodies: Any,
    q: Any,
    v: Any,
    rows: Any,
    terms: Any,
) -> None:
    """Write error, rate and bias of the rows of a record, and their terms.

    It runs after the kinematics of the bodies, and accumulates nothing from one evaluation to the next.  The results
    are exact: each level is the time derivative of the one above, also off the constraint manifold (`rows`).
    """


class ConstraintTable(Immutable, eq=False):
    """Records of one dtype, which begins with `first_row` and `first_term`, and the kernel that writes their rows."""

    name: str
    dtype: np.dtype[np.void]
    write: Any


class ConstraintKind(Immutable):
    """An entry of the catalogue.

    Parameters
    ----------
    name
        The `type` in the scene file.
    spec
        The fields of the scene format.
    table
        The table of its records.
    pack
        From a spec and a `PackingContext` to its records and the layout of its rows.
    """

    name: str
    spec: type[ConstraintSpec]
    table: ConstraintTable
    pack: Callable[..., Packed]
