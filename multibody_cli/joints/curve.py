"""Curve joint: the child's frame moves along a curve in the parent, with a fixed, aligned or free orientation.

The coordinate is the parameter of the curve; with `orientation: free`, a rotation about the point follows, written as a
rotation vector.

Source: Si and Guenter 2011, figure 3; Sueda, notes 2.4.12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from multibody_cli.joints.contract import Coordinate, JointKind, JointStart, Part, ball, generated_part
from multibody_cli.joints.domain import ENDLESS, DomainJointSpec, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.geometry.alignment import ORIENTATIONS, parameter_without_tangent, starts_along
from multibody_cli.joints.geometry.curve_specs import DERIVATIVES, AnyCurve
from multibody_cli.joints.spec import Coordinates
from multibody_cli.spec import Direction, Spec
from multibody_cli.spec.quantities import located_error
from multibody_cli.spec.rotations import quaternion_of_vector

TURNING = (Coordinate.ANGLE,) * 3


class _Track(Spec):
    """The curve, and how the child is turned along it."""

    curve: AnyCurve = Field(description="Curve in the joint's frame.")
    orientation: Literal["fixed", "free", "tangent", "rotation_minimizing", "frenet"] = Field(
        "fixed",
        description="Orientation of the child: constant; free; x along the tangent, without rotation about it "
        "(`tangent` is a synonym of `rotation_minimizing`); or x, y, z along tangent, normal and binormal.",
    )
    up: Direction = Field(
        (0.0, 0.0, 1.0),
        description="Direction nearest to which z points at the start of the curve (of a cycloid: at its lowest "
        "point), with a rotation-minimizing frame; if not given, x for a curve that starts along z.",
    )


# `_Track` is the last base, so that its fields are read before those that depend on the number of coordinates
class CurveSpec(DomainJointSpec, _Track):
    """The parameter of the curve, and a rotation if the orientation is free.

    With a free orientation, `q` and `v` may be given for the parameter alone.
    """

    type: Literal["curve"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the parameter, then the rotation."""
        if "curve" not in fields or "orientation" not in fields:
            return None
        return (fields["curve"].curve.kind, *(TURNING if fields["orientation"] == "free" else ()))

    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> Any:
        whole = info.data.get("orientation") != "free" or info.field_name not in ("q", "v", "rest")
        return super()._read(value if whole or isinstance(value, list | tuple) else [value, 0.0, 0.0, 0.0], info)

    @property
    def plain(self) -> tuple[bool, ...]:
        """The parameter alone."""
        return (True, *(False for _ in self.coordinates[1:]))

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Domain of the curve."""
        curve = self.curve.curve
        return (ENDLESS if curve.closed else curve.domain, *(ENDLESS for _ in self.coordinates[1:]))

    @model_validator(mode="after")
    def _require_a_frame(self) -> Self:
        curve = self.curve.curve
        if self.orientation in ("tangent", "rotation_minimizing"):
            endless = not all(map(math.isfinite, curve.domain)) and self.curve.type == "expression"
            if endless:
                raise located_error("needs a `domain`: a rotation-minimizing frame is computed in advance", "curve")
            place = parameter_without_tangent(curve)
            if place is not None:
                raise located_error(
                    f"has no tangent at {place:g}: its position is stationary or not defined there; use a curve or a "
                    "`domain` without such a point, or `orientation: fixed`",
                    "curve",
                )
            if "up" in self.model_fields_set and starts_along(curve, self.up):
                raise located_error(
                    "is along the tangent of the curve at its start: choose a direction across it", "up"
                )
        if "up" in self.model_fields_set and self.orientation not in ("tangent", "rotation_minimizing"):
            raise located_error(f"has no effect with `orientation: {self.orientation}`", "up")
        if self.orientation == "frenet" and self.curve.type == "bspline":
            raise located_error(
                "the torsion of a cubic spline, and with it the angular velocity, is discontinuous between pieces: use "
                "`rotation_minimizing`",
                "orientation",
            )
        if self.orientation == "frenet" and curve.closed and not curve.comes_back(DERIVATIVES + 1):
            raise located_error(
                "the third derivative differs between both ends of the closed curve, and with it the angular velocity: "
                "use `rotation_minimizing`",
                "orientation",
            )
        return self


def parts(spec: CurveSpec) -> Sequence[Part]:
    """Return the motion along the curve, and the ball."""
    curve = spec.curve.curve
    joint_map, constants = ORIENTATIONS[spec.orientation](curve, spec.up)
    along = generated_part(joint_map, (curve.kind,), constants, spec.q[:1])
    return [along, ball()] if spec.orientation == "free" else [along]


def start(spec: CurveSpec) -> JointStart:
    """Return the parameter, and the rotation as a quaternion."""
    if spec.orientation != "free":
        return JointStart(spec.q, spec.v, spec.rest)
    return JointStart(_with_quaternion(spec.q), spec.v, _with_quaternion(spec.rest))


def _with_quaternion(q: Sequence[float]) -> tuple[float, ...]:
    return (q[0], *quaternion_of_vector(q[1:]))


KIND = JointKind("curve", CurveSpec, parts, start, friction_patches=rate_patches)
