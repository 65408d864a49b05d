"""Values that are valid, and probably mistakes: angles without a unit, and bodies that nothing holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.joints.spec import WORLD
from multibody_cli.nodes import NodePath
from multibody_cli.scene.schema import SceneSpec, between_bodies

TURN = 2.0 * math.pi


def likely_mistakes(scene: SceneSpec, data: dict[str, Any]) -> Iterator[tuple[NodePath, str]]:
    """Yield places of a scene with the probable mistakes there; `data` is the scene as it is written."""
    yield from _angles_in_degrees(scene, data)
    angles = _angles(scene)
    yield from _targets_in_degrees(scene, data, angles)
    yield from _entries_in_degrees(data, (), angles)
    yield from _bodies_that_nothing_holds(scene)


# --- angles -----------------------------------------------------------------------------------------------------------
def _angles_in_degrees(scene: SceneSpec, data: dict[str, Any]) -> Iterator[tuple[NodePath, str]]:
    """Yield the starts and the limits of joints that are angles in whole numbers beyond a turn."""
    for name, joint in scene.joints.items():
        written = data["joints"][name]
        kinds = joint.coordinates
        for field in ("q", "limits"):
            values = written.get(field)
            several = isinstance(values, list) and len(kinds) > 1
            for k, value in enumerate(values if several else [values]):
                if k < len(kinds) and kinds[k].value == "rad":
                    path: NodePath = ("joints", name, field, *((k,) if several else ()))
                    yield from _in_degrees(value, path)


def _angles(scene: SceneSpec) -> set[str]:
    """Return the coordinates that are angles, as points that depend on a coordinate name them."""
    found = set[str]()
    for name, joint in scene.joints.items():
        angles = [k for k, kind in enumerate(joint.coordinates) if kind.value == "rad"]
        found |= {f"{name}/{k}" for k in angles}
        found |= {name} if angles and len(joint.coordinates) == 1 else set()
    return found


def _targets_in_degrees(scene: SceneSpec, data: dict[str, Any], angles: set[str]) -> Iterator[tuple[NodePath, str]]:
    """Yield the targets of actuators on these coordinates, and their bounds, in whole numbers beyond a turn."""
    for name, actuator in scene.actuators.items():
        if isinstance(actuator, ActuatorSpec) and actuator.joint in angles:
            for field in (one for one, dimension in actuator.DIMENSIONS.items() if dimension == "position"):
                yield from _in_degrees(data["actuators"][name].get(field), ("actuators", name, field))


def _entries_in_degrees(data: Any, path: NodePath, angles: set[str]) -> Iterator[tuple[NodePath, str]]:
    """Yield angles of rotations, and ranges of these coordinates, in whole numbers beyond a turn."""
    if isinstance(data, dict):
        if "axis" in data and "angle" in data:
            yield from _in_degrees(data["angle"], (*path, "angle"))
        yield from _in_degrees(data.get("euler"), (*path, "euler"))
        if "range" in data and str(data.get("coordinate")) in angles:
            yield from _in_degrees(data["range"], (*path, "range"))
        for key, value in data.items():
            yield from _entries_in_degrees(value, (*path, key), angles)
    elif isinstance(data, list):
        for k, value in enumerate(data):
            yield from _entries_in_degrees(value, (*path, k), angles)


def _in_degrees(value: Any, path: NodePath) -> Iterator[tuple[NodePath, str]]:
    if isinstance(value, list):
        for k, one in enumerate(value):
            yield from _in_degrees(one, (*path, k))
    elif type(value) in (int, float) and TURN < abs(value) < math.inf and float(value).is_integer():
        yield path, f"{value:g} rad is {abs(value) / TURN:.3g} turns; did you mean `{value:g} deg`?"


# --- bodies -----------------------------------------------------------------------------------------------------------
def _bodies_that_nothing_holds(scene: SceneSpec) -> Iterator[tuple[NodePath, str]]:
    """Yield bodies of a mechanism without a joint, a start of their own, or anything that acts on them but gravity."""
    if not scene.joints or scene.contacts is not None:
        return
    held = {end for joint in scene.joints.values() for end in (joint.parent, joint.child)} - {WORLD}
    held |= {body for _, entries in between_bodies(scene) for entry in entries.values() for _, body in entry.bodies}
    held |= {body for entry in scene.constraints.values() for _, body in entry.bodies}
    held |= {entry.body for entry in scene.forces.values() if hasattr(entry, "body")}
    for name, body in scene.bodies.items():
        if name not in held and not body.given_start:
            words = "has no joint, and nothing acts on it but gravity: it moves freely from the origin"
            yield ("bodies", name), f"{words}; is a joint with `child: {name}` missing?"
