"""Spline curve joint: the child's frame moves along a cubic B-spline of frames, in position and in rotation.

In the piece from frame k on, with u from 0 to 1 and the cumulative basis b_i(u) of uniform cubic B-splines,

    X = C_k exp[b_2 d_(k+1)] exp[b_3 d_(k+2)] exp[b_4 d_(k+3)],    d_i = log(C_(i-1)^-1 C_i).

S and its rate follow from the factors, each a screw about a constant axis (`joints.joint_map`); that is Alg. 3 of the
notes, with b' in its line 10.

Sources: Lee and Terzopoulos 2008; Sueda, notes 2.4.12, (2.60)-(2.67).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate, JointKind, Part, generated_part
from multibody_cli.joints.domain import ENDLESS, DomainJointSpec, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.joint_map import (
    Constants,
    Direction,
    Factor,
    Frame,
    MapCoordinate,
    Pieces,
    PoseAndSubspace,
    Turn,
)
from multibody_cli.kernel import Floats
from multibody_cli.spatial.values import Mat3, Motion, Vec3
from multibody_cli.spec import Pose
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.rotations import relative_quaternion, rotation_matrix
from multibody_cli.symbolic.derivative import differentiate
from multibody_cli.symbolic.scalar import Value, cos, sin

LEAST_FRAMES = 4

_HALF_TURN = 1e-6
"""Distance from a half turn, rad, within which the shorter rotation between two frames is ambiguous."""

PER_SCREW = 13
PER_PIECE = 12 + 3 * PER_SCREW


class Screw(NamedTuple):
    """exp[b d] for a constant twist d = [angle n; v] and a function b of the coordinate.

    The origin moves by b a + sin(b angle) s + (1 - cos(b angle)) c: a is the part of v along n, s and c are the other
    part and n x v, both divided by the angle, or 0 if the angle is 0.
    """

    b: Value
    n: Vec3
    angle: Value
    a: Vec3
    s: Vec3
    c: Vec3

    def pose_and_subspace(self, along: Sequence[Direction]) -> PoseAndSubspace:
        """Return the pose; a screw has the same twist in both of its frames."""
        half = 0.5 * (self.b * self.angle)
        sine, cosine = sin(half), cos(half)
        p = self.b * self.a + (2.0 * sine * cosine) * self.s + (2.0 * sine * sine) * self.c
        d = Motion(self.angle * self.n, self.a + self.angle * self.s)
        rates = (differentiate([self.b], one)[0] for one in along)
        turn = Turn(self.n, self.b * self.angle).pose_and_subspace(along)
        return PoseAndSubspace(turn.R, p, tuple(rate * d for rate in rates))


class SplineOfFrames(Immutable):
    """Frames along a spline; each piece has its first frame and three screws."""

    closed: bool
    title = "along a spline of frames"
    stride = PER_PIECE

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """One coordinate."""
        return (Pieces(self.closed),)

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the first frame and the screws exp[b_j d_j], j = 2, 3, 4, whose product is the pose (2.67)."""
        first = Frame(Mat3(c.vector(0), c.vector(3), c.vector(6)), c.vector(9))
        screws = []
        for j, b in enumerate(cumulative_basis(map_coordinates[0].u)):
            k = 12 + PER_SCREW * j
            screws.append(Screw(b, c.vector(k), c[k + 3], c.vector(k + 4), c.vector(k + 7), c.vector(k + 10)))
        return [first, *screws]


def cumulative_basis(u: Value) -> tuple[Value, Value, Value]:
    """Return b_2, b_3, b_4 of (2.65)."""
    cube = u * u * u
    return (5.0 + 3.0 * u - 3.0 * u * u + cube) / 6.0, (1.0 + 3.0 * u + 3.0 * u * u - 2.0 * cube) / 6.0, cube / 6.0


class SplineCurveSpec(DomainJointSpec):
    """The parameter of the spline: 1 per piece; n frames make n - 3 pieces, or n if it is closed."""

    type: Literal["spline_curve"]
    frames: list[Pose] = Field(
        description="Control frames, in the joint's frame; the spline passes near them.",
        json_schema_extra={"minItems": LEAST_FRAMES},
    )
    closed: bool = Field(False, description="Whether the last frame is followed by the first.")

    COORDINATES = (Coordinate.NUMBER,)

    @field_validator("frames")
    @classmethod
    def _require_a_spline(cls, frames: list[Pose]) -> list[Pose]:
        if len(frames) < LEAST_FRAMES:
            raise ValueError(f"a cubic spline needs {LEAST_FRAMES} control frames or more, found {len(frames)}")
        return frames

    @model_validator(mode="after")
    def _require_one_way_to_turn(self) -> Self:
        count = len(self.frames)
        for k in range(0 if self.closed else 1, count):
            if math.pi - np.linalg.norm(rotation_between(self.frames[k - 1], self.frames[k])) < _HALF_TURN:
                before = "the frame before it" if k else "the last frame, which precedes it"
                raise located_error(
                    f"is half a turn away from {before}, so the direction of rotation is ambiguous: insert a frame "
                    "between them",
                    "frames",
                    k,
                )
        return self

    @property
    def count(self) -> int:
        """Number of pieces."""
        return len(self.frames) if self.closed else len(self.frames) - 3

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """All pieces."""
        return (ENDLESS if self.closed else (0.0, float(self.count)),)


def rotation_between(one: Pose, other: Pose) -> Floats:
    """Return the rotation vector (3,) from one frame to another, in the first, of at most half a turn."""
    w, *vector = relative_quaternion(one.rotation, other.rotation)
    sine = math.hypot(*vector)
    angle = 2.0 * math.atan2(sine, abs(w))
    return np.array(vector) * (math.copysign(angle, w) / sine if sine > 0.0 else 0.0)


def screw_between(one: Pose, other: Pose) -> list[float]:
    """Return the constants of the screw exp[b d], d = log(C_1^-1 C_2), from one frame to another at b = 1."""
    w = rotation_between(one, other)
    p = rotation_matrix(one.rotation).T @ np.subtract(other.position, one.position)
    angle = float(np.linalg.norm(w))
    if angle == 0.0:
        return [1.0, 0.0, 0.0, 0.0, *p.tolist(), *(0.0,) * 6]
    n = w / angle
    # v = V^-1 p: along n it is p; across n, it is p rotated back by half the angle and scaled
    along = n * (n @ p)
    stretch = 0.5 * angle / math.tan(0.5 * angle)
    v = stretch * (p - along) - 0.5 * angle * np.cross(n, p)
    return [*n.tolist(), angle, *along.tolist(), *(v / angle).tolist(), *(np.cross(n, v) / angle).tolist()]


def parts(spec: SplineCurveSpec) -> Sequence[Part]:
    """Return the single part."""
    numbers = [0.0, 1.0, float(spec.count)]
    for k in range(spec.count):
        frames = [spec.frames[(k + j) % len(spec.frames)] for j in range(4)]
        numbers += [*rotation_matrix(frames[0].rotation).T.ravel().tolist(), *frames[0].position]
        for one, other in itertools.pairwise(frames):
            numbers += screw_between(one, other)
    return [generated_part(SplineOfFrames(spec.closed), spec.coordinates, numbers, spec.q)]


KIND = JointKind("spline_curve", SplineCurveSpec, parts, friction_patches=rate_patches)
