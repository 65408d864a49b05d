"""Steps of a variational method: the discrete Euler-Lagrange equations in position-momentum form.

A discrete Lagrangian L_d(q, q') of a step h maps (q, p) to (q', p') by

    p = -D_1 L_d - h k f(q, v, t)              solved for q'
    p' = D_2 L_d + h (1 - k) f(q', v', t')     M(q') v' = p'

Its kinetic part is that of the discrete motions of all bodies (`variational.discrete_motion`), projected onto the
motion subspaces of the joints at either end; f contains all applied forces, evaluated at the nodes.  With k = 1/2 this
is the trapezoidal rule, symmetric and of second order.  With k = 1 all forces are applied at the start of the step,
which is of first order in v, with the same positions.

The first equation is solved by a (quasi-)Newton method (`variational.root_finding`).  The residual impulse is evaluated
by DRNEA, and RIQN corrects the mean rates by the response of the mechanism to it, with the factorization of the start.
The remaining residual is carried over into the next step, so that residuals do not accumulate.

Constraint rows have impulses at the start of the step, so that positions hold at its end, and others at the end, so
that velocities do (RATTLE).

The kernels are in `variational`: `root_finding`, `step_end`, and `unconstrained` or `constrained`.

Sources: Lee, Liu, Park and Srinivasa 2016, (17)-(25) and Alg. 3; Bruedigam and Manchester 2020, (24)-(33); Marsden and
West, Discrete mechanics and variational integrators, Acta Numerica 10 (2001), 2.1-2.3; Hairer, Lubich and Wanner,
Geometric Numerical Integration, VII.1.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from multibody_cli.constraint_solver.solver import ConstraintSolver, impulse_response
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.methods.contract import (
    Dynamics,
    Kernel,
    evaluate,
    finalize_output,
    project_onto_constraints,
    resume_stepping,
)
from multibody_cli.methods.integrators.vectors import is_finite, is_finite_and_bounded
from multibody_cli.variational.constrained import (
    begin_constraints,
    carry_over_residual_constrained,
    constrained_correction,
    constraint_rows_satisfied,
    prepare_constrained,
    velocities_from_momenta_constrained,
)
from multibody_cli.variational.contacts import no_start_of_step_contacts, start_of_step_contacts
from multibody_cli.variational.discrete_motion import discrete_kinetic_energy, momentum_map
from multibody_cli.variational.energy import store_energy, update_modified_energy
from multibody_cli.variational.iterate_poses import evaluate_iterate_constrained
from multibody_cli.variational.newton_constraints import (
    fill_newton_delassus,
    newton_constrained_correction,
    prepare_newton_constrained,
)
from multibody_cli.variational.root_finding import find_root, solve_step
from multibody_cli.variational.step_end import begin_first_step, complete_step
from multibody_cli.variational.unconstrained import (
    always_satisfied,
    begin_no_constraints,
    carry_over_residual_unconstrained,
    evaluate_iterate_unconstrained,
    prepare_unconstrained,
    riqn_correction,
    unconstrained_correction,
    velocities_from_momenta_unconstrained,
)
from multibody_cli.variational.workspace import (
    DIAGNOSTIC_FAILED_COORDINATE,
    DIAGNOSTIC_FALLBACKS,
    DIAGNOSTIC_SUBDIVISIONS,
)

RIQN = "riqn"
"""The root finder that needs no further kernels in an unconstrained mechanism."""

MAX_SUBDIVISIONS = 1024
"""Largest number of parts of a step that does not converge as a whole."""


# --- many steps ---------------------------------------------------------------------------------------------------
def solve_step_by_fallback(system, work, step, t, h, q, v):
    """Template parameter: solve the step with another root finder."""
    return False


def advance_basic_step(system, work, contact_work, step, t, h, q, v, a, powers, ledger) -> bool:
    """Take one basic step of h from t, subdivided where necessary and allowed; return whether it succeeded."""
    reached, part = 0, MAX_SUBDIVISIONS
    while reached < MAX_SUBDIVISIONS:
        dt, now = h * part / MAX_SUBDIVISIONS, t + h * reached / MAX_SUBDIVISIONS
        if not start_of_step_contacts(system, work, contact_work, step, now, dt, q, v, a, powers, ledger):
            return False
        converged = solve_step(system, work, step, now, dt, q, v)
        if not converged:
            converged = solve_step_by_fallback(system, work, step, now, dt, q, v)
            step.diagnostics[DIAGNOSTIC_FALLBACKS] += converged
        if converged:
            reached += part
            kinetic = discrete_kinetic_energy(system.tree.links, step.discrete_motions, dt)
            complete_step(system, work, step, t + h * reached / MAX_SUBDIVISIONS, dt, q, v, a, powers, ledger)
            update_modified_energy(system, work, step, kinetic, q)
            for i in range(len(ledger)):
                ledger[i] += 0.5 * dt * (step.start_powers[i] + powers[i])
                step.start_powers[i] = powers[i]
            part = min(part, MAX_SUBDIVISIONS - reached)
        else:
            part //= 2
            if part == 0 or not step.settings.adaptive:
                step.diagnostics[DIAGNOSTIC_FAILED_COORDINATE] = 1.0 + index_of_largest(step.correction)
                return False
            step.diagnostics[DIAGNOSTIC_SUBDIVISIONS] += 1.0
    return True


@kernel
def index_of_largest(x):
    """Return the place of the first entry that is not finite, or else of the largest absolute value."""
    place = 0
    for j in range(len(x)):
        if not abs(x[j]) < math.inf:
            return j
        if abs(x[j]) > abs(x[place]):
            place = j
    return place


def take_variational_steps(system, state, work, scratch, h, start, first, count) -> int:
    """Take `count` steps of h; return how many ended valid, -1 if the accelerations at the start are not finite."""
    time, q, v, a, ledger = state.time, state.q, state.v, state.a, state.ledger
    step, powers, contact_work = scratch
    if first == 0:
        project_onto_constraints(system, work, time[0], q, v, a, ledger)
        begin_first_step(system, work, step, time[0], q, v, a, step.start_powers)
        if not is_finite(a):
            return -1
        store_energy(system, work, step, q)
    else:
        resume_stepping(contact_work, a)
    stages = step.settings.stages
    for index in range(first + 1, first + count + 1):
        for k in range(len(stages)):
            if not advance_basic_step(
                system, work, contact_work, step, time[0], stages[k] * h, q, v, a, powers, ledger
            ):
                return index - first - 1
            time[0] += stages[k] * h
        time[0] = start + index * h
        if not is_finite_and_bounded(v, a):
            return index - first - 1
    momentum_map(step.discrete_motions, step.momentum)
    evaluate(system, work, time[0], q, v, a, powers)
    finalize_output(system, work, contact_work, time[0], h, q, v, a, powers)
    return count


# --- binding ------------------------------------------------------------------------------------------------------
class SolverKernels(NamedTuple):
    """The kernels of a root finder that are template parameters of `variational.root_finding`."""

    prepare: Kernel
    evaluate_iterate: Kernel
    compute_correction: Kernel
    constraints_satisfied: Kernel
    carry_over_residual: Kernel


@kernel
def no_fallback(system, work, step, t, h, q, v):
    """Return False: there is no other root finder."""
    return False


RootFinders = tuple[tuple[str, Callable[[Kernel], Kernel], Kernel | None], ...]
"""Root finders in the order of their use, each with three entries.

The keyword; a function that makes the kernel `residual_response` from the kernel `impulse_response` of the method; and
the kernel `response_reusing_factors`, if constraint rows are evaluated at the end of the step.
"""


@cache
def bind_unconstrained(dynamics: Dynamics, apply_inverse_mass: Kernel, root_finders: RootFinders) -> Kernel:
    """Bind the steps of an unconstrained mechanism to the kernels of a method."""
    impulse_response_ = bound_kernel(impulse_response, apply_inverse_mass=apply_inverse_mass)
    solvers = []
    for word, make, _ in root_finders:
        if word == RIQN:
            compute_correction = bound_kernel(riqn_correction, apply_inverse_mass=apply_inverse_mass)
        else:
            compute_correction = bound_kernel(unconstrained_correction, residual_response=make(impulse_response_))
        solvers.append(
            SolverKernels(
                prepare_unconstrained,
                evaluate_iterate_unconstrained,
                compute_correction,
                always_satisfied,
                carry_over_residual_unconstrained,
            )
        )
    velocities_from_momenta = bound_kernel(velocities_from_momenta_unconstrained, apply_inverse_mass=apply_inverse_mass)
    return bind(
        dynamics,
        velocities_from_momenta,
        begin_no_constraints,
        bind_start_of_step_contacts(dynamics, apply_inverse_mass),
        *solvers,
    )


@cache
def bind_constrained(
    dynamics: Dynamics, bound: ConstraintSolver, apply_inverse_mass: Kernel, root_finders: RootFinders
) -> Kernel:
    """Bind the steps of a mechanism with constraint rows."""
    impulse_response_ = bound_kernel(impulse_response, apply_inverse_mass=apply_inverse_mass)
    prepare = bound_kernel(prepare_constrained, build_delassus=bound.build_delassus)
    solvers = []
    for _, make, reusing_factors in root_finders:
        response = make(impulse_response_)
        if reusing_factors is not None:
            exactly = bound_kernel(fill_newton_delassus, response_reusing_factors=reusing_factors)
            kernels = {
                "residual_response": response,
                "response_reusing_factors": reusing_factors,
                "fill_newton_delassus": exactly,
            }
            compute_correction = bound_kernel(newton_constrained_correction, **kernels)
            solvers.append(
                SolverKernels(
                    prepare_newton_constrained,
                    evaluate_iterate_constrained,
                    compute_correction,
                    constraint_rows_satisfied,
                    carry_over_residual_constrained,
                )
            )
        else:
            kernels = {
                "residual_response": response,
                "impulse_response": impulse_response_,
                "build_delassus": bound.build_delassus,
            }
            compute_correction = bound_kernel(constrained_correction, **kernels)
            solvers.append(
                SolverKernels(
                    prepare,
                    evaluate_iterate_constrained,
                    compute_correction,
                    constraint_rows_satisfied,
                    carry_over_residual_constrained,
                )
            )
    velocities_from_momenta = bound_kernel(
        velocities_from_momenta_constrained, impulse_response=impulse_response_, project=bound.project
    )
    return bind(
        dynamics,
        velocities_from_momenta,
        begin_constraints,
        bind_start_of_step_contacts(dynamics, apply_inverse_mass),
        *solvers,
    )


def bind_start_of_step_contacts(dynamics: Dynamics, apply_inverse_mass: Kernel) -> Kernel:
    """Bind the contacts, if there are any."""
    if not dynamics.solves_contacts:
        return no_start_of_step_contacts
    impulse_response_ = bound_kernel(impulse_response, apply_inverse_mass=apply_inverse_mass)
    return bound_kernel(
        start_of_step_contacts,
        impulse_response=impulse_response_,
        solve_contact_step=dynamics.solve_contact_step,
        evaluate=dynamics.evaluate,
    )


def bind_solver(finder: SolverKernels) -> Kernel:
    """Bind `solve_step` to the kernels of a root finder."""
    searching = bound_kernel(
        find_root, evaluate_iterate=finder.evaluate_iterate, compute_correction=finder.compute_correction
    )
    return bound_kernel(
        solve_step,
        find_root=searching,
        prepare=finder.prepare,
        evaluate_iterate=finder.evaluate_iterate,
        constraints_satisfied=finder.constraints_satisfied,
        carry_over_residual=finder.carry_over_residual,
    )


def bind(
    dynamics: Dynamics,
    velocities_from_momenta: Kernel,
    begin_constraints: Kernel,
    contacts: Kernel,
    *solvers: SolverKernels,
) -> Kernel:
    """Bind the templates of a step to one or two root finders."""
    searches = [bind_solver(finder) for finder in solvers]
    one = bound_kernel(
        advance_basic_step,
        start_of_step_contacts=contacts,
        solve_step=searches[0],
        solve_step_by_fallback=searches[1] if len(searches) > 1 else no_fallback,
        complete_step=bound_kernel(
            complete_step, evaluate=dynamics.evaluate, velocities_from_momenta=velocities_from_momenta
        ),
    )
    return bound_kernel(
        take_variational_steps,
        advance_basic_step=one,
        begin_first_step=bound_kernel(
            begin_first_step, evaluate=dynamics.evaluate, begin_constraints=begin_constraints
        ),
        evaluate=dynamics.evaluate,
        project_onto_constraints=dynamics.project_onto_constraints,
        finalize_output=dynamics.finalize_output,
        resume_stepping=dynamics.resume_stepping,
    )
