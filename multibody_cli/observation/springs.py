"""Lengths and tensions of springs between bodies."""

from __future__ import annotations

from multibody_cli.cables.lines import measure
from multibody_cli.forces.elements import SPRINGS
from multibody_cli.forces.spring import tension_of
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store length and tension of every spring."""
    springs = system.forces.tables[SPRINGS]
    for j in range(len(springs)):
        spring = springs[j]
        length, rate, _ = measure(system.forces.points, spring.first, spring.last, work.bodies)
        samples.spring_length[k, j] = length
        samples.spring_force[k, j] = tension_of(spring, length, rate)
