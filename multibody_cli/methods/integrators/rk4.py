"""The classical Runge-Kutta method of fourth order, fixed step.

Quaternions are integrated in their four numbers and brought back to unit length after each step; the ledger's powers
are integrated with the same weights, so that energy balances to the order of the method.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from multibody_cli.dynamics.configuration import normalize, rate, recentre
from multibody_cli.dynamics.workspace import Work
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.contract import Integrator, Kernel, Stepper, StepControl, evaluate
from multibody_cli.methods.integrators.fixed_step import FixedStepper, is_finite
from multibody_cli.model import State, System


def take_rk4_steps(system, state, work, scratch, h, first, count):
    """Take `count` steps of h; how many ended with finite accelerations."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    q0, v0, dq, dv, power = scratch
    evaluate(system, work, time[0], q, v, a, power[0])
    for step in range(first, first + count):
        q0[:] = q
        v0[:] = v
        for stage in range(4):
            if stage > 0:
                evaluate(system, work, (step + (0.5 if stage < 3 else 1.0)) * h, q, v, a, power[stage])
            rate(tree, q, v, dq[stage])
            dv[stage, :] = a
            if stage < 3:
                reach = h if stage == 2 else 0.5 * h
                for i in range(len(q)):
                    q[i] = q0[i] + reach * dq[stage, i]
                for i in range(len(v)):
                    v[i] = v0[i] + reach * dv[stage, i]
        for i in range(len(q)):
            q[i] = q0[i] + h / 6.0 * (dq[0, i] + 2.0 * (dq[1, i] + dq[2, i]) + dq[3, i])
        for i in range(len(v)):
            v[i] = v0[i] + h / 6.0 * (dv[0, i] + 2.0 * (dv[1, i] + dv[2, i]) + dv[3, i])
        for i in range(len(ledger)):
            ledger[i] += h / 6.0 * (power[0, i] + 2.0 * (power[1, i] + power[2, i]) + power[3, i])
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = (step + 1) * h
        evaluate(system, work, time[0], q, v, a, power[0])
        if not is_finite(a):
            return step - first
    return count


@cache
def make(method: str, evaluate: Kernel) -> Kernel:
    """Make the stepping kernel of one method."""
    return bound_kernel(take_rk4_steps, method, evaluate=evaluate)  # type: ignore[no-any-return]


def bind(method: str, evaluate: Kernel, system: System, work: Work, state: State, control: StepControl) -> Stepper:
    """Bind to a model."""
    scratch = (
        np.zeros_like(state.q),
        np.zeros_like(state.v),
        np.zeros((4, len(state.q))),
        np.zeros((4, len(state.v))),
        np.zeros((4, len(state.ledger))),
    )
    return FixedStepper(make(method, evaluate), system, work, scratch, control)


INTEGRATOR = Integrator("rk4", "fourth order Runge-Kutta, fixed step", 4, False, bind)
