"""Singly diagonally implicit Runge-Kutta method of second order, L-stable, fixed step.

With g = 1 - 1/sqrt(2), the two stages of a step of h lie at t + g h and at its end,

    V1 = v + h g A1,                        Q1 = q moved by h g V1,
    V2 = v + h ((1 - g) A1 + g A2),         Q2 = q moved by h ((1 - g) V1 + g V2),

where each A is the acceleration at its own Q and V, and the second stage is the end of the step.  Newton's method finds
A: with M' = M - g h D - (g h)^2 K, an evaluation with implicit forces (`implicit.implicit_forces`) gives the next one,

    M' A' = f(Q, V, t) + (M' - M) A.

The first round, from A = 0, is a linearly implicit step.  What M' leaves out of the derivatives costs rounds, not
accuracy.  Stiff springs and dampers cost no small steps: what is faster than the step dies out, while slow motion is
of second order.

Sources: Alexander, Diagonally implicit Runge-Kutta methods for stiff O.D.E.'s, SIAM J. Numer. Anal. 14 (1977);
Hairer and Wanner, Solving Ordinary Differential Equations II, IV.6.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from multibody_cli.implicit.implicit_forces import free_end, look_ahead
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.methods.contract import (
    Dynamics,
    Integrator,
    Kernel,
    Report,
    Status,
    StepControl,
    Stepper,
    evaluate,
    restore,
)
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.vectors import add_scaled, copy, is_finite, is_sound
from multibody_cli.model import Integers, State, System
from multibody_cli.tree.configuration import displace, normalize, recentre
from multibody_cli.tree.workspace import Work

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

ROUNDS = 30
"""Rounds of Newton's method for a stage, at most."""

FOUND = 1e-10
"""A change of the accelerations, relative to them, with which a stage is found."""

ROUND_OFF = 1e-14
"""The same for what it changes in the velocities, which carry no more digits than these, and in the coordinates, m or
rad: at rest, what the round-off of a length makes of the force of a stiff spring moves things by no more."""


def take_sdirk2_steps(system, state, work, scratch, h, start, first, count):
    """Take `count` steps of h; how many ended sound, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    q0, v0, drift, base, powers, lost = scratch
    lost[0] = 0
    if first == 0:
        restore(system, work, time[0], q, v, a, ledger)
        evaluate(system, work, time[0], q, v, a, powers[0])
        if not is_finite(a):
            return -1
    done = 0
    while done < count:
        copy(q, q0)
        copy(v, v0)
        copy(v, base)
        for j in range(len(v)):
            drift[j] = a[j] = 0.0  # what stiff springs do now would lead far astray
        if not find_stage(system, work, time[0] + GAMMA * h, GAMMA * h, q0, base, drift, q, v, a, powers[0]):
            lost[0] = 1
            break
        for j in range(len(v)):
            drift[j] = (1.0 - GAMMA) * h * v[j]
            base[j] = v0[j] + (1.0 - GAMMA) * h * a[j]
        end = start + (first + done + 1) * h
        if not find_stage(system, work, end, GAMMA * h, q0, base, drift, q, v, a, powers[1]):
            lost[0] = 1
            break
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = end
        for k in range(len(ledger)):
            ledger[k] += h * ((1.0 - GAMMA) * powers[0, k] + GAMMA * powers[1, k])
        restore(system, work, time[0], q, v, a, ledger)
        evaluate(system, work, time[0], q, v, a, powers[0])
        if not is_sound(v, a):
            break
        done += 1
    return done


def find_stage(system, work, t, h, q0, base, drift, q, v, a, powers):
    """Find q, v = base + h a and the accelerations a of a stage, from a guess of a; whether they were found.

    q is q0 moved by drift + h v.
    """
    driven, ahead = system.tree.driven, work.ahead
    look_ahead(work, h, -h * h, -h)
    found = False
    for _ in range(ROUNDS):
        copy(base, v)
        add_scaled(v, h, a)
        copy(q0, q)
        for j in range(len(v)):
            ahead[j] = drift[j] + h * v[j]
        displace(system.tree, q, ahead, 1.0)
        for j in range(len(v)):
            ahead[j] = 0.0 if driven[j] else a[j]
        evaluate(system, work, t, q, v, a, powers)
        if not is_finite(a):
            break
        change, largest, fastest = spread_of(driven, free_end(system.tree), ahead, a, v)
        if change <= FOUND * largest or h * change <= ROUND_OFF * max(fastest, 1.0 / h):
            found = True
            break
    look_ahead(work, 0.0, 0.0, 0.0)
    return found


@kernel
def spread_of(driven, last, before, after, v):
    """Largest change of the accelerations, largest acceleration, and largest velocity, of coordinates up to `last`."""
    change, largest, fastest = 0.0, 0.0, 0.0
    for j in range(last):
        fastest = max(fastest, abs(v[j]))
        if not driven[j]:
            change = max(change, abs(after[j] - before[j]))
            largest = max(largest, abs(after[j]))
    return change, largest, fastest


@cache
def make(dynamics: Dynamics) -> Kernel:
    """Make the stepping kernel of one method."""
    stage = bound_kernel(find_stage, evaluate=dynamics.evaluate)
    kernels = {"evaluate": dynamics.evaluate, "restore": dynamics.restore, "find_stage": stage}
    return bound_kernel(take_sdirk2_steps, **kernels)


class ImplicitStepper(FixedStepper):
    """Tells of a stage that Newton's method did not find."""

    def __init__(self, lost: Integers, *args: Any) -> None:
        super().__init__(*args)
        self._lost = lost

    def advance(self, state: State, until: float) -> Report:
        """Take the whole number of steps that lead to `until`."""
        report = super().advance(state, until)
        if report.status is Status.OK or not self._lost[0]:
            return report
        return report._replace(status=Status.NOT_FOUND, remedy="Try a smaller `simulation.step`.")


def bind(dynamics: Dynamics, system: System, work: Work, touch: Any, state: State, control: StepControl) -> Stepper:
    """Bind to a model."""
    q, v = state.q, state.v
    lost = np.zeros(1, np.int64)
    scratch = (np.zeros_like(q), *(np.zeros_like(v) for _ in range(3)), np.zeros((2, len(state.ledger))), lost)
    return ImplicitStepper(lost, make(dynamics), system, work, scratch, control)


INTEGRATOR = Integrator(
    "sdirk2", "second order, implicit in all springs, dampers and muscles, fixed step", 2, False, bind, implicit=True
)
"""L-stable: what is faster than the step dies out."""
