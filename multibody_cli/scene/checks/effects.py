"""What is written must have an effect, and files that are named must be there."""

from __future__ import annotations

from multibody_cli.document.nodes import Path, find
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.scene.checks.draft import Draft
from multibody_cli.scene.shapes import MeshSpec, ShapeSpec

_FIXED_BY_MOTION = {"position": ("q", "v"), "velocity": ("v",), "acceleration": ()}
"""The part of the state at the start that a prescribed motion gives."""


def check_effects(draft: Draft) -> None:
    """Check shapes, and the state of joints whose motion is prescribed."""
    for index, shape in enumerate(draft.scene.world.shapes):
        path: Path = ("world", "shapes", index)
        _check_file(draft, path, shape)
        if "density" in shape.model_fields_set:
            draft.tell((*path, "density"), "has no effect: the world does not move")
    for name, body in draft.scene.bodies.items():
        for index, shape in enumerate(body.shapes):
            _check_file(draft, ("bodies", name, "shapes", index), shape)
    for name, joint in draft.scene.joints.items():
        if isinstance(joint, MovingJointSpec):
            _check_motion(draft, name, joint)


def _check_file(draft: Draft, path: Path, shape: ShapeSpec) -> None:
    if not isinstance(shape, MeshSpec):
        return
    file = find(draft.tree, path).mark.beside(shape.file)
    if not file.is_file():
        draft.tell((*path, "file"), f"there is no file {file}")


def _check_motion(draft: Draft, name: str, joint: MovingJointSpec) -> None:
    if joint.motion is None or any(signal is None for signal in joint.motion.signals):
        return
    for field in _FIXED_BY_MOTION[joint.motion.given]:
        if field in joint.model_fields_set:
            draft.tell(("joints", name, field), f"has no effect: `motion` prescribes the {joint.motion.given}")
