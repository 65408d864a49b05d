"""Fibers in equilibrium with an elastic tendon: the length of the fibers is a state.

At the length z of the fibers and the length L of the path, the tendon has the length L - z cos A and the force F_T of
its curve, which is the tension.  The velocity of the fibers balances the forces,

    P(z, dz/dt) = F_T / cos A,

with the force P of `forces.fiber`.  It is unique, because P increases with the velocity: by the damping of the fibers,
or by a curve of the velocity that never becomes flat, times the activation.  Fibers stop at their least length.

At the start the fibers have the velocity at which both forces change alike, as if it and the activation were constant.

The implicit Euler method solves the same equation for z with dz/dt = (z - base) / h, and has the derivative of the
tension by L, k (1 - dz/dL / cos A), between 0 and the stiffness k of the tendon.

Sources: Millard et al., J. Biomech. Eng. 135 (2013), "damped equilibrium model"; Thelen, J. Biomech. Eng. 125 (2003).
"""

from __future__ import annotations

import math

from multibody_cli.forces.fiber import force_at, force_by_activation
from multibody_cli.forces.muscle_curves import curve_at, curve_integral
from multibody_cli.kernel import formula, kernel

ELASTIC_TENDON = [
    ("stretch", "i8"),  # curve of the tendon
    ("state", "i8"),  # -1 with a rigid tendon
    ("shortest", "f8"),  # least length of the fibers, m
]
"""Fields of the record of a muscle."""

GAMMA = 1.0 - math.sqrt(0.5)

MAX_ITERATIONS = 100
"""Most steps of Newton's method and of bisection; 5 are usual."""

PLAIN = 20
"""Rounds of a search for a velocity before its changes are halved; 6 are usual."""

ROUND_OFF = 1e-14
"""Change of a length relative to the optimal length, or of a velocity to the largest one, that ends a search."""


@formula
def cosine_at(muscle, z):
    """Cosine of the angle of fibers of the length z."""
    sine = muscle.thickness / z
    return math.sqrt(max(1.0 - sine * sine, 0.0))


@formula
def tendon_at(muscle, curves, z, length):
    """Force of the tendon, N, its stiffness, N/m, and the cosine of the angle of the fibers."""
    cosine = cosine_at(muscle, z)
    force, slope = curve_at(curves, muscle.stretch, (length - z * cosine) / muscle.tendon)
    return muscle.strength * force, muscle.strength * slope / muscle.tendon, cosine


@kernel
def residual_force(muscle, curves, activation, z, velocity, length):
    """Force of the fibers less that of the tendon along them, N, and its slopes with z, velocity and length."""
    tension, stiffness, c = tendon_at(muscle, curves, z, length)
    force, elastic, viscous = force_at(muscle, curves, activation, z, velocity)
    turn = (1.0 - c * c) / (z * c)  # of the cosine with z
    by_z = elastic + (stiffness + tension * turn) / (c * c)
    return force - tension / c, by_z, viscous, -stiffness / c


@formula
def next_guess(x, step, last, low, high, unit):
    """Guess after x in a bracket, by Newton's method while its steps halve, else by bisection or a longer step."""
    guess = x + step
    if low < guess < high and (abs(step) < 0.5 * last or high - low == math.inf):
        return guess
    if high - low < math.inf:
        return 0.5 * (low + high)
    return x + math.copysign(unit + abs(x), step)


@kernel
def fiber_velocity(muscle, curves, activation, z, length):
    """Velocity at which the fibers balance the tendon, m/s."""
    v, low, high, last = 0.0, -math.inf, math.inf, math.inf
    fastest = muscle.optimal * muscle.fastest
    for _ in range(MAX_ITERATIONS):
        error, _, slope, _ = residual_force(muscle, curves, activation, z, v, length)
        if math.isnan(error):
            return error
        low, high = (low, v) if error >= 0.0 else (v, high)
        step = -error / slope if slope > 0.0 else math.copysign(fastest + abs(v), -error)
        if abs(step) > ROUND_OFF * (fastest + abs(v)):
            step = next_guess(v, step, last, low, high, fastest) - v
        v += step
        last = abs(step)
        if last <= ROUND_OFF * (fastest + abs(v)):
            break
    return max(v, 0.0) if z <= muscle.shortest else v


@kernel
def implicit_length(muscle, curves, activation, base, h, length, velocity):
    """Length of the fibers at the end of an implicit step of h from `base`, m, with the velocity (z - base) / h.

    For an infinite step, the length at which the fibers balance the tendon at the given velocity, m/s.
    """
    along = max(length - muscle.tendon, 0.0)
    rest = math.sqrt(along * along + muscle.thickness * muscle.thickness)
    low, high, last = muscle.shortest, math.inf, math.inf
    z = max(base if h < math.inf else rest, low)
    for _ in range(MAX_ITERATIONS):
        error, by_z, viscous, _ = residual_force(muscle, curves, activation, z, velocity + (z - base) / h, length)
        if math.isnan(error):
            return error
        low, high = (low, z) if error >= 0.0 else (z, high)
        slope = by_z + viscous / h
        step = -error / slope if slope > 0.0 else math.copysign(muscle.optimal, -error)
        if abs(step) > ROUND_OFF * muscle.optimal:
            step = next_guess(z, step, last, low, high, muscle.optimal) - z
        z += step
        last = abs(step)
        if last <= ROUND_OFF * muscle.optimal:
            break
    return z


@kernel
def steady_length(muscle, curves, activation, length, rate):
    """Length of the fibers, m, at which both forces balance and change alike, while the length L of the path changes.

    At a constant activation and velocity of the fibers, this velocity is dz/dL times the rate, m/s.
    """
    velocity, z = 0.0, implicit_length(muscle, curves, activation, 0.0, math.inf, length, 0.0)
    fastest, change, rounds = muscle.optimal * muscle.fastest, math.inf, 0
    while abs(change) > ROUND_OFF * fastest and rounds < MAX_ITERATIONS and z > muscle.shortest:
        _, by_z, _, by_length = residual_force(muscle, curves, activation, z, velocity, length)
        change = (-by_length / by_z * rate if by_z > 0.0 else 0.0) - velocity
        velocity, rounds = velocity + (change if rounds < PLAIN else 0.5 * change), rounds + 1
        z = implicit_length(muscle, curves, activation, 0.0, math.inf, length, velocity)
    return z


@formula
def elastic_law(muscle, curves, state, activation, length):
    """Tension, N, and its derivative by the length; at constant fibers, or with those of an implicit step."""
    z = max(state.value, muscle.shortest)
    tension, stiffness, c = tendon_at(muscle, curves, z, length)
    if state.step == 0.0 or z <= muscle.shortest:
        return tension, stiffness, 0.0
    _, by_z, viscous, by_length = residual_force(muscle, curves, activation, z, state.rate, length)
    return tension, stiffness * (1.0 + by_length / ((by_z + viscous / state.step) * c)), 0.0


@formula
def elastic_tension_by_activation(muscle, curves, state, activation, length):
    """Derivative of the tension by the activation, N: 0 but for implicit steps."""
    z = max(state.value, muscle.shortest)
    if state.step == 0.0 or z <= muscle.shortest:
        return 0.0
    _, by_z, viscous, by_length = residual_force(muscle, curves, activation, z, state.rate, length)
    by_activation = force_by_activation(muscle, curves, activation, z, state.rate)
    return -by_length * by_activation / (by_z + viscous / state.step)


@formula
def stored_energy(muscle, curves, z, length):
    """Elastic energy of tendon and passive fibers, J."""
    stretched = curve_integral(curves, muscle.stretch, (length - z * cosine_at(muscle, z)) / muscle.tendon)
    fibers = curve_integral(curves, muscle.passive, z / muscle.optimal)
    return muscle.strength * (muscle.tendon * stretched + muscle.optimal * fibers)
