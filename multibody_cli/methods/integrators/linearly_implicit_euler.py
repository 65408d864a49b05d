"""Linearly implicit Euler: forces of springs, dampers and muscles at the end of the step, to first order.

With K and D the derivatives of all forces with respect to positions and rates, v' = v + h x and q' = q displaced by h
v', where

    (M - h D - h^2 K) x = f(q, v, t) + h K v.

This is one evaluation with implicit forces (`implicit.implicit_forces`).  The method is of first order.  Stiff springs
need no small steps, but motion faster than the step is damped.  All other forces are treated as in semi-implicit Euler.

Source: Sueda, notes 2.5, (2.77)-(2.79); Baraff and Witkin 1998.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from multibody_cli.forces.states import load_states, store_states, store_states_after_steps, take_implicitly, take_step
from multibody_cli.implicit.implicit_forces import set_implicit_coefficients
from multibody_cli.kernel import template
from multibody_cli.linalg.vectors import add_scaled, copy
from multibody_cli.method_kernels import (
    evaluate,
    evaluate_projected,
    finalize_output,
    finish_contact_step,
    project_onto_constraints,
    solve_contact_step,
)
from multibody_cli.methods.contract import Dynamics, Integrator, StepControl, Stepper
from multibody_cli.methods.integrators.at_knots import smoothed_steps
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.stability import implicit_euler, semi_implicit_euler_step_limit
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace, normalize, recentre
from multibody_cli.tree.workspace import Work


@template(
    evaluate,
    evaluate_projected,
    project_onto_constraints,
    solve_contact_step,
    finish_contact_step,
    finalize_output,
)
def take_implicit_steps(system, state, work, scratch, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    before, after, rates, contact_work = scratch
    done, states = 0, system.forces.states
    load_states(states, state.z)
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        if len(states) > 0:
            evaluate(system, work, time[0], q, v, a, before)
            store_states(states, state.z)
            load_states(states, state.z)
    set_implicit_coefficients(system.tree, work, h, h, 0.0)
    take_implicitly(states, h)
    copy(v, work.implicit_rates)
    evaluate(system, work, time[0], q, v, a, before)
    valid = is_finite(a)
    while valid and done < count:
        copy(v, rates)
        add_scaled(v, h, a)
        if not solve_contact_step(system, work, contact_work, time[0], h, q, rates, v, ledger):
            valid = False
            break
        displace(tree, q, v, h)
        normalize(tree, q)
        recentre(tree, q, v)
        finish_contact_step(system, work, contact_work, q)
        time[0] = start + (first + done + 1) * h
        take_step(states, h)
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        copy(v, work.implicit_rates)
        evaluate_projected(system, work, time[0], q, v, a, after)
        valid = is_finite_and_bounded(system.tree, v, a)
        if valid:
            done += 1
            for i in range(len(ledger)):
                ledger[i] += 0.5 * h * (before[i] + after[i])
                before[i] = after[i]
    set_implicit_coefficients(system.tree, work, 0.0, 0.0, 0.0)
    take_implicitly(states, 0.0)
    store_states_after_steps(states, state.z, ledger)
    if valid:  # accelerations as they are, for output
        evaluate(system, work, time[0], q, v, a, after)
        finalize_output(system, work, contact_work, state, after, h)
    return -1 if fresh and done == 0 and not valid else done


def bind(
    dynamics: Dynamics, system: System, work: Work, contact_work: Any, state: State, control: StepControl
) -> Stepper:
    """Allocate the arrays of the steps, and return the stepper of a method and a model."""
    work.dual.lag[0] = 0.5  # the path of a step has the rates of its end
    scratch = (np.zeros_like(state.ledger), np.zeros_like(state.ledger), np.zeros_like(state.v), contact_work)
    return FixedStepper(dynamics.bind(take_implicit_steps), system, work, scratch, control, smoothed_steps)


INTEGRATOR = Integrator(
    "linearly_implicit_euler",
    "first order, implicit in all springs, dampers and muscles, fixed step",
    1,
    False,
    bind,
    supports_contacts=True,
    implicit=True,
    feedback_step=semi_implicit_euler_step_limit,
    stability_function=implicit_euler,
)
