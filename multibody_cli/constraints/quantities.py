"""Quantities of the motion that expressions constrain, as formulas of vectors that move with bodies.

A quantity reads sources: points, axes and angular velocities of bodies, and coordinates.  A source has a value x, its
rate u, and the rate c of u without accelerations.  A slope J by u acts on its body or on its coordinate:

    source            x    u          c               acts as
    point             p    v + w x r  w x (w x r)     force J at the lever arm r
    axis              n    w x n      w x (w x n)     moment n x J
    angular velocity  -    w          0               moment J
    coordinate        q    dq/dt      0               J

Coinciding points have no direction, nor have parallel axes an axis of their angle: below `SMALLEST` a distance or an
angle is 0, without slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic_core import core_schema

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import in_python
from multibody_cli.nodes import NodePath
from multibody_cli.spatial import products
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import BodyPoint, Catalogue, Direction, Spec, Vector
from multibody_cli.spec.quantities import NUMBER_SCHEMA, list_schema, located_error
from multibody_cli.symbolic.scalar import Value, apply, sqrt

cross, dot = map(in_python, (products.cross, products.dot))

WORLD = "world"

SMALLEST = 1e-12
"""Distance, m, or sine of an angle, below which it counts as 0.

Bodies that pass straight through a point have round-off of v^2 / d in the bias of their distance, which this bounds.
"""


# --- sources ------------------------------------------------------------------------------------------------------
class SourceCode(IntEnum):
    """Kind of a source."""

    POINT = 0
    AXIS = 1
    SPIN = 2
    COORDINATE = 3
    PARAMETER = 4


class Source(NamedTuple):
    """A value that a quantity reads: its kind, the name of its body or coordinate, and its vector in the body frame."""

    code: SourceCode
    of: str
    vector: Vector = (0.0, 0.0, 0.0)


class BodyAxis(Spec):
    """An axis fixed in a body."""

    EXAMPLE = "{body: NAME, axis: [x, y, z]}"

    body: str = Field(description="Body in which the axis is fixed, or `world`.")
    axis: Direction = Field(description="The axis in the body frame.")


class _AxisOrDirection(Immutable):
    """Annotation of an axis: [x, y, z] is an axis of the world."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Replace a list."""
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept three numbers or an axis."""
        return {"anyOf": [list_schema(NUMBER_SCHEMA, 3), handler(schema)]}

    @staticmethod
    def _read(value: Any) -> Any:
        return {"body": WORLD, "axis": value} if isinstance(value, list | tuple) else value


Axis = Annotated[BodyAxis, _AxisOrDirection()]
Along = Annotated[Axis, Field(description="Axis along which it counts: [x, y, z] in the world, or {body, axis}.")]

Sources = Sequence[tuple[NodePath, Source]]


def _point(place: NodePath, one: BodyPoint) -> tuple[NodePath, Source]:
    return place, Source(SourceCode.POINT, one.body, one.point)


def _axis(place: NodePath, one: BodyAxis) -> tuple[NodePath, Source]:
    return place, Source(SourceCode.AXIS, one.body, one.axis)


# --- quantities -----------------------------------------------------------------------------------------------------
class QuantitySpec(Spec):
    """An input of an expression.

    Attributes
    ----------
    IS_VELOCITY
        Whether it is a velocity.
    """

    IS_VELOCITY: ClassVar[bool] = False

    @property
    def sources(self) -> Sources:
        """The values that it reads, each with its place in the entry."""
        raise NotImplementedError

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """Return the quantity as a formula of the values and rates of its sources."""
        raise NotImplementedError


class CoordinateQuantity(QuantitySpec):
    """A coordinate of a joint."""

    coordinate: str = Field(description="Coordinate, rad or m; `wrist/0` is the first of a joint with several.")

    @property
    def sources(self) -> Sources:
        """The coordinate."""
        return [(("coordinate",), Source(SourceCode.COORDINATE, self.coordinate))]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """q."""
        return x[0].x


class RateQuantity(QuantitySpec):
    """The rate of a coordinate of a joint."""

    IS_VELOCITY = True

    rate: str = Field(description="Coordinate whose rate is meant, rad/s or m/s.")

    @property
    def sources(self) -> Sources:
        """The coordinate."""
        return [(("rate",), Source(SourceCode.COORDINATE, self.rate))]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """dq/dt."""
        return u[0].x


class PositionQuantity(QuantitySpec):
    """Position of a point along an axis."""

    position: BodyPoint = Field(description="The point.")
    relative_to: BodyPoint = Field(
        BodyPoint(body=WORLD), description="Point from which the position counts. Default: the origin of the world."
    )
    along: Along

    @property
    def sources(self) -> Sources:
        """Both points and the axis."""
        return [
            _point(("position",), self.position),
            _point(("relative_to",), self.relative_to),
            _axis(("along",), self.along),
        ]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """(p - o) . n."""
        return dot(x[0] - x[1], x[2])


class DirectionQuantity(QuantitySpec):
    """Component of the direction of an axis along another axis: the cosine of their angle."""

    direction: Axis = Field(description="The axis.")
    along: Along

    @property
    def sources(self) -> Sources:
        """Both axes."""
        return [_axis(("direction",), self.direction), _axis(("along",), self.along)]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """a . n."""
        return dot(*x)


class DistanceQuantity(QuantitySpec):
    """Distance of two points."""

    distance: list[BodyPoint] = Field(min_length=2, max_length=2, description="The two points.")

    @model_validator(mode="after")
    def _require_two_bodies(self) -> Self:
        if self.distance[0].body == self.distance[1].body:
            body = self.distance[0].body
            raise located_error(f"both are fixed in `{body}`: name two different bodies", "distance")
        return self

    @property
    def sources(self) -> Sources:
        """Both points."""
        return [_point(("distance", k), one) for k, one in enumerate(self.distance)]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """|p - o|."""
        return norm(x[1] - x[0])


class AngleQuantity(QuantitySpec):
    """Angle of two axes."""

    angle: list[Axis] = Field(min_length=2, max_length=2, description="The two axes; their angle is from 0 to pi.")

    @model_validator(mode="after")
    def _require_two_bodies(self) -> Self:
        if self.angle[0].body == self.angle[1].body:
            body = self.angle[0].body
            raise located_error(f"both are fixed in `{body}`: name two different bodies", "angle")
        return self

    @property
    def sources(self) -> Sources:
        """Both axes."""
        return [_axis(("angle", k), one) for k, one in enumerate(self.angle)]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """atan2(|a x b|, a . b)."""
        return apply("atan2", norm(cross(*x)), dot(*x))


class VelocityQuantity(QuantitySpec):
    """Velocity of a point along an axis, relative to the world."""

    IS_VELOCITY = True

    velocity: BodyPoint = Field(description="The point.")
    along: Along

    @property
    def sources(self) -> Sources:
        """The point and the axis."""
        return [_point(("velocity",), self.velocity), _axis(("along",), self.along)]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """(v + w x r) . n."""
        return dot(u[0], x[1])


class AngularVelocityQuantity(QuantitySpec):
    """Angular velocity of a body about an axis, relative to the world."""

    IS_VELOCITY = True

    angular_velocity: str = Field(description="The body.")
    along: Along

    @property
    def sources(self) -> Sources:
        """The body and the axis."""
        spin = Source(SourceCode.SPIN, self.angular_velocity)
        return [(("angular_velocity",), spin), _axis(("along",), self.along)]

    @staticmethod
    def formula(x: Sequence[Vec3], u: Sequence[Vec3]) -> Value:
        """w . n."""
        return dot(u[0], x[1])


def norm(a: Vec3) -> Value:
    """Return the length of a vector; 0, without slope, if it is shorter than `SMALLEST`."""
    square, least = dot(a, a), SMALLEST**2
    is_long = apply("floor", 1.5 * square / (square + 0.5 * least))  # 1 from `least` on, else 0; constant
    return is_long * sqrt(square + (1.0 - is_long) * least)


QUANTITIES: dict[str, type[QuantitySpec]] = {
    "coordinate": CoordinateQuantity,
    "rate": RateQuantity,
    "position": PositionQuantity,
    "direction": DirectionQuantity,
    "distance": DistanceQuantity,
    "angle": AngleQuantity,
    "velocity": VelocityQuantity,
    "angular_velocity": AngularVelocityQuantity,
}
"""Quantitys by the key that identifies them."""


class _OrCoordinate(Immutable):
    """Annotation of a quantity: a text is the name of a coordinate."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Replace a text."""
        return core_schema.no_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept a text or a quantity."""
        return {"anyOf": [{"type": "string"}, handler(schema)]}

    @staticmethod
    def _read(value: Any) -> Any:
        return {"coordinate": value} if isinstance(value, str) else value


MotionQuantity = Annotated[
    QuantitySpec,
    Catalogue("a coordinate or a quantity", QUANTITIES, {word: word for word in QUANTITIES}),
    _OrCoordinate(),
]
"""An input of an expression."""
