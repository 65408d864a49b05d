"""Momentum of all bodies."""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import store
from multibody_cli.tree.energy import momentum


@kernel
def observe(system, state, work, rows, samples, k):
    """Store linear momentum, and angular momentum about the world origin."""
    linear, angular = momentum(system.tree, work.bodies)
    store(samples.linear_momentum[k], linear)
    store(samples.angular_momentum[k], angular)
