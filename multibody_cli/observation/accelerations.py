"""Accelerations of the coordinates."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def observe(system, state, work, rows, samples, k):
    """Store dv/dt."""
    for j in range(len(state.a)):
        samples.acceleration[k, j] = state.a[j]
