"""Tables of forces, with the names of columns that OpenSim has: `knee_angle_r_moment`, `pelvis_tx_force`."""

from __future__ import annotations

from collections.abc import Iterator

from multibody_cli.immutable import Immutable
from multibody_cli.output.channel import Array
from multibody_cli.studies.inverse.coordinates import CoordinateName
from multibody_cli.studies.inverse.kinematic_analysis import Kinematics
from multibody_cli.studies.inverse.study import InverseDynamics

Column = tuple[str, str, str, Array]
"""Name, unit, description and values of a column."""


class ColumnTable(Immutable, eq=False):
    """Columns as a table, a `TableContent` of `output.table_formats`."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [name for name, *_ in self.columns]

    @property
    def units(self) -> list[str]:
        """Units of the columns."""
        return [unit for _, unit, *_ in self.columns]

    @property
    def descriptions(self) -> list[str]:
        """Sentences that describe the columns."""
        return [text for _, _, text, _ in self.columns]

    def blocks(self) -> Iterator[list[Array]]:
        """Read the table as one block."""
        yield [values for *_, values in self.columns]

    row_blocks = blocks

    def whole_columns(self) -> Iterator[Array]:
        """Read column after column."""
        return (values for *_, values in self.columns)


def force_columns(found: InverseDynamics) -> list[Column]:
    """Return the forces of inverse dynamics."""
    columns = [("time", "s", "Time of each instant.", found.times)]
    for k, one in enumerate(found.coordinates):
        kind, unit = kind_of(one)
        text = f"Force on {one.name} that causes the motion."
        columns.append((f"{one.name}_{kind}", unit, text, found.forces[:, k]))
    for k, one in enumerate(found.coordinates if found.muscles else ()):
        text = f"Part of the force on {one.name} that muscles do not supply."
        columns.append((f"{one.name}_reserve", kind_of(one)[1], text, found.reserves[:, k]))
    for k, name in enumerate(found.muscles):
        columns.append((f"{name}_activation", "1", f"Activation of {name}.", found.activations[:, k]))
    for k, name in enumerate(found.muscles):
        columns.append((f"{name}_tension", "N", f"Tension of {name}.", found.tensions[:, k]))
    return columns


def motion_columns(found: Kinematics) -> list[Column]:
    """Return the motion of kinematic analysis; rates and accelerations have the names of their coordinates."""
    columns: list[Column] = [("time", "s", "Time of each instant.", found.times)]
    for k, one in enumerate(found.coordinates):
        if one.is_plain:
            columns.append((one.name, one.unit, f"Coordinate {one.name}.", found.q[:, k]))
        columns.append((f"{one.name}_rate", f"{one.unit}/s", f"Rate of {one.name}.", found.v[:, k]))
        columns.append((f"{one.name}_acceleration", f"{one.unit}/s^2", f"Acceleration of {one.name}.", found.a[:, k]))
    for linkage in found.linkages:
        name = f"{linkage.bar.joints[0]}_transmission_angle"
        columns.append((name, "rad", "Acute angle between the lines of coupler and output.", linkage.transmission))
    return columns


def kind_of(one: CoordinateName) -> tuple[str, str]:
    """Return `moment` or `force`, and the unit, of the force on a coordinate."""
    return {"rad": ("moment", "N m"), "m": ("force", "N")}.get(one.unit, ("force", "J"))
