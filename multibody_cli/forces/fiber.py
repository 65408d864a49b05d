"""The fibers of a muscle at an angle to its tendon: tension by length and rate, with derivatives.

The path has the length L of fibers and tendon together.  The fibers have the length z, the normalized length
x = z / optimal, and the normalized velocity y = dz/dt / (optimal fastest), positive where they lengthen.  They keep the
thickness w = optimal sin(pennation_angle): the angle to the tendon has cos A = sqrt(1 - (w / z)^2).  The force of the
fibers, with the activation a, is

    strength (a f_L(x) f_V(y / s) + f_P(x) + damping y),    s = 1 - slowing + slowing a,

and the tension is its part along the tendon.  With a rigid tendon,

    z = sqrt((L - tendon)^2 + w^2),    dz/dt = cos A dL/dt;

a path shorter than the tendon has no tension, and the fibers have no negative force.

Source: Zajac, Muscle and tendon, Crit. Rev. Biomed. Eng. 17 (1989); Millard et al., J. Biomech. Eng. 135 (2013).
"""

from __future__ import annotations

import math

from multibody_cli.forces.muscle_curves import curve_at, curve_integral
from multibody_cli.kernel import formula

FIBER = [
    ("strength", "f8"),  # largest isometric force, N
    ("optimal", "f8"),
    ("tendon", "f8"),  # slack length, m
    ("fastest", "f8"),  # optimal lengths a second
    ("thickness", "f8"),  # m
    ("damping", "f8"),
    ("slowing", "f8"),
    ("active", "i8"),  # curves
    ("velocity", "i8"),
    ("passive", "i8"),
]
"""Fields of the record of a muscle."""


@formula
def speed_factor(muscle, activation):
    """Factor of the largest velocity for an activation."""
    return 1.0 - muscle.slowing + muscle.slowing * activation


@formula
def force_at(muscle, curves, activation, z, velocity):
    """Force of the fibers, N, and its slopes with their length, N/m, and with their velocity, N s/m."""
    fastest, s = muscle.optimal * muscle.fastest, speed_factor(muscle, activation)
    f_L, dL = curve_at(curves, muscle.active, z / muscle.optimal)
    f_P, dP = curve_at(curves, muscle.passive, z / muscle.optimal)
    f_V, dV = curve_at(curves, muscle.velocity, velocity / (fastest * s))
    force = activation * f_L * f_V + f_P + muscle.damping * velocity / fastest
    elastic = (activation * dL * f_V + dP) / muscle.optimal
    viscous = (activation * f_L * dV / s + muscle.damping) / fastest
    return muscle.strength * force, muscle.strength * elastic, muscle.strength * viscous


@formula
def force_by_activation(muscle, curves, activation, z, velocity):
    """Derivative of the force of the fibers by the activation, N."""
    s = speed_factor(muscle, activation)
    y = velocity / (muscle.optimal * muscle.fastest * s)
    f_L, _ = curve_at(curves, muscle.active, z / muscle.optimal)
    f_V, dV = curve_at(curves, muscle.velocity, y)
    return muscle.strength * f_L * (f_V - activation * dV * y * muscle.slowing / s)


@formula
def passive_force(muscle, curves, z):
    """Force of the fibers without activation at rest, N."""
    f_P, _ = curve_at(curves, muscle.passive, z / muscle.optimal)
    return muscle.strength * f_P


# --- rigid tendon -----------------------------------------------------------------------------------------------------
@formula
def fiber_at(muscle, length, rate):
    """Length, m, and velocity, m/s, of the fibers with a rigid tendon, and the cosine of their angle."""
    along = max(length - muscle.tendon, 0.0)
    z = math.sqrt(along * along + muscle.thickness * muscle.thickness)
    cosine = along / z if z > 0.0 else 0.0
    return z, cosine * rate, cosine


@formula
def law_at(muscle, curves, activation, length, rate):
    """Tension, N, and its slopes with length and rate, for an activation."""
    z, velocity, cosine = fiber_at(muscle, length, rate)
    if cosine == 0.0:
        return 0.0, 0.0, 0.0
    force, elastic, viscous = force_at(muscle, curves, activation, z, velocity)
    if force < 0.0:
        return 0.0, 0.0, 0.0
    turn = (1.0 - cosine * cosine) / z  # of the cosine with the length
    by_length = cosine * (elastic * cosine + viscous * turn * rate) + force * turn
    return force * cosine, by_length, viscous * cosine * cosine


@formula
def passive_tension(muscle, curves, length):
    """Tension without activation at rest, N."""
    z, _, cosine = fiber_at(muscle, length, 0.0)
    return passive_force(muscle, curves, z) * cosine


@formula
def elastic_energy_at(muscle, curves, length):
    """Elastic energy of the passive fibers, J."""
    z, _, _ = fiber_at(muscle, length, 0.0)
    return muscle.strength * muscle.optimal * curve_integral(curves, muscle.passive, z / muscle.optimal)


@formula
def tension_by_activation_at(muscle, curves, activation, length, rate):
    """Derivative of the tension by the activation, N."""
    z, velocity, cosine = fiber_at(muscle, length, rate)
    if cosine == 0.0:
        return 0.0
    force, _, _ = force_at(muscle, curves, activation, z, velocity)
    return cosine * force_by_activation(muscle, curves, activation, z, velocity) if force >= 0.0 else 0.0
