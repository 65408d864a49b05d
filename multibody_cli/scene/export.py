"""JSON Schema of the scene file, for completion and validation in editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.document.repeat import LISTS, MAPPINGS
from multibody_cli.document.states import FIELDS
from multibody_cli.joints import JOINTS
from multibody_cli.joints.coordinate_fields import limits_schema, motion_schema
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.shapes import SHAPES
from multibody_cli.spec import rotations
from multibody_cli.spec.friction import FrictionCoefficients, SurfaceFriction, friction_schema
from multibody_cli.spec.geometry import ROTATION_SCHEMA
from multibody_cli.spec.quantities import NUMBER_SCHEMA, TEXT_SCHEMA, list_schema
from multibody_cli.spec.signal import SignalSpec, signal_schema

DIALECT = "http://json-schema.org/draft-07/schema#"
IDENTITY = "scene.schema.json"


class _Generator(GenerateJsonSchema):
    """Draft 7, the version with the best support in editors; every value may also be a `${...}`."""

    schema_dialect = DIALECT

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Show defaults in scene notation; omit those that have none."""
        inner = self.generate_inner(schema["schema"])
        default = _in_scene_notation(schema.get("default"))
        return inner if default is None else {**inner, "default": default}

    def int_schema(self, schema: core_schema.IntSchema) -> dict[str, Any]:
        """Accept a number or a string."""
        return _or_text(super().int_schema(schema))

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        """Accept a number or a string."""
        return dict(NUMBER_SCHEMA)

    def bool_schema(self, schema: core_schema.BoolSchema) -> dict[str, Any]:
        """Accept true, false or `${...}`."""
        return _or_text(super().bool_schema(schema))

    def literal_schema(self, schema: core_schema.LiteralSchema) -> dict[str, Any]:
        """Accept one of several words or `${...}`; a constant, such as a `type`, is unchanged."""
        found = super().literal_schema(schema)
        return found if "const" in found else _or_text(found)

    def list_schema(self, schema: core_schema.ListSchema) -> dict[str, Any]:
        """Accept a list or `${...}`."""
        return _or_text(super().list_schema(schema))


def scene_schema() -> dict[str, Any]:
    """Return the JSON Schema of an unresolved scene file."""
    schema = SceneSpec.model_json_schema(schema_generator=_Generator)
    properties = schema["properties"]
    sections = {name: {**properties[name], "description": _TIMES} for name in (*MAPPINGS, *LISTS)}
    properties["vars"] = {
        "type": "object",
        "description": "Named values for `${...}`, which may refer to each other. Names of constants and functions of "
        "expressions, such as `tau` and `min`, are reserved. Each name is defined once: use `--set vars.NAME=VALUE` to "
        "replace a variable of an included file. A warning names one of the scene that nothing uses.",
    }
    properties["include"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Files whose sections are merged into this one, with relative paths. Entries must be unique.",
    }
    properties["repeat"] = {
        "type": "array",
        "description": "Blocks of entries that are generated several times.",
        "items": {"$ref": "#/$defs/Repeat"},
    }
    schema["$defs"]["SimulationSpec"]["properties"]["state"] = {
        "type": "string",
        "description": "Initial state of the run, one of `states`. Default: the one that joints and bodies give.",
    }
    properties["states"] = {
        "type": "object",
        "description": "Initial states by name. The one that `simulation.state`, or the option `--state`, names "
        "replaces these fields of joints, bodies and actuators, and these inputs.",
        "additionalProperties": _state_schema(schema["$defs"]),
    }
    schema["$defs"]["Repeat"] = {
        "type": "object",
        "description": "Entries that are generated `count` times; `${...}` in them may use the index.",
        "properties": {
            "count": {**NUMBER_SCHEMA, "description": "Number of repetitions."},
            "index": {"type": "string", "default": "i", "description": "Name of the index, which starts at 0."},
            **sections,
        },
        "required": ["count"],
        "additionalProperties": False,
    }
    # `repeat` or `include` may supply the bodies and the settings of a scene
    schema["required"] = ["mbsim"]
    properties["bodies"].pop("minProperties", None)
    definitions, names = _named_forms()
    schema = _simplified(schema, names)
    schema["$defs"] |= definitions
    return {"$schema": DIALECT, "$id": IDENTITY, **schema}


def _state_schema(definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of one entry of `states`."""
    body = definitions["BodySpec"]["properties"]
    fields = {
        "joints": {"q": {"description": "As `q` of the joint."}, "v": {"description": "As `v` of the joint."}},
        "bodies": {field: body[field] for field in FIELDS["bodies"]},
        "actuators": {"initial_activation": {**NUMBER_SCHEMA, "description": "As that of the actuator."}},
    }
    entries = {
        section: {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": properties, "additionalProperties": False},
        }
        for section, properties in fields.items()
    }
    entries["inputs"] = {"type": "object", "additionalProperties": NUMBER_SCHEMA}
    return {"type": "object", "properties": entries, "additionalProperties": False}


def scene_schema_text() -> str:
    """Return the content of `schemas/scene.schema.json`."""
    return json.dumps(scene_schema(), indent=2, ensure_ascii=False) + "\n"


def _entries_of(kinds: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [{"$ref": f"#/$defs/{kind.spec.__name__}"} for kind in kinds.values()]}


_TIMES = "Generated once for each value of the index; names contain `${i}`."


def _or_text(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, TEXT_SCHEMA]}


def _in_scene_notation(value: Any) -> Any:
    """Return a default in scene notation; None if it is empty."""
    if value == rotations.IDENTITY:
        return {"quaternion": _in_scene_notation([*rotations.IDENTITY])}
    if isinstance(value, SignalSpec):
        return _in_scene_notation(value.constant)
    if isinstance(value, tuple | list):
        return [_in_scene_notation(entry) for entry in value] or None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, bool | int | float | str) and value != "" else None


def _simplified(schema: Any, names: Mapping[str, str]) -> Any:
    """Remove redundant titles, and replace common forms by references."""
    if isinstance(schema, list):
        return [_simplified(entry, names) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    tidy = {
        key: {name: _simplified(entry, names) for name, entry in value.items()}
        if key in _BY_NAME and isinstance(value, dict)
        else _simplified(value, names)
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
    """Return the definitions of the common forms, and their names by content."""
    definitions: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, form in _FORMS.items():
        definitions[name] = {"description": form[0], **_simplified(form[1], names)}
        names[_content(definitions[name]["anyOf"])] = name
    return definitions, names


_BY_NAME = ("properties", "$defs")

_FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Quantity": (
        "A number in SI units and radians, a string with a unit such as `30 deg`, or `${...}`.",
        NUMBER_SCHEMA,
    ),
    "Friction": (
        "Coefficient of dry friction: one number, or a static and a kinetic one with the slip speed between them.",
        friction_schema(FrictionCoefficients),
    ),
    "ContactFriction": (
        "Coefficient of dry friction: one number, or several, with resistance to rolling and spinning.",
        friction_schema(SurfaceFriction),
    ),
    "Vector": ("Three quantities.", list_schema(NUMBER_SCHEMA, 3)),
    "Signal": ("A quantity, an expression of t, or a table {times, values}.", signal_schema()),
    "SignalVector": ("Three functions of time.", list_schema(signal_schema(), 3)),
    "Motion": (
        "Prescribed position, velocity or acceleration of the joint coordinates; null leaves a coordinate free.",
        motion_schema(),
    ),
    "Limits": (
        "Bounds [lower, upper] of the joint coordinate, null for no bound; or, of soft limits, a mapping with these as "
        "`range`, and with `stiffness` and `damping`. For joints with "
        "several coordinates, a list with one entry per coordinate; null for no limits.",
        limits_schema(),
    ),
    "Rotation": ("A rotation, in exactly one of these forms.", ROTATION_SCHEMA),
    "Shape": ("A shape, selected by its `type`.", _entries_of(SHAPES)),
    "Joint": ("A joint, selected by its `type`.", _entries_of(JOINTS)),
    "Coupling": ("A relation between coordinates, selected by its `type`.", _entries_of(COUPLINGS)),
    "Constraint": ("A constraint, selected by its `type`.", _entries_of(CONSTRAINTS)),
}
"""Common forms: their description and schema."""
