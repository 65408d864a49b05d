"""Values, rates and forces of combinations of coordinates."""

from __future__ import annotations

from multibody_cli.kernel import lazy_kernel
from multibody_cli.signals import evaluate


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store value, rate, and force of spring and damper of each combination."""
    signals, t = system.forces.signals, state.time[0]
    for j in range(len(rows.combinations)):
        value, _, _ = evaluate(signals, rows.combinations[j, 0], t)
        rate, _, _ = evaluate(signals, rows.combinations[j, 1], t)
        samples.combination_value[k, j] = value
        samples.combination_rate[k, j] = rate
        samples.combination_force[k, j] = 0.0
        if rows.combinations[j, 2] >= 0:
            force, _, _ = evaluate(signals, rows.combinations[j, 2], t)
            samples.combination_force[k, j] = force
