"""Initial coordinates of joints and bodies as a scene writes them, for a proposal that can be copied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from multibody_cli.initial.assembly_result import AssemblyResult
from multibody_cli.initial.scales import Scales
from multibody_cli.joints import JOINTS
from multibody_cli.kernel import Flags
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
    for key, text in written_start(scene, model, state, samples, changed, 9):
        yield f"`{key}: {text}`"


def written_start(
    scene: SceneSpec, model: Model, state: State, samples: Samples, changed: Flags, digits: int
) -> Iterator[tuple[str, str]]:
    """Return the keys and values of the starts of joints and bodies with changed coordinates (nv,)."""
    carried = {joint.row for joint in model.names.joints}
    for joint in model.names.joints:
        if changed[joint.columns].any():
            yield f"joints.{joint.name}.q", _written(scene.joints[joint.name], state.q[joint.positions], digits)
    for k, (body, row) in enumerate(zip(model.names.bodies, model.names.body_rows, strict=True)):
        first, kind = model.system.tree.links[row]["iv"], KINDS[scene.bodies[body].kind]
        if row not in carried and changed[first : first + kind.n_dofs].any():
            yield f"bodies.{body}.position", _numbers(samples.position[0, k], digits)
            if kind.has_axes:
                yield f"bodies.{body}.rotation", _rotation(samples.quaternion[0, k], digits)


def _written(joint: Any, q: Floats, digits: int) -> str:
    """Return q (nq,) of a joint in the form of its field `q`."""
    if joint.joints != (joint,):
        sizes = [sum(part.nq for part in JOINTS[one.type].parts(one)) for one in joint.joints]
        each = np.split(q, np.cumsum(sizes)[:-1])
        return f"[{', '.join(_written(one, part, digits) for one, part in zip(joint.joints, each, strict=True))}]"
    if isinstance(joint.q, Pose):
        return f"{{position: {_numbers(q[:3], digits)}, rotation: {_rotation(q[3:], digits)}}}"
    count = len(joint.coordinates)
    if len(joint.q) != count:  # a rotation, for any coordinates of the joint
        R = configuration_at(tuple(JOINTS[joint.type].parts(joint)), q).rotation
        w, x, y, z = quaternion_of_entries(*R.T.ravel())
        return _rotation((w, x, y, z), digits)
    values = [*q] if len(q) == count else [*q[:-4], *_vector(q[-4:])]
    return f"{values[0]:.{digits}g}" if count == 1 else _numbers(values, digits)


def _rotation(quaternion: Iterable[float], digits: int) -> str:
    return f"{{rotvec: {_numbers(_vector(quaternion), digits)}}}"


def _vector(quaternion: Iterable[float]) -> Vec3:
    w, x, y, z = quaternion
    vector: Vec3 = vector_of_quaternion(w, Vec3(x, y, z))
    return vector


def _numbers(values: Iterable[float], digits: int) -> str:
    return f"[{', '.join(f'{value:.{digits}g}' for value in values)}]"
