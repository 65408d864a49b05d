"""Lengths, velocities, tensions, activations and fibers of muscles."""

from __future__ import annotations

import math

from multibody_cli.cables.lines import measure
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.forces.muscle import activation_of, fibers_of, law_of
from multibody_cli.kernel import lazy_kernel


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store length and velocity of the path and of the fibers, tension, activation and pennation of every muscle."""
    forces, muscles = system.forces, system.forces.tables[MUSCLES]
    for j in range(len(muscles)):
        muscle = muscles[j]
        length, rate, _ = measure(forces.points, muscle.first, muscle.last, work.bodies)
        activation = activation_of(muscle, forces.signals, state.time[0])
        tension, _, _ = law_of(muscle, forces, state.time[0], length, rate)
        z, velocity, cosine = fibers_of(muscle, forces, length, rate)
        samples.muscle_length[k, j] = length
        samples.muscle_velocity[k, j] = rate
        samples.muscle_force[k, j] = tension
        samples.activation[k, j] = activation
        samples.fiber_length[k, j] = z
        samples.fiber_velocity[k, j] = velocity
        samples.pennation[k, j] = math.atan2(muscle.thickness, cosine * z)
