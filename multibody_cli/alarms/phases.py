"""Estimated errors of the angles that bodies have turned, and largest vectors of output instants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import RunSettings
from multibody_cli.alarms.rotors import Drift, rotated_by, rotors_of, turn_freely
from multibody_cli.kernel import formula, kernel
from multibody_cli.model import Floats, Integers, Model

RESOLVED = 1.0
"""Angle, rad, between output instants up to which they show the course of a rotation."""


class Phases:
    """Errors of the angles that bodies have turned, over a run.

    - The rotation of a rotor which only gravity acts on is compared with that of `turn_freely`.
    - Of other rotors, with variational steps, `Drift` estimates the error.
    - Of a motion along a path with kinetic energy T, an energy R without a source changes the velocities by the
      fraction R/2T, at most 1.  With the largest T so far, an error of a fast motion that is damped later is too.  The
      integral of the angular velocities times R/2T cancels in oscillations and grows with the turns of a rotation.  R
      is the residual of the energy ledger, if all energy is that of one motion, and the integrator is not variational,
      whose energy oscillates about that of the motion.  With implicit integrators only energy gained counts.  A
      prescribed motion determines the angles, and its drive does work of any sign.  Where a body turns by more than
      `RESOLVED` between output instants, they do not show which of both it is, and it does not count.

    Parameters
    ----------
    model, settings
        The compiled scene, and the settings of its alarms.
    is_prescribed
        Whether motions or constraints do work of any sign.

    Attributes
    ----------
    are_of_rotors, estimates
        Whether the errors are those of rotors, and whether there is anything to estimate.
    """

    FIELDS = ("time", "kinetic", "quaternion", "angular_velocity")
    """The fields of samples that count."""

    def __init__(self, model: Model, settings: RunSettings, is_prescribed: bool) -> None:
        is_variational = settings.integrator.bind is None
        self._rotors = rotors_of(model)
        self._alone = bool(self._rotors.alone.any())
        self._drift = Drift(self._rotors, settings.step)
        self._drifts = is_variational and not self._rotors.alone.all()
        self._is_one = settings.one_motion and not (is_prescribed or is_variational or self._alone)
        self._least = 0.0 if settings.integrator.implicit else -1.0
        self._time, self._highest = math.nan, 0.0  # of the last instant, and the largest kinetic energy
        self._rates, self._angles = np.zeros((2, len(model.names.bodies), 3))
        self.restart()
        self.are_of_rotors = self._alone or self._drifts
        self.estimates = self.are_of_rotors or self._is_one

    def restart(self) -> None:
        """Compare with the rotations that begin at the next instant: the scene has changed."""
        self._turned = np.full((len(self._rotors.bodies), 4), math.nan)
        self._momenta = np.zeros((len(self._rotors.bodies), 3))

    def add(self, times: Floats, residual: Floats, samples: Any, count: int) -> tuple[Floats, Integers]:
        """Add the first K rows of samples, and return the largest error of each (K,), rad, and its body.

        Parameters
        ----------
        times, residual
            (K,) times, s, and residuals of the energy ledger, J.
        samples, count
            The samples and K.
        """
        steps = np.diff(times, prepend=times[0] if math.isnan(self._time) else self._time)
        self._time = float(times[-1])
        rotors, w, quaternions = self._rotors, samples.angular_velocity[:count], samples.quaternion[:count]
        if self.are_of_rotors:
            inverse = quaternions[:, rotors.bodies] * (1.0, -1.0, -1.0, -1.0)
            spins = rotated_by(inverse, w[:, rotors.bodies])
            if np.isnan(self._turned).any():
                self._turned = quaternions[0, rotors.bodies].copy()
                self._momenta = rotated_by(self._turned, np.einsum("mij,mj->mi", rotors.inertia, spins[0]))
            errors = self._drift.add(steps, spins) if self._drifts else np.zeros((count, len(rotors.bodies)))
            if self._alone:
                turn_freely(rotors, self._momenta, steps, quaternions, self._turned, errors)
            return errors.max(axis=1), rotors.bodies[errors.argmax(axis=1)]
        highest = np.maximum.accumulate(np.append(self._highest, samples.kinetic[:count]))[1:]
        ratio = np.divide(residual, 2.0 * highest, out=np.zeros(count), where=highest > 0.0)
        self._highest = float(highest[-1])
        sizes, elements = np.empty(count), np.empty(count, np.int64)
        integrate_phases(
            w, np.clip(ratio, self._least, 1.0), steps, RESOLVED, self._rates, self._angles, sizes, elements
        )
        return sizes, elements


@kernel
def find_largest(vectors: Any, sizes: Any, elements: Any) -> None:
    """Store the largest norm of the vectors (K, n, 3) of each instant (K,), and its element (K,)."""
    for k in range(len(vectors)):
        largest, element = -1.0, 0
        for b in range(vectors.shape[1]):
            square = square_of(vectors[k, b])
            if square > largest:
                largest, element = square, b
        sizes[k], elements[k] = root_of(largest), element


@kernel
def integrate_phases(
    w: Any, ratio: Any, steps: Any, resolved: float, rates: Any, phases: Any, sizes: Any, elements: Any
) -> None:
    """Integrate angular velocities times a ratio by the trapezoidal rule, and store the largest integrals.

    Parameters
    ----------
    w
        (K, n, 3) angular velocities, rad/s.
    ratio
        (K,) factor of each instant.
    steps
        (K,) time since the instant before, s.
    resolved
        Angle, rad; where a body turns by more than that in a step, the integral does not change.
    rates, phases
        (n, 3) integrand, rad/s, and integral, rad, of the last instant.
    sizes, elements
        (K,) largest norm of the integrals of each instant, rad, and its element.
    """
    for k in range(len(w)):
        largest, element = -1.0, 0
        for b in range(w.shape[1]):
            moves = not steps[k] * root_of(square_of(w[k, b])) > resolved
            for i in range(3):
                rate = ratio[k] * w[k, b, i]
                if moves:
                    phases[b, i] += 0.5 * steps[k] * (rate + rates[b, i])
                rates[b, i] = rate
            square = square_of(phases[b])
            if square > largest:
                largest, element = square, b
        sizes[k], elements[k] = root_of(largest), element


@formula
def square_of(x: Any) -> Any:
    """Return the square of the norm of a vector, infinity if it is not a number."""
    square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
    return square if square >= 0.0 else math.inf


@formula
def root_of(square: Any) -> Any:
    """Return the norm of a vector by its square, -1 if there is no vector."""
    return math.sqrt(square) if square >= 0.0 else square
