"""Check that no joint applies a torque to a body without orientation, by its constraints or its forces."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraints.contract import split_coordinate
from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import JointConfiguration, sampled_configurations
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import SignalSpec

_NONE = 1e-9
"""Moment that is round-off, relative to the wrench and its arm."""

_NOTHING = (None, 0.0, SignalSpec(constant=0.0))

_FIELDS_OF_TORQUES = ("stiffness", "damping", "force", "limits")


def require_no_torques(loaded: LoadedScene) -> None:
    """Refuse joints that apply a torque to a point or an affine body.

    Raises
    ------
    SceneError
        With every such joint, and every coupling and force on its coordinates.
    """
    loaded.refuse(
        objection
        for name, joint in loaded.scene.joints.items()
        for body, at_child in ((joint.parent, False), (joint.child, True))
        if body in loaded.scene.bodies and not KINDS[loaded.scene.bodies[body].kind].has_axes
        for objection in _objections(loaded.scene, name, joint, body, at_child)
    )


def _objections(
    scene: SceneSpec, name: str, joint: JointSpec, body: str, at_child: bool
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    driven = [signal is not None for signal in motion.signals] if motion else [False] * len(joint.coordinates)
    configurations = sampled_configurations(tuple(JOINTS[joint.type].parts(joint)), tuple(driven))
    kind = scene.bodies[body].kind
    if any(_turns(configuration.constraint_axes, configuration, at_child).any() for configuration in configurations):
        yield (
            ("joints", name),
            f"constrains a rotation of `{body}`, which is of kind `{kind}` and has no orientation: connect such a body "
            "by a `spherical` joint, or by a `composite` one of prismatic parts and then three revolute ones",
        )
        return
    turning = np.any(
        [_turns(configuration.dual_basis, configuration, at_child) for configuration in configurations], axis=0
    )
    words = f"applies a torque to `{body}`, which is of kind `{kind}` and has no orientation"
    for field in _FIELDS_OF_TORQUES:
        entries = getattr(joint, field, None) or ()
        if any(entry not in _NOTHING and turns for entry, turns in zip(entries, turning, strict=False)):
            yield ("joints", name, field), words
    for section, entries in (("couplings", scene.couplings), ("forces", scene.forces)):
        for element, spec in entries.items():
            for place, word in spec.coordinates:
                owner, index = split_coordinate(word)
                if owner == name and turning[int(index or 0)]:
                    yield (section, element, *place), words


def _turns(wrenches: Floats, configuration: JointConfiguration, at_child: bool) -> np.ndarray:
    """Return which wrenches (n, 6) have a moment about the origin of the joint frame in the body."""
    moments, forces = wrenches[:, :3], wrenches[:, 3:]
    sizes = np.linalg.norm(moments, axis=1)
    if not at_child:
        moments = moments + np.cross(configuration.translation, forces)
        sizes = sizes + np.linalg.norm(configuration.translation) * np.linalg.norm(forces, axis=1)
    return np.asarray(np.abs(moments).max(axis=1, initial=0.0) > _NONE * sizes)
