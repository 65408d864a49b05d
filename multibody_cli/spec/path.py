"""Paths through points of bodies: the points in a scene file, and the entries of `paths:`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.functional_validators import AfterValidator
from pydantic_core import core_schema

from multibody_cli.immutable import Immutable
from multibody_cli.spec import units
from multibody_cli.spec.entries import BetweenSpec, Place, placed
from multibody_cli.spec.points import BodyPoint
from multibody_cli.spec.quantities import Quantity, located_error

SECTIONS = ("forces", "springs", "muscles", "constraints")
"""Sections whose entries may name a path in place of its points."""


class PathPoint(BodyPoint):
    """A point of a path; the first one of a branch has the divisor of the branch."""

    divisor: Annotated[float, Quantity(units.NUMBER, above=0.0)] | None = Field(
        None,
        description="Begins a branch: no line leads to this point from the one before, and the lengths of the lines of "
        "the branch are divided by this number, as by a pulley.",
    )


class _OrName(Immutable):
    """Annotation of points that `with_paths` has put in place of the name of a path."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema), {"type": "string"}]}

    def read(self, value: Any) -> Any:
        """Refuse names of unknown paths."""
        if isinstance(value, str):
            raise ValueError(f"unknown path `{value}`: expected a name of the section `paths`, or a list of points")
        return value


def _require_lines(points: list[PathPoint]) -> list[PathPoint]:
    for k, point in enumerate(points):
        if point.divisor is not None and (k + 1 == len(points) or points[k + 1].divisor is not None):
            raise located_error("a branch has at least two points", k)
    return points


Points = Annotated[list[PathPoint], Field(min_length=2), AfterValidator(_require_lines)]
"""The points of a path from end to end."""

PointsOrName = Annotated[Points, _OrName()]
"""The points of a path, or the name of an entry of `paths:`."""


class PathSpec(BetweenSpec):
    """A path along straight lines through points of bodies, which springs, muscles, forces and constraints name."""

    path: Points = Field(description="Its ends, and between them points through which it slides.")
    friction: Annotated[float, Quantity(units.FORCE, least=0.0)] = Field(
        0.0, description="Dry friction of a brake on the length of the path, N."
    )

    @property
    def points(self) -> list[tuple[Place, BodyPoint]]:
        """Its points from end to end."""
        return placed("path", self.path)


def line_factors(points: Sequence[BodyPoint]) -> Iterator[float]:
    """Yield the factor of the line that ends at each point: 1 / divisor of its branch, 0 before a branch."""
    factor = 1.0
    for k, point in enumerate(points):
        divisor = point.divisor if isinstance(point, PathPoint) else None
        factor = factor if divisor is None else 1.0 / divisor
        yield 0.0 if k == 0 or divisor is not None else factor


def with_paths(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data of a scene with the points of each path that an entry names in place of the name."""
    return {**data, **{section: _resolved(data, section) for section in SECTIONS if section in data}}


def names_path(data: Mapping[str, Any], place: Sequence[Any]) -> bool:
    """Whether a place in the data of a scene is below a field that names a path."""
    section, name, field = place[:3] if len(place) > 3 else ("", "", "")
    return section in SECTIONS and field == "path" and isinstance(data[section][name]["path"], str)


def _resolved(data: Mapping[str, Any], section: str) -> Any:
    entries, paths = data[section], data.get("paths")
    if not isinstance(entries, dict) or not isinstance(paths, dict):
        return entries
    return {name: _with_points(entry, paths) for name, entry in entries.items()}


def _with_points(entry: Any, paths: Mapping[str, Any]) -> Any:
    named = entry.get("path") if isinstance(entry, dict) else None
    path = paths.get(named) if isinstance(named, str) else None
    return {**entry, "path": path["path"]} if isinstance(path, dict) and "path" in path else entry
