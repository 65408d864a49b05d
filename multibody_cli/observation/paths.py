"""Lengths of paths and their rates."""

from __future__ import annotations

from multibody_cli.cables.lines import measure
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store length and rate of every path."""
    paths = system.forces.paths
    for j in range(len(paths)):
        length, rate, _ = measure(system.forces.points, paths[j, 0], paths[j, 1], work.bodies)
        samples.path_length[k, j], samples.path_rate[k, j] = length, rate
