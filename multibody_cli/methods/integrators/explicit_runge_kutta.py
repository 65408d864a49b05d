"""Explicit Runge-Kutta methods with a fixed step, from their tableaux.

The unknowns are the displacements u (nv,) from the start of the step, so that a quaternion is moved by the exponential
of its part of u: Runge-Kutta-Munthe-Kaas methods, exact for a rotation of constant angular velocity.  Angular
velocities are integrated in the axes of their body, where the spin of a symmetric top is constant.  The powers of the
ledger are integrated with the same weights, so that energy balances to the order of the method.

Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, IV.8.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, NamedTuple

from multibody_cli.forces.states import load_states, store_rates, store_states, store_states_after_steps
from multibody_cli.kernel import Floats, allocate, formula, template
from multibody_cli.linalg.vectors import add_scaled, clear, copy
from multibody_cli.method_kernels import evaluate, evaluate_projected, project_onto_constraints
from multibody_cli.methods.contract import Dynamics, Integrator, StepControl, Stepper
from multibody_cli.methods.integrators.fixed_step import FixedStepper
from multibody_cli.methods.integrators.stability import step_limit_of
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.methods.tableau import Tableau
from multibody_cli.model import State, System
from multibody_cli.tree.configuration import displace, displacement_rate, normalize, recentre, turn_with_bodies
from multibody_cli.tree.workspace import Work


class Stages(NamedTuple):
    """The tableau, the start of a step, and the slopes of its stages."""

    tableau: Tableau
    q: Annotated[Floats, "nq"]
    v: Annotated[Floats, "nv"]
    u: Annotated[Floats, "nv"]  # displacement from the start
    du: Annotated[Floats, "stages", "nv"]
    dv: Annotated[Floats, "stages", "nv"]
    power: Annotated[Floats, "stages", "accounts"]
    z: Annotated[Floats, "nz"]
    dz: Annotated[Floats, "stages", "nz"]


@template(evaluate, evaluate_projected, project_onto_constraints)
def take_explicit_steps(system, state, work, stages, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    tree, time, q, v, a, ledger = system.tree, state.time, state.q, state.v, state.a, state.ledger
    A, b, c = stages.tableau.A, stages.tableau.b, stages.tableau.c
    u, du, dv, power, z, dz = stages.u, stages.du, stages.dv, stages.power, state.z, stages.dz
    states = system.forces.states
    load_states(states, z)
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, power[0])
        store_rates(states, dz[0])
        store_states(states, z)
        if not is_finite(a):
            return -1
    for step in range(first, first + count):
        copy(q, stages.q)
        copy(v, stages.v)
        copy(z, stages.z)
        clear(u)
        for stage in range(len(b)):
            if stage > 0:
                move_from_start(tree, stages, h, A[stage], stage, q, v)
                change_states(states, stages, h, A[stage], stage, z)
                evaluate(system, work, start + (step + c[stage]) * h, q, v, a, power[stage])
                store_rates(states, dz[stage])
            displacement_rate(tree, u, v, du[stage])
            copy(a, dv[stage])
            turn_with_bodies(tree, u, dv[stage], -1.0)
        move_from_start(tree, stages, h, b, len(b), q, v)
        change_states(states, stages, h, b, len(b), z)
        for stage in range(len(b)):
            add_scaled(ledger, h * b[stage], power[stage])
        normalize(tree, q)
        recentre(tree, q, v)
        time[0] = start + (step + 1) * h
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        evaluate_projected(system, work, time[0], q, v, a, power[0])
        store_rates(states, dz[0])
        store_states_after_steps(states, z, ledger)
        if not is_finite_and_bounded(system.tree, v, a):
            return step - first
    return count


@formula
def move_from_start(tree, stages, h, weights, count, q, v):
    """Compute q and v from those at the start, along the weighted sum of the first `count` slopes."""
    u = stages.u
    copy(stages.q, q)
    copy(stages.v, v)
    clear(u)
    for j in range(count):
        if weights[j] != 0.0:
            add_scaled(u, h * weights[j], stages.du[j])
            add_scaled(v, h * weights[j], stages.dv[j])
    displace(tree, q, u, 1.0)
    turn_with_bodies(tree, u, v, 1.0)


@formula
def change_states(states, stages, h, weights, count, z):
    """Compute the states of force elements from those at the start, like `move_from_start`."""
    copy(stages.z, z)
    for j in range(count):
        if weights[j] != 0.0:
            add_scaled(z, h * weights[j], stages.dz[j])
    load_states(states, z)


def bind(
    tableau: Tableau,
    dynamics: Dynamics,
    system: System,
    work: Work,
    contact_work: Any,
    state: State,
    control: StepControl,
) -> Stepper:
    """Bind a tableau to a method and a model."""
    sizes = {"nq": len(state.q), "nv": len(state.v), "accounts": len(state.ledger), "stages": len(tableau.b)}
    sizes["nz"] = len(state.z)
    stages = allocate(Stages, tableau=tableau, **sizes)
    return FixedStepper(dynamics.bind(take_explicit_steps), system, work, stages, control)


def explicit_integrator(name: str, description: str, order: int, tableau: Tableau) -> Integrator:
    """Return the integrator of a tableau."""
    limit = step_limit_of(tableau)
    bound = partial(bind, tableau)
    return Integrator(name, description, order, False, bound, stable_step=limit, feedback_step=limit, tableau=tableau)
