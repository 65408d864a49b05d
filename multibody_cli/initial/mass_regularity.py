"""Regularity of the mass matrix at the start, for bodies without mass and for inertias that no body has.

Such bodies are admissible where the bodies that they carry add inertia to every coordinate.  The factorization
M = L^T D L from the tips of the tree has a pivot for each coordinate: D = S^T I_A S of the articulated-body
recursion, by which every method divides.  M is positive definite if and only if all pivots are positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from multibody_cli.errors import listed
from multibody_cli.implicit.linearization import compute_mass_matrix
from multibody_cli.kernel import Flags
from multibody_cli.mass import MassProperties, objection_to
from multibody_cli.model import Floats, Model, State
from multibody_cli.nodes import NodePath
from multibody_cli.scene.load import LoadedScene
from multibody_cli.tree.workspace import workspace_for

WITHOUT_INERTIA = 1e-14
"""Pivot that is round-off, relative to the largest inertia of a turn by 1 rad or of a displacement by the length."""

SINGULAR = 1e-12
"""Pivot that is round-off, relative to its inertia with all other coordinates at rest."""


MOST_NAMES = 4
"""Largest number of bodies that a message lists."""


def check_masses(loaded: LoadedScene, masses: Mapping[str, MassProperties], model: Model, state: State) -> list[str]:
    """Return a warning of the inertias that no body has, with the reason for the first one.

    Parameters
    ----------
    loaded, masses
        The scene, and the mass properties of its bodies by name.
    model, state
        The model in joint coordinates, and its assembled state.

    Raises
    ------
    SceneError
        With every joint, or body without one, whose coordinates have no inertia or a negative one, if the scene has
        such inertias or bodies without mass.
    """
    given = [name for name, body in loaded.scene.bodies.items() if body.inertia is not None]
    objections = {name: text for name in given if (text := objection_to(masses[name]))}
    massless = {name for name, mass in masses.items() if mass.mass == 0.0}
    if objections or massless:
        loaded.refuse(_singular_coordinates(model, state, [*massless, *objections]))
    if not objections:
        return []
    first, *others = objections
    also = f" (and that of {listed([f'`{name}`' for name in others], MOST_NAMES, 'bodies')})" if others else ""
    return [
        f"{loaded.where('bodies', first, 'inertia')}: bodies.{first}.inertia: no body has this inertia{also}: "
        f"{objections[first]}; the run uses it as it is, since the mass matrix is positive definite at the start"
    ]


def _singular_coordinates(model: Model, state: State, suspects: list[str]) -> Iterator[tuple[NodePath, str]]:
    """Yield the path of each joint, or body without one, with a pivot that is not positive, and the reason."""
    names, links = model.names, model.system.tree.links
    pivots = pivots_of(model, state)
    joints = {joint.row: joint.name for joint in names.joints}
    for body, row in zip(names.bodies, names.body_rows, strict=True):
        own = slice(links[row]["iv"], links[row]["iv"] + links[row]["nv"])
        worst = int(np.argmin(pivots[own])) + own.start if links[row]["nv"] else -1
        if worst < 0 or pivots[worst] > 0.0:
            continue
        path = ("joints", joints[row]) if row in joints else ("bodies", body)
        carried = [f"`{name}`" for name in dict.fromkeys(suspects) if row in _path_to_ground(links, model, name)]
        kind = "no" if pivots[worst] == 0.0 else "negative"
        fault = f"moves {kind} mass or inertia at the start, as the inertias of {listed(carried, MOST_NAMES)} are given"
        remedy = "make the joint `fixed` or give it `armature`" if row in joints else "connect it by a `fixed` joint"
        yield path, f"{fault}: correct them, or {remedy}"


def _path_to_ground(links: np.ndarray, model: Model, body: str) -> set[int]:
    """Return the rows of a body and of all bodies that carry it."""
    row, found = int(model.names.body_rows[model.names.bodies.index(body)]), set[int]()
    while row > 0:
        found.add(row)
        row = int(links[row]["parent"])
    return found


def pivots_of(model: Model, state: State) -> Floats:
    """Return the pivot (n,) of each coordinate, 0 instead of round-off, and infinite for a prescribed coordinate.

    The units are those of coordinates that turn a body by 1 rad or move it by the length of the mechanism.
    """
    system = model.system
    n = int(system.tree.links["nv"].sum())
    M, units = np.zeros((n, n)), 1.0 / system.tree.weights[:n]
    compute_mass_matrix(system, workspace_for(system), state.copy(), np.zeros(n), M)
    M *= np.outer(units, units)
    free: Flags = ~system.tree.driven[:n]
    inertias, pivots = np.abs(np.diag(M)), np.full(n, np.inf)
    least = np.maximum(SINGULAR * inertias, WITHOUT_INERTIA * inertias.max(initial=0.0))
    for k in np.flatnonzero(free)[::-1]:  # from the tips of the tree
        pivots[k] = M[k, k] if abs(M[k, k]) > least[k] else 0.0
        if pivots[k] != 0.0:
            M[:k, :k] -= np.outer(M[:k, k], M[k, :k]) / pivots[k]
    return pivots
