"""Whether a step is valid."""

from __future__ import annotations

from multibody_cli.kernel import formula

MAX_SPEED = 1e12
"""A run with a larger speed, relative to the slowest that counts, has diverged."""


@formula
def is_finite(x):
    """Return whether every entry is finite: x * 0 is 0 for those only."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * 0.0
    return total == 0.0


@formula
def is_finite_and_bounded(tree, v, a):
    """Return whether a step is valid: its accelerations are finite and its velocities below `MAX_SPEED`."""
    fastest = 0.0
    for i in range(len(v)):
        fastest = max(fastest, abs(v[i]) * tree.weights[i])
    return fastest < MAX_SPEED * tree.rate and is_finite(a)
