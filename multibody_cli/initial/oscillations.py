"""Oscillations of implicit forces about the initial state, and their energies.

About a state, x'' = a - K x - D x'.  In the basis of the modes x ~ exp(s t), each amplitude c follows c' = s c + b, so
that it oscillates about -b/s with the amplitude |c + b/s| of the start.  Its energy is the largest kinetic energy of
the mode and its conjugate.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.alarms.contract import Oscillations
from multibody_cli.initial.linearized_motion import (
    MOST_COORDINATES,
    accelerations_of,
    force_derivatives,
    linearization_of,
    modes_of,
)
from multibody_cli.methods import integrator_of
from multibody_cli.model import Model, State
from multibody_cli.scene.simulation import SimulationSpec


def oscillations_of(simulation: SimulationSpec, model: Model, state: State) -> Oscillations | None:
    """Return the oscillations of springs, dampers and muscles that the integrator treats implicitly; None without any.

    Parameters
    ----------
    simulation
        The settings of the run.
    model, state
        The model in joint coordinates, and its initial state.
    """
    integrator = integrator_of(simulation.method, simulation.integrator)
    n = int(model.system.tree.links["nv"].sum())
    if integrator.stability_function is None or not model.system.forces.depends_on_motion or n > MOST_COORDINATES:
        return None
    try:
        linear = linearization_of(model, state)
        modes = modes_of(linear, *force_derivatives(model, state, linear))
        N, s = linear.directions, modes.exponents
        basis = np.concatenate([modes.shapes, modes.shapes * s])
        rates = np.stack([N.T @ state.v, N.T @ accelerations_of(model, state)], axis=1)
        rates = np.concatenate([np.zeros_like(rates), rates])
        amplitudes, changes = np.linalg.lstsq(basis, rates.astype(complex))[0].T
    except np.linalg.LinAlgError:
        return None  # bodies without inertia: the run reports them
    swings = (s.imag > 0.0) & (s.real <= 1e-6 * abs(s))
    if not swings.any() or not np.isfinite(rates).all():
        return None
    s, shapes = s[swings], modes.shapes[:, swings]
    M = N[linear.free].T @ linear.M @ N[linear.free]
    masses = np.einsum("ij,ik,kj->j", shapes.conj(), M, shapes).real
    energies = 2.0 * abs(s * amplitudes[swings] + changes[swings]) ** 2 * masses
    places = np.abs((N @ shapes) * model.system.tree.weights[:, None]).argmax(axis=0)
    return Oscillations(s, energies, tuple(model.names.coordinates[j] for j in places), simulation.duration)
