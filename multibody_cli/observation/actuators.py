"""Forces of actuators on their coordinates."""

from __future__ import annotations

from multibody_cli.kernel import lazy_kernel
from multibody_cli.signals import evaluate


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the force of each actuator on each of its coordinates, or on its path, and activations of filters."""
    for j in range(len(rows.activations)):
        samples.actuator_activation[k, j], _, _ = evaluate(system.forces.signals, rows.activations[j], state.time[0])
    for j in range(len(rows.actuators)):
        place = rows.actuators[j]
        if place < 0:
            samples.actuator_force[k, j] = work.command_forces[-1 - place]
        else:
            samples.actuator_force[k, j], _, _ = evaluate(system.forces.signals, place, state.time[0])
