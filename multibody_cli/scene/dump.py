"""Resolved scene as YAML text: one line per entry, loadable, and unique for a scene."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from multibody_cli.document.scalars import scalar
from multibody_cli.mass import MassProperties

_PLAIN = re.compile(r"[A-Za-z_][\w./+*-]*( [\w./+*-]+)*", re.ASCII)
_UNPRINTABLE = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def dump_resolved(data: Mapping[str, Any]) -> str:
    """Return a scene as YAML."""
    lines = []
    for section, content in data.items():
        if isinstance(content, dict) and content:
            lines.append(f"{_word(section)}:")
            lines += [f"  {_word(name)}: {flow(entry)}" for name, entry in content.items()]
        elif isinstance(content, list) and content and isinstance(content[0], dict):
            lines.append(f"{_word(section)}:")
            lines += [f"  - {flow(entry)}" for entry in content]
        else:
            lines.append(f"{_word(section)}: {flow(content)}")
    return "\n".join(lines) + "\n"


def without_files(data: Mapping[str, Any], masses: Mapping[str, MassProperties]) -> dict[str, Any]:
    """Replace the meshes of a scene by their mass properties, so that the scene can be run without their files.

    Meshes with contacts remain, and require their files.
    """
    touching = data.get("contacts") is not None
    bodies = {
        name: _rigid_mass_properties(body, masses[name], touching) if _names_a_file(body) else body
        for name, body in data["bodies"].items()
    }
    return {**data, "bodies": bodies}


def _names_a_file(body: Mapping[str, Any]) -> bool:
    return any("file" in shape for shape in body.get("shapes", ()))


def _rigid_mass_properties(body: Mapping[str, Any], mass: MassProperties, touching: bool) -> dict[str, Any]:
    """Return a body with numerical mass properties, without densities and without meshes that have no contacts."""
    shapes = [
        {key: value for key, value in shape.items() if key != "density"}
        for shape in body["shapes"]
        if "file" not in shape or (touching and shape.get("contact", True))
    ]
    given = {"mass": mass.mass, "com": mass.com.tolist(), "inertia": {"matrix": mass.inertia.tolist()}}
    rest = {key: value for key, value in body.items() if key not in ("density", "shapes", *given)}
    return {**given, **rest, **({"shapes": shapes} if shapes else {})}


def flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(key)}: {flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return _word(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    return repr(value).replace("inf", ".inf").replace("nan", ".nan")


_WORDS = {None: "null", True: "true", False: "false"}


def _word(text: str) -> str:
    if _PLAIN.fullmatch(text) and isinstance(scalar(text), str):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\U{ord(match[0]):08x}", quoted)
