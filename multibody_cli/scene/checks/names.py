"""Checks of names: no body is called `world`, and the bodies of forces, springs, muscles and sensors exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multibody_cli.joints.spec import WORLD
from multibody_cli.limits import LimitError, require_within
from multibody_cli.nodes import NodePath
from multibody_cli.scene.checks.partial_scene import PartialScene, own_entries
from multibody_cli.scene.schema import between_bodies
from multibody_cli.scene.strands import generated_names
from multibody_cli.spec.entries import BodyForceSpec
from multibody_cli.spec.path import moving_coordinates


def check_names(partial: PartialScene) -> None:
    """Check the names of bodies, and the references of forces, springs, muscles and sensors."""
    if WORLD in partial.names("bodies"):
        partial.report(("bodies", WORLD), f"the name `{WORLD}` is reserved: use another one")
    for name, force in partial.scene.forces.items():
        path = ("forces", name, "body")
        if isinstance(force, BodyForceSpec) and partial.require_body(force.body, path) and force.body == WORLD:
            partial.report(path, "a force on the world has no effect")
    for name, sensor in partial.scene.sensors.items():
        partial.require_body(sensor.body, ("sensors", name, "body"))
    for strand, spec in partial.scene.strands.items():
        for section, names in generated_names(strand, spec):
            for name in sorted(names & partial.names(section)):
                partial.report((section, name), f"strand `{strand}` generates an element of this name: use another one")
    for section, entries in between_bodies(partial.scene):
        for name, entry in own_entries(partial, section, entries):
            known = [partial.require_body(body, (section, name, *place)) for place, body in entry.bodies]
            fixed = not moving_coordinates([end for _, end in entry.points])
            alone = section not in ("strands", "surfaces") and all(known)
            of_bodies = {body for _, body in entry.bodies}
            changes_shape = any(
                partial.scene.bodies[body].kind == "affine" for body in of_bodies & partial.scene.bodies.keys()
            )
            if alone and fixed and len(of_bodies) == 1 and not changes_shape:
                partial.report((section, name), "has no effect: both ends are fixed in the same body")
    for section in sorted(partial.broken & partial.scene.model_fields_set):
        valid, written = getattr(partial.scene, section), partial.data.get(section)
        if isinstance(valid, dict) and isinstance(written, dict):
            invalid = {name: entry for name, entry in written.items() if name not in valid}
            for place, body in _bodies_in(invalid, (section,)):
                partial.require_body(body, place)


_BODY = frozenset({"body", "parent", "child"})
"""Keys of the names of bodies."""


def _bodies_in(value: Any, path: NodePath) -> Iterator[tuple[NodePath, str]]:
    """Yield the names of bodies within plain data, other than those of named points, which report them."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in pairs:
        if key in _BODY and isinstance(entry, str) and not isinstance(value.get("point"), str):
            yield (*path, key), entry
        yield from _bodies_in(entry, (*path, key))


# --- check of the number of elements ----------------------------------------------------------------------------------
def check_size(partial: PartialScene) -> None:
    """Check the number of bodies and joints against its limit."""
    try:
        require_within("elements", len(partial.scene.bodies) + len(partial.scene.joints))
    except LimitError as error:
        partial.report(("strands" if partial.scene.strands else "bodies",), str(error))
        partial.problems.raise_any()
