"""Small loops over plain arrays that integrators share."""

from __future__ import annotations

from multibody_cli.kernel import formula

FASTEST = 1e12
"""Above this speed, m/s or rad/s, a run is taken to diverge; light is slower by more than three powers of ten."""


@formula
def is_finite(x):
    """Whether every number is finite: x * 0 is 0 for those alone."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * 0.0
    return total == 0.0


@formula
def is_sound(v, a):
    """Whether a step may stand: its accelerations are finite, and nothing runs away."""
    fastest = 0.0
    for i in range(len(v)):
        fastest = max(fastest, abs(v[i]))
    return fastest < FASTEST and is_finite(a)


@formula
def copy(source, target):
    """Write the numbers of one array into another; a slice assignment would allocate in case the two overlap."""
    for i in range(len(target)):
        target[i] = source[i]


@formula
def add_scaled(target, factor, x):
    """Target += factor x."""
    for i in range(len(target)):
        target[i] += factor * x[i]
