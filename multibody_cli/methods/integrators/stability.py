"""Stability limits of explicit integrators with linear springs and dampers, and stability functions of implicit ones.

Small motion about an equilibrium is a superposition of modes x'' + c x' + w^2 x = 0.  Each function returns, for
dampings c and frequencies w (n,) 1/s, the steps (n,) s above which the computed motion grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import Floats
from multibody_cli.methods.tableau import Tableau

Complex = NDArray[np.complex128]

_TINY = 1e-300


def implicit_euler(z: Complex) -> Complex:
    """Stability function 1/(1 - z)."""
    return 1.0 / (1.0 - z)


def implicit_midpoint(z: Complex) -> Complex:
    """Stability function (1 + z/2)/(1 - z/2)."""
    return (1.0 + 0.5 * z) / (1.0 - 0.5 * z)


def sdirk2(z: Complex) -> Complex:
    """Stability function (1 + (1 - 2 g) z)/(1 - g z)^2 with g = 1 - 1/sqrt(2)."""
    g = 1.0 - math.sqrt(0.5)
    return (1.0 + (1.0 - 2.0 * g) * z) / (1.0 - g * z) ** 2


def semi_implicit_euler_step_limit(c: Floats, w: Floats) -> Floats:
    """Both roots of z^2 - (2 - h c - h^2 w^2) z + 1 - h c lie in the unit circle up to h^2 w^2 + 2 h c = 4."""
    return np.asarray(4.0 / np.maximum(c + np.sqrt(c * c + 4.0 * w * w), _TINY))


def variational_step_limit(c: Floats, w: Floats) -> Floats:
    """The limit h w = 2 of Stormer-Verlet, and h c = 1 of a damper with the force of the start of the step."""
    return np.minimum(2.0 / np.maximum(w, _TINY), 1.0 / np.maximum(c, _TINY))


def step_limit_of(tableau: Tableau) -> Callable[[Floats, Floats], Floats] | None:
    """Return the function of the stable steps of an explicit Runge-Kutta method.

    None if the method damps no oscillation without damper, however short the step.
    """
    polynomial = _stability_polynomial(tableau)
    slow = 0.1j
    return partial(_explicit_step_limit, polynomial) if abs(np.polyval(polynomial, slow)) <= 1.0 else None


def _stability_polynomial(tableau: Tableau) -> Floats:
    """Return R(z) = 1 + sum_k b A^(k-1) 1 z^k, by which a step of h multiplies x in x' = s x at z = h s.

    The highest power is first.  Source: Hairer and Wanner, Solving Ordinary Differential Equations II, IV.2.
    """
    slopes, found = np.ones(len(tableau.b)), [1.0]
    for _ in tableau.b:
        found.append(float(tableau.b @ slopes))
        slopes = tableau.A @ slopes
    return np.array(found[::-1])


def _explicit_step_limit(polynomial: Floats, c: Floats, w: Floats) -> Floats:
    """|R(z)| <= 1 at z = h lambda, for both exponents lambda, by bisection: R grows outside of its stable region."""
    split = np.sqrt((0.25 * c * c - w * w).astype(complex))
    return np.asarray(_along(polynomial, np.stack((-0.5 * c + split, -0.5 * c - split))).min(axis=0))


def _along(polynomial: Floats, exponents: Complex) -> Floats:
    """Return the limits of h for exponents of any shape: with s stages, |z| = 2 s^2 at most."""
    size = np.maximum(np.abs(exponents), _TINY)
    high = np.full(size.shape, 2.0 * (len(polynomial) - 1.0) ** 2)
    low, directions = np.zeros(size.shape), exponents / size
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = np.abs(np.polyval(polynomial, middle * directions)) <= 1.0 + 1e-12
        np.copyto(low, middle, where=inside)
        np.copyto(high, middle, where=~inside)
    return np.asarray(low / size)
