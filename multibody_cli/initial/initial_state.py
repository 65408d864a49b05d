"""Initial state of a scene with loops and constraints: assembly, with warnings, or an error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from multibody_cli.cables.rope import POINTS_COINCIDE
from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.constraints.contract import ConstraintSpec
from multibody_cli.immutable import replace
from multibody_cli.initial.assemble import Assembler
from multibody_cli.initial.assembly_result import AssemblyResult
from multibody_cli.initial.followers import place_followers
from multibody_cli.initial.proposed_start import proposed_start
from multibody_cli.initial.redundant_rows import OfRates, redundant_rows
from multibody_cli.initial.scales import Scales
from multibody_cli.joints import JOINTS
from multibody_cli.joints.contract import Coordinate
from multibody_cli.kernel import Flags, Floats
from multibody_cli.methods.options import ends_at_corrected_velocities
from multibody_cli.model import JointEntry, Model, Records, RowName, State
from multibody_cli.observation import bodies
from multibody_cli.output.element_rows import element_rows
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.packing.constraint_bases import configuration_at
from multibody_cli.packing.ropes import mark_ropes, ropes_of, without_ropes
from multibody_cli.scene.body_kinds import specified_dofs
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import SceneSpec
from multibody_cli.scene.topology import second_joint_of_child
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.workspace import Work, workspace_for

REPORT_THRESHOLD = 1e-6
"""Largest change of the initial state that is round-off of the input and not reported, relative as in `Scales`."""

TURNED, MOVED = 0.01, 0.02
"""Default of `simulation.assembly_tolerance`: rad, and relative to the length of the mechanism."""

ROUND_OFF = 1e-14
"""Angle of two axes, rad, that is round-off."""

MAX_BODIES = 2
"""Largest number of bodies that a message lists."""


class InitialState(NamedTuple):
    """Result of assembly: the remaining degrees of freedom, and the warnings."""

    n_dofs: int
    warnings: tuple[str, ...]


def assemble_initial_state(loaded: LoadedScene, model: Model, state: State) -> InitialState:
    """Assemble the initial state: satisfy all loops and constraints, in place.

    Parameters
    ----------
    loaded, model, state
        The scene, the compiled model, and its state.

    Raises
    ------
    SceneError
        If the written state is too far from a consistent one, or there is none.
    """
    tree = model.system.tree
    free = int(np.count_nonzero(~tree.driven[: tree.links["nv"].sum()]))
    constrained = len(model.system.rows) > 0
    given = (
        _written(loaded.scene, model, "q", ("position", "rotation")),
        _written(loaded.scene, model, "v", ("velocity", "velocity")),
    )
    written = state.q.copy(), state.v.copy()
    driven = _is_driven(model, state)
    _place_followers(loaded, model, state, given)
    if not constrained and not driven:
        return InitialState(free, ())
    messages: list[str] = []
    if len(ropes_of(model.system)):  # their lengths are those where all else is assembled
        others = replace(model, system=without_ropes(model.system))
        messages += _assemble_positions(loaded, Assembler(others, state), state, given[0], written[0])
        coincident = mark_ropes(model.system, ropes_of(model.system), state.q, state.v)
        _require_length(loaded, model, coincident)
    assembler = Assembler(model, state, loaded.scene.simulation.duration)
    messages += _assemble_positions(loaded, assembler, state, given[0], written[0])
    if not ends_at_corrected_velocities(loaded.scene.simulation.options):  # otherwise the first step completes them
        messages += _complete_rates(loaded, assembler, state, given[1], written[1])
    messages += _without_effect(loaded, model, state, assembler.scales)
    _require_one_plane(loaded, model, state, assembler.scales)
    dependent = assembler.dependent_rows() if constrained else {}
    independent = int(np.count_nonzero(model.system.rows["one_sided"] == 0)) - len(dependent)
    return InitialState(free - independent, (*messages, *redundant_rows(loaded, model, dependent)))


def complete_written_rates(loaded: LoadedScene, model: Model, state: State, written: Floats) -> Iterator[str]:
    """Complete the rates of an assembled state with other coordinates, in place; yield messages."""
    if len(model.system.rows) > 0 or _is_driven(model, state):
        kept = _written(loaded.scene, model, "v", ("velocity", "velocity"))
        assembler = Assembler(model, state, loaded.scene.simulation.duration)
        yield from _complete_rates(loaded, assembler, state, kept, written)


def _complete_rates(
    loaded: LoadedScene, assembler: Assembler, state: State, kept: Flags, written: Floats
) -> Iterator[str]:
    """Complete the rates; yield messages."""
    model = assembler.model
    as_written = initial_samples(model, state)
    velocities = assembler.complete_rates(kept, written)
    _require_consistent(loaded, model, state, velocities)
    if max(velocities.before.relative, velocities.change) > REPORT_THRESHOLD:
        yield _completed_rates(loaded, model, state, velocities, assembler.scales, as_written)
    _require_agreement(loaded, model, state, assembler.scales)


def _assemble_positions(
    loaded: LoadedScene, assembler: Assembler, state: State, kept: Flags, written: Floats
) -> list[str]:
    model = assembler.model
    _require_finite(loaded, model, state)
    positions = assembler.assemble_positions(kept, written)
    _require_closable(loaded, model, state, positions, assembler.scales)
    if positions.before.relative > REPORT_THRESHOLD:
        return [_how_far(loaded, model, positions, assembler.scales)]
    return []


def _require_length(loaded: LoadedScene, model: Model, coincident: Flags) -> None:
    """Refuse a rope that is taut at the start where points coincide: its tension would have no direction."""

    def without() -> Iterator[tuple[Sequence[str], str]]:
        spans = ropes_of(model.system)
        for row in np.unique(spans["first_row"][coincident & (spans["length"] < 0)]):
            name = model.names.rows[row]
            yield (name.section, name.element), f"has no direction {name.direction}, {POINTS_COINCIDE}"

    loaded.refuse(without())


def _require_finite(loaded: LoadedScene, model: Model, state: State) -> None:
    """Refuse constraints without a finite value or derivative at the start, and equalities that nothing can change."""
    work = placed(model, state)
    finite = np.isfinite(work.terms["coefficient"]) & np.isfinite(work.terms["f"]).all(axis=1)
    acts = (work.terms["coefficient"] != 0.0) | work.terms["f"].any(axis=1) | work.terms["t"].any(axis=1)

    def refused() -> Iterator[tuple[Sequence[str], str]]:
        for name, row in zip(model.names.rows, work.rows, strict=True):
            entry, own = getattr(loaded.scene, name.section)[name.element], slice(row["first_term"], row["last_term"])
            is_fixed = not row["one_sided"] and not acts[own].any()
            problem, remedy = "is changed by no motion", getattr(entry, "WITHOUT_SLOPE", None) if is_fixed else None
            if not (math.isfinite(row["error"]) and finite[own].all()):
                problem, remedy = "is not defined", getattr(entry, "UNDEFINED", ConstraintSpec.UNDEFINED)
            if remedy:
                yield (name.section, name.element), f"{problem} in the initial position, {name.direction}: {remedy}"

    loaded.refuse(refused())


def initial_samples(model: Model, state: State) -> Samples:
    """Return the recorded quantities of the bodies in the initial state."""
    samples = samples_for(model.names, 1)
    bodies.observe(model.system, state, placed(model, state), element_rows(model), samples, 0)
    return samples


def _is_driven(model: Model, state: State) -> bool:
    """Whether a prescribed motion has a velocity at the start."""
    driven = model.system.tree.driven
    if not driven.any():
        return False
    placed_bodies(model, state)  # writes the prescribed rates
    return bool(state.v[driven].any())


def placed_bodies(model: Model, state: State) -> Records:
    """Return the bodies and loop-joint frames in the initial state."""
    return placed(model, state).bodies


def placed(model: Model, state: State) -> Work:
    """Return work arrays with the kinematics of the initial state."""
    work = workspace_for(model.system)
    kinematics_kernel = update_kinematics if model.system.is_constrained else update_tree_kinematics
    kinematics_kernel(model.system, state.time[0], state.q, state.v, state.a, work)
    return work


def _written(scene: SceneSpec, model: Model, word: str, of_bodies: tuple[str, str]) -> Flags:
    """Return which coordinates, or which rates, the scene states."""
    flags, links = np.zeros(model.nv, np.bool_), model.system.tree.links
    carried = {joint.row for joint in model.names.joints}
    for joint in model.names.joints:
        flags[joint.columns] = word in scene.joints[joint.name].model_fields_set
    for body, row in zip(model.names.bodies, model.names.body_rows, strict=True):
        if row not in carried:
            linear, angular = (field in scene.bodies[body].model_fields_set for field in of_bodies)
            written = specified_dofs(scene.bodies[body], linear, angular)
            first = links[row]["iv"]
            flags[first : first + len(written)] = written
    return flags


def _place_followers(loaded: LoadedScene, model: Model, state: State, given: tuple[Flags, Flags]) -> None:
    """Set the followers of couplings; refuse given values that contradict a coupling with `reduce`."""
    names = [name.removeprefix("joint ") for name in model.names.coordinates]

    def contradictions() -> Iterator[tuple[Sequence[str], str]]:
        for level, follower, leaders in place_followers(model.system, state, given):
            joint = next(joint.name for joint in model.names.joints if follower in range(model.nv)[joint.columns])
            others = ", ".join(f"`{names[leader]}`" for leader in leaders) or "its coupling"
            yield (
                ("joints", joint, "qv"[level]),
                f"contradicts `{'qv'[level]}` of {others}, which a coupling with `reduce` relates to "
                f"`{names[follower]}`: omit one of them, which then follows",
            )

    loaded.refuse(contradictions())


def _unit(row: RowName) -> str:
    """Return the unit of the position error of a row: m along an axis, rad about it, both if it has no direction."""
    return {"along": "m", "about": "rad"}.get(row.direction.split()[0], "m or rad")


def _rate_unit(row: RowName) -> str:
    return " or ".join(f"{unit}/s" for unit in _unit(row).split(" or "))


def _require_closable(loaded: LoadedScene, model: Model, state: State, found: AssemblyResult, scales: Scales) -> None:
    if found.before.small:
        return
    tolerance = loaded.scene.simulation.assembly_tolerance
    name = model.names.rows[found.row]
    if not found.closed:
        message = (
            f"cannot be closed: with all joints free to move{_except_for(model)}, an error of "
            f"{found.after.value:.3g} {_unit(name)} {name.direction} remains; "
            + (_misalignment(model, state) or "check the lengths, the frames and the initial coordinates")
        )
        message += second_joint_of_child(loaded.scene, name.section, name.element)
        raise loaded.error(message, name.section, name.element)
    if tolerance is None:
        far = found.before.relative > (TURNED if _unit(name) == "rad" else MOVED)
        allowed = f"{MOVED * scales.length:.3g} m or {TURNED:g} rad"
    else:
        far, allowed = found.before.largest > tolerance, f"{tolerance:g}"
    if far:
        starts = proposed_start(loaded.scene, model, state, initial_samples(model, state), found, scales)
        raise loaded.error(
            f"has an initial error of {found.before.value:.3g} {_unit(name)} {name.direction}, above "
            f"`simulation.assembly_tolerance` ({allowed}): correct the initial coordinates to "
            f"{', '.join(starts)}, or increase the tolerance",
            name.section,
            name.element,
        )


def _except_for(model: Model) -> str:
    """Name the limits and motions that assembly keeps."""
    limited = " within their limits" if model.system.rows["one_sided"].any() else ""
    moved = [joint.name for joint in model.names.joints if model.system.tree.driven[joint.columns].any()]
    return limited + (f", apart from the `motion` of {', '.join(f'`{name}`' for name in moved)}" if moved else "")


def _misalignment(model: Model, state: State) -> str:
    """Name the two hinges whose axes are almost parallel, but differ most, with a remedy; "" without any."""
    columns, hinges = placed(model, state).columns["angular"], []
    for joint in model.names.joints:
        if joint.coordinates == (Coordinate.ANGLE,):
            axis = columns[joint.columns.start]
            hinges.append((joint.name, axis / np.linalg.norm(axis)))
    pairs = [(float(np.linalg.norm(np.cross(a, b))), one, other) for (one, a), (other, b) in combinations(hinges, 2)]
    sine, one, other = max((pair for pair in pairs if pair[0] < TURNED), default=(0.0, "", ""))
    if sine <= ROUND_OFF:
        return ""
    return (
        f"the axes of `{one}` and `{other}` are not parallel, but differ by {sine:.3g} rad: write both with the same "
        "numbers, or make one hinge of the loop `spherical`"
    )


def _require_consistent(loaded: LoadedScene, model: Model, state: State, found: AssemblyResult) -> None:
    if found.before.small:
        return
    name = model.names.rows[found.row]
    if found.after.relative > REPORT_THRESHOLD:
        raise loaded.error(
            f"cannot be satisfied by the initial velocities: an error of {found.after.value:.3g} {_rate_unit(name)} "
            f"{name.direction} remains; "
            + (_misalignment(model, state) or "prescribed motions or constraints contradict each other"),
            name.section,
            name.element,
        )
    if found.changed_given and found.before.relative > REPORT_THRESHOLD:
        raise loaded.error(
            f"contradicts the given initial velocities by {found.before.value:.3g} {_rate_unit(name)} "
            f"{name.direction}: "
            + (_misalignment(model, state) or "omit some of them, which then follow from the others"),
            name.section,
            name.element,
        )


def _require_agreement(loaded: LoadedScene, model: Model, state: State, scales: Scales) -> None:
    """Refuse rates of a loop joint that differ from those of its bodies."""
    tolerance, problems = loaded.scene.simulation.assembly_tolerance or TURNED, []
    for joint in _closing(model):
        spec = loaded.scene.joints[joint.name]
        if "v" in spec.model_fields_set:
            written = np.array(JOINTS[spec.type].start(spec).v)
            found, sizes = state.v[joint.columns], scales.coordinates[joint.columns]
            allowed = REPORT_THRESHOLD * scales.rate + tolerance * np.abs(found / sizes).max(initial=0.0)
            if np.abs((written - found) / sizes).max(initial=0.0) > allowed:
                remedy = "the velocity of its bodies: omit `v`, since this joint closes a loop"
                problems.append((("joints", joint.name, "v"), f"expected {_numbers(found)}, {remedy}"))
    loaded.refuse(problems)


def _without_effect(loaded: LoadedScene, model: Model, state: State, scales: Scales) -> Iterator[str]:
    """Report coordinates of loop joints that differ from those of the bodies, which are the start."""
    for joint in _closing(model):
        spec, found = loaded.scene.joints[joint.name], state.q[joint.positions]
        kind = JOINTS[spec.type]
        here, there = (configuration_at(tuple(kind.parts(spec)), q) for q in (found, np.array(kind.start(spec).q)))
        turned, moved = np.abs(here.rotation - there.rotation).max(), np.abs(here.translation - there.translation).max()
        if "q" in spec.model_fields_set and (turned > TURNED or moved > MOVED * scales.length):
            where, remedy = loaded.where("joints", joint.name, "q"), "state that of the joints that carry them"
            problem = f"is not the start: this joint closes a loop, and its bodies start at {_numbers(found)}"
            yield f"{where}: joints.{joint.name}.q: {problem}; {remedy}"


def _require_one_plane(loaded: LoadedScene, model: Model, state: State, scales: Scales) -> None:
    """Refuse joints of planar bodies with an error out of the common plane, which no motion can remove."""
    bodies, tree, problems = placed_bodies(model, state), model.system.tree, []
    for joint in _closing(model):
        turn, slide = (math.hypot(*bodies[joint.row][part]) for part in ("dw", "dv"))
        outside = max(turn, slide / scales.length) > REPORT_THRESHOLD
        if outside and tree.closures[joint.row - len(tree.links)]["one_plane"]:
            message = (
                f"has an error of {math.hypot(turn, slide):.3g} m or rad out of the plane of its bodies, which no "
                "motion can correct: check the positions of its frames and of the bodies"
            )
            problems.append((("joints", joint.name), message))
    loaded.refuse(problems)


def _closing(model: Model) -> Iterator[JointEntry]:
    return (joint for joint in model.names.joints if joint.row >= len(model.system.tree.links))


def _numbers(values: Floats) -> str:
    text = ", ".join(f"{value:.6g}" for value in values)
    return text if len(values) == 1 else f"[{text}]"


def _how_far(loaded: LoadedScene, model: Model, found: AssemblyResult, scales: Scales) -> str:
    """Report the error that assembly removed, and the coordinate that moved most."""
    name = model.names.rows[found.row]
    most = int(np.argmax(np.abs(found.moved) / scales.coordinates))
    return (
        f"{loaded.where(name.section, name.element)}: {name.section}.{name.element}: the initial state was assembled: "
        f"removed an error of {found.before.value:.3g} {_unit(name)} {name.direction}; {model.names.coordinates[most]} "
        f"moved most, by {found.moved[most]:.4g}{second_joint_of_child(loaded.scene, name.section, name.element)}"
    )


def _completed_rates(
    loaded: LoadedScene, model: Model, state: State, found: AssemblyResult, scales: Scales, written: Samples
) -> str:
    """Report the bodies whose velocities were completed, at the violated row or else at a driven joint."""
    completed = initial_samples(model, state)
    driven = model.system.tree.driven & (state.v != 0.0)
    if found.before.relative > REPORT_THRESHOLD or not driven.any():
        name = model.names.rows[found.row]
        section, element = name.section, name.element
        removed = f", which removes an error of {found.before.value:.3g} {_rate_unit(name)} {name.direction}"
    else:
        section, element, removed = "joints", next(j.name for j in model.names.joints if driven[j.columns].any()), ""
    change = np.maximum(
        np.abs(completed.linear_velocity[0] - written.linear_velocity[0]).max(axis=1) / scales.length,
        np.abs(completed.angular_velocity[0] - written.angular_velocity[0]).max(axis=1),
    )
    moving = [i for i in np.argsort(-change, kind="stable") if change[i] > REPORT_THRESHOLD * scales.rate]
    words = [
        f"`{model.names.bodies[i]}` at {np.linalg.norm(completed.linear_velocity[0, i]):.4g} m/s and "
        f"{np.linalg.norm(completed.angular_velocity[0, i]):.4g} rad/s"
        for i in moving[:MAX_BODIES]
    ]
    more = f" and {len(moving) - MAX_BODIES} more bodies" if len(moving) > MAX_BODIES else ""
    return OfRates(
        f"{loaded.where(section, element)}: {section}.{element}: the rates that the scene leaves out are those of an "
        f"impulsive start from rest{removed}: {', '.join(words)}{more}"
    )
