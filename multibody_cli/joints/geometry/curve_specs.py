"""Curves in a scene file."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from multibody_cli.joints.contract import Coordinate
from multibody_cli.joints.geometry.paths import (
    Circle,
    Curve,
    Cycloid,
    ExpressionPath,
    Helix,
    RoundExpressionPath,
    b_spline,
    bezier,
)
from multibody_cli.limits import require_within
from multibody_cli.spec import Catalogue, Length, Number, Position, PositiveLength, Spec, Vector
from multibody_cli.spec.formulas import Formula, Name, Parameters, expressions_of, require_position
from multibody_cli.spec.quantities import located_error

MOST_OF_BEZIER = 12
"""Maximum number of control points of a Bezier curve; beyond, its coefficients are ill-conditioned."""

LEAST_OF_SPLINE = 4

DERIVATIVES = 2
"""Number of derivatives that agree at both ends of a closed curve, for accelerations of joints."""


class CurveForm(Spec):
    """A curve, in the joint's frame F."""

    type: str

    @property
    def curve(self) -> Curve:
        """The curve."""
        raise NotImplementedError


class BezierCurveSpec(CurveForm):
    """A Bezier curve of any degree over s in [0, 1]."""

    type: Literal["bezier"]
    points: list[Position] = Field(
        min_length=2,
        max_length=MOST_OF_BEZIER,
        description="Control points, m; the first and the last lie on the curve.",
    )

    @property
    def curve(self) -> Curve:
        """The curve."""
        return bezier(self.points)


class BSplineCurveSpec(CurveForm):
    """A uniform cubic B-spline; s increases by 1 per piece."""

    type: Literal["bspline"]
    points: list[Position] = Field(
        description="Control points, m; n points make n - 3 pieces, or n if the curve is closed.",
        json_schema_extra={"minItems": LEAST_OF_SPLINE},
    )
    closed: bool = Field(False, description="Whether the end is connected to the beginning.")

    @field_validator("points")
    @classmethod
    def _require_enough(cls, points: list[Vector]) -> list[Vector]:
        if len(points) < LEAST_OF_SPLINE:
            raise ValueError(f"a cubic spline needs {LEAST_OF_SPLINE} control points or more, found {len(points)}")
        require_within("curve_points", len(points))
        return points

    @property
    def curve(self) -> Curve:
        """The curve."""
        return b_spline(self.points, self.closed)


class HelixCurveSpec(CurveForm):
    """A helix about z: (radius cos s, radius sin s, pitch s / 2 pi)."""

    type: Literal["helix"]
    radius: PositiveLength = Field(description="Radius, m.")
    pitch: Length = Field(description="Rise per turn, m; negative for a descending helix.")

    @property
    def curve(self) -> Curve:
        """The curve."""
        return Curve(Helix(), ((self.radius, self.pitch / math.tau),), Coordinate.ANGLE)


class CircleCurveSpec(CurveForm):
    """A circle about z: (radius cos s, radius sin s, 0)."""

    type: Literal["circle"]
    radius: PositiveLength = Field(description="Radius, m.")

    @property
    def curve(self) -> Curve:
        """The curve."""
        return Curve(Circle(), ((self.radius,),), Coordinate.ANGLE)


class CycloidCurveSpec(CurveForm):
    """A cycloid below the x axis: (radius (s - sin s), 0, -radius (1 - cos s))."""

    type: Literal["cycloid"]
    radius: PositiveLength = Field(description="Radius of the rolling circle, m.")

    @property
    def curve(self) -> Curve:
        """The curve."""
        return Curve(Cycloid(), ((self.radius,),), Coordinate.ANGLE, reference=math.pi)


class ExpressionCurveSpec(CurveForm):
    """A curve by expressions of one parameter."""

    type: Literal["expression"]
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    parameter: Name = Field("s", description="Name of the parameter, which is the coordinate of the joint.")
    position: tuple[Formula, Formula, Formula] = Field(description="x, y and z, m, as expressions of the parameter.")
    domain: tuple[Number, Number] | None = Field(None, description="Interval of the parameter; unbounded by default.")
    closed: bool = Field(
        False,
        description="Whether the end of the domain is connected to its beginning; position and first two "
        "derivatives must agree at both.",
    )

    @model_validator(mode="after")
    def _require_sense(self) -> Self:
        require_position(self.position, (self.parameter,), self.parameters)
        if self.domain is not None and not self.domain[0] < self.domain[1]:
            raise located_error("expected the beginning before the end", "domain")
        if self.closed and self.domain is None:
            raise located_error("needs a `domain`", "closed")
        if self.closed and not self.curve.comes_back(DERIVATIVES):
            raise located_error(
                "position, first or second derivative differ between both ends of the `domain`", "closed"
            )
        return self

    @property
    def curve(self) -> Curve:
        """The curve."""
        expressions, constants = expressions_of(self.position, (self.parameter,), self.parameters)
        if self.domain is None:
            return Curve(ExpressionPath(expressions), (constants,), Coordinate.NUMBER)
        if not self.closed:
            return Curve(ExpressionPath(expressions), (constants,), Coordinate.NUMBER, self.domain)
        start, end = self.domain
        row = (*constants, start, end - start)
        return Curve(
            RoundExpressionPath(expressions), (row,), Coordinate.NUMBER, self.domain, closed=True, in_pieces=True
        )


CURVES: dict[str, type[CurveForm]] = {
    "bezier": BezierCurveSpec,
    "bspline": BSplineCurveSpec,
    "helix": HelixCurveSpec,
    "circle": CircleCurveSpec,
    "cycloid": CycloidCurveSpec,
    "expression": ExpressionCurveSpec,
}
"""Every curve by its word."""

AnyCurve = Annotated[CurveForm, Catalogue("a curve", CURVES)]
