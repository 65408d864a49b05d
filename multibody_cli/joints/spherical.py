"""Spherical joint: any rotation about the joint frame's origin.

The state is a rotation and the angular velocity of the child relative to the parent, for each parametrization of the
joint: a unit quaternion (without singularity), Euler angles, or exponential coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate, JointKind, JointStart, Part, ball, exponential_ball, turning
from multibody_cli.joints.euler_angles import AXES, SEQUENCES, angles_of, has_equal_ends, rates_of
from multibody_cli.joints.friction import spherical_patches
from multibody_cli.joints.friction_spec import SphereFriction
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.spec import Quaternion, Rotation, Vector, Vector3, units
from multibody_cli.spec.rotations import IDENTITY, cross_matrix

EULER = {f"euler_{sequence}": sequence for sequence in SEQUENCES}
"""Sequences of Euler angles by their word in the scene."""


class SphericalSpec(MovingJointSpec):
    """Three rotational degrees of freedom."""

    type: Literal["spherical"]
    q: Rotation = Field(IDENTITY, description="Rotation at the start, of the child's joint frame in the parent's.")
    v: Annotated[Vector, Vector3(units.ANGULAR_SPEED)] = Field(
        (0.0, 0.0, 0.0),
        description="Angular velocity at the start, relative to the parent, in the child's joint frame.",
    )
    rest: Rotation = Field(IDENTITY, description="Rotation at which the spring is relaxed.")
    friction: SphereFriction | None = Field(
        None, description="Dry friction on a sphere about the origin, or of brakes."
    )
    parametrization: Literal[
        "quaternion",
        "exponential",
        "euler_xyx",
        "euler_xyz",
        "euler_xzx",
        "euler_xzy",
        "euler_yxy",
        "euler_yxz",
        "euler_yzx",
        "euler_yzy",
        "euler_zxy",
        "euler_zxz",
        "euler_zyx",
        "euler_zyz",
    ] = Field(
        "quaternion",
        description="Coordinates of the rotation; Euler angles turn about the axes of the word in this order, each "
        "about its axis as turned by those before.",
    )

    COORDINATES = (Coordinate.ANGLE,) * 3

    @property
    def plain(self) -> tuple[bool, ...]:
        """All of Euler angles, none of the other parametrizations."""
        return (self.parametrization in EULER,) * 3

    @model_validator(mode="after")
    def _refuse_singular_start(self) -> Self:
        sequence = EULER.get(self.parametrization)
        if sequence is None:
            return self
        _, middle, _ = angles_of(sequence, self.q)
        regular, singular = (math.sin, "0 or 180 deg") if has_equal_ends(sequence) else (math.cos, "90 or -90 deg")
        if abs(regular(middle)) < 1e-6:
            raise ValueError(
                f"{sequence.upper()} angles are singular where the middle angle is {singular}, as at this `q`: rotate "
                "the joint frame, or use another sequence or `parametrization: quaternion`"
            )
        return self

    @model_validator(mode="after")
    def _refuse_forces_on_a_chart_that_is_recentred(self) -> Self:
        given = [
            name for name in ("stiffness", "damping", "armature", "force", "motion") if getattr(self, name) is not None
        ]
        if self.parametrization == "exponential" and given:
            raise ValueError(
                f"`{given[0]}` is not supported with exponential coordinates, which change when they are recentred: "
                "use `parametrization: quaternion`"
            )
        return self

    @model_validator(mode="after")
    def _refuse_brakes_of_other_rates(self) -> Self:
        if self.parametrization != "quaternion" and self.friction is not None and any(self.friction.brakes):
            raise ValueError("`friction.torque` acts on the angular velocity: use `parametrization: quaternion`")
        return self

    @model_validator(mode="after")
    def _refuse_position_motion(self) -> Self:
        if self.motion is not None and self.motion.given == "position":
            raise ValueError(
                "a `motion` by `position` is not supported for a spherical joint: use `velocity` or `acceleration`"
            )
        return self


class Parametrization(Immutable):
    """Parametrization of a rotation: its parts, and the conversion from rotations and angular velocities.

    Parameters
    ----------
    parts
        The parts.
    coordinates
        From a unit quaternion (w, x, y, z).
    rates
        From the coordinates and the angular velocity in the outer frame.
    """

    parts: tuple[Part, ...]
    coordinates: Callable[[Quaternion], Sequence[float]]
    rates: Callable[[Sequence[float], Vector], Sequence[float]]


def _rotation_vector(rotation: Quaternion) -> Sequence[float]:
    w, x, y, z = rotation if rotation[0] >= 0.0 else tuple(-part for part in rotation)
    sine = math.hypot(x, y, z)
    scale = 2.0 * math.atan2(sine, w) / sine if sine > 0.0 else 2.0
    return scale * x, scale * y, scale * z


def _exponential_rates(q: Sequence[float], w: Vector) -> Sequence[float]:
    """Return the rates of the rotation vector: w = J_r(q) dq/dt, with S = J_r of notes (2.44)."""
    skew = cross_matrix(q)
    t = max(math.hypot(*q), 1e-5)  # below, both factors are 1/2 and 1/6 to the last digit that matters
    J = np.eye(3) - 2.0 * (math.sin(0.5 * t) / t) ** 2 * skew + (t - math.sin(t)) / t**3 * skew @ skew
    return tuple(np.linalg.solve(J, np.array(w)).tolist())


def _euler(sequence: str) -> Parametrization:
    return Parametrization(
        tuple(turning(AXES[letter]) for letter in sequence),
        partial(angles_of, sequence),
        partial(rates_of, sequence),
    )


PARAMETRIZATIONS = {
    "quaternion": Parametrization((ball(),), lambda rotation: rotation, lambda _, w: w),
    "exponential": Parametrization((exponential_ball(),), _rotation_vector, _exponential_rates),
    **{word: _euler(sequence) for word, sequence in EULER.items()},
}
"""Every parametrization by its word in the scene."""


def start(spec: SphericalSpec) -> JointStart:
    """Return coordinates and rates in the parametrization."""
    chart = PARAMETRIZATIONS[spec.parametrization]
    q = chart.coordinates(spec.q)
    return JointStart(q, chart.rates(q, spec.v), chart.coordinates(spec.rest))


KIND = JointKind(
    "spherical",
    SphericalSpec,
    lambda spec: PARAMETRIZATIONS[spec.parametrization].parts,
    start,
    lambda spec: spherical_patches(spec.friction),
)
