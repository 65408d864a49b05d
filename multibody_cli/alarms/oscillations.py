"""Oscillations about the initial state that the steps of an implicit integrator do not follow.

A mode x ~ exp(s t) becomes R(h s)^n after n steps of h, where R is the stability function of the integrator.  Its error
relative to the amplitude at the start, |R(h s)^n - exp(n h s)|, contains the loss of amplitude and the error of the
phase, and is small where the motion itself is damped.  The square of the error times the energy of the mode is the
energy of the error, which counts relative to the energy available: fast modes with little energy may be lost.

Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2 and IV.3.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.alarms.contract import Oscillations, Reading, Remedy, RunSettings
from multibody_cli.alarms.remedies import DIVISORS, MARGIN
from multibody_cli.kernel import Floats
from multibody_cli.methods.contract import Integrator

THRESHOLD = 0.1
"""Energy of the errors, relative to the energy available, above which they are reported."""

INSTANTS = 400
"""Number of instants at which the error of a mode is computed, in geometric sequence."""


def errors_of(oscillations: Oscillations, integrator: Integrator, h: float) -> Floats:
    """Return the largest error of each mode (m,) with steps of h, s, relative to its amplitude; at most 1."""
    s, count = oscillations.exponents, max(1.0, oscillations.duration / h)
    n = np.unique(np.round(np.geomspace(1.0, count, INSTANTS)))[:, None]
    assert integrator.stability_function is not None
    with np.errstate(divide="ignore", under="ignore"):
        found = np.exp(n * np.log(integrator.stability_function(h * s))) - np.exp(n * h * s)
    return np.asarray(np.minimum(np.abs(found).max(axis=0, initial=0.0), 1.0))


def lost_shares(oscillations: Oscillations | None, energy: Any, integrator: Integrator, h: float) -> Floats:
    """Return the energy of the error of each mode (..., m) relative to the energy available (...), J."""
    available = np.asarray(energy)[..., None]
    if oscillations is None:
        return np.zeros((*available.shape[:-1], 0))
    with np.errstate(over="ignore"):
        shares = np.minimum(oscillations.energies / available, 1.0)
    return np.asarray(errors_of(oscillations, integrator, h) ** 2 * shares)


def read_oscillations(energy: float, settings: RunSettings) -> Reading:
    """Read the mode whose error has the largest energy, of the energy available, J."""
    oscillations, integrator = settings.oscillations, settings.integrator
    assert oscillations is not None
    worst = int(np.argmax(lost_shares(oscillations, energy, integrator, settings.step)))
    frequency, share = oscillations.exponents[worst].imag / math.tau, min(oscillations.energies[worst] / energy, 1.0)
    error = errors_of(oscillations, integrator, settings.step)[worst]
    message = (
        f"the oscillation of {frequency:.3g} Hz of {oscillations.places[worst]}, which has {share:.2g} of the "
        f"{energy:.3g} J that were available, has an error of {error:.2g} of its amplitude with the step of "
        f"{settings.step:.4g} s"
    )
    goal = settings.thresholds.get("oscillations", THRESHOLD) / MARGIN
    shares = (lost_shares(oscillations, energy, integrator, settings.step / divisor).sum() for divisor in DIVISORS)
    divisor = next((divisor for divisor, share in zip(DIVISORS, shares, strict=True) if share <= goal), DIVISORS[-1])
    return Reading(lambda _: 0.0, "", message, Remedy(settings.step / divisor))
