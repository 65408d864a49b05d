"""Energies."""

from __future__ import annotations

from multibody_cli.forces.elements import elastic_energy
from multibody_cli.kernel import kernel
from multibody_cli.tree.energy import armature_energy, gravity_energy, kinetic_energy


@kernel
def observe(system, state, work, rows, samples, k):
    """Store kinetic, potential and elastic energy."""
    samples.kinetic[k] = kinetic_energy(system.tree, work.bodies) + armature_energy(system.tree, state.v)
    samples.potential[k] = gravity_energy(system.tree, work.bodies)
    samples.elastic[k] = elastic_energy(system.forces, state.q, work.bodies)
