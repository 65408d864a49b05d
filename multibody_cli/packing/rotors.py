"""Rotors: the armature of coordinates that follow from the bodies.

The armature of a joint that carries a body is an entry of the mass matrix.  The coordinates of a loop joint are no
unknowns; each with an armature has a rotor instead, a link with this inertia that slides across gravity, which
therefore does no work on it, and the row v - v_rotor = 0.  The row is holonomic where v is the rate of a coordinate,
and nonholonomic for angular velocities of a rotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.actuators.contract import ActuatorSpec
from multibody_cli.constraints.elements import TablePacker
from multibody_cli.constraints.rotor import TABLE
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import JointStart, Part, PartCode, sliding
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats, RowName
from multibody_cli.packing.rows import RowPacker
from multibody_cli.packing.tree import PackedTree
from multibody_cli.scene.body_kinds import LinkData
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.spec import Vector
from multibody_cli.spec.entries import split_coordinate


class Rotor(NamedTuple):
    """The rotor of a loop joint's coordinate.

    The joint; the index of the coordinate in v and in q among those of the joint, the latter None if v is not the rate
    of a number of q; the inertia, kg m^2 or kg; and the direction in which the rotor slides, world axes.
    """

    joint: str
    iv: int
    iq: int | None
    inertia: float
    axis: Vector


def armatures_of(scene: SceneSpec) -> dict[str, Floats]:
    """Return the armature of each coordinate of all joints: their own, and that of the rotors of their motors."""
    found = {name: np.zeros(len(joint.coordinates)) for name, joint in scene.joints.items()}
    for name, joint in scene.joints.items():
        if isinstance(joint, MovingJointSpec) and joint.armature is not None:
            found[name] += joint.armature
    for actuator in scene.actuators.values():
        if isinstance(actuator, ActuatorSpec) and actuator.joint is not None:
            driven, index = split_coordinate(actuator.axis)
            found[driven][int(index or 0)] += actuator.reflected_inertia
    return found


def rotors_of(scene: SceneSpec, loop_joints: Iterable[str]) -> list[Rotor]:
    """Return the rotors of these joints."""
    axis, armatures = _across(np.array(scene.gravity)), armatures_of(scene)
    return [
        Rotor(name, iv, iq, float(inertia), axis)
        for name in loop_joints
        for (iv, iq), inertia in zip(
            _indices(JOINTS[scene.joints[name].type].parts(scene.joints[name])), armatures[name], strict=True
        )
        if inertia > 0.0
    ]


def _across(gravity: Floats) -> Vector:
    """Return a unit vector across gravity (3,); x if gravity is 0 or along z."""
    start = np.eye(3)[np.argmin(np.abs(gravity))]
    across = start - (start @ gravity) / (gravity @ gravity or 1.0) * gravity
    x, y, z = (across / np.linalg.norm(across)).tolist()
    return x, y, z


def _indices(parts: Iterable[Part]) -> Iterator[tuple[int, int | None]]:
    """Yield the index of each coordinate in v and in q; None where v is not the rate of a number of q."""
    iq = iv = 0
    for part in parts:
        turning = 3 if part.code in (PartCode.BALL, PartCode.FREE, PartCode.EXPONENTIAL) else 0
        for k in range(part.nv):
            yield iv + k, iq + k if k < part.nv - turning else None
        iq, iv = iq + part.nq, iv + part.nv


def rotor_links(rotors: Iterable[Rotor], first: int, starts: Mapping[str, JointStart]) -> Iterator[LinkData]:
    """Yield the links of rotors, with rows from `first` on; `starts` are those of the joints."""
    for row, rotor in enumerate(rotors, first):
        start = starts[rotor.joint]
        q, v = (0.0 if rotor.iq is None else start.q[rotor.iq],), (start.v[rotor.iv],)
        mass = MassProperties(rotor.inertia, np.zeros(3), np.zeros((3, 3)))
        yield LinkData(row, 0, mass, (sliding(rotor.axis),), JointStart(q, v, q), (False,), ignores_gravity=True)


def add_rotors(
    rotors: Sequence[Rotor], joints: Mapping[str, int], packed: PackedTree, rows: RowPacker, tables: TablePacker
) -> None:
    """Add the rows of rotors, the last links; `joints` are the rows of the loop joints by name."""
    for link, rotor in enumerate(rotors, len(packed.tree.links) - len(rotors)):
        loop, own = joints[rotor.joint], (packed.first_q[link], packed.first_v[link])
        iq = own[0] if rotor.iq is None else packed.first_q[loop] + rotor.iq
        place = iq, packed.first_v[loop] + rotor.iv
        term = rows.next_term
        row = rows.add(RowName("joints", rotor.joint, "of its armature"), 2, holonomic=rotor.iq is not None)
        tables.add(TABLE, [(0, 0, *place, *own, link, loop - len(packed.tree.links), rotor.axis)], row, term)
