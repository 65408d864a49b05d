"""Heun's method: second order, fixed step."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from multibody_cli.kernel import bound_kernel, template
from multibody_cli.method_kernels import evaluate, project_onto_constraints
from multibody_cli.methods.contract import Dynamics, Integrator, Kernel, StepControl, Stepper
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.vectors import add_scaled, copy, is_finite, is_finite_and_bounded
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import normalize, rate, recentre
from multibody_cli.tree.workspace import Work


@template(evaluate, project_onto_constraints)
def take_heun_steps(system, state, work, scratch, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    dq, end_dq, dv, power, end_power = scratch
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate(system, work, time[0], q, v, a, power)
        if not is_finite(a):
            return -1
    for step in range(first + 1, first + count + 1):
        rate(tree, q, v, dq)
        copy(a, dv)
        add_scaled(q, h, dq)
        add_scaled(v, h, dv)
        evaluate(system, work, start + step * h, q, v, a, end_power)
        rate(tree, q, v, end_dq)
        add_scaled(q, -0.5 * h, dq)
        add_scaled(q, 0.5 * h, end_dq)
        add_scaled(v, -0.5 * h, dv)
        add_scaled(v, 0.5 * h, a)
        add_scaled(ledger, 0.5 * h, power)
        add_scaled(ledger, 0.5 * h, end_power)
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = start + step * h
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate(system, work, time[0], q, v, a, power)
        if not is_finite_and_bounded(system.tree, v, a):
            return step - first - 1
    return count


@cache
def make(dynamics: Dynamics) -> Kernel:
    """Bind the stepping kernel to a method."""
    return bound_kernel(
        take_heun_steps, evaluate=dynamics.evaluate, project_onto_constraints=dynamics.project_onto_constraints
    )


def bind(
    dynamics: Dynamics, system: System, work: Work, contact_work: Any, state: State, control: StepControl
) -> Stepper:
    """Bind to a model."""
    arrays = (state.q, state.q, state.v, state.ledger, state.ledger)
    return FixedStepper(make(dynamics), system, work, tuple(np.zeros_like(array) for array in arrays), control)


INTEGRATOR = Integrator("heun", "second order, fixed step", 2, False, bind)
