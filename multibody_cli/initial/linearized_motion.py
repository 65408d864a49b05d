"""Linearized motion about a state: mass, stiffness and damping, and the modes.

About a state with coordinates q and rates v,

    x'' = -K x - D x',    K = -N^T da/dq N,    D = -N^T da/dv N,

where the columns of N are an orthonormal basis of the velocities that satisfy all equality constraints, and the
accelerations a are those of the run: gravity, loads, inertia and the tension of constraints are part of K.  Central
differences yield K and D; the errors of second order, with which a displacement along N violates the constraints,
cancel.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 3 and 8, for the constrained accelerations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.implicit.linearization import compute_constraint_jacobian, compute_mass_matrix, differentiate_forces
from multibody_cli.methods.aba import ABA
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import workspace_for

Complex = NDArray[np.complex128]

MOST_COORDINATES = 500
"""Largest model that is linearized; a larger one takes seconds."""

ROUND_OFF = 1e-10
"""Rank tolerance of the constraint Jacobian, relative to its largest singular value."""

DISPLACEMENT, RATE = 1e-5, 1e-4
"""Offsets of the central differences: rad or m, and rad/s or m/s."""


class Linearization(NamedTuple):
    """Linearized motion about a state, for the n free coordinates of the tree.

    `free` (n,) are their indices in v; `M` (n, n) is the mass matrix, and `G` (m, n) the Jacobian of all constraint
    rows.  `directions` (nv, k) are the columns N: an orthonormal basis of the velocities that satisfy the equalities.
    """

    free: Integers
    M: Floats
    G: Floats
    directions: Floats


def linearization_of(model: Model, state: State) -> Linearization:
    """Linearize the constraints about a state that satisfies them.

    Raises
    ------
    numpy.linalg.LinAlgError
        Bodies without inertia can move.
    """
    system = model.system
    work, n, m = workspace_for(system), int(system.tree.links["nv"].sum()), len(system.rows)
    M, G = np.zeros((n, n)), np.zeros((m, n))
    if system.is_constrained:
        compute_constraint_jacobian(system, work, state.copy(), G)
    compute_mass_matrix(system, work, state.copy(), np.zeros(n), M)
    free = np.flatnonzero(~system.tree.driven[:n])
    M, G = M[np.ix_(free, free)], G[:, free]
    np.linalg.cholesky(M)
    basis = null_space(G[system.rows["one_sided"] == 0])
    directions = np.zeros((model.nv, basis.shape[1]))
    directions[free] = basis
    return Linearization(free, M, G, directions)


def null_space(G: Floats) -> Floats:
    """Return an orthonormal basis of the null space of a matrix (m, n), as columns."""
    if G.size == 0:
        return np.eye(G.shape[1])
    _, sizes, directions = np.linalg.svd(G)
    rank = int(np.count_nonzero(sizes > ROUND_OFF * max(sizes[0], 1e-300)))
    return np.asarray(directions[rank:].T)


class Modes(NamedTuple):
    """Modes of x'' = -K x - D x'.

    `exponents` (2k,) 1/s are those of x ~ exp(s t), and `shapes` (k, 2k) their columns in the coordinates of N;
    `damping` and `frequency` (2k,) 1/s are the coefficients of x'' + c x' + w^2 x = 0 for each, as the stability limits
    of integrators take them.
    """

    exponents: Complex
    shapes: Complex
    damping: Floats
    frequency: Floats


def modes_of(linear: Linearization, K: Floats, D: Floats) -> Modes:
    """Compute the modes of a linearized motion with K and D (k, k)."""
    k = len(K)
    exponents, vectors = np.linalg.eig(np.block([[np.zeros((k, k)), np.eye(k)], [-K, -D]]))
    N, shapes = linear.directions[linear.free], vectors[:k]
    M = N.T @ linear.M @ N
    masses = np.einsum("ij,ik,kj->j", shapes.conj(), M, shapes).real
    masses = np.where(masses > 0.0, masses, np.inf)

    def quotient(matrix: Floats) -> Floats:
        """Return the Rayleigh quotients in the metric of M."""
        products = np.einsum("ij,ik,kj->j", shapes.conj(), M @ matrix, shapes).real
        found: Floats = np.maximum(products / masses, 0.0)
        return found

    return Modes(exponents, shapes, quotient(D), np.sqrt(quotient(K)))


def force_stiffness_and_damping(model: Model, state: State, free: Integers) -> tuple[Floats, Floats]:
    """Return K and D (n, n) of the generalized forces of springs, dampers and muscles, from exact derivatives."""
    system = model.system
    n = int(system.tree.links["nv"].sum())
    K, D = np.zeros((n, n)), np.zeros((n, n))
    if system.forces.depends_on_motion:
        differentiate_forces(system, workspace_for(system), state.copy(), np.zeros_like(state.ledger), K, D)
    return K[np.ix_(free, free)], D[np.ix_(free, free)]


def force_derivatives(model: Model, state: State, linear: Linearization) -> tuple[Floats, Floats]:
    """Return K and D (k, k) of springs, dampers and muscles alone, from their exact derivatives."""
    N = linear.directions[linear.free]
    K, D = force_stiffness_and_damping(model, state, linear.free)
    M, K, D = (N.T @ matrix @ N for matrix in (linear.M, K, D))
    stiffness, damping = (np.asarray(-np.linalg.solve(M, matrix), np.float64) for matrix in (K, D))
    return stiffness, damping


def acceleration_derivatives(model: Model, state: State, N: Floats) -> tuple[Floats, Floats, Floats]:
    """Return K and D (k, k) of all accelerations by central differences, and the accelerations (k,) of the state.

    Raises
    ------
    numpy.linalg.LinAlgError
        An acceleration is not finite.
    """
    system, work = model.system, workspace_for(model.system)
    q, v, a, change = state.q.copy(), state.v.copy(), np.zeros(model.nv), np.zeros(model.nv)
    powers = np.zeros_like(state.ledger)
    evaluate = ABA.dynamics(system).evaluate.on(system, work, float(state.time[0]), q, v, a, powers)
    move, to_unit_length = displace.on(system.tree, q, change, 1.0), normalize.on(system.tree, q)

    def accelerations(shift: Floats, rate: Floats) -> Floats:
        q[:], v[:], a[:], change[:] = state.q, state.v + rate, 0.0, shift
        move()
        to_unit_length()
        evaluate()
        if not np.isfinite(a).all():
            raise np.linalg.LinAlgError("an acceleration is not finite")
        return a.copy()

    nothing = np.zeros(model.nv)
    columns = []
    for direction in N.T:
        pairs = [[accelerations(s * DISPLACEMENT * direction, nothing) for s in (1.0, -1.0)]]
        pairs += [[accelerations(nothing, s * RATE * direction) for s in (1.0, -1.0)]]
        columns.append([-N.T @ (a - b) / (2.0 * h) for (a, b), h in zip(pairs, (DISPLACEMENT, RATE), strict=True)])
    K, D = (np.array([column[i] for column in columns]).reshape(N.shape[1], N.shape[1]).T for i in (0, 1))
    return K, D, N.T @ accelerations(nothing, nothing)
