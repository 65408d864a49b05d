"""Steps of a variational method: subdivision, composition to higher order, and the kernels of a step.

A step that does not converge is solved by another root finder or subdivided.  Steps of order 4 and 6 are composed of
symmetric steps of order 2 of other lengths, some of them negative.  A composition of variational steps is variational;
the sequence of lengths is symmetric, so that the composed step is symmetric and of even order.

The step itself is `variational.step`.

Sources: Suzuki, Phys. Lett. A 146 (1990), for order 4; Kahan and Li, Math. Comp. 66 (1997), for order 6; both in
Hairer, Lubich and Wanner, Geometric Numerical Integration, V.3.2, (3.8) and (3.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from multibody_cli.constraint_solver import solver as constraint_solver
from multibody_cli.constraint_solver.drive_work import account_drives_in_step, account_impacts_on_equalities
from multibody_cli.constraint_solver.projection import project
from multibody_cli.forces.states import load_states, store_states, store_states_after_steps, take_step
from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Kernel, bound_kernel, kernel, kernel_parameter, optional_kernel_parameter, template
from multibody_cli.linalg.vectors import copy
from multibody_cli.method_kernels import (
    evaluate,
    finalize_output,
    impulse_response,
    project_onto_constraints,
    resume_stepping,
)
from multibody_cli.methods.contract import Dynamics
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.model import System
from multibody_cli.variational import arrivals, rows_at_end
from multibody_cli.variational.constrained import (
    correct_rows,
    response_of_start,
    solve_row_impulses_at_start,
)
from multibody_cli.variational.contacts import start_of_step_contacts
from multibody_cli.variational.discrete_motion import momentum_map
from multibody_cli.variational.energy import (
    discrete_kinetic_energy,
    store_energy,
    update_modified_energy,
)
from multibody_cli.variational.joint_friction import (
    CONVERGED,
    DIVERGED,
    TOO_MANY_CONTACTS,
    solve_basic_step,
    solve_step_with_joint_friction,
)
from multibody_cli.variational.newton_constraints import solve_row_impulses_at_end
from multibody_cli.variational.step import (
    account_start,
    begin_first_step,
    complete_rows,
    complete_step,
    solve_step,
)
from multibody_cli.variational.step_forces import act_within_step, begin_forces
from multibody_cli.variational.workspace import (
    DIAGNOSTIC_FAILED_COORDINATE,
    DIAGNOSTIC_FALLBACKS,
    DIAGNOSTIC_SUBDIVISIONS,
)

MAX_SUBDIVISIONS = 1024
"""Largest number of parts of a step that does not converge as a whole."""

_SUZUKI = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
_KAHAN_LI = (0.39216144400731413928, 0.33259913678935943860, -0.70624617255763935981, 0.082213596293550800230)

STAGES: dict[int, tuple[float, ...]] = {
    1: (1.0,),
    2: (1.0,),
    4: (_SUZUKI, _SUZUKI, 1.0 - 4.0 * _SUZUKI, _SUZUKI, _SUZUKI),
    6: (*_KAHAN_LI, 1.0 - 2.0 * sum(_KAHAN_LI), *reversed(_KAHAN_LI)),
}
"""Lengths of the basic steps as fractions of the composed step, by its order."""


# --- many steps ---------------------------------------------------------------------------------------------------
@optional_kernel_parameter
def add_contact_impulses(system, work, contact_work, step, state, powers, t, h) -> bool:
    """Add the contact impulses to the momenta at the start; return False if there are too many contacts."""
    return True


@kernel_parameter
def solve_step_by_root_finder(system, work, step, t, h, q, v) -> bool:
    """Solve the step, `variational.step.solve_step`; return whether it converged."""
    raise NotImplementedError


@optional_kernel_parameter
def solve_step_by_fallback(system, work, step, t, h, q, v) -> bool:
    """Solve the step by another root finder; return whether it converged, False if there is none."""
    return False


@template(solve_step_by_root_finder, solve_step_by_fallback, add_contact_impulses)
def solve_step_once(system, work, contact_work, step, state, powers, t, h) -> int:
    """Apply the impulses of contacts and friction, and solve the step; return CONVERGED or the failure."""
    if not add_contact_impulses(system, work, contact_work, step, state, powers, t, h):
        return TOO_MANY_CONTACTS
    if solve_step_by_root_finder(system, work, step, t, h, state.q, state.v):
        return CONVERGED
    converged = solve_step_by_fallback(system, work, step, t, h, state.q, state.v)
    step.diagnostics[DIAGNOSTIC_FALLBACKS] += converged
    return CONVERGED if converged else DIVERGED


STEP = (
    solve_basic_step,
    account_start,
    evaluate,
    impulse_response,
    complete_rows,
)
"""The parameters of a basic step."""


@template(*STEP)
def advance_basic_step(system, work, contact_work, step, state, powers, t, h) -> bool:
    """Take one basic step of h from t, subdivided where necessary and allowed; return whether it succeeded."""
    reached, part = 0, MAX_SUBDIVISIONS
    while reached < MAX_SUBDIVISIONS:
        dt, now = h * part / MAX_SUBDIVISIONS, t + h * reached / MAX_SUBDIVISIONS
        if act_within_step(step.forces):
            begin_forces(system, work, step, now, dt, state.q, state.v)
        result = solve_basic_step(system, work, contact_work, step, state, powers, now, dt)
        if result == TOO_MANY_CONTACTS:
            return False
        if result == CONVERGED:
            reached += part
            kinetic = discrete_kinetic_energy(system.tree, step, dt)
            for i in range(len(step.forces.powers)):
                state.ledger[i] += dt * step.forces.powers[i]
            take_step(system.forces.states, dt)
            arrived = complete_step(system, work, step, state, powers, t + h * reached / MAX_SUBDIVISIONS, dt)
            update_modified_energy(system, work, step, kinetic, state.q, state.v)
            for i in range(len(powers)):
                state.ledger[i] += 0.0 if arrived else 0.5 * dt * (step.start_powers[i] + powers[i])
                step.start_powers[i] = powers[i]
            part = min(part, MAX_SUBDIVISIONS - reached)
        else:
            part //= 2
            if part == 0 or not step.settings.adaptive:
                step.diagnostics[DIAGNOSTIC_FAILED_COORDINATE] = 1.0 + index_of_largest(system.tree, work.response)
                return False
            step.diagnostics[DIAGNOSTIC_SUBDIVISIONS] += 1.0
    return True


@kernel
def index_of_largest(tree, x):
    """Return the coordinate of the first rate in x (nv,) that is not finite, or else of the largest relative one."""
    index = 0
    for j in range(len(x)):
        if not abs(x[j]) < math.inf:
            return j
        if abs(x[j]) * tree.weights[j] > abs(x[index]) * tree.weights[index]:
            index = j
    return index


@kernel_parameter
def begin_curved_rows(system, work, step, h) -> None:
    """Compute the impulses of ropes with friction that momenta of velocities lack: `rows_at_end.begin_curved_rows`."""


@template(*STEP, begin_curved_rows, project_onto_constraints, finalize_output, resume_stepping)
def take_variational_steps(system, state, work, scratch, h, start, first, count, fresh) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    time, q, v, a = state.time, state.q, state.v, state.a
    step, powers, contact_work = scratch
    is_continued, modified_energy = count == 0 and first > 0, step.energy[2]
    load_states(system.forces.states, state.z)
    if fresh:
        project_onto_constraints(system, work, time[0], q, v, a, state.ledger)
        begin_first_step(system, work, step, time[0], q, v, a, step.start_powers)
        if not is_finite(a):
            return -1
        if len(work.rows) > 0 and len(step.joint_friction.slip_changes) > 0:
            begin_curved_rows(system, work, step, h)
        store_states(system.forces.states, state.z)
        store_energy(system, work, step, q, v)
    else:
        resume_stepping(work, contact_work, a)
    stages = step.settings.stages
    for index in range(first + 1, first + count + 1):
        for k in range(len(stages)):
            if not advance_basic_step(system, work, contact_work, step, state, powers, time[0], stages[k] * h):
                return index - first - 1
            time[0] += stages[k] * h
        time[0] = start + index * h
        store_states_after_steps(system.forces.states, state.z, state.ledger)
        if not is_finite_and_bounded(system.tree, v, a):
            return index - first - 1
    if is_continued:  # an evaluation after a step, whose diagnostics hold
        step.energy[2] = modified_energy
    else:
        momentum_map(system.tree.links, step.discrete_motions, step.forces.at_end, step.momentum)
    copy(q, step.q)
    copy(v, step.previous_rate)
    evaluate(system, work, time[0], q, v, a, powers)
    finalize_output(system, work, contact_work, state, powers, h)
    copy(step.q, q)  # evaluations fit coordinates of loops again: steps do not depend on where a call ends
    copy(step.previous_rate, v)
    return count


# --- binding ------------------------------------------------------------------------------------------------------
class RootFinder(Immutable):
    """A root finder for the discrete Euler-Lagrange equations of a step.

    Parameters
    ----------
    make
        Makes the kernel `residual_response` of `variational.step` from the method's `impulse_response`.
    allocate
        Allocates its work arrays.
    reusing_factors
        The kernel `response_reusing_factors` of `variational.constrained`, if constraint rows are evaluated at the end
        of a step; None if they are evaluated at its start.
    """

    make: Callable[[Kernel], Kernel]
    allocate: Callable[[System, Any], Any] = lambda _system, _options: ()
    reusing_factors: Kernel | None = None


def correction_with(finder: RootFinder, impulse_response: Kernel, apply_inverse_mass: Kernel) -> Kernel:
    """Bind the kernel that corrects the impulses of constraint rows, with the rows of the start or of the end."""
    if finder.reusing_factors is None:
        response = bound_kernel(response_of_start, impulse_response=impulse_response)
        solve = bound_kernel(solve_row_impulses_at_start, apply_inverse_mass=apply_inverse_mass)
    else:
        response = finder.reusing_factors
        solve = bound_kernel(solve_row_impulses_at_end, response_reusing_factors=response)
    return bound_kernel(correct_rows, solve_row_impulses=solve, response_reusing_factors=response)


def bind(dynamics: Dynamics, apply_inverse_mass: Kernel, has_joint_friction: bool, *root_finders: RootFinder) -> Kernel:
    """Bind the steps to the kernels of a method and of one or two root finders, and to friction of joints or not."""
    response = bound_kernel(constraint_solver.impulse_response, apply_inverse_mass=apply_inverse_mass)
    solvers = [
        bound_kernel(
            solve_step,
            residual_response=finder.make(response),
            correct_rows=correction_with(finder, response, apply_inverse_mass),
        )
        for finder in root_finders
    ]
    contacts = None
    if dynamics.solve_contact_step:
        contacts = bound_kernel(
            start_of_step_contacts,
            evaluate=dynamics.evaluate,
            impulse_response=response,
            solve_contact_step=dynamics.solve_contact_step,
        )
    correct = bound_kernel(project, apply_inverse_mass=apply_inverse_mass)
    impacts = bound_kernel(account_impacts_on_equalities, apply_inverse_mass=apply_inverse_mass)
    of_step = bound_kernel(account_drives_in_step, account_impacts=impacts)
    solve = bound_kernel(
        solve_step_once,
        solve_step_by_root_finder=solvers[0],
        solve_step_by_fallback=solvers[1] if len(solvers) > 1 else None,
        add_contact_impulses=contacts,
    )
    if has_joint_friction:
        solve = bound_kernel(
            solve_step_with_joint_friction,
            evaluate=dynamics.evaluate,
            solve_basic_step=solve,
            apply_inverse_mass=apply_inverse_mass,
        )
    return bound_kernel(
        take_variational_steps,
        solve_basic_step=solve,
        account_start=bound_kernel(
            arrivals.account_start,
            apply_inverse_mass=apply_inverse_mass,
            account_impacts=impacts,
            evaluate=dynamics.evaluate,
        ),
        evaluate=dynamics.evaluate,
        impulse_response=response,
        complete_rows=bound_kernel(rows_at_end.complete_rows, correct=correct, account_impacts_of_step=of_step),
        begin_curved_rows=bound_kernel(rows_at_end.begin_curved_rows, correct=correct),
        project_onto_constraints=dynamics.project_onto_constraints,
        finalize_output=dynamics.finalize_output,
        resume_stepping=dynamics.resume_stepping,
    )
