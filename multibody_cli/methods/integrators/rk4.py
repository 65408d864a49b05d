"""The classical Runge-Kutta method of fourth order, fixed step.

The unknowns are the displacements u (nv,) from the start of the step, so that a quaternion is moved by the exponential
of its part of u: a Runge-Kutta-Munthe-Kaas method, exact for a rotation of constant angular velocity.  Angular
velocities are integrated in the axes of their body, where the spin of a symmetric top is constant.  The powers of the
ledger are integrated with the same weights, so that energy balances to the order of the method.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, IV.8.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from multibody_cli.kernel import bound_kernel, formula, template
from multibody_cli.method_kernels import evaluate, evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import Dynamics, Integrator, Kernel, StepControl, Stepper
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.stability import rk4_step_limit
from multibody_cli.methods.integrators.vectors import add_scaled, clear, copy, is_finite, is_finite_and_bounded
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace, displacement_rate, normalize, recentre, turn_with_bodies
from multibody_cli.tree.workspace import Work


@template(evaluate, evaluate_projected, project_onto_constraints)
def take_rk4_steps(system, state, work, scratch, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    q0, v0, u, du, dv, power = scratch
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, power[0])
        if not is_finite(a):
            return -1
    for step in range(first, first + count):
        copy(q, q0)
        copy(v, v0)
        clear(u)
        for stage in range(4):
            if stage > 0:
                evaluate(system, work, start + (step + (0.5 if stage < 3 else 1.0)) * h, q, v, a, power[stage])
            displacement_rate(tree, u, v, du[stage])
            copy(a, dv[stage])
            turn_with_bodies(tree, u, dv[stage], -1.0)
            if stage < 3:
                reach = h if stage == 2 else 0.5 * h
                copy(q0, q)
                copy(v0, v)
                clear(u)
                add_scaled(u, reach, du[stage])
                displace(tree, q, u, 1.0)
                add_scaled(v, reach, dv[stage])
                turn_with_bodies(tree, u, v, 1.0)
        copy(q0, q)
        copy(v0, v)
        clear(u)
        add_weighted(u, h, du)
        displace(tree, q, u, 1.0)
        add_weighted(v, h, dv)
        turn_with_bodies(tree, u, v, 1.0)
        add_weighted(ledger, h, power)
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = start + (step + 1) * h
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, power[0])
        if not is_finite_and_bounded(system.tree, v, a):
            return step - first
    return count


@formula
def add_weighted(target, h, slopes):
    """Target += h/6 (k1 + 2 k2 + 2 k3 + k4)."""
    for i in range(len(target)):
        target[i] += h / 6.0 * (slopes[0, i] + 2.0 * (slopes[1, i] + slopes[2, i]) + slopes[3, i])


@cache
def make(dynamics: Dynamics) -> Kernel:
    """Bind the stepping kernel to a method."""
    return bound_kernel(
        take_rk4_steps,
        evaluate=dynamics.evaluate,
        evaluate_projected=dynamics.evaluate_projected,
        project_onto_constraints=dynamics.project_onto_constraints,
    )


def bind(
    dynamics: Dynamics, system: System, work: Work, contact_work: Any, state: State, control: StepControl
) -> Stepper:
    """Bind to a model."""
    scratch = (
        np.zeros_like(state.q),
        np.zeros_like(state.v),
        np.zeros_like(state.v),
        np.zeros((4, len(state.v))),
        np.zeros((4, len(state.v))),
        np.zeros((4, len(state.ledger))),
    )
    return FixedStepper(make(dynamics), system, work, scratch, control)


INTEGRATOR = Integrator(
    "rk4",
    "fourth order Runge-Kutta, fixed step; the default elsewhere",
    4,
    False,
    bind,
    stable_step=rk4_step_limit,
    feedback_step=rk4_step_limit,
)
