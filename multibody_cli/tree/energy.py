"""Energies and momenta of the bodies, after forward kinematics.

The directors of an affine body are points with kinetic energy and angular momentum, but without weight and linear
momentum.
"""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, cross, dot, power
from multibody_cli.spatial.values import Motion, Vec3
from multibody_cli.tree.articulated_body import rigid_body_inertia


@kernel
def kinetic_energy(tree, bodies):
    """Kinetic energy, J."""
    links, energy = tree.links, 0.0
    for i in range(1, len(links)):
        V = Motion(load(bodies[i].w), load(bodies[i].v))
        energy += 0.5 * power(V, rigid_body_inertia(links[i], bodies[i]) @ V)
    return energy


@kernel
def armature_energy(tree, v):
    """Kinetic energy of the armature of all coordinates, relative to the bodies that carry the drives, J."""
    energy = 0.0
    for j in range(len(v)):
        energy += 0.5 * tree.armature[j] * v[j] * v[j]
    return energy


@kernel
def gravity_energy(tree, bodies) -> float:
    """Potential energy of gravity, zero at the world's origin, J."""
    links, energy = tree.links, 0.0
    g = Vec3(tree.gravity[0], tree.gravity[1], tree.gravity[2])
    for i in range(1, len(links)):
        if not links[i].ignores_gravity:
            energy -= dot(g, links[i].mass * load(bodies[i].x) + load(bodies[i].h))
    return energy


@kernel
def subtract_momenta(tree, bodies, wrenches):
    """Subtract the momentum of each body, about the origin of its joint frame in world axes, from `wrenches`."""
    links = tree.links
    for i in range(1, len(links)):
        h = rigid_body_inertia(links[i], bodies[i]) @ Motion(load(bodies[i].w), load(bodies[i].v))
        store_force(wrenches[i], load_force(wrenches[i]) - h)


@kernel
def momentum(tree, bodies) -> tuple[Vec3, Vec3]:
    """Linear momentum, N s, and angular momentum about the world's origin, N m s."""
    links, linear, angular = tree.links, ZERO, ZERO
    for i in range(1, len(links)):
        h = rigid_body_inertia(links[i], bodies[i]) @ Motion(load(bodies[i].w), load(bodies[i].v))
        if not links[i].ignores_gravity:
            linear = linear + h.f
        angular = angular + h.t + cross(load(bodies[i].x), h.f)
    return linear, angular
