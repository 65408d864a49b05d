"""The start of a scene with loops and constraints: assembled, with words for the user, or refused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraint_solver.solver import POSITION, VELOCITY, place
from multibody_cli.errors import Problem, SceneError
from multibody_cli.initial.assemble import ASSEMBLED, Assembler, Finding
from multibody_cli.joints import JOINTS
from multibody_cli.joints.spec import JointSpec
from multibody_cli.model import JointEntry, Model, Records, State
from multibody_cli.observation.state import observe_bodies
from multibody_cli.samples import Samples, samples_for
from multibody_cli.scene.body_kinds import written_freedoms
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.schema import Scene
from multibody_cli.tree.kinematics import place_tree
from multibody_cli.tree.workspace import workspace_for

Flags = NDArray[np.bool_]

WORTH_TELLING = 1e-6
"""A start that moves by less, in rad, m or their rates, is round-off of what was written."""


class Beginning(NamedTuple):
    """What is known of the start: how many freedoms are left to move, and what the user should know of it."""

    freedoms: int
    warnings: tuple[str, ...]


def assembled(loaded: LoadedScene, model: Model, state: State) -> Beginning:
    """Bring the start onto all loops and constraints, in place.

    Parameters
    ----------
    loaded, model, state
        A scene and what it compiled to.

    Raises
    ------
    SceneError
        Where the start is too far from any that the loops allow, or there is none.
    """
    tree = model.system.tree
    free = int(np.count_nonzero(~tree.driven[: tree.links["nv"].sum()]))
    if len(model.system.rows) == 0:
        return Beginning(free, ())
    assembler = Assembler(model, state)
    told: list[str] = []
    positions = assembler.assemble(POSITION, _written(loaded.scene, model, "q", ("position", "rotation")))
    _require_closable(loaded, model, positions)
    if positions.before > WORTH_TELLING:
        told.append(_how_far(loaded, model, positions, "the start was assembled: an error of", "moved"))
    velocities = assembler.assemble(VELOCITY, _written(loaded.scene, model, "v", ("velocity", "velocity")))
    _require_consistent(loaded, model, velocities, state)
    if velocities.before > WORTH_TELLING:
        told.append(_how_far(loaded, model, velocities, "rates at the start were completed: an error of", "changed"))
    _require_agreement(loaded, model, state)
    _require_one_plane(loaded, model, state)
    dependent = assembler.dependent_rows()
    restrained = int(np.count_nonzero(model.system.rows["one_sided"] == 0)) - len(dependent)
    return Beginning(free - restrained, (*told, *_redundant(loaded, model, dependent)))


def look(model: Model, state: State) -> Samples:
    """What channels show of the bodies at the start."""
    samples = samples_for(model, 1)
    observe_bodies(model.system.tree, placed_bodies(model, state), model.names.body_rows, samples, 0)
    return samples


def placed_bodies(model: Model, state: State) -> Records:
    """Bodies and ghosts at the start."""
    work = workspace_for(model.system)
    placing = place if model.system.is_held else place_tree
    placing(model.system, state.time[0], state.q, state.v, state.a, work)
    return work.bodies


def _written(scene: Scene, model: Model, word: str, of_bodies: tuple[str, str]) -> Flags:
    """Tell which coordinates, or which rates, the scene gives."""
    flags, links = np.zeros(model.nv, np.bool_), model.system.tree.links
    carried = {joint.row for joint in model.names.joints}
    for joint in model.names.joints:
        flags[joint.columns] = word in scene.joints[joint.name].model_fields_set
    for body, row in zip(model.names.bodies, model.names.body_rows, strict=True):
        if row not in carried:
            linear, angular = (field in scene.bodies[body].model_fields_set for field in of_bodies)
            written = written_freedoms(scene.bodies[body], linear, angular)
            first = links[row]["iv"]
            flags[first : first + len(written)] = written
    return flags


def _require_closable(loaded: LoadedScene, model: Model, found: Finding) -> None:
    tolerance = loaded.scene.simulation.assembly_tolerance
    name = model.names.rows[found.row]
    if not found.closed:
        raise loaded.error(
            f"cannot be closed: with all joints free to move, an error of {found.after:.3g} m or rad {name.direction} "
            "remains; check the lengths, the frames, and the coordinates from which it starts",
            name.section,
            name.element,
        )
    if found.before > tolerance:
        raise loaded.error(
            f"is off by {found.before:.3g} m or rad {name.direction} at the start, more than "
            f"`simulation.assembly_tolerance` ({tolerance:g}); start nearer to where it closes"
            f"{_nearest_start(model, found)}, or allow more",
            name.section,
            name.element,
        )


def _nearest_start(model: Model, found: Finding) -> str:
    """Say which coordinate should move most."""
    if not len(found.moved):
        return ""
    most = int(np.argmax(np.abs(found.moved)))
    return f" ({model.names.coordinates[most]} by {found.moved[most]:.4g})"


def _require_consistent(loaded: LoadedScene, model: Model, found: Finding, state: State) -> None:
    name = model.names.rows[found.row]
    fastest = float(np.abs(state.v).max(initial=0.0))
    if not found.closed and found.after > ASSEMBLED * max(1.0, fastest):
        raise loaded.error(
            f"cannot be satisfied at the start: an error of velocity of {found.after:.3g} m/s or rad/s "
            f"{name.direction} remains; prescribed motions or constraints contradict each other",
            name.section,
            name.element,
        )
    if found.bent and found.before > WORTH_TELLING * max(1.0, fastest):
        raise loaded.error(
            f"contradicts the velocities given at the start by {found.before:.3g} m/s or rad/s {name.direction}; "
            "give fewer of them: those that are left out follow from the others",
            name.section,
            name.element,
        )


def _require_agreement(loaded: LoadedScene, model: Model, state: State) -> None:
    """What is written for a joint that closes a loop must be what follows from the bodies."""
    problems: list[Problem] = []
    tolerance = loaded.scene.simulation.assembly_tolerance
    for joint in _closing(model):
        spec = loaded.scene.joints[joint.name]
        if "v" in spec.model_fields_set:
            written, found = np.array(_rates(spec)), state.v[joint.columns]
            if np.abs(written - found).max() > WORTH_TELLING + tolerance * np.abs(found).max():
                problems += loaded.error(
                    f"is {_numbers(found)} as the bodies move: this joint closes a loop, so leave `v` out",
                    "joints",
                    joint.name,
                    "v",
                ).problems
    if problems:
        raise SceneError(problems)


def _require_one_plane(loaded: LoadedScene, model: Model, state: State) -> None:
    """Joints of planar bodies meet in their plane: what is missing across it, no motion can close."""
    problems: list[Problem] = []
    bodies, tree = placed_bodies(model, state), model.system.tree
    for joint in _closing(model):
        gap = math.hypot(*bodies[joint.row]["dw"], *bodies[joint.row]["dv"])
        if tree.closures[joint.row - len(tree.links)]["one_plane"] and gap > WORTH_TELLING:
            problems += loaded.error(
                f"is off by {gap:.3g} m or rad across the plane in which its bodies move, so that no motion can "
                "close it: check the places of its frames and of the bodies",
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


def _how_far(loaded: LoadedScene, model: Model, found: Finding, words: str, verb: str) -> str:
    name = model.names.rows[found.row]
    most = int(np.argmax(np.abs(found.moved)))
    return (
        f"{loaded.where(name.section, name.element)}: {name.section}.{name.element}: {words} {found.before:.3g} "
        f"{name.direction} is gone; {model.names.coordinates[most]} {verb} most, by {found.moved[most]:.4g}"
    )


def _redundant(loaded: LoadedScene, model: Model, dependent: Sequence[int]) -> Iterator[str]:
    names = model.names.rows
    for (section, element), rows in groupby(dependent, key=lambda r: (names[r].section, names[r].element)):
        which = list(rows)
        total = sum(
            name.section == section and name.element == element and not row["one_sided"]
            for name, row in zip(names, model.system.rows, strict=True)
        )
        words = ", ".join(names[r].direction for r in which)
        yield (
            f"{loaded.where(section, element)}: {section}.{element}: {len(which)} of its {total} restraints "
            f"({words}) follow from the others at the start; their loads are shared in the least-norm sense"
        )
