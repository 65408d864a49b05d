"""Tensions of forces along paths."""

from __future__ import annotations

from multibody_cli.forces.elements import TENSIONS
from multibody_cli.forces.tension import tension_of
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the tension of each entry of `forces` along a path; those of actuators follow in the table."""
    table = system.forces.tables[TENSIONS]
    for j in range(samples.tension_force.shape[1]):
        samples.tension_force[k, j] = tension_of(table[j], system.forces.signals, state.time[0])
