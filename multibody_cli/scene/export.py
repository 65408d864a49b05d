"""JSON Schema of the scene file, by which editors complete and check what is typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.document.repeat import LISTS, MAPPINGS
from multibody_cli.joints import JOINTS
from multibody_cli.joints.coordinate_fields import limits_form, prescribed_schema
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.spec import Spec, rotations
from multibody_cli.spec.geometry import ROTATION_SCHEMA
from multibody_cli.spec.quantities import NUMBER_SCHEMA, TEXT_SCHEMA, list_schema
from multibody_cli.spec.signal import SignalSpec, signal_schema

DIALECT = "http://json-schema.org/draft-07/schema#"
IDENTITY = "scene.schema.json"


class _Generator(GenerateJsonSchema):
    """Draft 7, which the language servers of editors know best; every value may also be a `${...}`."""

    schema_dialect = DIALECT

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Show defaults that can be written so in a scene, and leave out those of the types behind it."""
        inner = self.generate_inner(schema["schema"])
        default = _as_written(schema.get("default"))
        return inner if default is None else {**inner, "default": default}

    def int_schema(self, schema: core_schema.IntSchema) -> dict[str, Any]:
        """Accept a text beside the number."""
        return _or_text(super().int_schema(schema))

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        """Accept a text beside the number."""
        return dict(NUMBER_SCHEMA)

    def bool_schema(self, schema: core_schema.BoolSchema) -> dict[str, Any]:
        """Accept `${...}` beside true and false."""
        return _or_text(super().bool_schema(schema))

    def literal_schema(self, schema: core_schema.LiteralSchema) -> dict[str, Any]:
        """Accept `${...}` beside a choice of words; a single word, such as a `type`, stays as it is."""
        found = super().literal_schema(schema)
        return found if "const" in found else _or_text(found)

    def list_schema(self, schema: core_schema.ListSchema) -> dict[str, Any]:
        """Accept `${...}` beside the list."""
        return _or_text(super().list_schema(schema))


def scene_schema() -> dict[str, Any]:
    """Give the JSON Schema of a scene file as it is written, before it is resolved."""
    schema = Scene.model_json_schema(schema_generator=_Generator)
    properties = schema["properties"]
    sections = {name: {**properties[name], "description": _TIMES} for name in (*MAPPINGS, *LISTS)}
    properties["vars"] = {
        "type": "object",
        "description": "Named values for `${...}`; they may use one another. A name is given once: "
        "a variable of an included file is replaced by `--set vars.NAME=VALUE`, not by another entry.",
    }
    properties["include"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Files whose sections are merged into this one, relative to it; no entry may stand in both.",
    }
    properties["repeat"] = {
        "type": "array",
        "description": "Entries that are written several times.",
        "items": {"$ref": "#/$defs/Repeat"},
    }
    schema["$defs"]["Repeat"] = {
        "type": "object",
        "description": "Entries that are written `count` times, with the index for `${...}` in them.",
        "properties": {
            "count": {**NUMBER_SCHEMA, "description": "How many times."},
            "index": {"type": "string", "default": "i", "description": "Name of the index, which counts from 0."},
            **sections,
        },
        "required": ["count"],
        "additionalProperties": False,
    }
    # a scene may have all of its bodies, or its settings, from `repeat` or `include`
    schema["required"] = ["mbsim"]
    properties["bodies"].pop("minProperties", None)
    definitions, names = _named_forms()
    schema = _tidied(schema, names)
    schema["$defs"] |= definitions
    return {"$schema": DIALECT, "$id": IDENTITY, **schema}


def scene_schema_text() -> str:
    """Give the content of `schemas/scene.schema.json`."""
    return json.dumps(scene_schema(), indent=2, ensure_ascii=False) + "\n"


def _entries_of(specs: Mapping[str, type[Spec]]) -> dict[str, Any]:
    return {"anyOf": [{"$ref": f"#/$defs/{spec.__name__}"} for spec in specs.values()]}


_TIMES = "Written once for each value of the index; names carry `${i}`."


def _or_text(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, TEXT_SCHEMA]}


def _as_written(value: Any) -> Any:
    """Give a default as a scene would have it; None where it says nothing."""
    if value == rotations.IDENTITY:
        return {"quaternion": _as_written([*rotations.IDENTITY])}
    if isinstance(value, SignalSpec):
        return _as_written(value.constant)
    if isinstance(value, tuple | list):
        return [_as_written(entry) for entry in value] or None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float | str) and value != "" else None


def _tidied(schema: Any, names: Mapping[str, str]) -> Any:
    """Leave out titles, which only repeat the names, and refer to the forms that occur again and again."""
    if isinstance(schema, list):
        return [_tidied(entry, names) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {
        key: {name: _tidied(entry, names) for name, entry in value.items()}
        if key in _BY_NAME and isinstance(value, dict)
        else _tidied(value, names)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
    name = names.get(_content(tidy.get("anyOf")))
    if name is not None:
        del tidy["anyOf"]
        return {"$ref": f"#/$defs/{name}", **tidy}
    return tidy


def _content(choices: Any) -> str:
    return json.dumps(choices, sort_keys=True)


def _named_forms() -> tuple[dict[str, Any], dict[str, str]]:
    """Give the forms that get a name, each in terms of those before it, and the names by their content."""
    definitions: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, form in _FORMS.items():
        definitions[name] = {"description": form[0], **_tidied(form[1], names)}
        names[_content(definitions[name]["anyOf"])] = name
    return definitions, names


_BY_NAME = ("properties", "$defs")

_FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Quantity": (
        "A number in SI and radians, a text with a unit such as `30 deg`, or `${...}`.",
        NUMBER_SCHEMA,
    ),
    "Vector": ("Three quantities.", list_schema(NUMBER_SCHEMA, 3)),
    "Signal": ("A quantity, an expression of t, or a table {times, values}.", signal_schema()),
    "SignalVector": ("Three functions of time.", list_schema(signal_schema(), 3)),
    "Motion": (
        "Exactly one of these for the coordinates of a joint; in a list, null leaves a coordinate free.",
        prescribed_schema(),
    ),
    "Limits": (
        "Least and greatest value [lower, upper] of the coordinate of a joint; null leaves a side open. For joints of "
        "several coordinates a list of these, with null for those that have no limits.",
        limits_form(),
    ),
    "Rotation": ("Exactly one way to write a rotation.", ROTATION_SCHEMA),
    "Shape": ("A shape, told by its `type`.", _entries_of(SHAPES)),
    "Joint": (
        "A joint, told by its `type`.",
        _entries_of({name: kind.spec for name, kind in JOINTS.items()}),
    ),
    "Coupling": (
        "A relation of coordinates, told by its `type`.",
        _entries_of({name: kind.spec for name, kind in COUPLINGS.items()}),
    ),
    "Constraint": (
        "A constraint, told by its `type`.",
        _entries_of({name: kind.spec for name, kind in CONSTRAINTS.items()}),
    ),
}
"""Forms that occur again and again: what they are, and their schema."""
