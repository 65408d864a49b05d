"""Spline surface joint: position and XYZ angles of the child's frame are splines of two coordinates.

    X = T(x, y, z) R_x(rx) R_y(ry) R_z(rz),    each of the six f(q1, q2) = sum_ij b_i(u1) C_ij b_j(u2)

with uniform cubic B-splines b; rows of C belong to q1.  The translation precedes the rotation, so that the first three
splines are the position.  Derivatives are those of Alg. 4 of the notes.

Sources: Lee and Terzopoulos 2008; Sueda, notes 2.4.13, (2.68)-(2.71).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate, JointKind, Part, generated_part
from multibody_cli.joints.domain import DomainJointSpec, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.joint_map import Constants, Factor, MapCoordinate, Pieces, Shift, Turn
from multibody_cli.kernel import Floats
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import Quantity, Spec, units
from multibody_cli.spec.quantities import located_error
from multibody_cli.symbolic.scalar import Value

AXES = ("x", "y", "z", "rx", "ry", "rz")
LEAST_CONTROLS = 4
PER_SPLINE = 16

BASIS = np.array([[1.0, -3.0, 3.0, -1.0], [4.0, 0.0, -6.0, 3.0], [1.0, 3.0, 3.0, -3.0], [0.0, 0.0, 0.0, 1.0]]) / 6.0
"""Matrix of the uniform cubic B-spline: a row for each control, a column for each power; (2.61)."""

Lengths = list[list[Annotated[float, Quantity(units.LENGTH)]]]
Angles = list[list[Annotated[float, Quantity(units.ANGLE)]]]


class SplineOfTwo(Immutable):
    """Six tensor products of splines, by the coefficients of u1^i u2^j."""

    title = "on a spline of two coordinates"
    stride = len(AXES) * PER_SPLINE

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """Patches along both."""
        return Pieces(), Pieces()

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the translation and the rotations about x, y and z, whose product is the pose (2.71)."""
        x, y, z, rx, ry, rz = (_spline(map_coordinates, c, PER_SPLINE * k) for k in range(len(AXES)))
        return [
            Shift(Vec3(x, y, z)),
            Turn(Vec3(1.0, 0.0, 0.0), rx),
            Turn(Vec3(0.0, 1.0, 0.0), ry),
            Turn(Vec3(0.0, 0.0, 1.0), rz),
        ]


def _spline(map_coordinates: Sequence[MapCoordinate], c: Constants, k: int) -> Value:
    """Horner's scheme, twice."""
    u1, u2 = (map_coordinate.u for map_coordinate in map_coordinates)
    value: Value = 0.0
    for i in (3, 2, 1, 0):
        along: Value = 0.0
        for j in (3, 2, 1, 0):
            along = u2 * along + c[k + 4 * i + j]
        value = u1 * value + along
    return value


class ControlsSpec(Spec):
    """Control values of the six splines, all of the same size: one list of values along q2 for each row along q1."""

    x: Lengths | None = Field(None, description="m; omitted ones are 0.")
    y: Lengths | None = Field(None, description="m")
    z: Lengths | None = Field(None, description="m")
    rx: Angles | None = Field(None, description="rad")
    ry: Angles | None = Field(None, description="rad")
    rz: Angles | None = Field(None, description="rad")

    @model_validator(mode="after")
    def _require_one_size(self) -> Self:
        given = {axis: grid for axis in AXES if (grid := getattr(self, axis)) is not None}
        if not given:
            raise ValueError("expected control values of at least one of x, y, z, rx, ry, rz")
        first, grid = next(iter(given.items()))
        rows, width = len(grid), len(grid[0]) if grid else 0
        if rows < LEAST_CONTROLS or width < LEAST_CONTROLS:
            raise located_error(f"expected at least 4 rows of 4 values, found {rows} of {width}", first)
        for axis, other in given.items():
            for k, row in enumerate(other):
                if len(other) != rows or len(row) != width:
                    raise located_error(
                        f"expected {rows} rows of {width} values, as in the first row of `{first}`", axis, k
                    )
        return self

    @property
    def grids(self) -> Floats:
        """All six, (6, n1, n2)."""
        given = [getattr(self, axis) for axis in AXES]
        size = np.shape(next(grid for grid in given if grid is not None))
        return np.array([np.zeros(size) if grid is None else grid for grid in given])


class SplineSurfaceSpec(DomainJointSpec):
    """Two coordinates, 1 per patch; n rows of controls make n - 3 patches along the first."""

    type: Literal["spline_surface"]
    controls: ControlsSpec = Field(description="Control values of position and angles, in the joint's frame.")

    COORDINATES = (Coordinate.NUMBER, Coordinate.NUMBER)

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """All patches."""
        _, n1, n2 = self.controls.grids.shape
        return (0.0, n1 - 3.0), (0.0, n2 - 3.0)


def parts(spec: SplineSurfaceSpec) -> Sequence[Part]:
    """Return the single part."""
    grids = spec.controls.grids
    _, n1, n2 = grids.shape
    numbers = [0.0, 1.0, n1 - 3.0, 0.0, 1.0, n2 - 3.0]
    for i in range(n1 - 3):
        for j in range(n2 - 3):
            patch = grids[:, i : i + 4, j : j + 4]
            numbers += np.einsum("ak,xab,bl->xkl", BASIS, patch, BASIS).ravel().tolist()
    return [generated_part(SplineOfTwo(), spec.coordinates, numbers, spec.q)]


KIND = JointKind("spline_surface", SplineSurfaceSpec, parts, friction_patches=rate_patches)
