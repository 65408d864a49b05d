"""Small motions about the start: frequencies, damping ratios, growth, and the bodies that move.

About the configuration of the start, with all velocities zero and prescribed coordinates held,

    x'' = -K x - D x',    K = -N^T da/dq N,    D = -N^T da/dv N,

where the columns of N are an orthonormal basis of the velocities that satisfy all equality constraints, and the
accelerations a are those of the run: gravity and loads are part of K.  Central differences yield K and D; the errors of
second order, with which a displacement along N violates the constraints, cancel.  The exponents of x ~ exp(s t) are the
eigenvalues of [[0, 1], [-K, -D]].  At a start that is not an equilibrium they describe the motion relative to the
accelerated one, for a short time.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), ch. 3 and 8, for the constrained accelerations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multibody_cli.initial.initial_state import initial_samples
from multibody_cli.initial.stable_step import Linearization, null_space
from multibody_cli.mass import MassProperties
from multibody_cli.methods.aba import ABA
from multibody_cli.model import Floats, Model, State
from multibody_cli.spec.rotation_matrix import rotation_matrix
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.workspace import workspace_for

Complex = NDArray[np.complex128]

DISPLACEMENT, RATE = 1e-5, 1e-4
"""Offsets of the central differences: rad or m, and rad/s or m/s."""

STILL = 0.05
"""Exponents below this size, 1/s, count as zero; round-off of multiple zeros is smaller."""

AT_REST = 1e-6
"""Accelerations of an equilibrium, rad/s^2 or m/s^2, relative to 1 and to the largest exponent squared."""

SMALLEST_SHARE = 0.05
"""Share of the kinetic energy of a mode, above which a body is listed."""


@dataclass(frozen=True)
class Mode:
    """A small motion.

    Parameters
    ----------
    kind
        `oscillates`, `grows` or `decays` exponentially, or `free`: no force opposes it.
    frequency
        Of an oscillation without its damping, Hz: |s|/(2 pi).
    damping_ratio
        Of an oscillation: -Re(s)/|s|; negative if it grows.
    time
        Time constant of growth or decay, s: 1/|Re(s)|.
    shares
        Shares of the bodies in the kinetic energy of the mode, largest first.
    """

    kind: Literal["oscillates", "grows", "decays", "free"]
    frequency: float | None
    damping_ratio: float | None
    time: float | None
    shares: dict[str, float]


@dataclass(frozen=True)
class SmallMotions:
    """Modes in the order of their exponents, and whether the start is an equilibrium.

    `damping` and `frequency` (n,) 1/s are those of each mode x'' + c x' + w^2 x = 0, as the stability limits of
    integrators take them.
    """

    modes: list[Mode]
    equilibrium: bool
    damping: Floats
    frequency: Floats


def small_motions(
    model: Model, state: State, linear: Linearization, masses: Mapping[str, MassProperties]
) -> SmallMotions:
    """Compute the modes about a state.

    Parameters
    ----------
    model, state
        The model in joint coordinates, and its initial state.
    linear
        The linearized forces there.
    masses
        Mass properties of the bodies, by name.
    """
    model, state = _at_rest(model, state)
    one_sided = model.system.rows["one_sided"] == 1
    basis = null_space(linear.G[~one_sided])
    N = np.zeros((model.nv, basis.shape[1]))
    N[linear.free] = basis
    K, D, a = _reduced(model, state, N)
    k = len(K)
    exponents, vectors = np.linalg.eig(np.block([[np.zeros((k, k)), np.eye(k)], [-K, -D]]))
    still = np.abs(exponents) < STILL
    equilibrium = bool(np.abs(a).max(initial=0.0) <= AT_REST * (1.0 + np.abs(K).max(initial=0.0)))
    kept = np.flatnonzero(~still & (exponents.imag >= 0.0))
    kept = kept[np.lexsort((exponents[kept].real, np.abs(exponents[kept])))]
    modes = [_mode(complex(exponents[i]), _shares(masses, model, state, N @ vectors[:k, i])) for i in kept]
    if still.any():
        modes.insert(0, Mode("free", None, None, None, _shares_of_span(masses, model, state, N @ vectors[:k, still])))
    damping, frequency = _coefficients(basis.T @ linear.M @ basis, K, D, vectors[:k, kept])
    return SmallMotions(modes, equilibrium, damping, frequency)


def _at_rest(model: Model, state: State) -> tuple[Model, State]:
    """Return the model with prescribed coordinates held, and the state without velocities."""
    motions = model.system.motions
    held = model.system._replace(motions=motions._replace(rows=motions.rows[:0]))
    return replace(model, system=held), state._replace(v=np.zeros_like(state.v), a=np.zeros_like(state.a))


def _reduced(model: Model, state: State, N: Floats) -> tuple[Floats, Floats, Floats]:
    """Return K and D (k, k) by central differences, and the accelerations (nv,) of the state."""
    system, work = model.system, workspace_for(model.system)
    evaluate, powers = ABA.dynamics(system).evaluate, np.zeros_like(state.ledger)

    def accelerations(shift: Floats, v: Floats) -> Floats:
        q, a, v = state.q.copy(), np.zeros(model.nv), v.copy()
        displace(system.tree, q, np.ascontiguousarray(shift), 1.0)
        normalize(system.tree, q)
        evaluate(system, work, state.time[0], q, v, a, powers)
        return a

    nothing = np.zeros(model.nv)
    columns = []
    for direction in N.T:
        pairs = [[accelerations(s * DISPLACEMENT * direction, nothing) for s in (1.0, -1.0)]]
        pairs += [[accelerations(nothing, s * RATE * direction) for s in (1.0, -1.0)]]
        columns.append([-N.T @ (a - b) / (2.0 * h) for (a, b), h in zip(pairs, (DISPLACEMENT, RATE), strict=True)])
    K, D = (np.array([column[i] for column in columns]).reshape(N.shape[1], N.shape[1]).T for i in (0, 1))
    return K, D, N.T @ accelerations(nothing, nothing)


def _coefficients(M: Floats, K: Floats, D: Floats, shapes: Complex) -> tuple[Floats, Floats]:
    """Return c and w of each mode: Rayleigh quotients of damping and stiffness in the metric of M."""
    masses = np.einsum("ij,ik,kj->j", shapes.conj(), M, shapes).real
    c, w2 = (np.einsum("ij,ik,kj->j", shapes.conj(), M @ matrix, shapes).real / masses for matrix in (D, K))
    return np.maximum(c, 0.0), np.sqrt(np.maximum(w2, 0.0))


def _mode(exponent: complex, shares: dict[str, float]) -> Mode:
    time = math.inf if exponent.real == 0.0 else 1.0 / abs(exponent.real)
    if exponent.imag > 1e-6 * abs(exponent):
        return Mode("oscillates", abs(exponent) / (2.0 * math.pi), -exponent.real / abs(exponent), time, shares)
    return Mode("grows" if exponent.real > 0.0 else "decays", None, None, time, shares)


def _shares(masses: Mapping[str, MassProperties], model: Model, state: State, v: Complex) -> dict[str, float]:
    """Return the share of each body in the kinetic energy of a mode shape (nv,)."""
    energies = np.zeros(len(model.names.bodies))
    for part in (v.real, v.imag):
        samples = initial_samples(model, state._replace(v=np.ascontiguousarray(part)))
        for k, (name, com) in enumerate(zip(model.names.bodies, model.com, strict=True)):
            properties, w = masses[name], samples.angular_velocity[0, k]
            R = rotation_matrix(samples.quaternion[0, k])
            velocity = samples.linear_velocity[0, k] + np.cross(w, R @ com)
            energies[k] += properties.mass * (velocity @ velocity) + w @ R @ properties.inertia @ R.T @ w
    total = max(float(energies.sum()), 1e-300)
    order = [k for k in np.argsort(-energies, kind="stable") if energies[k] >= SMALLEST_SHARE * total]
    return {model.names.bodies[k]: float(energies[k]) / total for k in order}


def _shares_of_span(
    masses: Mapping[str, MassProperties], model: Model, state: State, motions: Complex
) -> dict[str, float]:
    """Return the shares of the bodies in the sum of several motions (nv, k)."""
    found: dict[str, float] = {}
    for j in range(motions.shape[1]):
        for body, share in _shares(masses, model, state, motions[:, j]).items():
            found[body] = found.get(body, 0.0) + share
    total = sum(found.values())
    return {body: share / total for body, share in sorted(found.items(), key=lambda item: -item[1])}
