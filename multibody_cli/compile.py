"""From a validated scene to the arrays that a method advances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from multibody_cli.constraints.elements import TablePacker
from multibody_cli.errors import Problem, Refused, SceneError
from multibody_cli.forces.spring_spec import SpringSpec
from multibody_cli.initial.initial_state import assembled, look
from multibody_cli.initial.joint_regularity import usual_sizes
from multibody_cli.initial.point_torques import require_no_torques
from multibody_cli.initial.stable_step import too_long
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Start
from multibody_cli.joints.domain import DomainJointSpec
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.kernel import records
from multibody_cli.kkt.elimination import holders_for
from multibody_cli.mass import MassProperties
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import StepControl
from multibody_cli.model import JointEntry, Model, Names, State, System
from multibody_cli.packing.between import add_between
from multibody_cli.packing.constraints import CannotReduce, Ground, add_constraints
from multibody_cli.packing.contacts import pack_contacts
from multibody_cli.packing.forces import ForcePacker, add_forces
from multibody_cli.packing.implicit import handed, resists
from multibody_cli.packing.joint_friction import pack_journals, rubbing
from multibody_cli.packing.layout import Layout, lay_out_bodies, lay_out_joints
from multibody_cli.packing.moment_arms import pack_arms
from multibody_cli.packing.reductions import ReductionPacker
from multibody_cli.packing.rows import RowPacker, name_of_lock
from multibody_cli.packing.tree import PackedTree, pack_tree
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.mass_properties import mass_of
from multibody_cli.scene.schema import Scene
from multibody_cli.scene.strands import misplaced, with_attached
from multibody_cli.scene.timing import Timing, timing

NO_INERTIA = 1e-12
"""A principal moment below this, relative to the largest, is none."""


@dataclass(frozen=True)
class Compiled:
    """A scene ready to run.

    Model, first state, control of steps, instants of output, mass properties by body, freedoms that loops and
    constraints leave at the start, and what the user should know of that start.
    """

    model: Model
    state: State
    control: StepControl
    timing: Timing
    masses: Mapping[str, MassProperties]
    freedoms: int
    warnings: tuple[str, ...]


def compile_scene(loaded: LoadedScene) -> Compiled:
    """Compile a scene for its method.

    Parameters
    ----------
    loaded
        The scene.

    Raises
    ------
    SceneError
        If the file of a mesh cannot be used, a joint does not suit its bodies, a loop cannot be closed, or bodies
        that touch lie in each other.
    """
    scene = loaded.scene
    simulation = scene.simulation
    masses = {name: _weigh(loaded, name) for name in scene.bodies}
    masses = with_attached(scene, masses)
    require_no_torques(loaded)
    sizes = usual_sizes(loaded)
    try:
        model, state = _pack(loaded, masses, lay_out_joints(scene, masses), sizes)
    except CannotReduce as error:
        message = "cannot be a change of coordinates: its coordinates are prescribed, or follow others already"
        raise loaded.error(message, "couplings", str(error), "reduce") from None
    freedoms, told = assembled(loaded, model, state)
    if scene.strands:
        told = (*told, *misplaced(scene, look(model, state)))
    told = (*told, *too_long(simulation, model, state))
    if scene.contacts is not None:
        from multibody_cli.initial.overlap import require_apart  # with all that detects contacts

        require_apart(loaded, model, state)
    if METHODS[simulation.method].maximal:
        _require_inertia(loaded, masses)
        model, state = _pack(loaded, masses, lay_out_bodies(scene, masses, *_starts(scene, model, state)), sizes)
    control = StepControl(
        simulation.step, simulation.tolerance.rtol, simulation.tolerance.absolute, simulation.duration
    )
    return Compiled(model, state, control, timing(simulation, scene.output), masses, freedoms, told)


def _weigh(loaded: LoadedScene, name: str) -> MassProperties:
    body = loaded.scene.bodies[name]

    def file_of(file: str, k: int) -> Path:
        return loaded.beside(file, "bodies", name, "shapes", k)

    try:
        return mass_of(body, file_of)
    except Refused as error:
        field = "shapes" if body.inertia is None else "inertia"
        raise loaded.error(str(error), "bodies", name, field) from None


def _require_inertia(loaded: LoadedScene, masses: Mapping[str, MassProperties]) -> None:
    """Refuse bodies that cannot move by themselves."""
    problems: list[Problem] = []
    for name, body in loaded.scene.bodies.items():
        moments = np.linalg.eigvalsh(masses[name].inertia)
        if masses[name].mass <= 0.0 or (body.kind == "rigid" and moments[0] <= NO_INERTIA * moments[-1]):
            problems += loaded.error(
                f"has no mass or no inertia about an axis, and method `{loaded.scene.simulation.method}` lets every "
                "body move by itself: give it some, or use `aba` or `redmax`",
                "bodies",
                name,
            ).problems
    if problems:
        raise SceneError(problems)


def _pack(
    loaded: LoadedScene,
    masses: Mapping[str, MassProperties],
    layout: Layout,
    sizes: Mapping[str, tuple[float, ...]],
) -> tuple[Model, State]:
    """Fill the arrays of a layout; `sizes` are those of the columns of joints of general shape."""
    scene = loaded.scene
    packed = pack_tree(layout.limbs, scene.gravity, layout.loops)
    packer = _pack_forces(scene, masses, layout, packed)
    rows = RowPacker()
    spans = [(int(closure["first_row"]), int(closure["last_row"])) for closure in packed.tree.closures]
    for name, span in zip(layout.closing, spans, strict=True):
        for r in range(*span):
            rows.add(name_of_lock(name, packed.tree.locks[r]), 2)
    firsts = {name: layout.row_of_joint(name, joint) for name, joint in scene.joints.items()}
    places = {name: (packed.first_q[row], packed.first_v[row]) for name, row in firsts.items()}
    tables, reductions = TablePacker(), ReductionPacker(packed.tree.driven)
    ground = Ground(layout.rows, packed.frames, places, packer, layout.markers)
    add_constraints(scene, ground, rows, tables, reductions)
    add_between(loaded, ground, packer)
    journals = pack_journals(scene, layout, packed.tree, packer.account)
    contacts = pack_contacts(loaded, layout.rows, packed.frames, journals, packer.account)
    forces, motions = packer.pack()
    accounts = tuple(packer.accounts)
    tree = packed.tree._replace(markers=layout.markers.pack())
    if layout.elimination is not None:
        rows_of = dict(zip(layout.closing, spans, strict=True))
        holders = holders_for(layout.elimination, [rows_of[name] for name in layout.holding])
        tree = tree._replace(holders=records(holders))
        rows.hold(holders)
    implicit = integrator_of(scene.simulation.method, scene.simulation.integrator).implicit and resists(tree, forces)
    if implicit:
        tree = tree._replace(links=handed(tree.links, forces))
    row_table, term_table = rows.pack()
    joints = tuple(
        _entry(name, joint, layout.row_of_joint(name, joint), packed, sizes.get(name, ()))
        for name, joint in scene.joints.items()
    )
    crossing = pack_arms(scene, joints, forces.muscles)
    model = Model(
        system=System(
            tree,
            motions,
            forces,
            tables.pack(forces.signals),
            reductions.pack(),
            row_table,
            term_table,
            crossing.arms,
            crossing.carried,
            implicit,
            contacts,
        ),
        names=Names(
            bodies=tuple(scene.bodies),
            springs=tuple(name for name, spring in scene.springs.items() if isinstance(spring, SpringSpec)),
            muscles=crossing.muscles,
            body_rows=np.array([layout.rows[body] for body in scene.bodies], dtype=np.int64),
            joints=joints,
            accounts=accounts,
            coordinates=_coordinate_names(layout),
            rows=tuple(rows.names),
            restraints=tuple(rows.entries),
            affine=tuple(name for name, body in scene.bodies.items() if body.kind == "affine"),
            contacts=contacts.room if contacts else 0,
            rubbing=tuple(rubbing(scene)),
            strides=METHODS[scene.simulation.method].own_integrator is not None,
        ),
        com=np.array([masses[body].com for body in scene.bodies]).reshape(-1, 3),
        nq=len(packed.q),
        nv=len(packed.v),
        shapes=packed.shapes,
    )
    return model, State(np.zeros(1), packed.q, packed.v, np.zeros(model.nv), np.zeros(len(accounts)))


def _pack_forces(scene: Scene, masses: Mapping[str, MassProperties], layout: Layout, packed: PackedTree) -> ForcePacker:
    packer = ForcePacker()
    for name, joint in scene.joints.items():
        if isinstance(joint, MovingJointSpec):
            row, kind = layout.row_of_joint(name, joint), JOINTS[joint.type]
            iq, iv = packed.first_q[row], packed.first_v[row]
            packer.add_joint(name, joint, kind.parts(joint), kind.start(joint), row, iq, iv)
    add_forces(packer, scene.forces, layout.rows, masses, packed.frames, layout.markers)
    return packer


def _starts(scene: Scene, model: Model, state: State) -> tuple[dict[str, Start], dict[str, Start]]:
    """Where the bodies and the joints of an assembled scene start, by their names."""
    samples, links = look(model, state), model.system.tree.links
    bodies = {}
    for k, (name, body) in enumerate(scene.bodies.items()):
        if body.kind != "rigid":
            first, numbers = links[model.names.body_rows[k]]["iq"], KINDS[body.kind].freedoms
            q = tuple(state.q[first : first + numbers])
            first = links[model.names.body_rows[k]]["iv"]
            bodies[name] = Start(q, tuple(state.v[first : first + numbers]), q)
            continue
        pose = (*samples.position[0, k], *samples.quaternion[0, k])
        bodies[name] = Start(pose, (*samples.linear_velocity[0, k], *samples.angular_velocity[0, k]), pose)
    joints = {}
    for joint in model.names.joints:
        q = tuple(state.q[joint.positions])
        joints[joint.name] = Start(q, tuple(state.v[joint.columns]), q)
    return bodies, joints


def _entry(name: str, joint: JointSpec, row: int, packed: PackedTree, sizes: tuple[float, ...]) -> JointEntry:
    iq, iv, freedoms = packed.first_q[row], packed.first_v[row], len(joint.coordinates)
    parts = JOINTS[joint.type].parts(joint)
    columns, positions = slice(iv, iv + freedoms), slice(iq, iq + sum(part.nq for part in parts))
    same = tuple(word for part in parts for word in part.same)
    domains = joint.domains if isinstance(joint, DomainJointSpec) else ()
    return JointEntry(name, joint.type, joint.coordinates, columns, positions, row, same, domains, sizes)


def _coordinate_names(layout: Layout) -> tuple[str, ...]:
    """Words for each coordinate, for messages."""
    bodies = {row: body for body, row in layout.rows.items()}
    carried = [bodies[max(row for row in bodies if row <= limb.row)] for limb in layout.limbs]
    owners = [f"joint {layout.held[body]}" if body in layout.held else f"body {body}" for body in carried]
    owners += [f"joint {name}" for name in layout.closing]
    words: list[str] = []
    counts = [len(one.driven) for one in layout.limbs] + [len(one.driven) for one in layout.loops]
    for owner, count in zip(owners, counts, strict=True):
        words += [owner if count == 1 else f"{owner}, coordinate {k + 1}" for k in range(count)]
    return tuple(words)
