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

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.implicit.linearization import compute_constraint_jacobian, compute_mass_matrix, differentiate_forces
from multibody_cli.kernel import Flags, bound_kernel, kernel, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import evaluate
from multibody_cli.methods.aba import ABA
from multibody_cli.model import Floats, Integers, Model, State
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import Work, workspace_for

Complex = NDArray[np.complex128]

MOST_COORDINATES = 500
"""Largest model that is linearized; a larger one takes seconds."""

ROUND_OFF = 1e-10
"""Tolerance of the lengths of rows of the constraint Jacobian and of its rank, relative to the largest.

Columns are divided by the roots of the inertias of coordinates, and rows by their wrenches: units have no effect.
"""

DISPLACEMENT, RATE = 1e-5, 1e-4
"""Offsets of the central differences, relative to the sizes of coordinates, and to the slowest rate that counts."""


class Linearization(NamedTuple):
    """Linearized motion about a state, for the n free coordinates of the tree.

    `free` (n,) are their indices in v; `M` (n, n) is the mass matrix, and `G` (m, n) the Jacobian of all constraint
    rows.  `directions` (nv, k) are the columns N: an orthonormal basis of the velocities that satisfy the equalities;
    `displacements` (nv, p) is that of the displacements, which nonholonomic rows leave free.
    """

    free: Integers
    M: Floats
    G: Floats
    directions: Floats
    displacements: Floats


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
    np.linalg.cholesky(M)  # raises where bodies without inertia can move
    scaled = G / np.sqrt(np.diag(M)) / _wrenches_of(work, system.tree.length)[:, None]
    equality, bases = system.rows["one_sided"] == 0, []
    for rows in (equality, equality & (system.rows["holonomic"] == 1)):
        basis = motions(scaled[rows], 1.0 / np.sqrt(np.diag(M)))
        bases.append(np.zeros((model.nv, basis.shape[1])))
        bases[-1][free] = basis
    return Linearization(free, M, G, *bases)


def _wrenches_of(work: Work, length: float) -> Floats:
    """Return the largest wrench of each row (m,), with its moment divided by a length; 1 for rows of coordinates."""
    terms = work.terms
    sizes = np.maximum(np.linalg.norm(terms["f"], axis=1), np.linalg.norm(terms["t"], axis=1) / length)
    of_rows = [sizes[row["first_term"] : row["last_term"]].max(initial=0.0) for row in work.rows]
    return np.array([size or 1.0 for size in of_rows])


def motions(G: Floats, sizes: Floats | None = None) -> Floats:
    """Return a basis (n, k) of the motions that rows (m, n) allow: coordinates without a row in common do not mix.

    It is orthonormal, also in coordinates of other sizes (n,) than those of the rows.  Rows of round-off count as 0.
    """
    basis, G = [], G[np.isfinite(row_lengths(G))]
    for columns, rows in parts(G):
        own = null_space(G[np.ix_(rows, columns)]) if rows.any() else np.eye(int(np.count_nonzero(columns)))
        if sizes is not None:
            own = np.linalg.qr(sizes[columns, None] * own)[0]
        basis.append(np.zeros((len(columns), own.shape[1])))
        basis[-1][columns] = own
    return np.hstack(basis) if basis else np.zeros((0, 0))


def parts(G: Floats) -> Iterator[tuple[Flags, Flags]]:
    """Yield coordinates (n,) that rows (m, n) join, and these rows (m,): parts without a row in common."""
    acts, left = G != 0.0, np.ones(G.shape[1], np.bool_)
    while left.any():
        own, last = np.arange(len(left)) == np.argmax(left), 0
        while np.count_nonzero(own) > last:
            last = int(np.count_nonzero(own))
            own |= acts[acts[:, own].any(axis=1)].any(axis=0)
        yield own, acts[:, own].any(axis=1)
        left &= ~own


def row_lengths(G: Floats) -> Floats:
    """Return the lengths (m,) of the rows of a matrix (m, n), infinite for rows of round-off: divided, they are 0."""
    lengths: Floats = np.linalg.norm(G, axis=1)
    return np.where(lengths > ROUND_OFF * lengths.max(initial=0.0), lengths, np.inf)


def null_space(G: Floats) -> Floats:
    """Return an orthonormal basis of the null space of a matrix (m, n), as columns; rows of round-off count as 0."""
    _, sizes, directions = np.linalg.svd(G / row_lengths(G)[:, None])
    return np.asarray(directions[np.count_nonzero(sizes > ROUND_OFF * sizes.max(initial=0.0)) :].T)


class Modes(NamedTuple):
    """Modes of x'' = -K x - D x', of one motion or of each of several (...).

    `exponents` (..., 2k) 1/s are those of x ~ exp(s t), and `shapes` (..., k, 2k) their columns in the coordinates of
    N; `damping` and `frequency` (..., 2k) 1/s are the coefficients of x'' + c x' + w^2 x = 0 for each, as the stability
    limits of integrators take them.
    """

    exponents: Complex
    shapes: Complex
    damping: Floats
    frequency: Floats


def modes_of(linear: Linearization, K: Floats, D: Floats) -> Modes:
    """Compute the modes of linearized motions with K and D (..., k, k); `linear.M` is (..., n, n)."""
    k = K.shape[-1]
    nothing, one = np.zeros_like(K), np.broadcast_to(np.eye(k), K.shape)
    exponents, vectors = np.linalg.eig(np.block([[nothing, one], [-K, -D]]))
    N, shapes = linear.directions[linear.free], vectors[..., :k, :]
    M = N.T @ linear.M @ N
    masses = np.einsum("...ij,...ik,...kj->...j", shapes.conj(), M, shapes).real
    masses = np.where(masses > 0.0, masses, np.inf)

    def quotient(matrix: Floats) -> Floats:
        """Return the Rayleigh quotients in the metric of M."""
        products = np.einsum("...ij,...ik,...kj->...j", shapes.conj(), M @ matrix, shapes).real
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
    nearby = _accelerations_nearby(model, float(state.time[0]), state.q[None], state.v[None], N)[0]
    if not np.isfinite(nearby).all():
        raise np.linalg.LinAlgError("an acceleration is not finite")
    k, here = N.shape[1], nearby[-1]
    one = nearby[:-1].reshape(k, 2, 2, model.nv)
    K, D = (-N.T @ ((one[:, i, 0] - one[:, i, 1]).T / (2.0 * h)) for i, h in enumerate(_offsets(model, N)))
    return K, D, N.T @ here


def accelerations_of(model: Model, state: State) -> Floats:
    """Return the accelerations (nv,) of a state."""
    none = np.zeros((model.nv, 0))
    return np.asarray(_accelerations_nearby(model, float(state.time[0]), state.q[None], state.v[None], none)[0, -1])


def modes_of_trees(model: Model, q: Floats, v: Floats) -> Modes:
    """Compute the modes at R states q (R, nq) and v (R, nv) of a tree without motions, loops and constraints.

    The modes of a state whose accelerations are not finite are NaN.

    Raises
    ------
    numpy.linalg.LinAlgError
        The exponents of a state did not converge.
    """
    system, n = model.system, model.nv
    M = np.zeros((len(q), n, n))
    scratch = State(
        np.zeros(1), np.zeros(model.nq), np.zeros(n), np.zeros(n), np.zeros(len(model.names.accounts)), np.zeros(0)
    )
    _compute_mass_matrices(system, workspace_for(system), scratch, q, v, np.zeros(n), M)
    nearby = _accelerations_nearby(model, 0.0, q, v, np.eye(n))
    one, offsets = nearby[:, :-1].reshape(len(q), n, 2, 2, n), _offsets(model, np.eye(n))
    K, D = (-np.swapaxes(one[:, :, i, 0] - one[:, :, i, 1], 1, 2) / (2.0 * h) for i, h in enumerate(offsets))
    known = np.isfinite(nearby).all(axis=(1, 2))
    found = modes_of(Linearization(np.arange(n), M[known], np.zeros((0, n)), np.eye(n), np.eye(n)), K[known], D[known])
    whole = [np.full((len(q), *values.shape[1:]), np.nan, values.dtype) for values in found]
    for into, values in zip(whole, found, strict=True):
        into[known] = values
    return Modes(*whole)


@kernel
def _compute_mass_matrices(system: Any, work: Any, state: Any, q: Any, v: Any, x: Any, M: Any) -> None:
    """Compute the mass matrices M (R, n, n) at R states; `state` and `x` (n,) are scratch."""
    for r in range(len(q)):
        copy(q[r], state.q)
        copy(v[r], state.v)
        compute_mass_matrix(system, work, state, x, M[r])


def _offsets(model: Model, N: Floats) -> Floats:
    """Return the offsets (2, k) of displacements and of rates along the columns of N."""
    tree = model.system.tree
    return np.outer((DISPLACEMENT, RATE * tree.rate), 1.0 / np.abs(N * tree.weights[:, None]).max(axis=0, initial=0.0))


def _accelerations_nearby(model: Model, t: float, q: Floats, v: Floats, N: Floats) -> Floats:
    """Return the accelerations (R, 4 k + 1, nv) near R states q (R, nq) and v (R, nv).

    For each column of N, these are the accelerations at both displacements along it, then at both changes of the rates;
    the last ones are those of the state itself.
    """
    system = model.system
    found = np.zeros((len(q), 4 * N.shape[1] + 1, model.nv))
    scratch = (np.zeros(model.nq), *np.zeros((3, model.nv)), np.zeros(len(model.names.accounts)))
    nearby = bound_kernel(_evaluate_nearby, evaluate=ABA.kernels.dynamics(system).evaluate)
    nearby(system, workspace_for(system), t, q, v, np.ascontiguousarray(N.T), _offsets(model, N), scratch, found)
    return found


@template(evaluate)
def _evaluate_nearby(
    system: Any, work: Any, t: float, q: Any, v: Any, directions: Any, offsets: Any, scratch: Any, found: Any
) -> None:
    """Store the accelerations that `_accelerations_nearby` returns; `directions` (k, nv) are the columns of N."""
    moved, changed, shift, a, powers = scratch
    last = 4 * len(directions)
    for r in range(len(q)):
        for place in range(last + 1):
            level, sign = place % 4 // 2, 1.0 if place % 2 == 0 else -1.0
            copy(q[r], moved)
            for i in range(len(shift)):
                x = sign * offsets[level, place // 4] * directions[place // 4, i] if place < last else 0.0
                shift[i], changed[i] = (x, v[r, i]) if level == 0 else (0.0, v[r, i] + x)
                a[i] = 0.0
            displace(system.tree, moved, shift, 1.0)
            normalize(system.tree, moved)
            evaluate(system, work, t, moved, changed, a, powers)
            copy(a, found[r, place])
