"""Curve-curve joint: a curve of the child touches a curve of the parent, and slides, rolls and turns on it.

    X = F_1(s1) R_x(turn) F_2(s2)^-1

with the rotation-minimizing frames F along the curves (`geometry.alignment`), whose x is the tangent: both curves have
the point and the tangent in common, in the same direction or in opposite ones.  Two closed curves that are drawn in the
same sense about plane bodies, such as a cam and its follower, touch from outside with opposite tangents.

Source: Si and Guenter 2011, section 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from multibody_cli.joints.contract import Coordinate, JointKind, Part, generated_part, turning
from multibody_cli.joints.domain import ENDLESS, DomainJointSpec, Interval
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.geometry.alignment import (
    AlongPath,
    parameter_without_tangent,
    rotation_minimizing,
    starts_along,
)
from multibody_cli.joints.geometry.curve_specs import AnyCurve, CurveForm
from multibody_cli.joints.joint_map import Constants, Factor, FactorProduct, Frame, Inverse, MapCoordinate, Turn
from multibody_cli.joints.spec import Coordinates
from multibody_cli.spatial.products import ZERO
from multibody_cli.spatial.values import Mat3, Vec3
from multibody_cli.spec import Angle, Direction, Spec
from multibody_cli.spec.quantities import located_error

CURVES = ("parent_curve", "child_curve")

X = Vec3(1.0, 0.0, 0.0)
REVERSED = Frame(Mat3(Vec3(-1.0, 0.0, 0.0), Vec3(0.0, -1.0, 0.0), Vec3(0.0, 0.0, 1.0)), ZERO)


class ToContact(AlongPath):
    """From the parent to the contact point, with the constant rotation to the frame of the other curve."""

    turn: float
    opposite: bool

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the frame at the parameter, with the opposite tangent if so, turned about it."""
        over = [REVERSED] if self.opposite else []
        return [*super().factors(map_coordinates, c), *over, *([Turn(X, self.turn)] if self.turn else [])]


class FromContact(AlongPath):
    """From the contact point back along the curve of the child."""

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """Return the inverse of the frame at the parameter."""
        return [Inverse(FactorProduct(super().factors(map_coordinates, c)))]


class _Curves(Spec):
    """Both curves, and how they touch."""

    parent_curve: AnyCurve = Field(description="Curve of the parent, in the joint's frame on its side.")
    child_curve: AnyCurve = Field(description="Curve of the child, in the joint's frame on its side.")
    tangents: Literal["same", "opposite"] = Field(
        "same", description="Whether the directions of growing parameters are the same where the curves touch."
    )
    turn: Angle | None = Field(
        None,
        description="Fixed angle about the common tangent, of the frame of the child's curve; a coordinate if omitted. "
        "Curves in a plane touch in it with 0.",
    )
    up: Direction = Field(
        (0.0, 0.0, 1.0),
        description="Direction nearest to which z of the frames points at the start of each curve, in its own axes; if "
        "not given, x for a curve that starts along z.",
    )


# `_Curves` is the last base, so that its fields are read before those that depend on the number of coordinates
class CurveCurveSpec(DomainJointSpec, _Curves):
    """The parameters of the curves of parent and child, and between them the angle about the tangent unless fixed."""

    type: Literal["curve_curve"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the free coordinates."""
        if not {"parent_curve", "child_curve", "turn"} <= fields.keys():
            return None
        between = (Coordinate.ANGLE,) if fields["turn"] is None else ()
        return (fields["parent_curve"].curve.kind, *between, fields["child_curve"].curve.kind)

    @model_validator(mode="after")
    def _require_tangents(self) -> Self:
        for word in CURVES:
            curve = getattr(self, word).curve
            if not all(map(math.isfinite, curve.domain)) and getattr(self, word).type == "expression":
                raise located_error("needs a `domain`: a rotation-minimizing frame is computed in advance", word)
            place = parameter_without_tangent(curve)
            if place is not None:
                raise located_error(f"has no tangent at {place:g}: its position is stationary or undefined there", word)
            if "up" in self.model_fields_set and starts_along(curve, self.up):
                raise located_error(
                    f"is along the tangent of `{word}` at its start: choose a direction across it", "up"
                )
        return self

    @property
    def own_domains(self) -> tuple[Interval, ...]:
        """Domains of the curves."""
        first, second = (_domain_of(form) for form in (self.parent_curve, self.child_curve))
        return (first, second) if self.turn is not None else (first, ENDLESS, second)


def _domain_of(form: CurveForm) -> Interval:
    return ENDLESS if form.curve.closed else form.curve.domain


def parts(spec: CurveCurveSpec) -> Sequence[Part]:
    """Return the way along the parent's curve, the rotation about the tangent, and the way back along the child's."""
    (first, constants), (second, others) = (rotation_minimizing(getattr(spec, word).curve, spec.up) for word in CURVES)
    to = ToContact(first.path, first.alignment, first.pieces, spec.turn or 0.0, spec.tangents == "opposite")
    back = FromContact(second.path, second.alignment, second.pieces)
    return [
        generated_part(to, spec.coordinates[:1], constants, spec.q[:1]),
        *([turning((1.0, 0.0, 0.0))] if spec.turn is None else []),
        generated_part(back, spec.coordinates[-1:], others, spec.q[-1:]),
    ]


KIND = JointKind("curve_curve", CurveCurveSpec, parts, friction_patches=rate_patches)
