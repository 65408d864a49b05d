"""The JSON Schema is current, and accepts every entry of a scene before it is resolved."""

import json
from pathlib import Path

import pytest

from multibody_cli.constraints import CONSTRAINTS, COUPLINGS
from multibody_cli.joints import JOINTS
from multibody_cli.scene.export import scene_schema, scene_schema_text
from multibody_cli.scene.schema import SceneSpec

FILE = Path(__file__).parents[2] / "schemas" / "scene.schema.json"


def test_file_is_current():
    assert json.loads(FILE.read_text()) == scene_schema(), "run `mbsim schema`"
    assert FILE.read_text() == scene_schema_text()


def test_every_section_is_described():
    properties = scene_schema()["properties"]
    assert properties.keys() == SceneSpec.model_fields.keys() | {"vars", "include", "repeat", "states"}
    assert all(entry.get("description") for entry in properties.values())


def test_every_field_is_described():
    definitions = scene_schema()["$defs"]
    bare = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, entry in definition.get("properties", {}).items()
        if not entry.get("description") and key != "type"
    ]
    assert bare == []


def test_references_have_targets():
    schema = scene_schema()

    def references(value):
        if isinstance(value, dict):
            yield from [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            for entry in value.values():
                yield from references(entry)
        elif isinstance(value, list):
            for entry in value:
                yield from references(entry)

    found = set(references(schema))
    assert found
    assert all(reference.removeprefix("#/$defs/") in schema["$defs"] for reference in found)


def test_numbers_may_be_texts():
    definitions = scene_schema()["$defs"]
    assert {"type": "string"} in definitions["Quantity"]["anyOf"]
    body = definitions["BodySpec"]["properties"]["mass"]
    assert {"type": "string"} in body["anyOf"]


@pytest.mark.parametrize(("name", "kinds"), [("Joint", JOINTS), ("Coupling", COUPLINGS), ("Constraint", CONSTRAINTS)])
def test_every_entry_of_a_catalogue_is_there(name, kinds):
    choices = {entry["$ref"].removeprefix("#/$defs/") for entry in scene_schema()["$defs"][name]["anyOf"]}
    assert choices == {kind.spec.__name__ for kind in kinds.values()}
