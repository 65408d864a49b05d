"""Points of bodies: given by their coordinates, or by name.

A body has named points, `points: {tool: [x, y, z]}`, which are frames: each has a position and an orientation.  A field
that takes a point of a body takes such a name as well, and a field that takes a frame on a body takes it in place of a
pose.  The fields replace it when a scene is read: the context of the validation is a `NamedPoints`, and the values of
the fields have no names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.functional_validators import BeforeValidator
from pydantic_core import core_schema

from multibody_cli.errors import nearest
from multibody_cli.immutable import Immutable
from multibody_cli.spec import units
from multibody_cli.spec.geometry import Pose, Vector, Vector3
from multibody_cli.spec.quantities import NUMBER_SCHEMA, Reader, Spec, list_schema

NamedPoints = Mapping[str, Mapping[str, Pose]]
"""The named points of each body and of the world, in its body frame."""

_NAME_SCHEMA = {"type": "string"}


def named_point(name: str, body: Any, info: ValidationInfo) -> Pose:
    """Return a named point of a body.

    Raises
    ------
    ValueError
        The scene has no such point.
    """
    points: NamedPoints = info.context or {}
    if body is None:
        return Pose()  # the field that names the body is invalid, and reported
    if body not in points:
        owners = [owner for owner, some in points.items() if some]
        raise ValueError(f"`{body}` has no point `{name}`: it is not in `bodies`; {nearest(str(body), owners)}")
    if name not in points[body]:
        remedy = nearest(name, points[body]) if points[body] else "its `points` define none: add it, or give [x, y, z]"
        raise ValueError(f"`{body}` has no point `{name}`; {remedy}")
    return points[body][name]


class PointOf(Reader):
    """Annotation of a point in a body: [x, y, z] in its frame, m, or the name of one of its points.

    Parameters
    ----------
    body
        Field of the same mapping, before this one, that names the body; None for the world.
    """

    body: str | None = "body"

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Read the value in one call, which has the fields before it."""
        return core_schema.with_info_plain_validator_function(self._read)

    def _read(self, value: Any, info: ValidationInfo) -> Vector:
        if isinstance(value, str):
            return named_point(value, _body_of(self.body, info), info).position
        return Vector3(units.LENGTH).read(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of three numbers or a name."""
        return {"anyOf": [*list_schema(NUMBER_SCHEMA, 3)["anyOf"][:1], _NAME_SCHEMA]}


class FrameOn(Immutable):
    """Annotation of a frame on a body: a `Pose`, or the name of a point of the body; `body` as for `PointOf`."""

    body: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Replace a name by its frame."""
        return core_schema.with_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept a pose or a name."""
        return {"anyOf": [handler(schema), _NAME_SCHEMA]}

    def _read(self, value: Any, info: ValidationInfo) -> Any:
        return named_point(value, _body_of(self.body, info), info) if isinstance(value, str) else value


def _body_of(field: str | None, info: ValidationInfo) -> Any:
    return "world" if field is None else info.data.get(field)


BodyPosition = Annotated[Vector, PointOf()]
"""A point of the body that the field `body` names."""


class Attachment(Protocol):
    """Where a path or another entry is attached to a body: a point, or the centre of a surface.

    Attributes
    ----------
    ORIENTED
        Whether it uses the orientation of the body as well, as a surface does.
    """

    ORIENTED: ClassVar[bool]

    @property
    def body(self) -> str:
        """The body."""

    @property
    def point(self) -> Vector:
        """The point in the body frame, m."""


class BodyPoint(Spec):
    """A point fixed in a body."""

    EXAMPLE = "{body: NAME, point: [x, y, z]}"
    ORIENTED: ClassVar[bool] = False

    body: str = Field(description="Body in which the point is fixed, or `world`.")
    point: BodyPosition = Field((0.0, 0.0, 0.0), description="The point in the body frame, m, or its name.")


def _as_pose(value: Any) -> Any:
    return {"position": value} if isinstance(value, list | tuple) else value


class _PointOrPose(Immutable):
    """Annotation of the frame of a named point: [x, y, z] is a frame with the axes of the body."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept three numbers or a pose."""
        return {"anyOf": [list_schema(NUMBER_SCHEMA, 3), handler(schema)]}


NamedFrame = Annotated[Pose, BeforeValidator(_as_pose), _PointOrPose()]
"""An entry of `points`."""
