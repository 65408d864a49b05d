"""Paths through points of bodies and over surfaces: the entries of `paths:` in a scene file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.functional_validators import AfterValidator, PlainValidator
from pydantic.json_schema import WithJsonSchema
from pydantic_core import core_schema

from multibody_cli.errors import nearest
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats
from multibody_cli.nodes import NodePath
from multibody_cli.spec import units
from multibody_cli.spec.catalogue import Catalogue
from multibody_cli.spec.entries import BetweenSpec, placed
from multibody_cli.spec.formulas import TABLES_DESCRIPTION, Formula, FunctionTables, piecewise_of, require_consistent
from multibody_cli.spec.geometry import Direction, Vector
from multibody_cli.spec.points import Attachment, BodyPoint
from multibody_cli.spec.quantities import (
    NUMBER_SCHEMA,
    Quantity,
    Spec,
    format_value,
    list_schema,
    located_error,
    read_any,
    read_each,
)
from multibody_cli.spec.wrapping_surface import Surface
from multibody_cli.symbolic.reading import formula_of

SECTIONS = ("paths", "forces", "springs", "muscles", "constraints")
"""Sections whose entries have a path, or name one."""


def _read_range(value: Any) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ValueError(f"expected a pair [lower, upper], found {format_value(value)}")
    lower, upper = read_each(read_any, value)
    if not lower < upper:
        raise ValueError(f"expected a lower value below the upper one, found {lower:g} and {upper:g}")
    return lower, upper


Range = Annotated[tuple[float, float], PlainValidator(_read_range), WithJsonSchema(list_schema(NUMBER_SCHEMA, 2))]


class MovingPoint(BodyPoint):
    """A point that may move in its body with a coordinate of a joint."""

    DEPENDENT: ClassVar[tuple[str, ...]] = ("moving",)
    """Fields that depend on the coordinate."""

    coordinate: str | None = Field(
        None, description="Coordinate q with which the point changes: a joint, or `wrist/1`, rad or m."
    )
    moving: list[Formula] | None = Field(
        None,
        min_length=3,
        max_length=3,
        description="The point in the body frame, m, as three expressions of q, in place of `point`.",
    )
    functions: FunctionTables = Field({}, description=TABLES_DESCRIPTION)

    @model_validator(mode="after")
    def _require_a_dependence(self) -> Self:
        depends = [key for key in self.DEPENDENT if getattr(self, key) is not None]
        if self.coordinate is None:
            if depends:
                raise located_error("expected the `coordinate` on which it depends", depends[0])
        elif not depends:
            fields = " or ".join(f"`{key}`" for key in self.DEPENDENT)
            raise located_error(f"has no effect without {fields}", "coordinate")
        if self.moving is not None:
            if "point" in self.model_fields_set:
                raise located_error("has no effect beside `moving`", "point")
            require_consistent({("moving", k): text for k, text in enumerate(self.moving)}, ["q"], {}, self.functions)
        elif self.functions:
            raise located_error("has no effect without `moving`", "functions")
        return self

    def places(self, q: Iterable[float]) -> Floats:
        """Return the positions (n, 3) for values (n,) of the coordinate, m, in the body frame."""
        tables = piecewise_of(self.functions)
        formulas = [parse(text, FORMULA) for text in self.moving or map(repr, self.point)]
        return np.array([[formula_of(one, {"q": float(x)}, tables) for one in formulas] for x in q], dtype=float)


class PathPoint(MovingPoint):
    """A point of a path; the first one of a branch has the divisor of the branch.

    It may be part of the path in a range of its coordinate.
    """

    DEPENDENT: ClassVar[tuple[str, ...]] = ("moving", "range")

    range: Range | None = Field(
        None,
        description="Values [lower, upper] of q, rad or m, between which the point is part of the path. The length "
        "jumps there unless the point is on the line of its neighbors.",
    )
    divisor: Annotated[float, Quantity(units.NUMBER, above=0.0)] | None = Field(
        None,
        description="Begins a branch: no line leads to this point from the one before, and the lengths of the lines of "
        "the branch are divided by this number, as by a pulley.",
    )

    @model_validator(mode="after")
    def _require_a_start_of_branch(self) -> Self:
        if self.range is not None and self.divisor is not None:
            raise located_error("a branch begins with a point that is always part of the path", "range")
        return self


class _UnknownName(str):
    """A name that no entry of a section has, and the names that they have."""

    valid: tuple[str, ...] = ()


class _OrName(Immutable):
    """Annotation of a value that `with_paths` has put in place of the name of an entry of a section."""

    noun: str
    section: str
    otherwise: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string"}]}

    def read(self, value: Any) -> Any:
        """Refuse names of unknown entries."""
        if isinstance(value, str):
            expected = f"expected a name of the section `{self.section}`, or {self.otherwise}"
            hint = f"; {nearest(value, value.valid)}" if isinstance(value, _UnknownName) else ""
            raise ValueError(f"unknown {self.noun} `{value}`: {expected}{hint}")
        return value


class ArcSpec(Spec):
    """A surface over which a path wraps, between the entries before and after it."""

    EXAMPLE = "{wrap: SURFACE}"
    ORIENTED: ClassVar[bool] = True

    wrap: Annotated[Surface, _OrName("surface", "surfaces", "a surface")] = Field(
        description="The surface, or its name in the section `surfaces`."
    )
    side: Direction | None = Field(
        None,
        description="Side of the surface on which the path stays, a direction in the frame of the surface: seen along "
        "the axis round which it goes, the path does not cross the opposite direction. Default: the shorter way.",
    )

    only_cut: bool = Field(
        False,
        description="Whether the path touches the surface only where the line between its neighbors cuts it: with a "
        "`side`, the length then jumps where this line enters the surface on the other side.",
    )

    @model_validator(mode="after")
    def _require_a_side_about_the_axis(self) -> Self:
        axis = self.wrap.AXIS
        if self.side is not None and not self.wrap.SIDED:
            raise located_error("a path leads through the hole of a torus: expected no side", "side")
        if self.side is not None and axis is not None:
            along = sum(one * other for one, other in zip(self.side, axis, strict=True))
            if abs(along) > 1.0 - 1e-9:
                raise located_error("is along the axis of the surface: expected a direction across it", "side")
        return self

    @property
    def body(self) -> str:
        """The body of the surface."""
        return self.wrap.body

    @property
    def point(self) -> Vector:
        """The centre of the surface in the body frame, m."""
        return self.wrap.position


PathEntry = Annotated[
    PathPoint | ArcSpec,
    Catalogue("an entry of a path", {"point": PathPoint, "arc": ArcSpec}, {"body": "point", "wrap": "arc"}),
]
"""A point, or a surface between two points."""


def _require_lines(entries: list[PathEntry]) -> list[PathEntry]:
    ends = {0: "first", len(entries) - 1: "last"}
    for k, entry in enumerate(entries):
        if isinstance(entry, ArcSpec):
            if k in ends:
                raise located_error(f"the {ends[k]} entry of a path is a point", k)
            following = entries[k + 1]
            if isinstance(following, PathPoint) and following.divisor is not None:
                raise located_error("a branch ends with a point", k)
        elif entry.range is not None and k in ends:
            raise located_error(f"the {ends[k]} point is always part of the path", k, "range")
        elif entry.divisor is not None and (k in ends or getattr(entries[k + 1], "divisor", None) is not None):
            raise located_error("a branch has at least two points", k)
    return entries


Points = Annotated[list[PathEntry], Field(min_length=2), AfterValidator(_require_lines)]
"""The points and surfaces of a path from end to end."""

PointsOrName = Annotated[Points, _OrName("path", "paths", "a list of points")]
"""The points and surfaces of a path, or the name of an entry of `paths:`."""


class PathSpec(BetweenSpec):
    """A path through points of bodies and over surfaces, which springs, muscles, forces and constraints name."""

    path: Points = Field(
        description="Its ends, and between them points through which it slides and surfaces over which it wraps."
    )
    friction: Annotated[float, Quantity(units.FORCE, least=0.0)] = Field(
        0.0, description="Dry friction of a brake on the length of the path, N."
    )

    @property
    def points(self) -> list[tuple[NodePath, Attachment]]:
        """Its points from end to end."""
        return placed("path", self.path)


def line_factors(points: Sequence[Attachment]) -> Iterator[float]:
    """Yield the factor of the line that ends at each entry: 1 / divisor of its branch, 0 before a branch."""
    factor = 1.0
    for k, point in enumerate(points):
        divisor = point.divisor if isinstance(point, PathPoint) else None
        factor = factor if divisor is None else 1.0 / divisor
        yield 0.0 if k == 0 or divisor is not None else factor


def moving_coordinates(points: Iterable[Attachment]) -> list[str]:
    """Return the coordinates with which points move in their bodies."""
    found = [end.coordinate for end in points if isinstance(end, MovingPoint) and end.moving is not None]
    return [word for word in found if word is not None]


def coordinates_of(points: Sequence[tuple[NodePath, Attachment]]) -> list[tuple[NodePath, str]]:
    """Return the place and the name of each coordinate with which points move in their bodies, each once."""
    words = dict.fromkeys(moving_coordinates([end for _, end in points]))
    places = {end.coordinate: place for place, end in points if isinstance(end, MovingPoint)}
    return [((*places[word], "coordinate"), word) for word in words]


# --- names ------------------------------------------------------------------------------------------------------------
def with_paths(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a scene with the entries of each path, and the surfaces, in place of their names."""
    paths, surfaces = (data.get(section) for section in ("paths", "surfaces"))
    return {
        **data,
        **{
            section: {name: _resolved(entry, paths, surfaces) for name, entry in data[section].items()}
            for section in SECTIONS
            if isinstance(data.get(section), dict)
        },
    }


def names_path(data: Any, place: Sequence[Any]) -> bool:
    """Whether a place in the data of a scene is below a field that names a path or a surface."""
    for field, key in itertools.pairwise([None, *place]):
        if isinstance(data, str):
            return field in ("path", "wrap")
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return False
    return False


def _named(name: Any, entries: Any) -> Any:
    """Return the entry of a name; the name, with those of the entries, if there is none."""
    if not isinstance(name, str) or not isinstance(entries, dict):
        return name
    if isinstance(entries.get(name), dict):
        return entries[name]
    unknown = _UnknownName(name)
    unknown.valid = tuple(word for word in entries if isinstance(word, str) and word != name)
    return unknown


def _resolved(entry: Any, paths: Any, surfaces: Any) -> Any:
    if not isinstance(entry, dict) or "path" not in entry:
        return entry
    path = _named(entry["path"], paths)
    if isinstance(path, dict):
        path = path.get("path", entry["path"])
    return {**entry, "path": [_with_surface(one, surfaces) for one in path] if isinstance(path, list) else path}


def _with_surface(entry: Any, surfaces: Any) -> Any:
    is_arc = isinstance(entry, dict) and "wrap" in entry
    return {**entry, "wrap": _named(entry["wrap"], surfaces)} if is_arc else entry
