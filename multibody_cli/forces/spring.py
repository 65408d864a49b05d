"""Springs between points of bodies: cables whose tension is k (l - rest) + d dl/dt, with the energy k (l - rest)^2 / 2.

Source: Sueda, notes 1.9.3 and 1.9.6, (1.34)-(1.37), (1.65)-(1.68) with corrected signs; there k and d are relative to
the rest length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.forces.cable import (
    COLLAPSED_PATH,
    add_cable_stiffness_blocks,
    add_cable_stiffness_damping_product,
    apply_tension,
    has_collapsed,
    measure,
)
from multibody_cli.forces.contract import ForceElement, PackingContext, SceneEntry
from multibody_cli.forces.spring_spec import SpringSpec
from multibody_cli.kernel import formula, kernel

SPRING = np.dtype(
    [
        ("first", "i8"),  # its points
        ("last", "i8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("rest", "f8"),
        ("account", "i8"),
    ]
)


@formula
def tension_of(spring, length, rate):
    """Tension of a spring, and of the damper beside it, N."""
    return spring.stiffness * (length - spring.rest) + spring.damping * rate


@formula
def law_of(spring, length, rate, exact):
    """Tension and its slopes with length and rate; the tension of a compressed spring is 0 where not `exact`."""
    tension = tension_of(spring, length, rate)
    return (tension if exact else max(tension, 0.0)), spring.stiffness, spring.damping


@kernel
def apply_force(springs, forces, t, q, v, bodies, tau, powers, watched, warnings):
    """Apply the tensions to the bodies, add the loss d (dl/dt)^2 to the account, and raise warnings."""
    points = forces.points
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, shortest = measure(points, spring.first, spring.last, bodies)
        apply_tension(points, spring.first, spring.last, tension_of(spring, length, rate), bodies)
        powers[spring.account] += spring.damping * rate * rate
        if watched and has_collapsed(shortest, spring.rest, length):
            warnings[k] = 1


@kernel
def stiffness_damping_product(springs, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`."""
    points = forces.points
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, _ = measure(points, spring.first, spring.last, bodies)
        law = law_of(spring, length, rate, exact)
        add_cable_stiffness_damping_product(
            points, spring.first, spring.last, bodies, law, 0.0, displacement_factor, velocity_factor, exact, wrenches
        )


@kernel
def add_stiffness_blocks(springs, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks: see `forces.variation`."""
    points = forces.points
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, _ = measure(points, spring.first, spring.last, bodies)
        law = law_of(spring, length, rate, False)
        add_cable_stiffness_blocks(
            points, spring.first, spring.last, bodies, law, displacement_factor, velocity_factor, blocks
        )


@kernel
def elastic_energy(springs, forces, q, bodies) -> float:
    """Elastic energy of all springs, J."""
    points = forces.points
    energy = 0.0
    for k in range(len(springs)):
        length, _, _ = measure(points, springs[k].first, springs[k].last, bodies)
        stretch = length - springs[k].rest
        energy += 0.5 * springs[k].stiffness * stretch * stretch
    return energy


def pack(spec: SpringSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a spring."""
    return *context.cable([end for _, end in spec.points]), *spec.coefficients, spec.rest_length


ELEMENT = ForceElement(
    "springs",
    SPRING,
    description="springs or muscles between bodies",
    rest="rest length",
    account="dissipation",
    implicit=True,
    cable=True,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    stiffness_damping_product=stiffness_damping_product,
    add_stiffness_blocks=add_stiffness_blocks,
    warnings={1: COLLAPSED_PATH},
    entry=SceneEntry("springs", "spring", ("between", "path"), SpringSpec, pack),
)
