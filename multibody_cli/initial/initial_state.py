"""Initial state of a scene with loops and constraints: assembly, with warnings, or an error."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraint_solver.solver import update_kinematics
from multibody_cli.errors import Problem, SceneError
from multibody_cli.initial.assemble import ASSEMBLED, Assembler, AssemblyResult
from multibody_cli.joints import JOINTS
from multibody_cli.joints.friction import has_friction
from multibody_cli.joints.spec import JointSpec
from multibody_cli.kernel import Flags
from multibody_cli.model import JointEntry, Model, Records, RowName, State
from multibody_cli.observation import bodies
from multibody_cli.observation.element_rows import element_rows
from multibody_cli.output.samples import Samples, samples_for
from multibody_cli.scene.body_kinds import specified_dofs
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import Scene
from multibody_cli.tree.kinematics import update_tree_kinematics
from multibody_cli.tree.workspace import Work, workspace_for

REPORT_THRESHOLD = 1e-6
"""Largest change of the initial state that is round-off of the input and not reported, in rad, m or their rates."""

MAX_BODIES = 4
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
    if not constrained and not _is_driven(model, state):
        return InitialState(free, ())
    assembler = Assembler(model, state)
    messages: list[str] = []
    positions = assembler.assemble_positions(_written(loaded.scene, model, "q", ("position", "rotation")))
    _require_closable(loaded, model, positions)
    if positions.before > REPORT_THRESHOLD:
        messages.append(
            _how_far(loaded, model, positions, "the initial state was assembled: removed an error of", "moved")
        )
    as_written = initial_samples(model, state)
    velocities = assembler.complete_rates(_written(loaded.scene, model, "v", ("velocity", "velocity")))
    _require_consistent(loaded, model, velocities, state)
    if max(velocities.before, np.abs(velocities.moved).max(initial=0.0)) > REPORT_THRESHOLD:
        messages.append(_completed_rates(loaded, model, state, velocities, as_written))
    _require_agreement(loaded, model, state)
    _require_one_plane(loaded, model, state)
    dependent = assembler.dependent_rows() if constrained else []
    independent = int(np.count_nonzero(model.system.rows["one_sided"] == 0)) - len(dependent)
    return InitialState(free - independent, (*messages, *_redundant(loaded, model, dependent)))


def initial_samples(model: Model, state: State) -> Samples:
    """Return the recorded quantities of the bodies in the initial state."""
    samples = samples_for(model.names, 1)
    bodies.observe(model.system, state, _placed(model, state), element_rows(model), samples, 0)
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
    return _placed(model, state).bodies


def _placed(model: Model, state: State) -> Work:
    """Return work arrays with the kinematics of the initial state."""
    work = workspace_for(model.system)
    kinematics_kernel = update_kinematics if model.system.is_constrained else update_tree_kinematics
    kinematics_kernel(model.system, state.time[0], state.q, state.v, state.a, work)
    return work


def _written(scene: Scene, model: Model, word: str, of_bodies: tuple[str, str]) -> Flags:
    """Return which coordinates, or which rates, the scene gives."""
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


def _unit(row: RowName) -> str:
    """Return the unit of the position error of a row: m along an axis, rad about it, both if it has no direction."""
    return {"along": "m", "about": "rad"}.get(row.direction.split()[0], "m or rad")


def _rate_unit(row: RowName) -> str:
    return " or ".join(f"{unit}/s" for unit in _unit(row).split(" or "))


def _require_closable(loaded: LoadedScene, model: Model, found: AssemblyResult) -> None:
    if found.before <= ASSEMBLED:
        return
    tolerance = loaded.scene.simulation.assembly_tolerance
    name = model.names.rows[found.row]
    if not found.closed:
        raise loaded.error(
            f"cannot be closed: with all joints free to move{_except_for(model)}, an error of "
            f"{found.after:.3g} {_unit(name)} {name.direction} remains; check the lengths, the frames and the initial "
            "coordinates",
            name.section,
            name.element,
        )
    if found.before > tolerance:
        raise loaded.error(
            f"has an initial error of {found.before:.3g} {_unit(name)} {name.direction}, above "
            f"`simulation.assembly_tolerance` ({tolerance:g}): correct the initial coordinates"
            f"{_nearest_start(model, found)}, or increase the tolerance",
            name.section,
            name.element,
        )


def _except_for(model: Model) -> str:
    """Name the limits and motions that assembly keeps."""
    limited = " within their limits" if model.system.rows["one_sided"].any() else ""
    moved = [joint.name for joint in model.names.joints if model.system.tree.driven[joint.columns].any()]
    return limited + (f", apart from the `motion` of {', '.join(f'`{name}`' for name in moved)}" if moved else "")


def _nearest_start(model: Model, found: AssemblyResult) -> str:
    """Name the coordinate with the largest correction."""
    if not len(found.moved):
        return ""
    most = int(np.argmax(np.abs(found.moved)))
    return f" ({model.names.coordinates[most]} by {found.moved[most]:.4g})"


def _require_consistent(loaded: LoadedScene, model: Model, found: AssemblyResult, state: State) -> None:
    if found.before <= ASSEMBLED:
        return
    name = model.names.rows[found.row]
    fastest = float(np.abs(state.v).max(initial=0.0))
    if found.after > REPORT_THRESHOLD * max(1.0, fastest):
        raise loaded.error(
            f"cannot be satisfied by the initial velocities: an error of {found.after:.3g} {_rate_unit(name)} "
            f"{name.direction} remains; prescribed motions or constraints contradict each other",
            name.section,
            name.element,
        )
    if found.changed_given and found.before > REPORT_THRESHOLD * max(1.0, fastest):
        raise loaded.error(
            f"contradicts the given initial velocities by {found.before:.3g} {_rate_unit(name)} {name.direction}: "
            "omit some of them, which then follow from the others",
            name.section,
            name.element,
        )


def _require_agreement(loaded: LoadedScene, model: Model, state: State) -> None:
    """Refuse rates of a loop joint that differ from those of its bodies."""
    problems: list[Problem] = []
    tolerance = loaded.scene.simulation.assembly_tolerance
    for joint in _closing(model):
        spec = loaded.scene.joints[joint.name]
        if "v" in spec.model_fields_set:
            written, found = np.array(_rates(spec)), state.v[joint.columns]
            if np.abs(written - found).max() > REPORT_THRESHOLD + tolerance * np.abs(found).max():
                problems += loaded.error(
                    f"expected {_numbers(found)}, the velocity of its bodies: omit `v`, since this joint closes a loop",
                    "joints",
                    joint.name,
                    "v",
                ).problems
    if problems:
        raise SceneError(problems)


def _require_one_plane(loaded: LoadedScene, model: Model, state: State) -> None:
    """Refuse joints of planar bodies with an error out of the common plane, which no motion can remove."""
    problems: list[Problem] = []
    bodies, tree = placed_bodies(model, state), model.system.tree
    for joint in _closing(model):
        error = math.hypot(*bodies[joint.row]["dw"], *bodies[joint.row]["dv"])
        if tree.closures[joint.row - len(tree.links)]["one_plane"] and error > REPORT_THRESHOLD:
            problems += loaded.error(
                f"has an error of {error:.3g} m or rad out of the plane of its bodies, which no motion can correct: "
                "check the positions of its frames and of the bodies",
                "joints",
                joint.name,
            ).problems
    if problems:
        raise SceneError(problems)


def _rates(joint: JointSpec) -> Sequence[float]:
    return JOINTS[joint.type].start(joint).v


def _closing(model: Model) -> Iterator[JointEntry]:
    return (joint for joint in model.names.joints if joint.row >= len(model.system.tree.links))


def _numbers(values: NDArray[np.float64]) -> str:
    text = ", ".join(f"{value:.6g}" for value in values)
    return text if len(values) == 1 else f"[{text}]"


def _how_far(loaded: LoadedScene, model: Model, found: AssemblyResult, words: str, verb: str) -> str:
    name = model.names.rows[found.row]
    most = int(np.argmax(np.abs(found.moved)))
    return (
        f"{loaded.where(name.section, name.element)}: {name.section}.{name.element}: {words} {found.before:.3g} "
        f"{_unit(name)} {name.direction}; {model.names.coordinates[most]} {verb} most, by {found.moved[most]:.4g}"
    )


def _completed_rates(loaded: LoadedScene, model: Model, state: State, found: AssemblyResult, written: Samples) -> str:
    """Report the bodies whose velocities were completed, at the violated row or else at a driven joint."""
    completed = initial_samples(model, state)
    driven = model.system.tree.driven & (state.v != 0.0)
    if found.before > REPORT_THRESHOLD or not driven.any():
        name = model.names.rows[found.row]
        section, element = name.section, name.element
        removed = f", which removes an error of {found.before:.3g} {_rate_unit(name)} {name.direction}"
    else:
        section, element, removed = "joints", next(j.name for j in model.names.joints if driven[j.columns].any()), ""
    change = np.maximum(
        np.abs(completed.linear_velocity[0] - written.linear_velocity[0]).max(axis=1),
        np.abs(completed.angular_velocity[0] - written.angular_velocity[0]).max(axis=1),
    )
    moving = [i for i in np.argsort(-change, kind="stable") if change[i] > REPORT_THRESHOLD]
    words = [
        f"`{model.names.bodies[i]}` at {np.linalg.norm(completed.linear_velocity[0, i]):.4g} m/s and "
        f"{np.linalg.norm(completed.angular_velocity[0, i]):.4g} rad/s"
        for i in moving[:MAX_BODIES]
    ]
    more = f" and {len(moving) - MAX_BODIES} more bodies" if len(moving) > MAX_BODIES else ""
    return (
        f"{loaded.where(section, element)}: {section}.{element}: the rates that the scene leaves out are those of an "
        f"impulsive start from rest{removed}: {', '.join(words)}{more}; a given `v` or `velocity` is kept"
    )


def _redundant(loaded: LoadedScene, model: Model, dependent: Sequence[int]) -> Iterator[str]:
    """Report the dependent rows of each element; elements with the same rows share a message."""
    names, alike = model.names.rows, defaultdict[str, list[tuple[str, str]]](list)
    has_dry_friction = any(map(has_friction, loaded.scene.joints.values()))
    affected = (
        "their multipliers and the dry friction that depends on them are those of"
        if has_dry_friction
        else "their multipliers are"
    )
    for (section, element), rows in groupby(dependent, key=lambda r: (names[r].section, names[r].element)):
        which = list(rows)
        total = sum(
            name.section == section and name.element == element and not row["one_sided"]
            for name, row in zip(names, model.system.rows, strict=True)
        )
        words = ", ".join(names[r].direction for r in which)
        message = (
            f"{len(which)} of its {total} constraint rows ({words}) depend on the others in the initial state; "
            f"{affected} the least-norm solution; see `mbsim doctor`"
        )
        alike[message].append((section, element))
    for message, elements in alike.items():
        section, element = elements[0]
        more = f" (and {len(elements) - 1} similar)" if len(elements) > 1 else ""
        yield f"{loaded.where(section, element)}: {section}.{element}: {message}{more}"
