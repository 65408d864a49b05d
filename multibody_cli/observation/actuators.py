"""Forces of actuators on their coordinates."""

from __future__ import annotations

from multibody_cli.forces.elements import CONTROLS
from multibody_cli.kernel import kernel
from multibody_cli.signals import evaluate


@kernel
def observe(system, state, work, rows, samples, k):
    """Store the force of each actuator on each of its coordinates."""
    forces = system.forces
    for j in range(len(rows.actuators)):
        place = rows.actuators[j]
        if place < 0:
            samples.actuator_force[k, j] = work.command_forces[-1 - place]
        else:
            force, _, _ = evaluate(forces.signals, forces.tables[CONTROLS][place].signal, state.time[0])
            samples.actuator_force[k, j] = force
