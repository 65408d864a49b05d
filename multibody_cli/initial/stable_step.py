"""Largest stable step of an explicit integrator in the initial state, given springs, dampers and muscles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.alarms.catalogue import STABILITY
from multibody_cli.implicit.linearization import linearize
from multibody_cli.methods import METHODS, integrator_of
from multibody_cli.model import Integers, Model, State
from multibody_cli.scene.simulation import SimulationSpec
from multibody_cli.tree.workspace import workspace_for

Floats = NDArray[np.float64]

MOST_COORDINATES = 500
"""Largest model that is checked; the check of a larger one takes seconds."""

ROUND_OFF = 1e-10
"""Rank tolerance of the constraint Jacobian, relative to its largest singular value."""


class Linearization(NamedTuple):
    """Linearized forces about a state, for the n free coordinates of the tree.

    `free` (n,) are their indices in v; `M`, `K` and `D` (n, n) are the mass matrix and the stiffness and damping of
    springs, dampers and muscles; `G` (m, n) is the Jacobian of all constraint rows, and `directions` (n, k) are an
    orthonormal basis of the velocities that satisfy the holonomic equalities among them.
    """

    free: Integers
    M: Floats
    K: Floats
    D: Floats
    G: Floats
    directions: Floats


class Modes(NamedTuple):
    """Linear modes: damping and frequency of each (k,), 1/s, and the mode shapes as columns (n, k)."""

    damping: Floats
    frequency: Floats
    motions: NDArray[np.complex128]


def linearization_of(model: Model, state: State) -> Linearization:
    """Linearize the springs, dampers and muscles about a state.

    Raises
    ------
    numpy.linalg.LinAlgError
        Bodies without inertia can move.
    """
    system = model.system
    work, n, m = workspace_for(system), int(system.tree.links["nv"].sum()), len(system.rows)
    inverse, K, D, G = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((m, n))
    state = State(*(array.copy() for array in state))
    linearize(system, work, state, np.zeros_like(state.ledger), inverse, K, D, G)
    free = np.flatnonzero(~system.tree.driven[:n])
    M = np.asarray(np.linalg.inv(inverse[np.ix_(free, free)]), np.float64)
    if not np.isfinite(M).all():
        raise np.linalg.LinAlgError("bodies without inertia")
    rows = np.flatnonzero((system.rows["one_sided"] == 0) & (system.rows["holonomic"] == 1))
    K, D = (matrix[np.ix_(free, free)] for matrix in (K, D))
    return Linearization(free, M, K, D, G[:, free], null_space(G[np.ix_(rows, free)]))


def modes_of(model: Model, state: State) -> Modes:
    """Compute the linear modes about a state that satisfy loops and constraints."""
    linear = linearization_of(model, state)
    N = linear.directions
    M, stiff, slow = (N.T @ matrix @ N for matrix in (linear.M, linear.K, linear.D))
    k = len(M)
    below = np.linalg.solve(M, np.hstack([stiff, slow]))
    _, motions = np.linalg.eig(np.vstack([np.eye(k, 2 * k, k), below]))
    moving = motions[:k, np.linalg.norm(motions[:k], axis=0) > 0.0]

    def quotient(matrix: Floats) -> Floats:
        products = np.einsum("ij,ij->j", moving.conj(), matrix @ moving)
        found: Floats = np.maximum(-(products / np.einsum("ij,ij->j", moving.conj(), M @ moving)).real, 0.0)
        return found

    whole = np.zeros((int(model.system.tree.links["nv"].sum()), moving.shape[1]), complex)
    whole[linear.free] = N @ moving
    return Modes(quotient(slow), np.sqrt(quotient(stiff)), whole)


def null_space(G: Floats) -> Floats:
    """Return an orthonormal basis of the null space of a matrix (m, n), as columns."""
    if G.size == 0:
        return np.eye(G.shape[1])
    _, sizes, directions = np.linalg.svd(G)
    rank = int(np.count_nonzero(sizes > ROUND_OFF * max(sizes[0], 1e-300)))
    return np.asarray(directions[rank:].T)


def step_size_warnings(simulation: SimulationSpec, model: Model, state: State) -> Iterator[str]:
    """Warn of a step beyond the stability limit of the integrator.

    Parameters
    ----------
    simulation
        The settings of the run.
    model, state
        The model in joint coordinates, and its initial state.
    """
    method, step = METHODS[simulation.method], simulation.step
    integrator = integrator_of(simulation.method, simulation.integrator)
    forces = model.system.forces
    has_spring_or_damper = forces.depends_on_motion
    if (
        integrator.stable_step is None
        or not has_spring_or_damper
        or not 0 < model.system.tree.links["nv"].sum() <= MOST_COORDINATES
    ):
        return
    try:
        modes = modes_of(model, state)
    except np.linalg.LinAlgError:
        return  # bodies without inertia: the run reports them
    stretch = method.longest_stage(method.Options.model_validate(simulation.options))
    limits = integrator.stable_step(modes.damping, modes.frequency) / stretch
    if not len(limits) or not step > simulation.alarms.get(STABILITY, 1.0) * limits.min():
        return
    worst = int(np.argmin(limits))
    place = model.names.coordinates[int(np.argmax(np.abs(modes.motions[:, worst])))]
    yield (
        f"the step of {step:.4g} s exceeds the stability limit of `{integrator.name or simulation.method}` with these "
        f"springs, dampers and muscles, initially {limits[worst]:.3g} s, for {place}: reduce `simulation.step`, or use "
        "an implicit integrator such as `linearly_implicit_euler`"
    )
