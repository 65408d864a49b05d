"""Lengths, velocities, tensions and activations of muscles."""

from __future__ import annotations

from multibody_cli.forces.cable import measure
from multibody_cli.forces.elements import MUSCLES
from multibody_cli.forces.muscle import activation_of, law_at
from multibody_cli.kernel import kernel


@kernel
def observe(system, state, work, rows, samples, k):
    """Store length and velocity of the path, tension and activation of every muscle."""
    muscles = system.forces.tables[MUSCLES]
    for j in range(len(muscles)):
        muscle = muscles[j]
        length, rate, _ = measure(system.forces.points, muscle.first, muscle.last, work.bodies)
        activation = activation_of(muscle, system.forces.signals, state.time[0])
        tension, _, _ = law_at(muscle, activation, length, rate)
        samples.muscle_length[k, j] = length
        samples.muscle_velocity[k, j] = rate
        samples.muscle_force[k, j] = tension
        samples.activation[k, j] = activation
