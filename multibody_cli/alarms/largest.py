"""Largest vectors of output instants: norms of velocities, and of the errors of the angles that bodies have turned."""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.kernel import formula, kernel


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
