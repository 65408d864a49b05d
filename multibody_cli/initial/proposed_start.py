"""Initial coordinates of joints and bodies as a scene writes them, for a proposal that can be copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from multibody_cli.initial.assemble import AssemblyResult
from multibody_cli.initial.scales import Scales
from multibody_cli.joints import JOINTS
from multibody_cli.model import Floats, Model, State
from multibody_cli.output.samples import Samples
from multibody_cli.packing.constraint_bases import configuration_at
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spatial.rotations import quaternion_of_entries, vector_of_quaternion
from multibody_cli.spatial.values import Vec3
from multibody_cli.spec import Pose

MOVED = 1e-9
"""Largest change of a coordinate, relative as in `Scales`, that need not be written."""


def proposed_start(
    scene: SceneSpec, model: Model, state: State, samples: Samples, found: AssemblyResult, scales: Scales
) -> Iterator[str]:
    """Return the starts that an assembly changed, each with its key in the scene; all of them are one closed start.

    Parameters
    ----------
    scene, model, state
        The scene, its model, and the assembled state.
    samples
        Recorded quantities of the bodies in that state.
    found, scales
        The assembly, whose largest changes relative to the scales count.
    """
    changed = np.abs(found.moved) > MOVED * scales.coordinates
    carried = {joint.row for joint in model.names.joints}
    for joint in model.names.joints:
        if changed[joint.columns].any():
            yield f"`joints.{joint.name}.q: {_written(scene.joints[joint.name], state.q[joint.positions])}`"
    for k, (body, row) in enumerate(zip(model.names.bodies, model.names.body_rows, strict=True)):
        first, kind = model.system.tree.links[row]["iv"], KINDS[scene.bodies[body].kind]
        if row not in carried and changed[first : first + kind.n_dofs].any():
            yield f"`bodies.{body}.position: {_numbers(samples.position[0, k])}`"
            if kind.has_axes:
                yield f"`bodies.{body}.rotation: {_rotation(samples.quaternion[0, k])}`"


def _written(joint: Any, q: Floats) -> str:
    """Return q (nq,) of a joint in the form of its field `q`."""
    if joint.joints != (joint,):
        sizes = [sum(part.nq for part in JOINTS[one.type].parts(one)) for one in joint.joints]
        each = np.split(q, np.cumsum(sizes)[:-1])
        return f"[{', '.join(map(_written, joint.joints, each))}]"
    if isinstance(joint.q, Pose):
        return f"{{position: {_numbers(q[:3])}, rotation: {_rotation(q[3:])}}}"
    count = len(joint.coordinates)
    if len(joint.q) != count:  # a rotation, whatever the coordinates of the joint
        R = configuration_at(tuple(JOINTS[joint.type].parts(joint)), q).rotation
        w, x, y, z = quaternion_of_entries(*R.T.ravel())
        return _rotation((w, x, y, z))
    values = [*q] if len(q) == count else [*q[:-4], *_vector(q[-4:])]
    return f"{values[0]:.9g}" if count == 1 else _numbers(values)


def _rotation(quaternion: Iterable[float]) -> str:
    return f"{{rotvec: {_numbers(_vector(quaternion))}}}"


def _vector(quaternion: Iterable[float]) -> Vec3:
    w, x, y, z = quaternion
    vector: Vec3 = vector_of_quaternion(w, Vec3(x, y, z))
    return vector


def _numbers(values: Iterable[float]) -> str:
    return f"[{', '.join(f'{value:.9g}' for value in values)}]"
