"""JSON Schema of the scene file, by which editors complete and check what is typed."""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from multibody_cli.scene.repeat import LISTS, MAPPINGS
from multibody_cli.scene.schema import Scene
from multibody_cli.spec.quantities import NUMBER_SCHEMA, TEXT_SCHEMA

DIALECT = "http://json-schema.org/draft-07/schema#"
IDENTITY = "scene.schema.json"


class _Generator(GenerateJsonSchema):
    """Draft 7, which the language servers of editors know best; every value may also be a `${...}`."""

    schema_dialect = DIALECT

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Show defaults that can be written so in a scene, and leave out those of the types behind it."""
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        return {**inner, "default": default} if _is_written_so(default) else inner

    def int_schema(self, schema: core_schema.IntSchema) -> dict[str, Any]:
        """Accept a text beside the number."""
        return _or_text(super().int_schema(schema))

    def float_schema(self, schema: core_schema.FloatSchema) -> dict[str, Any]:
        """Accept a text beside the number."""
        return dict(NUMBER_SCHEMA)

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
        "description": "Named values for `${...}`; they may use one another.",
    }
    properties["include"] = {
        "type": "array",
        "items": {"type": "string"},
        "description": "Files whose sections are merged into this one, relative to it.",
    }
    properties["repeat"] = {
        "type": "array",
        "description": "Entries that are written `count` times.",
        "items": {
            "type": "object",
            "properties": {
                "count": {**NUMBER_SCHEMA, "description": "How many times."},
                "index": {"type": "string", "default": "i", "description": "Name of the index, from 0."},
                **sections,
            },
            "required": ["count"],
            "additionalProperties": False,
        },
    }
    # a scene may have all of its bodies, or its settings, from `repeat` or `include`
    schema["required"] = ["mbsim"]
    properties["bodies"].pop("minProperties", None)
    return {"$schema": DIALECT, "$id": IDENTITY, **_tidied(schema)}


def scene_schema_text() -> str:
    """Give the content of `schemas/scene.schema.json`."""
    return json.dumps(scene_schema(), indent=2, ensure_ascii=False) + "\n"


_TIMES = "Written once for each value of the index; names carry `${i}`."


def _or_text(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, TEXT_SCHEMA]}


def _is_written_so(value: Any) -> bool:
    return isinstance(value, bool | int | float | str) and value != ""


def _tidied(schema: Any) -> Any:
    """Leave out the titles, which only repeat the names."""
    if isinstance(schema, list):
        return [_tidied(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _tidied(entry) for name, entry in value.items()}
        if key in ("properties", "$defs") and isinstance(value, dict)
        else _tidied(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
