"""Small motions about the start: frequencies, damping ratios, growth, and the bodies that move.

The motion is linearized (`initial.linearized_motion`) about the configuration of the start, with all velocities zero
and prescribed coordinates held.  At a start that is not an equilibrium the modes describe the motion relative to the
accelerated one, for a short time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from multibody_cli.immutable import Immutable, replace
from multibody_cli.initial.initial_state import initial_samples
from multibody_cli.initial.linearized_motion import Linearization, acceleration_derivatives, modes_of
from multibody_cli.mass import MassProperties
from multibody_cli.model import Floats, Model, State
from multibody_cli.spec.rotations import rotation_matrix

Complex = NDArray[np.complex128]

STILL = 0.05
"""Exponents below this part of the slowest rate count as zero; round-off of multiple zeros is smaller."""

AT_REST = 1e-6
"""Accelerations of an equilibrium, relative to the squares of the slowest rate and of the largest exponent."""

SMALLEST_SHARE = 0.05
"""Share of the kinetic energy of a mode, above which a body is listed."""


class Mode(Immutable):
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


class SmallMotions(Immutable):
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
    N = linear.directions
    K, D, a = acceleration_derivatives(model, state, N)
    found = modes_of(linear, K, D)
    exponents, shapes = found.exponents, N @ found.shapes
    tree = model.system.tree
    still = np.abs(exponents) < STILL * tree.rate
    largest = np.abs((N @ a) * tree.weights).max(initial=0.0)
    equilibrium = bool(largest <= AT_REST * (tree.rate**2 + np.abs(exponents).max(initial=0.0) ** 2))
    kept = np.flatnonzero(~still & (exponents.imag >= 0.0))
    kept = kept[np.lexsort((exponents[kept].real, np.abs(exponents[kept])))]
    modes = [_mode(complex(exponents[i]), shares_of_bodies(masses, model, state, shapes[:, i])) for i in kept]
    if still.any():
        modes.insert(0, Mode("free", None, None, None, _shares_of_span(masses, model, state, shapes[:, still])))
    return SmallMotions(modes, equilibrium, found.damping[kept], found.frequency[kept])


def _at_rest(model: Model, state: State) -> tuple[Model, State]:
    """Return the model with prescribed coordinates held, and the state without velocities."""
    motions = model.system.motions
    held = model.system._replace(motions=motions._replace(rows=motions.rows[:0]))
    return replace(model, system=held), state._replace(v=np.zeros_like(state.v), a=np.zeros_like(state.a))


def _mode(exponent: complex, shares: dict[str, float]) -> Mode:
    time = math.inf if exponent.real == 0.0 else 1.0 / abs(exponent.real)
    if exponent.imag > 1e-6 * abs(exponent):
        return Mode("oscillates", abs(exponent) / (2.0 * math.pi), -exponent.real / abs(exponent), time, shares)
    return Mode("grows" if exponent.real > 0.0 else "decays", None, None, time, shares)


def shares_of_bodies(masses: Mapping[str, MassProperties], model: Model, state: State, v: Complex) -> dict[str, float]:
    """Return the share of each body in the kinetic energy of a mode shape (nv,)."""
    energies = np.zeros(len(model.names.bodies))
    for part in (v.real, v.imag):
        samples = initial_samples(model, state._replace(v=np.ascontiguousarray(part)))
        for k, (name, com) in enumerate(zip(model.names.bodies, model.com, strict=True)):
            properties, w = masses[name], samples.angular_velocity[0, k]
            R = rotation_matrix(samples.quaternion[0, k])
            velocity = samples.linear_velocity[0, k] + np.cross(w, R @ com)
            energies[k] += properties.mass * (velocity @ velocity) + w @ R @ properties.inertia @ R.T @ w
    shares = energies / max(float(energies.sum()), 1e-300)
    order = np.argsort(-shares.round(9), kind="stable")  # equal shares up to round-off: as the bodies
    return {model.names.bodies[k]: float(shares[k]) for k in order if shares[k] >= SMALLEST_SHARE}


def _shares_of_span(
    masses: Mapping[str, MassProperties], model: Model, state: State, motions: Complex
) -> dict[str, float]:
    """Return the shares of the bodies in the sum of several motions (nv, k)."""
    found: dict[str, float] = {}
    for j in range(motions.shape[1]):
        for body, share in shares_of_bodies(masses, model, state, motions[:, j]).items():
            found[body] = found.get(body, 0.0) + share
    total = sum(found.values())
    return {body: share / total for body, share in sorted(found.items(), key=lambda item: -item[1])}
