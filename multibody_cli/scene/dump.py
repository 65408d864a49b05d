"""Resolved scene as YAML text: one line per entry, loadable, and unique for a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from multibody_cli.mass import Floats, MassProperties
from multibody_cli.yaml_values import flow, word

FIELDS_OF_FILES = ("density", "file", "scale", "hull", "decompose")
"""Fields of a mesh that its vertices do not have."""


def dump_resolved(data: Mapping[str, Any]) -> str:
    """Return a scene as YAML."""
    lines = []
    for section, content in data.items():
        if isinstance(content, dict) and content:
            lines.append(f"{word(section)}:")
            lines += [f"  {word(name)}: {flow(entry)}" for name, entry in content.items()]
        elif isinstance(content, list) and content and isinstance(content[0], dict):
            lines.append(f"{word(section)}:")
            lines += [f"  - {flow(entry)}" for entry in content]
        else:
            lines.append(f"{word(section)}: {flow(content)}")
    return "\n".join(lines) + "\n"


def without_files(
    data: Mapping[str, Any], masses: Mapping[str, MassProperties], parts_of: Callable[..., Sequence[Floats]]
) -> dict[str, Any]:
    """Return a resolved scene that can be run without the files of its meshes.

    Meshes with contacts become the vertices of their convex parts.  All others are left out, and their body has its
    mass properties as numbers.  Where a mesh is left out that pictures show, the other shapes have `visible: true`.

    Parameters
    ----------
    data, masses
        The resolved scene, and the mass properties of its bodies.
    parts_of
        Function from the path of a mesh, `"bodies", "rod", "shapes", 0`, to the vertices (n, 3) of its parts, m.
    """
    touching = data.get("contacts") is not None

    def shapes_without_files(shapes: Sequence[Mapping[str, Any]], *place: str) -> list[dict[str, Any]]:
        found = []
        lost = [one for one in shapes if "file" in one and not (touching and one.get("contact", True))]
        shown = {"visible": True} if any(one.get("visible", True) for one in lost) else {}
        for k, shape in enumerate(shapes):
            own = {key: value for key, value in shape.items() if key not in FIELDS_OF_FILES} | shown
            if "file" not in shape:
                found.append(own)
            elif touching and shape.get("contact", True):
                found += [{**own, "vertices": part.tolist()} for part in parts_of(*place, "shapes", k)]
        return found

    def body_without_files(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
        shapes, mass = shapes_without_files(body["shapes"], "bodies", name), masses[name]
        given = {"mass": mass.mass, "com": mass.com.tolist(), "inertia": {"matrix": mass.inertia.tolist()}}
        rest = {key: value for key, value in body.items() if key not in ("density", "shapes", *given)}
        return {**given, **rest, **({"shapes": shapes} if shapes else {})}

    found = dict(data)
    found["bodies"] = {
        name: body_without_files(name, body) if _names_a_file(body) else body for name, body in data["bodies"].items()
    }
    if _names_a_file(data.get("world", {})):
        found["world"] = {**data["world"], "shapes": shapes_without_files(data["world"]["shapes"], "world")}
    return found


def _names_a_file(entry: Mapping[str, Any]) -> bool:
    return any("file" in shape for shape in entry.get("shapes", ()))
