"""Springs between points of bodies: cables whose tension is k (l - rest) + d dl/dt, with the energy k (l - rest)^2 / 2.

Source: Sueda, notes 1.9.3 and 1.9.6, (1.34)-(1.37), (1.65)-(1.68) with corrected signs; there k and d are relative to
the rest length.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.cable import COLLAPSED, harden_cable, measure, pull, vary_cable
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
    """Tension and its slopes with length and rate; a spring that pushes has no tension where not exact."""
    tension = tension_of(spring, length, rate)
    return (tension if exact else max(tension, 0.0)), spring.stiffness, spring.damping


@kernel
def push(springs, points, bodies, powers, tells, alerts):
    """Pull the bodies; the damper's loss d (dl/dt)^2 goes to the account.  Tell where a line has no direction."""
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, shortest = measure(points, spring.first, spring.last, bodies)
        pull(points, spring.first, spring.last, tension_of(spring, length, rate), bodies)
        powers[spring.account] += spring.damping * rate * rate
        if tells and shortest < COLLAPSED * max(spring.rest, length):
            alerts[k] = 1


@kernel
def vary(springs, points, bodies, along, faster, exact, wrenches):
    """Add what a change of the motion makes of the pulls: see `forces.variation`."""
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, _ = measure(points, spring.first, spring.last, bodies)
        law = law_of(spring, length, rate, exact)
        vary_cable(points, spring.first, spring.last, bodies, law, along, faster, exact, wrenches)


@kernel
def harden(springs, points, bodies, along, faster, blocks):
    """Add to the blocks of the bodies."""
    for k in range(len(springs)):
        spring = springs[k]
        length, rate, _ = measure(points, spring.first, spring.last, bodies)
        law = law_of(spring, length, rate, False)
        harden_cable(points, spring.first, spring.last, bodies, law, along, faster, blocks)


@kernel
def elastic_energy(springs, points, bodies):
    """Energy held by the springs, J."""
    energy = 0.0
    for k in range(len(springs)):
        length, _, _ = measure(points, springs[k].first, springs[k].last, bodies)
        stretch = length - springs[k].rest
        energy += 0.5 * springs[k].stiffness * stretch * stretch
    return energy


@kernel
def observe(springs, points, bodies, lengths, tensions):
    """Length and tension of every spring."""
    for k in range(len(springs)):
        length, rate, _ = measure(points, springs[k].first, springs[k].last, bodies)
        lengths[k] = length
        tensions[k] = tension_of(springs[k], length, rate)
