"""A variational step, as Lee et al. write it: initial guess, DRNEA, RIQN, and the momenta and velocities at its end.

A discrete Lagrangian L_d(q, q') of a step h, from q = q^k to q' = q^(k+1), maps (q, p) to (q', p') by

    p = -D_1 L_d - h k f(q, v, t)              solved for q'
    p' = D_2 L_d + h (1 - k) f(q', v', t')     M(q') v' = p'

This is the discrete Euler-Lagrange (DEL) equation (2) in position-momentum form.  The kinetic part of L_d is that of
the discrete motions of all bodies (`discrete_motion`), and h w . A w / 2 of the armatures A, with momenta A w at both
ends; f contains all applied forces, evaluated at the nodes.  With
k = 1/2 this is the trapezoidal rule (9), symmetric and of second order; with k = 1 all forces are applied at the start
of the step, which is of first order in v, with the same positions.

    Lee et al.             subject                                           here
    3.3                    initial guess                                     `guess_rates`
    Alg. 2, (18)           outward pass of DRNEA: poses at the iterate       `drnea_outward_pass`
    (10), (21b)            rotation vectors by default (see below)         `drnea_body_residuals`
    (21a), (22)            inward pass of DRNEA: residual                    `drnea_body_residuals`, `drnea_inward_pass`
    (25)                   correction by RIQN                                `riqn_response`
    Alg. 3                 iteration and its end                             `find_root`, `is_converged`
    (16b)                  discrete Legendre transform: momenta at the end   `complete_step`

The unknowns are the mean rates w = (q' - q) / h, which displace the coordinates; with the residual impulse e, the
negative of (22), RIQN (25) is w <- w + M(q)^-1 e.  Instead of e, corrections are compared with the tolerance.  The
remaining residual is carried over into the next step, so that residuals do not accumulate.  The displacement of a body
follows from its poses at both ends, without the recursion (19).  Displacement and discrete momentum are those of
`discrete_motion`, with a rotation vector and, as an option, with the logarithm (10) in SE(3).

Constraint rows have impulses at the start of the step, so that positions hold at its end, and others at the end, so
that velocities do (RATTLE); see `constrained`.  A system without rows runs the same kernels: its loops over rows are
empty, and the lazy kernels that solve for rows are not called.

Sources: Lee, Liu, Park and Srinivasa 2016, to which the numbers of equations belong; Marsden and West, Discrete
mechanics and variational integrators, Acta Numerica 10 (2001), 2.1-2.3.
"""

from __future__ import annotations

import math
from typing import Any

from multibody_cli.constraint_solver.solver import VELOCITY, write_rhs, zero_rhs
from multibody_cli.constraints.reduction import update_dependent_coordinates
from multibody_cli.forces.elements import apply_forces
from multibody_cli.joints.motion import prescribe, prescribe_rates
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.linalg.vectors import add, add_scaled, copy
from multibody_cli.method_kernels import evaluate, impulse_response
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.configuration import displace, displace_coordinates, largest_change, normalize, recentre
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, write_ball_columns
from multibody_cli.variational.constrained import (
    accumulate_primary_impulses,
    add_violated_rows,
    apply_active_impulses,
    apply_primary_impulses,
    begin_rows,
    clear_loop_coordinates,
    evaluate_rows,
    rows_satisfied,
    select_active_rows,
    store_applied_reactions,
    transfer_impulses_to_bodies,
    write_primary_residuals,
)
from multibody_cli.variational.discrete_motion import (
    add_velocity_changes,
    discrete_legendre_transform,
    exceeds_rotation_limit,
    extent_of,
    initialize_momenta,
    kick,
    momentum_at_start,
    momentum_residuals,
    store_body_residuals,
    store_discrete_momenta,
    store_start_of_step,
)
from multibody_cli.variational.energy import account_powers, add_drive_powers
from multibody_cli.variational.poses import compute_poses
from multibody_cli.variational.step_forces import (
    act_within_step,
    add_force_impulses,
    end_forces,
    evaluate_explicitly,
    evaluate_forces,
)
from multibody_cli.variational.workspace import (
    DIAGNOSTIC_ITERATIONS,
    DIAGNOSTIC_RESIDUAL,
    EXTRAPOLATED,
    IG1,
    IG3,
    ROUND_OFF,
    max_abs,
)

STALL_RATIO = 0.7
"""The iteration has stalled when a correction exceeds this fraction of the previous one.

The first two corrections are not compared: multipliers start from 0, and after a good guess the second correction only
cancels part of a large first one.
"""

MIN_RATIO = 0.05
"""Lower bound on the convergence rate that is assumed for the next correction.

RIQN converges at a constant rate, which the first correction may hide when it is much larger than the second.
"""

MAX_GROWTH = 16.0
"""Largest length of a step, relative to the last one, to which the error of the guess there is extrapolated.

The round-off of the error grows with the square of the ratio.  A step that an event divides may have a part of 1e-12 of
its length, from which the guess for the next step would be 1e15 times the rates.  Stages of order 6 grow by 9.7.
"""

VIOLATION_FACTOR = 1e3
"""Largest accepted error of a constraint row, relative to that of the coordinates and round-off."""


# --- template parameters ------------------------------------------------------------------------------------------
@kernel_parameter
def residual_response(system: Any, work: Any, step: Any, h: float) -> None:
    """Compute the correction of the mean rates for residual impulses: `riqn_response`, or Newton's method.

    The kernel adds the accumulated impulses of the primary rows to `work.wrenches` and `work.impulse`, writes the
    correction of the mean rates to `work.response`, and accumulates the multipliers of the primary rows.
    """


@kernel_parameter
def correct_rows(system: Any, work: Any, step: Any, h: float) -> None:
    """Correct the impulses of the active rows, and add the response to it to `work.response`."""


@kernel_parameter
def account_start(system: Any, work: Any, step: Any, t: float, h: float, q: Any, v: Any, ledger: Any) -> bool:
    """Compute the losses of one-sided rows in the step: `arrivals.account_start`."""
    raise NotImplementedError


@kernel_parameter
def complete_rows(system: Any, work: Any, step: Any, v: Any, ledger: Any, h: float) -> None:
    """Project the velocities at the end of the step onto the constraints."""


# --- initial guess: 3.3 -------------------------------------------------------------------------------------------
@kernel
def guess_rates(step, v, h):
    """Write the initial guess of the mean rates (n,) into `step.rate`, which holds those of the previous step.

    ig1 is zero; ig2 keeps the rates of the previous step; ig3 is v + h a / 2 with the accelerations at the start; the
    extrapolated guess adds the error of ig3 in the previous step, and is one order better.  For first_kick = 1/2, ig3
    is the semi-implicit step of Lee et al. up to O(h^2), since v is then the rate of the previous step plus h a / 2.
    """
    guess, rate, a, last = step.settings.guess, step.rate, step.a, step.last_length[0]
    growth = (h / last) ** 2 if abs(h) <= MAX_GROWTH * abs(last) else 0.0
    for j in range(len(v)):
        if guess == IG1:
            rate[j] = 0.0
        elif guess == IG3:
            rate[j] = v[j] + 0.5 * h * a[j]
        elif guess == EXTRAPOLATED:
            rate[j] = v[j] + 0.5 * h * a[j] + growth * step.guess_error[j]


# --- DRNEA: Alg. 2 ------------------------------------------------------------------------------------------------
@kernel
def drnea_outward_pass(system, work, step, t, h):
    """Compute the poses at the iterate, (18), the errors of the constraint rows there, and forces within the step."""
    update_dependent_coordinates(system.reductions, step.q, step.scratch)
    compute_poses(system.tree, step.q, step.discrete_motions, step.pose_work)
    if len(work.rows) > 0:
        evaluate_rows(system, work, step, t)
    if act_within_step(step.forces):
        evaluate_forces(system, step, t, h)


@kernel
def drnea_body_residuals(links, bodies, discrete_motions, h, wrenches):
    """Compute the residual impulse of each body: (21a) without the impulses of children, with the sign of e.

    It is the start momentum, applied impulses included, minus the discrete momentum of the step, (21b), about the body
    origin at the start, in world axes, like the wrenches of `work`.  The discrete momentum is stored.
    """
    store_discrete_momenta(links, discrete_motions, h)
    for i in range(1, len(links)):
        momentum = momentum_at_start(links[i], bodies[i], discrete_motions[i])
        store_force(wrenches[i], load_force(discrete_motions[i]) - momentum)


@kernel
def drnea_residuals(system, work, step, h):
    """Compute the residual impulses of bodies and of coordinates, active constraint rows included."""
    drnea_body_residuals(system.tree.links, work.bodies, step.discrete_motions, h, work.wrenches)
    copy(step.impulse, work.impulse)
    add_armature_residuals(system.tree, step, step.rate, work.impulse)
    add_force_impulses(step.forces, step.settings.first_kick * h, work)
    apply_active_impulses(work, step.constrained)


@formula
def add_armature_residuals(tree, step, rate, residual):
    """Add the momenta of the armatures at the start, less those at a rate (n,), to the residuals (n,)."""
    for j in range(len(rate)):
        residual[j] += step.armature_momentum[j] - tree.armature[j] * rate[j]


@formula
def store_armature_momenta(tree, step, rate):
    """Store the momenta of the armatures at a rate (n,)."""
    for j in range(len(rate)):
        step.armature_momentum[j] = tree.armature[j] * rate[j]


@kernel
def drnea_inward_pass(tree, work, residual):
    """Compute the residual e (n,) from the residual impulses: the sum over children of (21a), projected by S.

    e is the negative of (22).
    """
    for j in range(len(residual)):
        residual[j] = 0.0 if tree.driven[j] else work.impulse[j]
    add_jacobian_transposed_times(tree, work, residual)


# --- RIQN: Alg. 3 -------------------------------------------------------------------------------------------------
@template(impulse_response)
def riqn_response(system, work, step, h):
    """Compute M(q)^-1 e, (25), with the articulated bodies of the start; their inward pass is also that of DRNEA.

    Primary rows are part of M: they correct their errors.
    """
    apply_primary_impulses(work, step.constrained)
    write_primary_residuals(work, step.constrained, h)
    write_rhs(work, VELOCITY)
    impulse_response(system, work)
    accumulate_primary_impulses(work, step.constrained)


@template(residual_response, correct_rows)
def find_root(system, work, step, t, h, rate_scale) -> bool:
    """Correct the mean rates until the corrections converge, relative to `rate_scale`; return whether they did."""
    settings, correction, before = step.settings, work.response, math.inf
    for k in range(settings.max_iterations):
        step.iteration[0] = k
        drnea_outward_pass(system, work, step, t, h)
        add_violated_rows(work, step.constrained)
        drnea_residuals(system, work, step, h)
        residual_response(system, work, step, h)
        if step.constrained.active_count[0] > 0:
            correct_rows(system, work, step, h)
        size = largest_change(system.tree, correction) / rate_scale
        step.diagnostics[DIAGNOSTIC_ITERATIONS] = max(step.diagnostics[DIAGNOSTIC_ITERATIONS], k + 1.0)
        if not size < math.inf:
            return False
        displace_coordinates(step.plain, step.quaternions, step.q, correction, h)
        add(step.rate, correction)
        if is_converged(size, before, settings.tolerance):
            return True
        if k > 1 and size > STALL_RATIO * before:
            return size <= 1e3 * ROUND_OFF * extent_of(system.tree, step.discrete_motions) / abs(h * rate_scale)
        before = size
    return False


@formula
def is_converged(size, before, tolerance):
    """Return whether the remaining corrections, extrapolated from the last two, stay below the tolerance."""
    ratio = max(size / before, MIN_RATIO) if before < math.inf else 1.0
    return size <= tolerance or (ratio < STALL_RATIO and size * ratio <= tolerance * (1.0 - ratio))


# --- the step -----------------------------------------------------------------------------------------------------
@template(residual_response, correct_rows)
def solve_step(system, work, step, t, h, q, v) -> bool:
    """Solve the DEL equations of a step h from (t, q, v) for `step.q` and `step.rate`; return whether they converged.

    On failure `step.rate` is restored for the next guess.
    """
    tree, settings, constrained = system.tree, step.settings, step.constrained
    copy(step.rate, step.previous_rate)
    guess_rates(step, v, h)
    prescribe_rates(system.motions, t, h, settings.first_kick, v, step.rate)
    copy(q, step.q)
    displace(tree, step.q, step.rate, h)
    prescribe(system.motions, t + h, step.q, step.scratch, step.scratch)
    apply_first_kick(step, h)
    select_active_rows(work, constrained)
    rate_scale = tree.rate + largest_change(tree, v)
    if find_root(system, work, step, t + h, h, rate_scale):
        normalize(tree, step.q)
        drnea_outward_pass(system, work, step, t + h, h)
        max_violation = VIOLATION_FACTOR * (
            settings.tolerance * abs(h) * rate_scale + ROUND_OFF * extent_of(tree, step.discrete_motions)
        )
        if rows_satisfied(work, constrained, max_violation) and not exceeds_rotation_limit(step.discrete_motions):
            carry_over_residual(system, work, step, h)
            return True
    kick(step.discrete_motions, -settings.first_kick * h)
    copy(step.previous_rate, step.rate)
    return False


@kernel
def apply_first_kick(step, h):
    """Apply the impulses h k f of the start to bodies and coordinates."""
    share = step.settings.first_kick * h
    kick(step.discrete_motions, share)
    for j in range(len(step.impulse)):
        step.impulse[j] = step.residual_carry_over[j] + share * step.tau[j]


@kernel
def carry_over_residual(system, work, step, h):
    """Store the residual impulse of the step, which the next step applies."""
    tree, constrained = system.tree, step.constrained
    drnea_residuals(system, work, step, h)
    apply_primary_impulses(work, constrained)
    transfer_impulses_to_bodies(tree, work)
    if step.settings.maximal:  # impulses act on bodies only
        largest = store_body_residuals(tree.links, work.columns, step.discrete_motions, work.wrenches)
    else:
        drnea_inward_pass(tree, work, step.residual_carry_over)
        clear_loop_coordinates(tree, step.residual_carry_over)
        largest = max_abs(step.residual_carry_over)
    step.diagnostics[DIAGNOSTIC_RESIDUAL] = max(step.diagnostics[DIAGNOSTIC_RESIDUAL], largest)


# --- end of a step, which is the start of the next one ------------------------------------------------------------
@template(account_start, evaluate, impulse_response, complete_rows)
def complete_step(system, work, step, state, powers, t, h) -> bool:
    """Complete a converged step to t in place, p' = D_2 L_d, (16b); return whether an impact has accounted its work."""
    tree, order, q, v = system.tree, 1.0 / step.settings.first_kick, state.q, state.v
    arrives = len(work.special_rows) > 0 and account_start(system, work, step, t - h, h, q, v, state.ledger)
    discrete_legendre_transform(tree.links, step.discrete_motions)
    store_armature_momenta(tree, step, step.rate)
    copy(step.q, q)
    for j in range(len(v)):
        step.guess_error[j] = step.rate[j] - v[j] - 0.5 * h * step.a[j]
        v[j] = order * step.rate[j] - (order - 1.0) * v[j]
    step.last_length[0] = h
    recentre(tree, q, v)
    if act_within_step(step.forces):
        evaluate_explicitly(system, work)
    if arrives:
        account_powers(system, work, step, t, 0.5 * h, q, v, powers, state.ledger)
    evaluate(step.forces.nodes, work, t, q, v, state.a, powers)
    write_ball_columns(tree, work)
    store_start_of_step(tree, work.bodies, step.discrete_motions)
    share = (1.0 - step.settings.first_kick) * h
    kick(step.discrete_motions, share)
    store_forces(tree, work, step, state.a)
    add_scaled(step.residual_carry_over, share, step.tau)
    if act_within_step(step.forces):
        end_forces(system, work, step, h)
    momentum_residuals(tree.links, work.bodies, step.discrete_motions, work.wrenches)
    copy(step.residual_carry_over, work.impulse)
    add_armature_residuals(tree, step, v, work.impulse)
    zero_rhs(work)
    impulse_response(system, work)
    add(v, work.response)
    add_velocity_changes(tree, work.bodies)
    if len(work.rows) > 0:
        complete_rows(system, work, step, v, state.ledger, h)
    apply_forces(step.forces.nodes.forces, t, q, v, work, powers)
    add_drive_powers(system, work, step, t, q, v, powers)
    return bool(arrives)


@template(evaluate)
def begin_first_step(system, work, step, t, q, v, a, powers):
    """Make the state (t, q, v) the start of the first step; computes its accelerations and powers."""
    evaluate(step.forces.nodes, work, t, q, v, a, powers)
    write_ball_columns(system.tree, work)
    store_start_of_step(system.tree, work.bodies, step.discrete_motions)
    initialize_momenta(system.tree.links, work.bodies, step.discrete_motions)
    store_armature_momenta(system.tree, step, v)
    store_forces(system.tree, work, step, a)
    begin_rows(work, step.constrained)
    for j in range(len(v)):
        step.rate[j] = v[j]
        step.residual_carry_over[j] = 0.0
    step.last_length[0] = 0.0
    step.joint_friction.slip_changes[:] = 0.0
    add_drive_powers(system, work, step, t, q, v, powers)


@kernel
def store_forces(tree, work, step, a):
    """Store accelerations, the generalized forces that are not applied to bodies, and reactions that are."""
    for j in range(len(a)):
        step.a[j] = a[j]
        step.tau[j] = work.tau[j]
    clear_loop_coordinates(tree, step.tau)
    store_applied_reactions(tree, work, step.joint_friction.applied_reactions)
