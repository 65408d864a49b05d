"""Compilation of a validated scene into the arrays of a method."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from multibody_cli.alarms.catalogue import STABILITY
from multibody_cli.alarms.contract import Oscillations, Raised
from multibody_cli.constraints.elements import TablePacker
from multibody_cli.errors import Refused
from multibody_cli.forces.coupled import coupled_forces_of
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.forces.spring import SpringSpec
from multibody_cli.initial.friction_uniqueness import check_friction
from multibody_cli.initial.initial_state import assemble_initial_state, initial_samples
from multibody_cli.initial.joint_regularity import typical_column_norms
from multibody_cli.initial.oscillations import oscillations_of
from multibody_cli.initial.point_torques import require_no_torques
from multibody_cli.initial.signal_resolution import signal_alarms
from multibody_cli.initial.stable_step import check_step
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Start
from multibody_cli.joints.domain import DomainJointSpec
from multibody_cli.joints.spec import JointSpec, MovingJointSpec
from multibody_cli.kernel import records
from multibody_cli.kkt.elimination import inboard_joints_for
from multibody_cli.mass import MassProperties
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.methods.contract import StepControl
from multibody_cli.model import Floats, JointEntry, Model, SceneNames, State, System
from multibody_cli.packing.actuators import ActuatorPacker
from multibody_cli.packing.constraints import CannotReduce, add_constraints
from multibody_cli.packing.contacts import pack_contacts
from multibody_cli.packing.context import Context, add_section
from multibody_cli.packing.elimination import candidates_of
from multibody_cli.packing.forces import ForcePacker
from multibody_cli.packing.implicit import mark_implicit_bodies, needs_implicit_solve
from multibody_cli.packing.joint_friction import joints_with_friction, pack_joint_friction
from multibody_cli.packing.layout import Layout, body_coordinate_layout, in_plane_layout, joint_coordinate_layout
from multibody_cli.packing.moment_arms import pack_arms
from multibody_cli.packing.reductions import ReductionPacker
from multibody_cli.packing.rows import RowPacker, name_of_constraint_axis
from multibody_cli.packing.scales import with_scales
from multibody_cli.packing.sensors import pack_sensors
from multibody_cli.packing.tree import PackedTree, pack_tree
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.channels import actuator_entries
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.mass_properties import mass_properties_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.simulation import SimulationSpec
from multibody_cli.scene.strands import add_attached_masses, unrelaxed_attachments
from multibody_cli.scene.timing import Timing, timing
from multibody_cli.scene.topology import bodies_in_loops

NO_INERTIA = 1e-12
"""Principal moments below this value, relative to the largest, count as zero."""


@dataclass(frozen=True)
class Compiled:
    """A scene ready to run.

    Model, initial state, step control, output instants, mass properties by body, number of degrees of freedom at the
    start (after loops and constraints, without prescribed coordinates), warnings about the initial state, those of them
    that are alarms, the longest stable step there, s; infinite if there is none or it is not known; oscillations of the
    implicit forces, and notes on the start for the end of the run.
    """

    model: Model
    state: State
    control: StepControl
    timing: Timing
    masses: Mapping[str, MassProperties]
    n_dofs: int
    warnings: tuple[str, ...]
    alarms: tuple[Raised, ...]
    stable_step: float
    oscillations: Oscillations | None = None
    notes: tuple[Raised, ...] = ()


def compile_scene(loaded: LoadedScene) -> Compiled:
    """Compile a scene for its method.

    Parameters
    ----------
    loaded
        The scene.

    Raises
    ------
    SceneError
        A mesh file cannot be used, a joint does not suit its bodies, a function of time is not finite, a loop cannot be
        closed, or bodies in contact overlap.
    """
    scene = loaded.scene
    simulation = scene.simulation
    masses = {name: _body_mass_properties(loaded, name) for name in scene.bodies}
    masses = add_attached_masses(scene, masses)
    require_no_torques(loaded)
    sizes = typical_column_norms(loaded)
    try:
        model, state = _pack(loaded, masses, joint_coordinate_layout(scene, masses), sizes)
    except CannotReduce as error:
        message = "cannot be reduced: its coordinates are prescribed or already dependent"
        raise loaded.error(message, "couplings", str(error), "reduce") from None
    signals = tuple(signal_alarms(loaded))
    n_dofs, messages = assemble_initial_state(loaded, model, state)
    if scene.strands:
        messages = (*messages, *unrelaxed_attachments(scene, initial_samples(model, state)))
    checked, notes = check_step(simulation, model, state), tuple(check_friction(simulation, model, state))
    oscillations = oscillations_of(simulation, model, state)
    alarms = (*checked.alarms, *(alarm for _, alarm in signals))
    messages = (*messages, *map(str, checked.alarms), *(f"{place}: {alarm}" for place, alarm in signals))
    if scene.contacts is not None:
        from multibody_cli.initial.overlap import require_no_overlap  # slow import

        require_no_overlap(loaded, model, state)
    method = METHODS[simulation.method]
    if method.maximal:
        _require_inertia(loaded, masses)
        candidates = candidates_of(scene, method.eliminates_constraints)
        layout = body_coordinate_layout(scene, masses, *_starts(scene, model, state), candidates)
        model, state = _pack(loaded, masses, layout, sizes)
    elif any(body.kind == "planar" for body in scene.bodies.values()):
        in_plane = in_plane_layout(scene, masses, *_starts(scene, model, state))
        if in_plane is not None:
            model, state = _pack(loaded, masses, in_plane, sizes)
    control = StepControl(simulation.step, simulation.tolerance.rtol, simulation.tolerance.atol, simulation.duration)
    timed = timing(simulation, scene.output)
    return Compiled(
        model, state, control, timed, masses, n_dofs, messages, alarms, checked.longest, oscillations, notes
    )


def with_start(compiled: Compiled, simulation: SimulationSpec, q: Floats, v: Floats) -> Compiled:
    """Return a scene in joint coordinates with another start, and its check of the step.

    Parameters
    ----------
    compiled
        The scene; it has no loops, motions and constraints other than limits.
    simulation
        The settings of the run.
    q, v
        (nq,) and (nv,) initial state, not at a limit.
    """
    state = compiled.state.copy()
    state.q[:], state.v[:] = q, v
    checked = check_step(simulation, compiled.model, state)
    others = without_check_of_step(compiled.alarms)
    earlier = {str(alarm) for alarm in compiled.alarms} - {str(alarm) for alarm in others}
    return replace(
        compiled,
        state=state,
        warnings=(*map(str, checked.alarms), *(text for text in compiled.warnings if text not in earlier)),
        alarms=(*checked.alarms, *others),
        stable_step=checked.longest,
        oscillations=oscillations_of(simulation, compiled.model, state),
    )


def without_check_of_step(alarms: Iterable[Raised]) -> tuple[Raised, ...]:
    """Return the alarms of a start that do not depend on its state."""
    return tuple(alarm for alarm in alarms if alarm.name != STABILITY)


def _body_mass_properties(loaded: LoadedScene, name: str) -> MassProperties:
    body = loaded.scene.bodies[name]

    def file_of(file: str, k: int) -> Path:
        return loaded.resolve_path(file, "bodies", name, "shapes", k)

    try:
        return mass_properties_of(body, file_of)
    except Refused as error:
        field = "shapes" if body.inertia is None else "inertia"
        raise loaded.error(str(error), "bodies", name, field) from None


def _require_inertia(loaded: LoadedScene, masses: Mapping[str, MassProperties]) -> None:
    """Require a positive mass and inertia of every body, for methods in body coordinates."""
    others = ", ".join(f"`{name}`" for name, kind in METHODS.items() if not kind.maximal)
    message = (
        f"has no mass or a zero moment of inertia, but method `{loaded.scene.simulation.method}` uses body "
        f"coordinates: specify the inertia, or use one of {others}"
    )
    moments = {name: np.linalg.eigvalsh(mass.inertia) for name, mass in masses.items()}
    loaded.refuse(
        (("bodies", name), message)
        for name, body in loaded.scene.bodies.items()
        if masses[name].mass <= 0.0 or (body.kind == "rigid" and moments[name][0] <= NO_INERTIA * moments[name][-1])
    )


def _pack(
    loaded: LoadedScene,
    masses: Mapping[str, MassProperties],
    layout: Layout,
    sizes: Mapping[str, tuple[float, ...]],
) -> tuple[Model, State]:
    """Fill the arrays of a layout; `sizes` are the typical column norms of joints with numerical motion subspace."""
    scene = loaded.scene
    packed = pack_tree(layout.tree_links, scene.gravity, layout.loops)
    packer = _pack_joint_forces(scene, layout, packed)
    rows = RowPacker()
    spans = [(int(closure["first_row"]), int(closure["last_row"])) for closure in packed.tree.closures]
    for name, span in zip(layout.loop_joint_names, spans, strict=True):
        for r in range(*span):
            rows.add(name_of_constraint_axis(name, packed.tree.constraint_axes[r]), 2)
        rows.spans["joints", name] = span
    firsts = {name: layout.row_of_joint(name, joint) for name, joint in scene.joints.items()}
    places = {name: (packed.first_q[row], packed.first_v[row]) for name, row in firsts.items()}
    tables, reductions = TablePacker(), ReductionPacker(packed.tree.driven)
    context = Context(layout.rows, packed.frames, places, packer, layout.markers, masses, scene.simulation.duration)
    add_section(loaded, "forces", context)
    add_constraints(scene, context, rows, tables, reductions)
    add_section(loaded, "springs", context)
    add_section(loaded, "muscles", context)
    joint_friction = pack_joint_friction(scene, layout, packed.tree, packer.account)
    contacts = pack_contacts(loaded, layout.rows, packed.frames, joint_friction, packer.account)
    actuators = ActuatorPacker(packer, firsts, len(packed.v))
    actuators.add_section(scene)
    forces, motions = packer.pack(context)
    accounts = tuple(packer.accounts)
    actuators.rotors.flags.writeable = False
    tree = packed.tree._replace(markers=layout.markers.pack(), rotor_inertia=actuators.rotors)
    if layout.elimination is not None:
        inboard_joints = inboard_joints_for(
            layout.elimination, [rows.spans[one.section, one.name] for one in layout.candidates]
        )
        tree = tree._replace(inboard_joints=records(inboard_joints))
        certain = [k >= 0 and layout.candidates[k].is_certain for k in layout.elimination.constraints]
        rows.mark_primary(inboard_joints[certain])
    implicit = integrator_of(scene.simulation.method, scene.simulation.integrator).implicit
    row_table, term_table = rows.pack()
    coupled = implicit and len(joint_friction.patches) == 0 and len(coupled_forces_of(forces)) > 0
    implicit = implicit and needs_implicit_solve(tree, forces)
    if implicit:
        tree = tree._replace(links=mark_implicit_bodies(tree.links, forces))
    joints = tuple(
        _entry(name, joint, layout.row_of_joint(name, joint), packed, sizes.get(name, ()))
        for name, joint in scene.joints.items()
    )
    crossing = pack_arms(scene, joints, forces.tables[MUSCLES])
    system = System(
        tree,
        motions,
        forces,
        tables.pack(forces.signals),
        reductions.pack(),
        row_table,
        term_table,
        crossing.arms,
        crossing.carried,
        actuators.commands,
        implicit,
        coupled,
        contacts,
    )
    model = Model(
        system=with_scales(system, packed.q, packed.v, scene.simulation.step),
        names=SceneNames(
            bodies=tuple(scene.bodies),
            springs=tuple(name for name, spring in scene.springs.items() if isinstance(spring, SpringSpec)),
            muscles=crossing.muscles,
            actuators=tuple(actuator_entries(scene)),
            body_rows=np.array([layout.rows[body] for body in scene.bodies], dtype=np.int64),
            joints=joints,
            accounts=accounts,
            coordinates=_coordinate_names(layout),
            rows=tuple(rows.names),
            constraint_entries=tuple(rows.entries),
            sensors=tuple(scene.sensors),
            affine=tuple(name for name, body in scene.bodies.items() if body.kind == "affine"),
            contacts=contacts.max_contacts if contacts else 0,
            friction_joints=tuple(joints_with_friction(scene)),
            variational=METHODS[scene.simulation.method].own_integrator is not None,
            looped=bodies_in_loops(scene.bodies, scene.joints),
        ),
        com=np.array([masses[body].com for body in scene.bodies]).reshape(-1, 3),
        nq=len(packed.q),
        nv=len(packed.v),
        sensors=pack_sensors(scene.sensors, context),
        joint_maps=packed.joint_maps,
        controllers=tuple(actuators.controllers),
    )
    return model, State(np.zeros(1), packed.q, packed.v, np.zeros(model.nv), np.zeros(len(accounts)))


def _pack_joint_forces(scene: SceneSpec, layout: Layout, packed: PackedTree) -> ForcePacker:
    packer = ForcePacker()
    for name, joint in scene.joints.items():
        if isinstance(joint, MovingJointSpec):
            row, kind = layout.row_of_joint(name, joint), JOINTS[joint.type]
            iq, iv = packed.first_q[row], packed.first_v[row]
            packer.add_joint(name, joint, kind.parts(joint), kind.start(joint), row, iq, iv)
    return packer


def _starts(scene: SceneSpec, model: Model, state: State) -> tuple[dict[str, Start], dict[str, Start]]:
    """Initial states of the bodies and joints of an assembled scene, by name."""
    samples, links = initial_samples(model, state), model.system.tree.links
    bodies = {}
    for k, (name, body) in enumerate(scene.bodies.items()):
        if body.kind != "rigid":
            first, numbers = links[model.names.body_rows[k]]["iq"], KINDS[body.kind].n_dofs
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
    iq, iv, n_dofs = packed.first_q[row], packed.first_v[row], len(joint.coordinates)
    parts = JOINTS[joint.type].parts(joint)
    columns, positions = slice(iv, iv + n_dofs), slice(iq, iq + sum(part.nq for part in parts))
    same = tuple(word for part in parts for word in part.same)
    domains = joint.domains if isinstance(joint, DomainJointSpec) else ()
    return JointEntry(name, joint.type, joint.coordinates, columns, positions, row, same, domains, sizes)


def _coordinate_names(layout: Layout) -> tuple[str, ...]:
    """Names of all coordinates, for messages."""
    rows, bodies = zip(*sorted((row, body) for body, row in layout.rows.items()), strict=True)
    carried = [bodies[bisect_right(rows, tree_link.row) - 1] for tree_link in layout.tree_links]
    owners = [
        f"joint {layout.inboard_joint_of[body]}" if body in layout.inboard_joint_of else f"body {body}"
        for body in carried
    ]
    owners += [f"joint {name}" for name in layout.loop_joint_names]
    words: list[str] = []
    counts = [len(one.driven) for one in layout.tree_links] + [len(one.driven) for one in layout.loops]
    for owner, count in zip(owners, counts, strict=True):
        words += [owner if count == 1 else f"{owner}, coordinate {k + 1}" for k in range(count)]
    return tuple(words)
