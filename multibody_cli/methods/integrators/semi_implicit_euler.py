"""Semi-implicit Euler: v' = v + h a(q, v, t), q' = q displaced by h v'.  First order; symplectic for separable systems.

Each account of the ledger is integrated by the mean of its power before and after the step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.forces.states import load_states, store_states, store_states_after_steps, take_step
from multibody_cli.kernel import template
from multibody_cli.linalg.vectors import add_scaled, copy
from multibody_cli.method_kernels import (
    displace_step,
    evaluate_projected,
    finalize_output,
    finish_contact_step,
    project_onto_constraints,
    restore_factors,
    resume_stepping,
    solve_contact_step,
)
from multibody_cli.methods.contract import Dynamics, Integrator, StepControl, Stepper
from multibody_cli.methods.integrators.at_knots import smoothed_steps
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.stability import semi_implicit_euler_step_limit
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import recentre
from multibody_cli.tree.workspace import Work


@template(
    evaluate_projected,
    project_onto_constraints,
    solve_contact_step,
    finish_contact_step,
    finalize_output,
    resume_stepping,
    displace_step,
    restore_factors,
)
def take_euler_steps(system, state, work, scratch, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    before, after, rates, contact_work, evaluations = scratch
    load_states(system.forces.states, state.z)
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, before)
        store_states(system.forces.states, state.z)
        if not is_finite(a):
            return -1
    else:
        resume_stepping(work, contact_work, a)
        if evaluations[0] != work.dual.evaluations[0]:
            restore_factors(system, work, time[0], q, v, a)
    for step in range(first + 1, first + count + 1):
        copy(v, rates)
        add_scaled(v, h, a)
        if not solve_contact_step(system, work, contact_work, time[0], h, q, rates, v, ledger):
            return step - first - 1
        displace_step(system, work, h, q, v)
        recentre(tree, q, v)
        finish_contact_step(system, work, contact_work, q)
        time[0] = start + step * h
        take_step(system.forces.states, h)
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, after)
        store_states_after_steps(system.forces.states, state.z, ledger)
        if not is_finite_and_bounded(system.tree, v, a):
            return step - first - 1
        for i in range(len(ledger)):
            ledger[i] += 0.5 * h * (before[i] + after[i])
            before[i] = after[i]
    finalize_output(system, work, contact_work, state, after, h)
    evaluations[0] = work.dual.evaluations[0]
    return count


def bind(
    dynamics: Dynamics, system: System, work: Work, contact_work: Any, state: State, control: StepControl
) -> Stepper:
    """Allocate the arrays of the steps, and return the stepper of a method and a model."""
    work.dual.lag[0] = 0.5  # the path of a step has the rates of its end
    powers = np.zeros_like(state.ledger), np.zeros_like(state.ledger)
    scratch = (*powers, np.zeros_like(state.v), contact_work, np.zeros(1, np.int64))
    return FixedStepper(dynamics.bind(take_euler_steps), system, work, scratch, control, smoothed_steps)


INTEGRATOR = Integrator(
    "semi_implicit_euler",
    "first order, symplectic, fixed step; the default with contacts or joint friction",
    1,
    False,
    bind,
    supports_contacts=True,
    stable_step=semi_implicit_euler_step_limit,
    feedback_step=semi_implicit_euler_step_limit,
)
