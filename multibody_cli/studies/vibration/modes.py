"""Modes of small motions about a state: frequencies, damping ratios, shapes, and the shares of the bodies.

About an equilibrium, or a steady motion of a tree with prescribed rates, in the coordinates y of the stiffness
K = diag(k),

    M y'' + C y' + (K + Z) y = 0,    M = D^T M D,    C = -D^T dL/dv D,

where the columns of D are the displacements of the stiffness (`statics.search`).  C has damping and gyroscopic forces.
The antisymmetric Z has circulatory forces, those without a potential: of internal damping of rotors, or of loads that
follow a body.  The undamped frequencies are those of M and K.  Low ones are the largest eigenvalues of K^-1 M, and high
ones the largest of M^-1 K: each is that of a symmetric matrix of which it is a large eigenvalue, and thus accurate.
About any other state, and where constraints depend on velocities, the modes are those of the matrix A of
`linearization`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from scipy.linalg import eig, matrix_balance
from scipy.sparse.csgraph import connected_components

from multibody_cli.errors import RunFailed
from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.linearized_motion import Complex
from multibody_cli.kernel import Floats, Integers
from multibody_cli.mass import MassProperties
from multibody_cli.model import Model, State
from multibody_cli.statics.active_rows import multipliers
from multibody_cli.statics.rest import with_held_motions
from multibody_cli.statics.search import Equilibrium
from multibody_cli.statics.second_variation import CERTAIN, diagonal
from multibody_cli.statics.unbalanced_forces import UnbalancedForces
from multibody_cli.studies.doctor.small_motions import AT_REST, shares_of_bodies
from multibody_cli.studies.equations_of_motion import EquationsOfMotion
from multibody_cli.studies.linearization import left_out, linearize
from multibody_cli.studies.vibration.elements import energies_of_elements, shares
from multibody_cli.studies.vibration.subject import Subject

ROUND_OFF = 10.0 * np.finfo(float).eps
"""Error of a matrix by the computation of its eigenvalues, relative to its norm."""

SAME = 1e-9
"""Difference of frequencies, relative to them, and of damping ratios that is round-off."""


class Mode(Immutable, eq=False):
    """A small motion x ~ shape exp(exponent t).

    Parameters
    ----------
    kind
        `oscillates`, or `grows` or `decays` exponentially.
    exponent
        s, 1/s; of an oscillation that with the positive imaginary part.
    shape
        (nv,) complex amplitudes of the displacements; the largest is 1 rad, or 1 length of the mechanism.
    bodies
        Shares of the bodies in the kinetic energy, largest first.
    elements
        Shares of force elements, gravity, inertia at constant rates and constraints in the potential energy, largest
        first; negative where the displacement releases energy.  Forces of constraints are those that balance the state.
    """

    kind: Literal["oscillates", "grows", "decays"]
    exponent: complex
    shape: Complex
    bodies: Mapping[str, float]
    elements: Mapping[str, float]

    @property
    def frequency(self) -> float:
        """Natural frequency |s|/(2 pi), Hz."""
        return abs(self.exponent) / (2.0 * math.pi)

    @property
    def damped_frequency(self) -> float:
        """Frequency of the oscillation Im(s)/(2 pi), Hz."""
        return self.exponent.imag / (2.0 * math.pi)

    @property
    def damping_ratio(self) -> float:
        """-Re(s)/|s|; negative if it grows."""
        return 0.0 if self.exponent == 0.0 else -self.exponent.real / abs(self.exponent)


class Modes(Immutable, eq=False):
    """Modes in the order of their frequencies.

    Parameters
    ----------
    modes
        The modes: one for each pair of complex exponents, and for each real one.
    undamped
        (k,) frequencies without damping, gyroscopic and circulatory forces, Hz, ascending; negative where the stiffness
        is; empty where they are not known.
    free
        Number of exponents that are 0.
    steady
        Whether the state is an equilibrium or a steady motion; else the modes are those relative to the accelerated
        motion, for a short time, and depend on the coordinates.
    kinks
        Sides of which the modes are, such as "slide increases", of forces with a kink at the state.
    differences
        Why the derivatives are differences; "" if they are exact.
    remarks
        The elements that the modes leave out.
    """

    modes: tuple[Mode, ...]
    undamped: Floats
    free: int
    steady: bool
    kinks: tuple[str, ...] = ()
    differences: str = ""
    remarks: tuple[str, ...] = ()


def modes_of_subject(subject: Subject, masses: Mapping[str, MassProperties]) -> Modes:
    """Compute the modes about a state.

    Parameters
    ----------
    subject
        The state.
    masses
        Mass properties of the bodies, by name.

    Raises
    ------
    RunFailed
        The second variation of an equilibrium with contacts or friction is not known.
    """
    model, state, statics, remarks = subject
    if statics is not None and statics.reason:
        raise RunFailed(f"no modes about this equilibrium: {statics.reason}")
    rows = model.system.rows
    restricted = len(rows) > 0 and (bool(state.v.any()) or not rows["holonomic"].all())
    if statics is None or restricted:
        found = _at_state(model, state, masses)
        return replace(found, remarks=found.remarks + remarks)
    found = _at_equilibrium(model, statics.found, masses)
    return replace(found, kinks=statics.kinks, differences=statics.found.differences, remarks=remarks)


def _at_equilibrium(model: Model, found: Equilibrium, masses: Mapping[str, MassProperties]) -> Modes:
    """Return the modes about an equilibrium, or a steady motion with prescribed rates and without constraints."""
    D, k, forces = found.directions, found.stiffness, UnbalancedForces(model, found.state.copy())
    own = D[: forces.n]
    M = own.T @ EquationsOfMotion(model).mass_matrix(found.state) @ own
    squares, shapes = diagonal(k).eigenvalues(M)
    C, *samples = -shapes.T @ own.T @ forces.by_rates(found.state.q, found.multipliers, D) @ shapes
    Z = shapes.T @ found.circulatory @ shapes
    of_circulatory = ROUND_OFF * np.abs(shapes).T @ np.abs(found.circulatory) @ np.abs(shapes)
    count, roots, nothing = len(squares), np.sqrt(np.abs(squares)), np.zeros_like(C)
    # of the states (w y, y'), which have one size; w is 1 where it is 0
    w = np.where(roots > 0.0, roots, 1.0)
    A = np.block([[nothing, np.diag(w)], [-(np.diag(squares) + Z) / w, -C]])
    errors = np.block([[nothing, nothing], [of_circulatory / w, np.abs(samples).max(axis=0)]])
    exponents, vectors = exponents_of(A, errors)
    vectors = D @ shapes @ (vectors[:count] / w[:, None])
    undamped = np.sign(squares) * roots / (2.0 * math.pi)
    return _sorted(model, found.state, masses, found.multipliers, exponents, vectors, undamped)


def _at_state(model: Model, state: State, masses: Mapping[str, MassProperties]) -> Modes:
    """Return the modes about any state, relative to the motion of the scene."""
    linear = linearize(model, state)
    exponents, vectors = exponents_of(linear.A, linear.errors)
    shapes = np.zeros((model.nv, len(exponents)), np.complex128)
    P = linear.position_basis
    shapes[: len(P)] = P @ vectors[: P.shape[1]]
    found = _sorted(model, state, masses, _balancing(model, state), exponents, shapes, np.zeros(0))
    N, tree = linear.basis, model.system.tree
    most = np.abs(N @ linear.accelerations * tree.weights[: len(N)]).max(initial=0.0)
    steady = bool(most <= AT_REST * (tree.rate**2 + np.abs(exponents).max(initial=0.0) ** 2))
    remarks = tuple(left_out(model, linear, "modes"))
    return replace(found, steady=steady, kinks=linear.kinks, differences=linear.differences, remarks=remarks)


def _balancing(model: Model, state: State) -> Floats:
    """Return the multipliers (m,) of equalities that balance the forces of a state best."""
    forces = UnbalancedForces(model, state.copy())
    G, _ = forces.jacobian(state.q)
    unbalanced = forces.at(state.q, np.zeros(len(G)))
    return multipliers(unbalanced, G, np.asarray(model.system.rows["one_sided"]) == 0)


def exponents_of(A: Floats, errors: Floats) -> tuple[Complex, Complex]:
    """Return the eigenvalues (n,) and eigenvectors (n, n) of a matrix, of each part that is independent by itself.

    An eigenvalue or an imaginary part that errors of the matrix may have caused is 0.  With the eigenvectors x and y,
    errors E change a simple eigenvalue by at most e/|y^H x|, e = |y|^T E |x|, and a triple one by (a^2 e)^(1/3), where
    a is the norm of the matrix: the smaller one counts.
    """
    A = np.where(np.abs(A) <= errors, 0.0, A)  # round-off would join parts, and scale them
    exponents, vectors = np.zeros(len(A), np.complex128), np.zeros(A.shape, np.complex128)
    count, parts = connected_components(A != 0.0, connection="weak")
    for own in (np.flatnonzero(parts == k) for k in range(count)):
        block = np.ix_(own, own)
        with np.errstate(invalid="ignore"):  # scales of entries of round-off may be no whole numbers
            balanced, (scale, _) = matrix_balance(A[block], permute=False, separate=True)
        values, left, right = eig(balanced, left=True)
        norm = float(np.linalg.norm(balanced))
        e = np.einsum("ik,ij,jk->k", np.abs(left), CERTAIN * errors[block] * scale / scale[:, None], np.abs(right))
        e += ROUND_OFF * norm
        products = np.abs(np.einsum("ik,ik->k", left.conj(), right))
        change = np.minimum(e / np.maximum(products, 1e-300), np.cbrt(norm**2 * e))
        exponents[own] = np.where(np.abs(values) <= change, 0.0, values.real)
        exponents[own] += 1j * np.where(np.abs(values.imag) <= change, 0.0, values.imag)
        vectors[block] = scale[:, None] * right
    return exponents, vectors


def _sorted(
    model: Model,
    state: State,
    masses: Mapping[str, MassProperties],
    balancing: Floats,
    exponents: Complex,
    shapes: Complex,
    undamped: Floats,
) -> Modes:
    """Return the modes of exponents (m,) with shapes (nv, m), one for each pair of complex ones."""
    still = exponents == 0.0
    kept = np.flatnonzero(~still & (exponents.imag >= 0.0))
    if len(kept) == 0:
        return Modes((), undamped, int(np.count_nonzero(still)), steady=True)
    sized = shapes[:, kept] * model.system.tree.weights[:, None]
    most = np.argmax(np.abs(sized), axis=0)
    order = _order(exponents[kept], most)
    own = (shapes[:, kept] / sized[most, range(len(kept))])[:, order]
    held = with_held_motions(model, np.zeros(model.nv, np.bool_))
    energies, found = energies_of_elements(model, state, balancing, own), []
    for k, s in enumerate(exponents[kept][order].tolist()):
        grows: Literal["grows", "decays"] = "grows" if s.real > 0.0 else "decays"
        kind = "oscillates" if s.imag > 0.0 else grows
        bodies = shares_of_bodies(masses, held, state, own[:, k])
        found.append(Mode(kind, s, own[:, k], bodies, shares(energies, k)))
    return Modes(tuple(found), undamped, int(np.count_nonzero(still)), steady=True)


def _order(exponents: Complex, most: Integers) -> Integers:
    """Return the order by size, of equal ones by the damping and by the coordinate that moves most, `most` (n,).

    Differences of round-off do not count.
    """
    sizes = np.abs(exponents)
    order = np.argsort(sizes, kind="stable")
    group = np.cumsum(np.diff(sizes[order], prepend=0.0) > SAME * sizes[order])
    ratios = np.round(exponents[order].real / sizes[order] / SAME)
    return np.asarray(order[np.lexsort((most[order], ratios, group))])
