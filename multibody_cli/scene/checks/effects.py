"""Checks that every field has an effect and that referenced files exist."""

from __future__ import annotations

from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.nodes import NodePath, find
from multibody_cli.scene.checks.partial_scene import PartialScene
from multibody_cli.scene.shapes.contract import ShapeSpec
from multibody_cli.scene.shapes.mesh import MeshSpec

_FIXED_BY_MOTION = {"position": ("q", "v"), "velocity": ("v",), "acceleration": ()}
"""Components of the initial state that a prescribed motion determines."""


def check_effects(partial: PartialScene) -> None:
    """Check shapes, and the initial state of joints with prescribed motion."""
    for index, shape in enumerate(partial.scene.world.shapes):
        path: NodePath = ("world", "shapes", index)
        _check_file(partial, path, shape)
        if "density" in shape.model_fields_set:
            partial.report((*path, "density"), "has no effect: the world is fixed")
    for name, body in partial.scene.bodies.items():
        for index, shape in enumerate(body.shapes):
            _check_file(partial, ("bodies", name, "shapes", index), shape)
    for name, joint in partial.scene.joints.items():
        if isinstance(joint, MovingJointSpec):
            _check_motion(partial, name, joint)


def _check_file(partial: PartialScene, path: NodePath, shape: ShapeSpec) -> None:
    if not isinstance(shape, MeshSpec) or not shape.file:
        return
    file = find(partial.tree, path).mark.resolve_path(shape.file)
    if not file.is_file():
        partial.report((*path, "file"), f"file not found: {file}")


def _check_motion(partial: PartialScene, name: str, joint: MovingJointSpec) -> None:
    if joint.motion is None or any(signal is None for signal in joint.motion.signals):
        return
    for field in _FIXED_BY_MOTION[joint.motion.given]:
        if field in joint.model_fields_set:
            partial.report(("joints", name, field), f"has no effect: `motion` prescribes the {joint.motion.given}")
