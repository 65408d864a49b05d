"""Muscles: cables with the tension f (a f_L(l) f_V(v) + f_P(l)) of Hill's model with a rigid tendon and no pennation.

With the length L of the path, the fibers have the normalized length and velocity

    l = (L - tendon) / optimal,    v = dL/dt / (optimal * fastest),

positive where they lengthen, and the activation a between 0 and 1 is a function of time.  The passive part is elastic
and holds the energy f optimal * integral of f_P; what the active part does is work.

Source: Sueda, notes 1.9.4 and 1.9.5, (1.38)-(1.39), (1.47)-(1.64); the slopes keep the term of the rate with the
configuration that the notes drop (`forces.cable`).
"""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.cable import COLLAPSED, harden_cable, measure, pull, vary_cable
from multibody_cli.forces.muscle_curves import ACTIVE_KNOTS, VELOCITY_KNOTS, active, passive, passive_energy, velocity
from multibody_cli.kernel import formula, kernel
from multibody_cli.signals import evaluate

MUSCLE = np.dtype(
    [
        ("first", "i8"),  # its points
        ("last", "i8"),
        ("strength", "f8"),  # largest isometric force, N
        ("optimal", "f8"),
        ("tendon", "f8"),
        ("fastest", "f8"),  # optimal lengths a second
        ("activation", "i8"),  # signal
        ("account", "i8"),
    ]
)

TOO_SHORT, TOO_LONG, TOO_FAST, OUT_OF_RANGE = 2, 4, 8, 16
"""Alerts beside 1, a path that collapses: bits."""


@formula
def activation_of(muscle, signals, t):
    """Activation as it counts: from 0 to 1."""
    given, _, _ = evaluate(signals, muscle.activation, t)
    return min(max(given, 0.0), 1.0)


@formula
def law_of(muscle, activation, length, rate):
    """Tension, N, and its slopes with length and rate."""
    x = (length - muscle.tendon) / muscle.optimal
    f_L, dL = active(x)
    f_P, dP = passive(x)
    f_V, dV = velocity(rate / (muscle.optimal * muscle.fastest))
    by_length = muscle.strength * (activation * dL * f_V + dP) / muscle.optimal
    by_rate = muscle.strength * activation * f_L * dV / (muscle.optimal * muscle.fastest)
    return muscle.strength * (activation * f_L * f_V + f_P), by_length, by_rate


@formula
def steadying(law):
    """The law with what feeds energy in left out: fibers that give way as they lengthen."""
    tension, by_length, by_rate = law
    return max(tension, 0.0), max(by_length, 0.0), max(by_rate, 0.0)


@formula
def alert_of(muscle, given, length, rate, shortest):
    """What is to be told: bits."""
    x, v = (length - muscle.tendon) / muscle.optimal, rate / (muscle.optimal * muscle.fastest)
    found = 1 if shortest < COLLAPSED * muscle.optimal else 0
    if x < ACTIVE_KNOTS[0]:
        found |= TOO_SHORT
    if x > ACTIVE_KNOTS[3]:
        found |= TOO_LONG
    if v < VELOCITY_KNOTS[0] or v > VELOCITY_KNOTS[3]:
        found |= TOO_FAST
    if given < -1e-9 or given > 1.0 + 1e-9:
        found |= OUT_OF_RANGE
    return found


@kernel
def push(muscles, points, signals, t, bodies, powers, tells, alerts):
    """Pull the bodies; the work of the active part goes to the account.  Alerts are added up as bits."""
    for k in range(len(muscles)):
        muscle = muscles[k]
        length, rate, shortest = measure(points, muscle.first, muscle.last, bodies)
        tension, _, _ = law_of(muscle, activation_of(muscle, signals, t), length, rate)
        pull(points, muscle.first, muscle.last, tension, bodies)
        held, _, _ = law_of(muscle, 0.0, length, rate)
        powers[muscle.account] -= (tension - held) * rate
        if tells:
            given, _, _ = evaluate(signals, muscle.activation, t)
            alerts[k] |= alert_of(muscle, given, length, rate, shortest)


@kernel
def vary(muscles, points, signals, t, bodies, along, faster, exact, wrenches):
    """Add what a change of the motion makes of the pulls: see `forces.variation`."""
    for k in range(len(muscles)):
        muscle = muscles[k]
        length, rate, _ = measure(points, muscle.first, muscle.last, bodies)
        law = law_of(muscle, activation_of(muscle, signals, t), length, rate)
        if not exact:
            law = steadying(law)
        vary_cable(points, muscle.first, muscle.last, bodies, law, along, faster, exact, wrenches)


@kernel
def harden(muscles, points, signals, t, bodies, along, faster, blocks):
    """Add to the blocks of the bodies."""
    for k in range(len(muscles)):
        muscle = muscles[k]
        length, rate, _ = measure(points, muscle.first, muscle.last, bodies)
        law = steadying(law_of(muscle, activation_of(muscle, signals, t), length, rate))
        harden_cable(points, muscle.first, muscle.last, bodies, law, along, faster, blocks)


@kernel
def elastic_energy(muscles, points, bodies):
    """Energy held by the fibers that are stretched, J."""
    energy = 0.0
    for k in range(len(muscles)):
        muscle = muscles[k]
        length, _, _ = measure(points, muscle.first, muscle.last, bodies)
        energy += muscle.strength * muscle.optimal * passive_energy((length - muscle.tendon) / muscle.optimal)
    return energy


@kernel
def observe(muscles, points, signals, t, bodies, lengths, rates, tensions, activations):
    """Length and velocity of the fibers, tension and activation of every muscle."""
    for k in range(len(muscles)):
        muscle = muscles[k]
        length, rate, _ = measure(points, muscle.first, muscle.last, bodies)
        activation = activation_of(muscle, signals, t)
        lengths[k], rates[k], activations[k] = length, rate, activation
        tensions[k], _, _ = law_of(muscle, activation, length, rate)
