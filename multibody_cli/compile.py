"""Compilation of a validated scene into the arrays of a method."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from multibody_cli.alarms.catalogue import STABILITY
from multibody_cli.alarms.contract import Oscillations, Raised
from multibody_cli.errors import Refused
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.element_states import measure_elastic_ropes, settle
from multibody_cli.initial.friction_uniqueness import check_friction
from multibody_cli.initial.initial_state import assemble_initial_state, initial_samples
from multibody_cli.initial.joint_regularity import require_no_torques, typical_column_norms
from multibody_cli.initial.mass_regularity import check_masses
from multibody_cli.initial.signal_resolution import signal_alarms
from multibody_cli.initial.stable_step import check_step, oscillations_of
from multibody_cli.joints.contract import JointStart
from multibody_cli.mass import MassProperties
from multibody_cli.methods import METHODS
from multibody_cli.methods.contract import StepControl
from multibody_cli.model import Floats, Model, State
from multibody_cli.packing.constraints import CannotReduce
from multibody_cli.packing.elimination import candidates_of
from multibody_cli.packing.layout import Layout, body_coordinate_layout, in_plane_layout, joint_coordinate_layout
from multibody_cli.packing.model import pack_model
from multibody_cli.scene.body_kinds import KINDS
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.mass_properties import mass_properties_of
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.simulation import SimulationSpec
from multibody_cli.scene.strands import add_attached_masses, unrelaxed_attachments
from multibody_cli.scene.timing import Timing, timing

NO_INERTIA = 1e-12
"""Principal moments up to this value, relative to the largest, do not count as positive."""


class CompiledScene(Immutable):
    """A scene ready to run.

    The scene with its floor among the shapes of the world, model, initial state, step control, output instants, mass
    properties by body, number of degrees of freedom at the start (after loops and constraints, without prescribed
    coordinates), warnings about the initial state, those of them that are alarms, the longest stable step there, s;
    infinite if there is none or it is not known; oscillations of the implicit forces, notes on the start for the end of
    the run, and the model in joint coordinates with its assembled state.
    """

    loaded: LoadedScene
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
    assembled: tuple[Model, State] | None = None


def compile_scene(loaded: LoadedScene) -> CompiledScene:
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
        model, state = pack_model(loaded, masses, joint_coordinate_layout(scene, masses), sizes)
    except CannotReduce as error:
        name, reason = error.args
        raise loaded.error(f"cannot be reduced: {reason}", "couplings", name, "reduce") from None
    signals = tuple(signal_alarms(loaded))
    written = state.v.copy()
    n_dofs, messages = assemble_initial_state(loaded, model, state)
    measure_elastic_ropes(loaded, model, state)
    settle(model, state)
    if simulation.start == "equilibrium":
        from multibody_cli.statics.rest import with_values_at_rest  # slow imports
        from multibody_cli.statics.start import start_in_equilibrium

        messages = (*messages, *start_in_equilibrium(loaded, model, state, written))
        model = with_values_at_rest(model, state)
    messages = (*check_masses(loaded, masses, model, state), *messages)
    if scene.strands:
        messages = (*messages, *unrelaxed_attachments(scene, initial_samples(model, state)))
    checked, notes = check_step(simulation, model, state), tuple(check_friction(simulation, model, state))
    oscillations = oscillations_of(simulation, model, state)
    alarms = (*checked.alarms, *(alarm for _, alarm in signals))
    messages = (*messages, *map(str, checked.alarms), *(f"{place}: {alarm}" for place, alarm in signals))
    assembled = model, state
    whole = separate = loaded
    if scene.contacts is not None:
        from multibody_cli.initial.floor import with_floor  # slow imports
        from multibody_cli.initial.overlap import without_overlap

        whole = with_floor(loaded, model, state)
        separate, overlaps = without_overlap(whole, model, state)  # a floor overlaps nothing
        alarms, messages = (*alarms, *overlaps), (*messages, *map(str, overlaps))
        if separate is not loaded:
            model, _ = pack_model(separate, masses, joint_coordinate_layout(scene, masses), sizes, model)
    layout = _layout_of_method(separate, masses, model, state)
    if layout is not None:
        model, state = pack_model(separate, masses, layout, sizes, model)
    settle(model, state)
    control = StepControl(simulation.step, simulation.tolerance.rtol, simulation.tolerance.atol, simulation.duration)
    timed = timing(simulation, scene.output)
    return CompiledScene(
        whole,
        model,
        state,
        control,
        timed,
        masses,
        n_dofs,
        messages,
        alarms,
        checked.longest,
        oscillations,
        notes,
        assembled,
    )


def changed_model(compiled: CompiledScene, loaded: LoadedScene) -> Model:
    """Return the model of a compiled scene with other values.

    Parameters
    ----------
    compiled
        The scene, whose start the layout of a method is made for, and whose ropes have the same lengths.
    loaded
        The scene with other values.

    Raises
    ------
    SceneError
        As in `compile_scene`.
    """
    assert compiled.assembled is not None
    model, state = compiled.assembled
    masses = {name: _body_mass_properties(loaded, name) for name in loaded.scene.bodies}
    masses = add_attached_masses(loaded.scene, masses)
    if loaded.scene.contacts is not None:
        from multibody_cli.initial.floor import with_floor  # slow imports
        from multibody_cli.initial.overlap import without_overlap

        loaded, _ = without_overlap(with_floor(loaded, model, state), model, state)
    layout = _layout_of_method(loaded, masses, model, state) or joint_coordinate_layout(loaded.scene, masses)
    changed, _ = pack_model(loaded, masses, layout, typical_column_norms(loaded), model)
    return changed


def with_start(compiled: CompiledScene, simulation: SimulationSpec, q: Floats, v: Floats) -> CompiledScene:
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
    settle(compiled.model, state)
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
        f"has no mass or a moment of inertia that is not positive, but method `{loaded.scene.simulation.method}` uses "
        f"body coordinates and divides by both: specify them, or use one of {others}"
    )
    moments = {name: np.linalg.eigvalsh(mass.inertia) for name, mass in masses.items()}
    loaded.refuse(
        (("bodies", name), message)
        for name, body in loaded.scene.bodies.items()
        if masses[name].mass <= 0.0 or (body.kind == "rigid" and moments[name][0] <= NO_INERTIA * moments[name][-1])
    )


def _layout_of_method(
    loaded: LoadedScene, masses: Mapping[str, MassProperties], model: Model, state: State
) -> Layout | None:
    """Return the layout of a run from the assembled state; None if it is that of the assembly."""
    scene, method = loaded.scene, METHODS[loaded.scene.simulation.method]
    if method.maximal:
        _require_inertia(loaded, masses)
        candidates = candidates_of(scene, method.eliminates_constraints)
        return body_coordinate_layout(scene, masses, *_starts(scene, model, state), candidates)
    if any(body.kind == "planar" for body in scene.bodies.values()):
        return in_plane_layout(scene, masses, *_starts(scene, model, state))
    return None


def _starts(scene: SceneSpec, model: Model, state: State) -> tuple[dict[str, JointStart], dict[str, JointStart]]:
    """Initial states of the bodies and joints of an assembled scene, by name."""
    samples, links = initial_samples(model, state), model.system.tree.links
    bodies = {}
    for k, (name, body) in enumerate(scene.bodies.items()):
        if body.kind != "rigid":
            first, numbers = links[model.names.body_rows[k]]["iq"], KINDS[body.kind].n_dofs
            q = tuple(state.q[first : first + numbers])
            first = links[model.names.body_rows[k]]["iv"]
            bodies[name] = JointStart(q, tuple(state.v[first : first + numbers]), q)
            continue
        pose = (*samples.position[0, k], *samples.quaternion[0, k])
        bodies[name] = JointStart(pose, (*samples.linear_velocity[0, k], *samples.angular_velocity[0, k]), pose)
    joints = {}
    for joint in model.names.joints:
        q = tuple(state.q[joint.positions])
        joints[joint.name] = JointStart(q, tuple(state.v[joint.columns]), q)
    return bodies, joints
