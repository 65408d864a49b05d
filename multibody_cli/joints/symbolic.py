"""Symbolic joint: a translation and rotations given by user-defined expressions of coordinates.

    X = T(translation) R_1 R_2 ...,    each R_k a rotation about a constant axis by an expression.

Source: Si and Guenter 2011, section 4: any joint whose transform is a function of its coordinates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic.functional_validators import PlainValidator
from pydantic.json_schema import WithJsonSchema

from multibody_cli.errors import ExpressionError, nearest
from multibody_cli.expressions import FORMULA, parse
from multibody_cli.immutable import Immutable
from multibody_cli.joints.contract import Coordinate, JointKind, Part, generated_part
from multibody_cli.joints.friction import rate_patches
from multibody_cli.joints.joint_map import Constants, Factor, MapCoordinate, Pieces, Shift, Turn
from multibody_cli.joints.spec import BrakedJointSpec, CoordinateJointSpec, Coordinates
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import Direction, Spec
from multibody_cli.spec.formulas import (
    TABLES_DESCRIPTION,
    Expressions,
    Formula,
    FunctionTables,
    Parameters,
    expressions_of,
    piecewise_of,
    read_name,
    require_called,
    require_distinct_names,
    require_used,
    require_valid,
)
from multibody_cli.spec.quantities import format_value, located_error, moved_error
from multibody_cli.spec.table_function import TableFunctionSpec
from multibody_cli.symbolic.reading import names_in

Vector = tuple[float, float, float]

_UNITS = {"rad": Coordinate.ANGLE, "m": Coordinate.LENGTH, "1": Coordinate.NUMBER}
"""Units of coordinates."""


class ExpressionMotion(Immutable):
    """A user-defined motion: x, y, z, then the angles of rotations about axes."""

    expressions: Expressions
    axes: tuple[Vector, ...]
    title = "a motion by expressions"
    stride = 0

    @property
    def pieces(self) -> tuple[Pieces | None, ...]:
        """No pieces."""
        return (None,) * len(self.expressions.coordinates)

    def factors(self, map_coordinates: Sequence[MapCoordinate], c: Constants) -> Sequence[Factor]:
        """The translation, then the rotations."""
        x, y, z, *angles = self.expressions.at([map_coordinate.q for map_coordinate in map_coordinates], c)
        turns = (Turn(Vec3(*axis), angle) for axis, angle in zip(self.axes, angles, strict=True))
        return [Shift(Vec3(x, y, z)), *turns]


class TurnSpec(Spec):
    """One rotation of a symbolic joint."""

    axis: Direction = Field(description="Axis, in the frame after the preceding rotations.")
    angle: Formula = Field(description="Angle, rad, as an expression of the coordinates.")


def _read_names(value: Any) -> dict[str, Coordinate]:
    if isinstance(value, list | tuple):
        if len(set(map(str, value))) < len(value):
            raise ValueError("expected names that differ")
        value = dict.fromkeys(map(str, value), "1")
    if not isinstance(value, dict) or not 1 <= len(value) <= 6:
        raise ValueError(
            f"expected 1 to 6 names, as [theta], or with units, as {{theta: rad}}, found {format_value(value)}"
        )
    found = {}
    for word, unit in value.items():
        if str(unit) not in _UNITS:
            raise ValueError(f"unknown unit {format_value(unit)} of `{word}`; {nearest(str(unit), _UNITS)}")
        found[read_name(word)] = _UNITS[str(unit)]
    return found


class _Expressions(Spec):
    """Fields that are written as expressions, with the names in these."""

    names: Annotated[
        dict[str, Coordinate],
        PlainValidator(_read_names),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "array", "items": {"type": "string"}},
                    {"type": "object", "additionalProperties": {"enum": list(_UNITS)}},
                ]
            }
        ),
    ] = Field(
        alias="coordinates", description="Names of the coordinates, or names with units: rad, m or 1 (the default)."
    )
    parameters: Parameters = Field({}, description="Names for constants, with their values.")
    functions: FunctionTables = Field({}, description=TABLES_DESCRIPTION)
    translation: tuple[Formula, Formula, Formula] = Field(
        ("0.0", "0.0", "0.0"), description="x, y and z of the child's frame, m, as expressions."
    )
    rotation: list[TurnSpec] = Field([], description="Rotations about axes, applied in order after the translation.")

    @field_validator("parameters")
    @classmethod
    def _require_other_names(cls, parameters: dict[str, float], info: ValidationInfo) -> dict[str, float]:
        require_distinct_names(info.data.get("names", ()), parameters)
        return parameters

    @field_validator("functions")
    @classmethod
    def _require_other_names_of_functions(
        cls, functions: dict[str, TableFunctionSpec], info: ValidationInfo
    ) -> dict[str, TableFunctionSpec]:
        require_distinct_names([*info.data.get("names", ()), *info.data.get("parameters", ())], functions)
        return functions

    @field_validator("translation")
    @classmethod
    def _know_names(cls, translation: Sequence[str], info: ValidationInfo) -> Sequence[str]:
        if {"names", "parameters", "functions"} <= info.data.keys():
            require_valid(translation, info.data["names"], info.data["parameters"], functions=info.data["functions"])
        return translation

    @field_validator("rotation")
    @classmethod
    def _know_names_of_angles(cls, rotation: list[TurnSpec], info: ValidationInfo) -> list[TurnSpec]:
        if {"names", "parameters", "functions"} <= info.data.keys():
            angles = [turn.angle for turn in rotation]
            require_valid(
                angles, info.data["names"], info.data["parameters"], "angle", functions=info.data["functions"]
            )
        return rotation


# `_Expressions` is the last base, so that its fields are read before those that depend on the number of coordinates
class SymbolicSpec(CoordinateJointSpec, BrakedJointSpec, _Expressions):
    """One coordinate for each name; the functions in the expressions are smooth, or given by tables."""

    type: Literal["symbolic"]

    @classmethod
    def coordinates_of(cls, fields: Mapping[str, Any]) -> Coordinates | None:
        """Return the named coordinates."""
        return tuple(fields["names"].values()) if "names" in fields else None

    @property
    def names_of_coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates in tables of motions: by default those in expressions."""
        return self.coordinate_names or tuple(self.names)

    @model_validator(mode="after")
    def _require_motion(self) -> Self:
        if not {"translation", "rotation"} & self.model_fields_set:
            raise ValueError("expected `translation` or `rotation`")
        texts = [text for _, text in self._texts()]
        moving = {word for text in texts for word in names_in(parse(text, FORMULA))}
        for word in self.names:
            if word not in moving:
                raise located_error(f"`{word}` has no effect: no expression uses it", "coordinates")
        try:
            require_used(self.parameters, texts)
        except ValidationError as error:
            raise moved_error(error, "parameters") from None
        try:
            require_called(self.functions, texts)
        except ValidationError as error:
            raise moved_error(error, "functions") from None
        return self

    @model_validator(mode="after")
    def _require_a_start(self) -> Self:
        values = {**self.parameters, **dict(zip(self.names, self.q, strict=True))}
        functions = {word: piecewise.value for word, piecewise in piecewise_of(self.functions).items()}
        for path, text in self._texts():
            try:
                parse(text, FORMULA).evaluate(values | functions)
            except ExpressionError as error:
                raise located_error(f"{error} where the joint starts", *path) from None
        return self

    def _texts(self) -> Iterator[tuple[NodePath, str]]:
        """Yield every expression, and its path."""
        for k, text in enumerate(self.translation):
            yield ("translation", k), text
        for k, turn in enumerate(self.rotation):
            yield ("rotation", k, "angle"), turn.angle


def parts(spec: SymbolicSpec) -> Sequence[Part]:
    """Return the single part."""
    texts = (*spec.translation, *(turn.angle for turn in spec.rotation))
    expressions, constants = expressions_of(texts, tuple(spec.names), spec.parameters, piecewise_of(spec.functions))
    joint_map = ExpressionMotion(expressions, tuple(turn.axis for turn in spec.rotation))
    return [generated_part(joint_map, spec.coordinates, constants, spec.q)]


KIND = JointKind("symbolic", SymbolicSpec, parts, friction_patches=rate_patches)
