"""A scene in the arrays of a layout: `Model` and `State`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from multibody_cli.actuators.controllers import initial_values, with_initial_values
from multibody_cli.constraints import rope
from multibody_cli.constraints.elements import TablePacker
from multibody_cli.escaping import path_component
from multibody_cli.forces.coupled import coupled_forces_of
from multibody_cli.forces.elements import MUSCLES, Forces
from multibody_cli.immutable import replace
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import numbers_of
from multibody_cli.joints.spec import MovingJointSpec
from multibody_cli.kernel import frozen, records
from multibody_cli.mass import MassProperties
from multibody_cli.methods import integrator_of
from multibody_cli.methods.options import STABILIZATION, ends_at_corrected_velocities
from multibody_cli.model import ActuationEntry, Floats, Integers, JointEntry, Model, Records, State, System, Tree
from multibody_cli.observation.moment_arms import ARM
from multibody_cli.observation.sensors import FIXED_FRAME
from multibody_cli.packing.actuators import ActuatorPacker
from multibody_cli.packing.body_order import inboard_joints_for
from multibody_cli.packing.combinations import add_combinations
from multibody_cli.packing.constraints import add_constraints
from multibody_cli.packing.contacts import pack_contacts, pack_joint_friction
from multibody_cli.packing.context import Context, add_section
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.layout import Layout
from multibody_cli.packing.ropes import copy_marks, pack_guides
from multibody_cli.packing.rotors import add_rotors, armatures_of
from multibody_cli.packing.rows import ReductionPacker, RowPacker, name_of_constraint_axis
from multibody_cli.packing.scales import with_scales
from multibody_cli.packing.tree import PackedTree, pack_tree
from multibody_cli.scene.channels import names_of
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import bodies_in_loops, coordinates_crossed, crossings
from multibody_cli.scene.wrenches import bushings_of
from multibody_cli.spec import Pose


# --- packing of the moment arms of muscles about the joints that they cross -------------------------------------------
class PackedArms(NamedTuple):
    """Entries of the muscles, rows of ARM, and the numbers of the path points outboard of the joints."""

    muscles: tuple[ActuationEntry, ...]
    arms: Records
    carried: Integers


def pack_arms(scene: SceneSpec, joints: tuple[JointEntry, ...], muscles: Records) -> PackedArms:
    """Return the arms of each muscle about each coordinate of each joint that it crosses.

    Parameters
    ----------
    scene
        The scene.
    joints
        Its joints in the arrays of the model.
    muscles
        (n,) rows of MUSCLE, in scene order.
    """
    entries: list[ActuationEntry] = []
    arms: list[tuple[int, ...]] = []
    carried: list[int] = []
    places = {joint.name: joint for joint in joints}
    for name, muscle in zip(scene.muscles, muscles, strict=True):
        first, begin, end = len(arms), int(muscle["first"]), int(muscle["last"])
        for joint, outward in crossings(scene, name):
            entry, span = places[joint], (len(carried), len(carried) + len(outward))
            carried += [begin + k for k in outward]
            arms += [(entry.row, iv, begin, end, *span) for iv in range(entry.columns.start, entry.columns.stop)]
        entries.append(ActuationEntry(name, slice(first, len(arms)), coordinates_crossed(scene, name)))
    return PackedArms(tuple(entries), frozen(np.array(arms, ARM)), np.array(carried, dtype=np.int64))


def pack_model(
    loaded: LoadedScene,
    masses: Mapping[str, MassProperties],
    layout: Layout,
    sizes: Mapping[str, tuple[tuple[float, float], ...]],
    earlier: Model | None = None,
) -> tuple[Model, State]:
    """Fill the arrays of a layout.

    The order of the elements is that of the accounts of the ledger and of the rows.

    Parameters
    ----------
    loaded, masses, layout
        The scene, the mass properties of its bodies, and the layout.
    sizes
        Typical norms of the columns of joints that may be singular, by name: see `JointEntry.sizes`.
    earlier
        The scene in another layout, whose ropes have the same lengths, and whose actuators start with the same values.

    Raises
    ------
    CannotReduce
        A coupling with `reduce` cannot be a change of coordinates.
    SceneError
        An excitation has no value during the run, or the contact capacity exceeds its limit.
    """
    scene, simulation = loaded.scene, loaded.scene.simulation
    packed = pack_tree(layout.tree_links, scene.gravity, layout.loops)
    joints = tuple(_joint_entries(scene, layout, packed, sizes))
    packer = ForcePacker(scene.named_points, scene.combinations, scene.inputs, scene.functions)
    rows, tables = _rows_of_loops(layout, packed.tree), TablePacker()
    _add_joint_forces(scene, joints, packer)
    entries = {joint.name: joint for joint in joints}
    own = layout.rows, packed.frames, packer, layout.markers, masses, simulation.duration, scene.joints, entries
    context = Context(*own)
    packer.paths |= {name: context.cable([end for _, end in spec.points]) for name, spec in scene.paths.items()}
    add_section(loaded, "forces", context)
    reductions = ReductionPacker(packed.tree.driven)
    add_constraints(scene, context, rows, tables, reductions)
    rows_of_joints = {joint.name: joint.row for joint in joints}
    add_rotors(layout.rotors, rows_of_joints, packed, rows, tables)
    add_section(loaded, "springs", context)
    add_section(loaded, "muscles", context)
    guides = pack_guides(tables.records_of(rope.TABLE), rows, packer.cables.pack())
    joint_friction = pack_joint_friction(scene, layout, packed.tree, packer.paths, guides, packer.account)
    contacts = pack_contacts(loaded, layout.rows, packed.frames, layout.markers, joint_friction, packer.account)
    actuators = ActuatorPacker(packer, rows_of_joints, simulation.step)
    actuators.add_section(loaded)
    combinations = add_combinations(scene, packer)
    for name, event in scene.events.items():
        if event.changes:
            packer.account("work", f"events/{path_component(name)}")
    forces, motions = packer.pack(context)
    tree = packed.tree._replace(markers=layout.markers.pack(), armature=_armature(scene, joints, packed.tree))
    tree = _with_elimination(tree, layout, rows)
    is_implicit = integrator_of(simulation.method, simulation.integrator, simulation.options).implicit
    implicit = is_implicit and _needs_implicit_solve(tree, forces)
    if implicit:
        tree = tree._replace(links=_mark_implicit_bodies(tree.links, forces))
    crossing = pack_arms(scene, joints, forces.tables[MUSCLES])
    corrected = ends_at_corrected_velocities(simulation.options)
    row_table, term_table = rows.pack(packer.account(STABILIZATION.kind, STABILIZATION.cause) if corrected else -1)
    system = System(
        tree=tree,
        motions=motions,
        forces=forces,
        constraints=tables.pack(forces.signals, forces.points),
        reductions=reductions.pack(),
        rows=row_table,
        terms=term_table,
        arms=crossing.arms,
        carried=crossing.carried,
        commands=actuators.commands,
        implicit=implicit,
        coupled=is_implicit and len(joint_friction.patches) == 0 and len(coupled_forces_of(forces)) > 0,
        contacts=contacts,
    )
    if earlier is not None:
        copy_marks(system, earlier.system)
    controllers = tuple(actuators.controllers)
    if earlier is not None:
        controllers = with_initial_values(controllers, initial_values(earlier.controllers))
    names = replace(
        names_of(scene),
        muscles=crossing.muscles,
        body_rows=np.array([layout.rows[body] for body in scene.bodies], dtype=np.int64),
        joints=joints,
        accounts=tuple(packer.accounts),
        coordinates=layout.coordinate_names(),
        rows=tuple(rows.names),
        contacts=contacts.max_contacts if contacts else 0,
        looped=bodies_in_loops(scene.bodies, scene.joints),
    )
    model = Model(
        system=with_scales(system, packed.q, packed.v, simulation.step),
        names=names,
        com=np.array([masses[body].com for body in scene.bodies]).reshape(-1, 3),
        nq=len(packed.q),
        nv=len(packed.v),
        sensors=_pack_frames(((sensor.body, sensor.frame) for sensor in scene.sensors.values()), context),
        combinations=combinations,
        points=_pack_frames(((body, scene.bodies[body].points[name]) for body, name in names.points), context),
        bushings=_pack_frames(((one.child, one.child_origin) for one in bushings_of(scene).values()), context),
        joint_maps=packed.joint_maps,
        controllers=controllers,
        inputs=packer.input_places,
        activations=np.array(actuators.activations, np.int64),
    )
    z = np.zeros(len(forces.states))
    return model, State(np.zeros(1), packed.q, packed.v, np.zeros(model.nv), np.zeros(len(names.accounts)), z)


def _joint_entries(
    scene: SceneSpec, layout: Layout, packed: PackedTree, sizes: Mapping[str, tuple[tuple[float, float], ...]]
) -> Iterator[JointEntry]:
    for name, joint in scene.joints.items():
        row, parts = layout.row_of_joint(name, joint), JOINTS[joint.type].parts(joint)
        iq, iv = packed.first_q[row], packed.first_v[row]
        columns, positions = slice(iv, iv + len(joint.coordinates)), slice(iq, iq + sum(part.nq for part in parts))
        same = tuple(word for part in parts for word in part.same)
        numbers, own = numbers_of(parts), sizes.get(name, ())
        yield JointEntry(
            name, joint.type, joint.coordinates, columns, positions, row, same, joint.domains, own, numbers
        )


def _rows_of_loops(layout: Layout, tree: Tree) -> RowPacker:
    """Return the constraint rows of loop joints, which precede all others."""
    rows = RowPacker()
    ends = [*tree.closures["first_row"], len(tree.constraint_axes)][1:]
    for name, loop, closure, end in zip(layout.loop_joint_names, layout.loops, tree.closures, ends, strict=True):
        for r in range(closure["first_row"], end):
            rows.add(name_of_constraint_axis(name, tree.constraint_axes[r]), 2, active=loop.active)
        rows.spans["joints", name] = int(closure["first_row"]), int(closure["last_row"])
    return rows


def _add_joint_forces(scene: SceneSpec, joints: Iterable[JointEntry], packer: ForcePacker) -> None:
    for entry in joints:
        joint = scene.joints[entry.name]
        if isinstance(joint, MovingJointSpec):
            kind, first = JOINTS[joint.type], (entry.positions.start, entry.columns.start)
            packer.add_joint(entry.name, joint, kind.parts(joint), kind.start(joint), entry.row, *first)


def _armature(scene: SceneSpec, joints: Iterable[JointEntry], tree: Tree) -> Floats:
    """Return the armature of each coordinate (nv,) of the tree; those of loop joints have rotors."""
    armature, armatures = np.zeros_like(tree.armature), armatures_of(scene)
    for entry in joints:
        if entry.row < len(tree.links):
            armature[entry.columns] = armatures[entry.name]
    return frozen(armature)


def _with_elimination(tree: Tree, layout: Layout, rows: RowPacker) -> Tree:
    """Return a tree with the nodes of its elimination in body coordinates, and mark their rows."""
    if layout.elimination is None:
        return tree
    spans = [rows.spans[one.section, one.name] for one in layout.candidates]
    inboard_joints = inboard_joints_for(layout.elimination, spans)
    certain = [k >= 0 and layout.candidates[k].is_certain for k in layout.elimination.constraints]
    rows.mark_primary(inboard_joints[certain])
    return tree._replace(inboard_joints=records(inboard_joints))


def _needs_implicit_solve(tree: Tree, forces: Forces) -> bool:
    """Whether stiffness or damping couples more than single coordinates of joints that carry bodies."""
    if forces.has_body_stiffness_or_damping:
        return True
    behind = tree.closures["iv"][0] if len(tree.closures) else len(tree.driven)
    return any(coordinates.start >= behind for coordinates in forces.sprung_coordinates)


def _mark_implicit_bodies(links: Records, forces: Forces) -> Records:
    """Return the links with the bodies marked whose inertia implicit forces add to (`implicit.implicit_forces`)."""
    rows, marked = forces.implicit_bodies, np.array(links)
    marked["has_side_children"][rows[rows < len(links)]] = 1
    return frozen(marked)


def _pack_frames(frames: Iterable[tuple[str, Pose]], context: Context) -> Records:
    """Return the table of frames that are fixed in bodies."""
    packed = []
    for body, pose in frames:
        row, origin, rotation = context.frame(body, pose)
        packed.append((row, origin, rotation.T.ravel()))
    return records(np.array(packed, FIXED_FRAME))
