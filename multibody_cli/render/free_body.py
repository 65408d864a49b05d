"""Free-body diagrams: the bodies that are cut free, with the forces and the moments of all that acts on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.escaping import path_component
from multibody_cli.immutable import replace
from multibody_cli.kernel import Integers
from multibody_cli.model import Floats
from multibody_cli.output.trajectory import Trajectory
from multibody_cli.render.motion import AppliedHistory, ContactHistory, MotionHistory
from multibody_cli.scene.load import LoadedScene
from multibody_cli.scene.mass_properties import mass_properties_of
from multibody_cli.studies.wrenches import Applied, applied_wrenches


def with_applied_wrenches(
    motion: MotionHistory, loaded: LoadedScene, trajectory: Trajectory, rows: Integers, bodies: Sequence[str]
) -> MotionHistory:
    """Return a motion with all wrenches on some bodies, in place of the arrows of contacts.

    Parameters
    ----------
    motion, rows
        The motion, and its output instants.
    loaded, trajectory
        The scene and the run.
    bodies
        The bodies.

    Raises
    ------
    ResultError
        The run has not recorded the channels from which the wrenches are computed.
    """
    masses = {name: _mass(loaded, name) for name in loaded.scene.bodies}
    found = applied_wrenches(trajectory, loaded.scene, masses)
    names, several = [], []
    for body in bodies:
        com = trajectory.channel(f"bodies/{path_component(body)}/com").values
        for one in found[body]:
            names.append(f"{one.element} on {body}")
            several.append([values[rows] for values in _on_its_line(one, com)])
    point, force, moment = (np.stack([one[k] for one in several], axis=1) for k in range(3))
    indices = frozenset(trajectory.bodies.index(body) for body in bodies)
    applied = AppliedHistory(names=tuple(names), bodies=indices, point=point, force=force, moment=moment)
    return replace(motion, contacts=ContactHistory(np.zeros(len(rows) + 1, np.int64)), applied=applied)


def _mass(loaded: LoadedScene, name: str) -> float:
    """Return the mass of a body, kg."""
    body = loaded.scene.bodies[name]
    if body.mass is not None:
        return float(body.mass)
    return mass_properties_of(body, lambda file, k: loaded.resolve_path(file, "bodies", name, "shapes", k)).mass


def _on_its_line(applied: Applied, com: Floats) -> tuple[Floats, Floats, Floats]:
    """Return point, force and moment; a force without a place of its own acts where its line is nearest to the body.

    The moment that remains there is along the force.
    """
    force, square = applied.force, (applied.force**2).sum(axis=1, keepdims=True)
    if applied.has_place or not square.any():
        return applied.point, force, applied.moment
    moment, square = applied.about(com), np.where(square > 0.0, square, 1.0)
    acts = np.any(force != 0.0, axis=1, keepdims=True)
    along = force * (force * moment).sum(axis=1, keepdims=True) / square
    return com + np.cross(force, moment) / square, force, np.where(acts, along, moment)
