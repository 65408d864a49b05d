"""The bodies on which the elements of a scene act."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from multibody_cli.escaping import path_component
from multibody_cli.forces.bushing import BushingSpec
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec.entries import BodyForceSpec, split_coordinate
from multibody_cli.spec.path import moving_coordinates


def wrenches_of(scene: SceneSpec) -> Iterator[tuple[str, str]]:
    """Yield every pair of an element and a body on which it acts, the element by its cause: `springs/<name>`.

    Elements are those whose forces are wrenches on bodies; forces on coordinates of joints are parts of the wrenches of
    these.  The world is no body, and affine bodies have no wrench.
    """
    sections = ("forces", "springs", "muscles", "constraints")
    entries = [(section, name, entry) for section in sections for name, entry in getattr(scene, section).items()]
    along = [(name, getattr(actuator, "path", None)) for name, actuator in scene.actuators.items()]
    entries += [("actuators", name, scene.paths[path]) for name, path in along if path]
    entries += [(section, name, scene.paths[name]) for section, name in scene.brakes if section == "paths"]
    for section, name, entry in entries:
        for body in dict.fromkeys(_bodies_of(scene, entry)):
            if body in scene.bodies and scene.bodies[body].kind != "affine":
                yield f"{section}/{path_component(name)}", body


def bushings_of(scene: SceneSpec) -> dict[str, BushingSpec]:
    """Return the bushings of a scene."""
    return {name: spring for name, spring in scene.springs.items() if isinstance(spring, BushingSpec)}


def _bodies_of(scene: SceneSpec, entry: Any) -> Iterator[str]:
    """Yield the bodies on which an entry acts: those that it names, and those of joints that move its points."""
    if isinstance(entry, BodyForceSpec):
        yield entry.body
        return
    yield from (body for _, body in getattr(entry, "bodies", ()))
    for coordinate in moving_coordinates(point for _, point in getattr(entry, "points", ())):
        joint = scene.joints[split_coordinate(coordinate)[0]]
        yield from (joint.child, joint.parent)
