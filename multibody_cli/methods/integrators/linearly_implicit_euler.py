"""Linearly implicit Euler: springs, dampers and muscles push as they will at the end of the step.

With K and D the derivatives of all forces by positions and rates, v' = v + h x and q' = q moved by h v', where

    (M - h D - h^2 K) x = f(q, v, t) + h K v.

That is one evaluation with implicit forces (`implicit.implicit_forces`).  First order; stiff springs need no small
steps, but motion that is faster than the step loses its energy.  Everything else is taken as semi-implicit Euler takes
it.

Source: Sueda, notes 2.5, (2.77)-(2.79); Baraff and Witkin 1998.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from multibody_cli.implicit.implicit_forces import look_ahead
from multibody_cli.kernel import bound_kernel
from multibody_cli.methods.contract import (
    Dynamics,
    Integrator,
    Kernel,
    StepControl,
    Stepper,
    collide,
    conclude,
    evaluate,
    restore,
)
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.vectors import add_scaled, copy, is_finite, is_sound
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace, normalize, recentre
from multibody_cli.tree.workspace import Work


def take_implicit_steps(system, state, work, scratch, h, start, first, count) -> int:
    """Take `count` steps of h; how many ended sound, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    before, after, touch = scratch
    done = 0
    if first == 0:
        restore(system, work, time[0], q, v, a, ledger)
    look_ahead(work, h, h, 0.0)
    copy(v, work.ahead)
    evaluate(system, work, time[0], q, v, a, before)
    sound = is_finite(a)
    while sound and done < count:
        add_scaled(v, h, a)
        if not collide(system, work, touch, time[0], h, q, v, ledger):
            sound = False
            break
        displace(tree, q, v, h)
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = start + (first + done + 1) * h
        restore(system, work, time[0], q, v, a, ledger)
        copy(v, work.ahead)
        evaluate(system, work, time[0], q, v, a, after)
        sound = is_sound(v, a)
        if sound:
            done += 1
            for i in range(len(ledger)):
                ledger[i] += 0.5 * h * (before[i] + after[i])
                before[i] = after[i]
    look_ahead(work, 0.0, 0.0, 0.0)
    if sound:  # accelerations as they are, for output
        evaluate(system, work, time[0], q, v, a, after)
        conclude(system, work, touch, time[0], h, q, v, a, after)
    return done if first + done > 0 or sound else -1


@cache
def make(dynamics: Dynamics) -> Kernel:
    """Make the stepping kernel of one method."""
    return bound_kernel(take_implicit_steps, **dynamics.kernels)


def bind(dynamics: Dynamics, system: System, work: Work, touch: Any, state: State, control: StepControl) -> Stepper:
    """Bind to a model."""
    scratch = (np.zeros_like(state.ledger), np.zeros_like(state.ledger), touch)
    return FixedStepper(make(dynamics), system, work, scratch, control)


INTEGRATOR = Integrator(
    "linearly_implicit_euler",
    "first order, implicit in all springs, dampers and muscles, fixed step",
    1,
    False,
    bind,
    collides=True,
    implicit=True,
)
