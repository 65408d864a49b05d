"""Bodies without orientation take no torque: what their joints lock, and what acts on these, must pull at a point."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from multibody_cli.constraints.contract import split_coordinate
from multibody_cli.errors import Problem, SceneError
from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.model import Floats
from multibody_cli.packing.constraint_bases import Stance, stances_of
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import Scene
from multibody_cli.spec import SignalSpec

_NONE = 1e-9
"""A moment, m, of a force of 1 N that is round-off."""

_NOTHING = (None, 0.0, SignalSpec(constant=0.0))

_ACTING = ("stiffness", "damping", "force", "limits")


def require_no_torques(loaded: LoadedScene) -> None:
    """Refuse joints that would turn a point or an affine body.

    Raises
    ------
    SceneError
        With every such joint, and every coupling of its coordinates.
    """
    problems: list[Problem] = []
    for name, joint in loaded.scene.joints.items():
        for body, at_child in ((joint.parent, False), (joint.child, True)):
            if body in loaded.scene.bodies and not KINDS[loaded.scene.bodies[body].kind].has_axes:
                for path, message in _objections(loaded.scene, name, joint, body, at_child):
                    problems += loaded.error(message, *path).problems
    if problems:
        raise SceneError(problems)


def _objections(
    scene: Scene, name: str, joint: JointSpec, body: str, at_child: bool
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    driven = [signal is not None for signal in motion.signals] if motion else [False] * len(joint.coordinates)
    stances = stances_of(tuple(JOINTS[joint.type].parts(joint)), tuple(driven))
    kind = scene.bodies[body].kind
    if any(_turns(stance.locks, stance, at_child).any() for stance in stances):
        yield (
            ("joints", name),
            f"locks a rotation of `{body}`, which is of kind `{kind}` and has no orientation: such a body is held by a "
            "`spherical` joint, or by a `composite` one of prismatic parts and then three revolute ones",
        )
        return
    turning = np.any([_turns(stance.duals, stance, at_child) for stance in stances], axis=0)
    words = f"would turn `{body}`, which is of kind `{kind}` and has no orientation"
    for field in _ACTING:
        entries = getattr(joint, field, None) or ()
        if any(entry not in _NOTHING and turns for entry, turns in zip(entries, turning, strict=False)):
            yield ("joints", name, field), words
    for coupling, spec in scene.couplings.items():
        for place, word in spec.coordinates:
            owner, index = split_coordinate(word)
            if owner == name and turning[int(index or 0)]:
                yield ("couplings", coupling, *place), words


def _turns(wrenches: Floats, stance: Stance, at_child: bool) -> np.ndarray:
    """Which wrenches (n, 6) have a moment about the origin of the joint frame in the body."""
    moments = wrenches[:, :3]
    if not at_child:
        moments = moments + np.cross(stance.reach, wrenches[:, 3:])
    return np.asarray(np.abs(moments).max(axis=1, initial=0.0) > _NONE)
