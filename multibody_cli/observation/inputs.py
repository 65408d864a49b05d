"""Values of inputs."""

from __future__ import annotations

from multibody_cli.kernel import lazy_kernel
from multibody_cli.signals import evaluate


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the value of every input."""
    inputs = system.forces.inputs
    for j in range(len(inputs)):
        samples.input[k, j], _, _ = evaluate(system.forces.signals, inputs[j], state.time[0])
