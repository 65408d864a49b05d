"""From a validated scene to the arrays that a method advances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multibody_cli.errors import Refused
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Start, floating
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.mass import MassProperties
from multibody_cli.methods.contract import StepControl
from multibody_cli.model import JointEntry, Model, Names, State, System
from multibody_cli.scene.bodies import BodySpec
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.pack_forces import ForcePacker, add_forces
from multibody_cli.scene.pack_tree import IN_PLACE, Limb, PackedTree, Placement, pack_tree
from multibody_cli.scene.rotation_matrix import rotation_matrix
from multibody_cli.scene.timing import Timing, timing
from multibody_cli.scene.topology import rows_of_tree
from multibody_cli.scene.weigh import mass_of
from multibody_cli.spec import Pose


@dataclass(frozen=True)
class Compiled:
    """A scene ready to run: model, first state, control of steps, instants of output, and mass properties by body."""

    model: Model
    state: State
    control: StepControl
    timing: Timing
    masses: Mapping[str, MassProperties]


def compile_scene(loaded: LoadedScene) -> Compiled:
    """Compile a scene.

    Raises
    ------
    SceneError
        If the file of a mesh cannot be used.
    """
    scene = loaded.scene
    rows = rows_of_tree(list(scene.bodies), scene.joints)
    masses = {name: _weigh(loaded, name) for name in scene.bodies}
    joint_of = {joint.child: name for name, joint in scene.joints.items()}
    limbs = []
    for body in sorted(scene.bodies, key=rows.__getitem__):
        name = joint_of.get(body)
        if name is None:
            limbs.append(_free_limb(rows[body], scene.bodies[body], masses[body]))
        else:
            joint = scene.joints[name]
            limbs.append(_held_limb(rows[body], rows[joint.parent], joint, masses[body]))
    packed = pack_tree(limbs, scene.gravity)

    packer = ForcePacker()
    for name, joint in scene.joints.items():
        row = rows[joint.child]
        limb = limbs[row - 1]
        if isinstance(joint, MovingJointSpec):
            packer.add_joint(name, joint, limb.parts, limb.start, row, packed.first_q[row], packed.first_v[row])
    add_forces(packer, scene.forces, rows, masses, packed.frames)
    forces, motions = packer.pack()

    names = Names(
        bodies=tuple(scene.bodies),
        body_rows=np.array([rows[body] for body in scene.bodies], dtype=np.int64),
        joints=tuple(_entry(name, joint, rows[joint.child], packed) for name, joint in scene.joints.items()),
        accounts=tuple(packer.accounts),
        coordinates=_coordinate_names(limbs, {rows[body]: body for body in scene.bodies}, joint_of),
    )
    model = Model(
        system=System(packed.tree, motions, forces),
        names=names,
        com=np.array([masses[body].com for body in scene.bodies]).reshape(-1, 3),
        nq=len(packed.q),
        nv=len(packed.v),
    )
    state = State(
        time=np.zeros(1),
        q=packed.q,
        v=packed.v,
        a=np.zeros(model.nv),
        ledger=np.zeros(len(packer.accounts)),
    )
    simulation = scene.simulation
    control = StepControl(
        simulation.step, simulation.tolerance.rtol, simulation.tolerance.absolute, simulation.duration
    )
    return Compiled(model, state, control, timing(simulation, scene.output), masses)


def _weigh(loaded: LoadedScene, name: str) -> MassProperties:
    def file_of(file: str, k: int) -> Path:
        return loaded.beside(file, "bodies", name, "shapes", k)

    try:
        return mass_of(loaded.scene.bodies[name], file_of)
    except Refused as error:
        raise loaded.error(str(error), "bodies", name, "shapes") from None


def _free_limb(row: int, body: BodySpec, mass: MassProperties) -> Limb:
    """A body that no joint holds: a free joint from the world to the body frame."""
    start = (*body.position, *body.rotation)
    velocity = (*body.velocity.linear, *body.velocity.angular)
    return Limb(row, 0, mass, [floating()], Start(start, velocity, start), [False] * 6)


def _held_limb(row: int, parent: int, joint: JointSpec, mass: MassProperties) -> Limb:
    kind = JOINTS[joint.type]
    parts = kind.parts(joint)
    freedoms = sum(part.nv for part in parts)
    motion = joint.motion if isinstance(joint, MovingJointSpec) else None
    driven = [signal is not None for signal in motion.signals] if motion is not None else [False] * freedoms
    origin, child_origin = _placement(joint.origin), _placement(joint.child_origin)
    return Limb(row, parent, mass, parts, kind.start(joint), driven, origin, child_origin)


def _placement(pose: Pose) -> Placement:
    if pose == Pose():
        return IN_PLACE
    return Placement(np.array(pose.position), rotation_matrix(pose.rotation))


def _entry(name: str, joint: JointSpec, row: int, packed: PackedTree) -> JointEntry:
    first = packed.first_v[row]
    return JointEntry(name, joint.type, joint.coordinates, slice(first, first + len(joint.coordinates)), row)


def _coordinate_names(limbs: list[Limb], bodies: dict[int, str], joint_of: dict[str, str]) -> tuple[str, ...]:
    """Words for each coordinate, for messages."""
    words: list[str] = []
    for limb in limbs:
        body = bodies[limb.row]
        owner = f"joint {joint_of[body]}" if body in joint_of else f"body {body}"
        count = len(limb.driven)
        words += [owner if count == 1 else f"{owner}, coordinate {k + 1}" for k in range(count)]
    return tuple(words)
