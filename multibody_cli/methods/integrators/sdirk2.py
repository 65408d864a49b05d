"""Singly diagonally implicit Runge-Kutta method of second order, L-stable, fixed step.

With g = 1 - 1/sqrt(2), the two stages of a step of h lie at t + g h and at its end,

    V1 = v + h g A1,                        Q1 = q displaced by h g V1,
    V2 = v + h ((1 - g) A1 + g A2),         Q2 = q displaced by h ((1 - g) V1 + g V2),

where each A is the acceleration at its own Q and V, and the second stage is the end of the step.  The A, V or Q
that a motion prescribes are those at the time of the stage.  Newton's method solves for A: with
M' = M - g h D - (g h)^2 K, an evaluation with implicit forces (`implicit.implicit_forces`) yields the next iterate,

    M' A' = f(Q, V, t) + (M' - M) A.

The first iteration, from A = 0, is a linearly implicit step.  Derivatives that M' neglects cost iterations, not
accuracy.  Stiff springs and dampers need no small steps: motion faster than the step is damped, slow motion is of
second order.

Sources: Alexander, Diagonally implicit Runge-Kutta methods for stiff O.D.E.'s, SIAM J. Numer. Anal. 14 (1977); Hairer
and Wanner, Solving Ordinary Differential Equations II, IV.6.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from multibody_cli.forces.states import (
    load_states,
    move_starts,
    store_states,
    store_states_after_steps,
    take_implicitly,
)
from multibody_cli.implicit.implicit_forces import set_implicit_coefficients
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import kernel, template
from multibody_cli.linalg.vectors import add_scaled, copy
from multibody_cli.method_kernels import evaluate, evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import Dynamics, Integrator, Report, Status, StepControl, Stepper
from multibody_cli.methods.integrators import stability
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.model import Integers, State, System
from multibody_cli.tree.configuration import displace, free_end, normalize, recentre
from multibody_cli.tree.workspace import Work

GAMMA = 1.0 - 1.0 / math.sqrt(2.0)

MAX_NEWTON_ITERATIONS = 30
"""Maximum number of Newton iterations per stage."""

STAGE_TOLERANCE = 1e-10
"""Change of the accelerations, relative to them, at which a stage has converged."""

ROUND_OFF = 1e-14
"""Change of the velocities, relative to them, and of the weighted coordinates, that counts as round-off.

At rest, the round-off of a length times the stiffness of a spring moves bodies by no more.
"""


@template(evaluate, evaluate_projected, project_onto_constraints)
def take_sdirk2_steps(system, state, work, scratch, h, start, first, count, fresh):
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    q0, v0, displacement, base, powers, not_converged = scratch
    not_converged[0], states = 0, system.forces.states
    load_states(states, state.z)
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, powers[0])
        store_states(states, state.z)
        if not is_finite(a):
            return -1
    done = 0
    while done < count:
        copy(q, q0)
        copy(v, v0)
        copy(v, base)
        for j in range(len(v)):
            displacement[j] = a[j] = 0.0  # the explicit accelerations of stiff springs are a bad guess
        take_implicitly(states, GAMMA * h)
        if not solve_stage(system, work, time[0] + GAMMA * h, GAMMA * h, q0, base, displacement, q, v, a, powers[0]):
            not_converged[0] = 1
            copy(q0, q)
            load_states(states, state.z)
            break
        for j in range(len(v)):
            displacement[j] = (1.0 - GAMMA) * h * v[j]
            base[j] = v0[j] + (1.0 - GAMMA) * h * a[j]
        move_starts(states, (1.0 - GAMMA) * h)
        end = start + (first + done + 1) * h
        if not solve_stage(system, work, end, GAMMA * h, q0, base, displacement, q, v, a, powers[1]):
            not_converged[0] = 1
            copy(q0, q)
            load_states(states, state.z)
            break
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = end
        for k in range(len(ledger)):
            ledger[k] += h * ((1.0 - GAMMA) * powers[0, k] + GAMMA * powers[1, k])
        store_states_after_steps(states, state.z, ledger)
        load_states(states, state.z)
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, powers[0])
        if not is_finite_and_bounded(system.tree, v, a):
            break
        done += 1
    return done


@template(evaluate)
def solve_stage(system, work, t, h, q0, base, displacement, q, v, a, powers):
    """Solve a stage for q, v = base + h a and the accelerations a, from a guess of a; return whether it converged.

    q is q0 displaced by displacement + h v.
    """
    tree, driven, implicit_rates = system.tree, system.tree.driven, work.implicit_rates
    prescribe(system.motions, t, q, v, a)
    set_implicit_coefficients(system.tree, work, h, -h * h, -h)
    converged = False
    for _ in range(MAX_NEWTON_ITERATIONS):
        copy(base, v)
        add_scaled(v, h, a)
        prescribe(system.motions, t, q, v, a)
        copy(q0, q)
        for j in range(len(v)):
            implicit_rates[j] = displacement[j] + h * v[j]
        displace(system.tree, q, implicit_rates, 1.0)
        for j in range(len(v)):
            implicit_rates[j] = 0.0 if driven[j] else a[j]
        evaluate(system, work, t, q, v, a, powers)
        if not is_finite(a):
            break
        change, largest, fastest = stage_changes(tree, implicit_rates, a, v)
        if change <= STAGE_TOLERANCE * largest or h * change <= ROUND_OFF * max(fastest, 1.0 / h):
            converged = True
            break
    set_implicit_coefficients(system.tree, work, 0.0, 0.0, 0.0)
    return converged


@kernel
def stage_changes(tree, before, after, v):
    """Return the largest change of the accelerations, acceleration, and velocity, weighted.

    Those of loop joints do not count.
    """
    change, largest, fastest = 0.0, 0.0, 0.0
    for j in range(free_end(tree)):
        fastest = max(fastest, abs(v[j]) * tree.weights[j])
        if not tree.driven[j]:
            change = max(change, abs(after[j] - before[j]) * tree.weights[j])
            largest = max(largest, abs(after[j]) * tree.weights[j])
    return change, largest, fastest


class ImplicitStepper(FixedStepper):
    """Reports stages for which Newton's method did not converge."""

    def __init__(self, not_converged: Integers, *args: Any) -> None:
        super().__init__(*args)
        self._not_converged = not_converged

    def _failure(self) -> Report:
        """Return the report of steps that failed."""
        report = super()._failure()
        if not self._not_converged[0]:
            return report
        return report._replace(status=Status.NOT_CONVERGED)


def bind(
    dynamics: Dynamics, system: System, work: Work, contact_work: Any, state: State, control: StepControl
) -> Stepper:
    """Allocate the arrays of the steps, and return the stepper of a method and a model."""
    q, v = state.q, state.v
    not_converged = np.zeros(1, np.int64)
    scratch = (np.zeros_like(q), *(np.zeros_like(v) for _ in range(3)), np.zeros((2, len(state.ledger))), not_converged)
    return ImplicitStepper(not_converged, dynamics.bind(take_sdirk2_steps), system, work, scratch, control)


INTEGRATOR = Integrator(
    "sdirk2",
    "second order, implicit in all springs, dampers and muscles, fixed step",
    2,
    False,
    bind,
    implicit=True,
    stability_function=stability.sdirk2,
)
"""L-stable: motion faster than the step is damped."""
