"""Completion of a step: momenta, applied forces and velocities at its end, which is the start of the next step.

The discrete Legendre transform gives the momenta p' = D_2 L_d; the velocities follow from M(q') v' = p'.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.forces.elements import apply_forces
from multibody_cli.kernel import kernel
from multibody_cli.tree.configuration import recentre
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.variational.constrained import clear_loop_coordinates
from multibody_cli.variational.discrete_motion import (
    discrete_legendre_transform,
    initialize_momenta,
    kick,
    momentum_residuals,
    store_start_of_step,
)


# --- template parameters ------------------------------------------------------------------------------------------
def evaluate(system: Any, work: Any, t: float, q: Any, v: Any, a: Any, powers: Any) -> None:
    """Template parameter: the kernel that computes accelerations (`methods.contract`)."""


def begin_constraints(work: Any, step: Any) -> None:
    """Template parameter: store the multipliers and the errors of the rows at the start of the run."""


def velocities_from_momenta(system: Any, work: Any, step: Any, v: Any, ledger: Any) -> None:
    """Template parameter: compute the velocities from the momenta."""


def complete_step(system, work, step, t, h, q, v, a, powers, ledger):
    """Complete a converged step in place (discrete Legendre transform); t is the time of its end."""
    tree, order = system.tree, 1.0 / step.settings.first_kick
    discrete_legendre_transform(tree.links, step.discrete_motions)
    for k in range(len(q)):
        q[k] = step.q[k]
    for j in range(len(v)):
        step.extrapolation[j] = (step.rate[j] - v[j] - 0.5 * h * step.a[j]) / (h * h)
        v[j] = order * step.rate[j] - (order - 1.0) * v[j]
    recentre(tree, q, v)
    evaluate(system, work, t, q, v, a, powers)
    write_ball_columns(tree, work)
    store_start_of_step(tree, work.bodies, step.discrete_motions)
    share = (1.0 - step.settings.first_kick) * h
    kick(step.discrete_motions, share)
    store_forces(system.tree, work, step, a)
    for j in range(len(v)):
        step.residual_carry_over[j] += share * step.tau[j]
    momentum_residuals(tree.links, work.bodies, step.discrete_motions, work.wrenches)
    velocities_from_momenta(system, work, step, v, ledger)
    compute_powers(system, work, step, t, q, v, powers)


def begin_first_step(system, work, step, t, q, v, a, powers):
    """Make the state (t, q, v) the start of the first step; computes its accelerations and powers."""
    evaluate(system, work, t, q, v, a, powers)
    write_ball_columns(system.tree, work)
    store_start_of_step(system.tree, work.bodies, step.discrete_motions)
    initialize_momenta(system.tree.links, work.bodies, step.discrete_motions)
    store_forces(system.tree, work, step, a)
    begin_constraints(work, step)
    for j in range(len(v)):
        step.rate[j] = v[j]
        step.residual_carry_over[j] = step.extrapolation[j] = 0.0


@kernel
def store_forces(tree, work, step, a):
    """Store accelerations, and the generalized forces that are not applied to bodies."""
    for j in range(len(a)):
        step.a[j] = a[j]
        step.tau[j] = work.tau[j]
    clear_loop_coordinates(tree, step.tau)


@kernel
def compute_powers(system, work, step, t, q, v, powers):
    """Compute the powers of all forces at the velocities from the momenta; prescribed motions keep their powers."""
    rows = system.motions.rows
    apply_forces(system.forces, t, q, v, work, step.powers)
    for k in range(len(rows)):
        step.powers[rows[k].account] = powers[rows[k].account]
    for i in range(len(powers)):
        powers[i] = step.powers[i]
