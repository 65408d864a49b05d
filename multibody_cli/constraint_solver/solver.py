"""What holds rows: multipliers from the dual problem, for any method that lends the inverse of its mass matrix.

With J the Jacobian of the active rows and r their residual, at any level, the response y = M^-1 J^T x restores them if

    W x + r = 0,   W = J M^-1 J^T   (one-sided rows: x >= 0, W x + r >= 0, one of both 0)

    accelerations   r = J a + bias     every evaluation; x are forces
    velocities      r = J v + rate     after a step; x are impulses
    positions       r = error          after a step, until the error is round-off; y is a displacement

Both projections move as little as possible in the metric of M.  A column of W is one response, so that a method of
O(n) costs O(n m) for m rows.  Redundant rows share in the least-norm sense (`multipliers`).

A *primary* row is held by the method itself in whatever it answers: it is brought to `work.aims`, and never enters W.

The functions are templates: `accelerate` and `respond` stand for the kernels of a method (`bound_kernel`).

Source: Sueda, notes 2.12, (2.122)-(2.127); Baraff 1996, section 8.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

from multibody_cli.constraint_solver.ineffective_rows import idle_bound, silence
from multibody_cli.constraint_solver.loop_frames import place_closures
from multibody_cli.constraint_solver.loop_joints import (
    accelerate_closures,
    follow_closures,
    impel_closures,
    push_closures,
    react_closures,
    write_closures,
)
from multibody_cli.constraints.elements import write_all
from multibody_cli.constraints.reduction import follow
from multibody_cli.constraints.rows import (
    acceleration_of_row,
    change_of_row,
    impel_row,
    placed_acceleration_of_row,
    velocity_of_row,
)
from multibody_cli.joints.motion import prescribe
from multibody_cli.kernel import bound_kernel, kernel
from multibody_cli.linalg.multipliers import solve_multipliers
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force
from multibody_cli.tree.configuration import displace, normalize
from multibody_cli.tree.kinematics import place_all
from multibody_cli.tree.markers import follow_markers, hand_on, place_markers

ACCELERATION, VELOCITY, POSITION = range(3)

CORRECTIONS = 25
"""Projections of positions after one step, at most."""

CLOSED = 4e-16
"""An error of position, m or rad, or of velocity that is left alone.

Round-off and no more: with c left of a row whose effect vanishes as x, a mechanism that passes a singular position
lies c/x beside its branch, and turns into the other one where that reaches x.  It must be held to be singular
(`idle_rows`) well before.
"""

TOUCHING = 1e-9
"""A one-sided row this near to its limit may push."""

RESTING = 1e-9
"""A one-sided row that leaves its limit no faster than this stays active."""


def accelerate(system: Any, work: Any, a: Any) -> None:
    """Stand for a method's kernel: dv/dt of the free coordinates into `a`, with primary rows brought to their aims."""


def respond(system: Any, work: Any, x: Any, y: Any) -> None:
    """Stand for a method's kernel: y = M^-1 (x + J^T of `work.wrenches`), with primary rows brought to their aims."""


# --- placing ------------------------------------------------------------------------------------------------------
@kernel
def place(system, t, q, v, a, work):
    """Prescribe, place the bodies and the ghosts of closures, and write all rows."""
    prescribe(system.motions, t, q, v, a)
    follow(system.reductions, q, v)
    place_all(system.tree, q, v, a, work)
    place_markers(system.tree, work.bodies)
    place_closures(system.tree, q, v, a, work)
    write_closures(system.tree, v, work)
    write_all(system.constraints, t, work.bodies, q, work.rows, work.terms)


# --- the dual problem ---------------------------------------------------------------------------------------------
@kernel
def is_called(row, level):
    """Whether a row takes part at a level."""
    if row.one_sided:
        return row.error < 0.0 if level == POSITION else row.active == 1
    return row.holonomic == 1 or level != POSITION


@kernel
def call_rows(work, level):
    """List the rows that take part beside the primary ones, in `work.dual.called`; how many."""
    rows, called, count = work.rows, work.dual.called, 0
    for r in range(len(rows)):
        if not rows[r].primary and is_called(rows[r], level):
            called[count] = r
            count += 1
    return count


@kernel
def clear_impulses(work):
    """No impulses anywhere."""
    for i in range(len(work.inboxes)):
        store_force(work.wrenches[i], no_force())
    for j in range(len(work.impulse)):
        work.impulse[j] = 0.0


@kernel
def aim(work, level):
    """Let the primary rows lose their residuals; those that restrain velocities alone do not move positions."""
    rows, aims = work.rows, work.aims
    for r in range(len(rows)):
        row = rows[r]
        if row.primary:
            aims[r] = -row.residual if row.holonomic or level != POSITION else 0.0


@kernel
def aim_nowhere(work):
    """Let the primary rows stay as they are."""
    for r in range(len(work.aims)):
        work.aims[r] = 0.0


def answer(system, work):
    """Response of all coordinates to the impulses in `work.wrenches` and `work.impulse`, into `work.response`."""
    impel_closures(system.tree, work.impulse, work)
    hand_on(system.tree, work.wrenches)
    respond(system, work, work.impulse, work.response)
    follow_markers(system.tree, work.bodies)
    follow_closures(system.tree, work.response, work)


def build_delassus(system, work, count):
    """Lower triangle of W for the called rows: column k is how they answer to a unit multiplier of row k."""
    tree, rows, terms, called, W = system.tree, work.rows, work.terms, work.dual.called, work.dual.W
    error = worst_error(work)
    for k in range(count):
        clear_impulses(work)
        impel_row(rows[called[k]], terms, 1.0, work.wrenches, work.impulse)
        impel_closures(tree, work.impulse, work)
        hand_on(tree, work.wrenches)
        least = idle_bound(tree.links, work, error)
        respond(system, work, work.impulse, work.response)
        follow_markers(tree, work.bodies)
        follow_closures(tree, work.response, work)
        for i in range(k, count):
            W[i, k] = change_of_row(rows[called[i]], terms, work.bodies, work.response)
        if W[k, k] <= least:
            silence(W, k, count)
            work.dual.r[k] = 0.0


@kernel
def solve_dual(work, count):
    """Multipliers of the called rows, from W and the residuals in `work.dual.r`."""
    rows, dual = work.rows, work.dual
    for r in range(len(rows)):
        rows[r].multiplier = 0.0
    for k in range(count):
        dual.lower[k] = 0.0 if rows[dual.called[k]].one_sided else -math.inf
        dual.upper[k] = math.inf
        dual.x[k] = math.nan  # no guess, so that multipliers have no history
    W = dual.W[:count, :count]
    solve_multipliers(W, dual.r[:count], dual.lower[:count], dual.upper[:count], dual.x[:count], dual.solver)
    for k in range(count):
        rows[dual.called[k]].multiplier = dual.x[k]


@kernel
def impel_called(work, count):
    """Add the impulses of all called rows."""
    rows, called = work.rows, work.dual.called
    for k in range(count):
        row = rows[called[k]]
        impel_row(row, work.terms, row.multiplier, work.wrenches, work.impulse)


# --- accelerations ------------------------------------------------------------------------------------------------
@kernel
def aim_placed(work, v):
    """Let the primary rows lose the accelerations that placing found."""
    rows = work.rows
    for r in range(len(rows)):
        if rows[r].primary:
            rows[r].residual = placed_acceleration_of_row(rows[r], work.terms, work.bodies)
            rows[r].residual += feedback(rows[r], work, v)
    aim(work, ACCELERATION)


@kernel
def feedback(row, work, v):
    """Baumgarte's correction of an acceleration by the errors of velocity and position; 0 where projection is used."""
    two_alpha, beta_squared = work.baumgarte
    if two_alpha == 0.0 or row.one_sided:
        return 0.0
    return two_alpha * velocity_of_row(row, work.terms, work.bodies, v) + beta_squared * row.error


def restrain(system, work, v, a):
    """Hold all active rows: correct the accelerations `a`, push the bodies with the multipliers, find reactions."""
    tree, rows, called = system.tree, work.rows, work.dual.called
    follow_markers(tree, work.bodies)
    accelerate_closures(tree, a, work)
    count = call_rows(work, ACCELERATION)
    if count > 0:
        for k in range(count):
            row = rows[called[k]]
            work.dual.r[k] = acceleration_of_row(row, work.terms, work.bodies, a) + feedback(row, work, v)
        aim_nowhere(work)
        build_delassus(system, work, count)
        solve_dual(work, count)
        push_called(tree, work, count)
        aim(work, ACCELERATION)
        respond(system, work, work.tau, work.response)
        for j in range(len(a)):
            if not tree.driven[j]:
                a[j] = work.response[j]
        follow_markers(tree, work.bodies)
        accelerate_closures(tree, a, work)
    react_closures(tree, work)


@kernel
def push_called(tree, work, count):
    """Push bodies and coordinates with the multipliers, and lay out everything that pushes as impulses."""
    bodies = work.bodies
    clear_impulses(work)
    impel_called(work, count)
    hand_on(tree, work.wrenches)
    for j in range(len(work.tau)):
        work.tau[j] += work.impulse[j]
    for i in range(1, len(tree.links)):
        store_force(bodies[i], load_force(bodies[i]) - load_force(work.wrenches[i]))
    push_closures(tree, work.impulse, work)
    hand_on(tree, bodies)
    for i in range(1, len(tree.links)):
        store_force(work.wrenches[i], -load_force(bodies[i]))


# --- velocities and positions -------------------------------------------------------------------------------------
def restore(system, work, t, q, v, a, ledger):
    """Project q onto the positions and v onto the velocities that the rows allow, in place, after a step."""
    if work.baumgarte[0] > 0.0:
        return
    tree, before = system.tree, math.inf
    for _ in range(CORRECTIONS):
        place(system, t, q, v, a, work)
        touch(work)
        error = worst_error(work)
        work.dual.worst[0] = error
        if error <= CLOSED or error > 0.5 * before:
            break
        before = error
        accelerate(system, work, work.response)
        project(system, work, POSITION)
        displace(tree, q, work.response, 1.0)
        normalize(tree, q)
    if find_velocities(work, v) > CLOSED:
        accelerate(system, work, work.response)
        project(system, work, VELOCITY)
        for j in range(len(v)):
            v[j] += work.response[j]
        book_impacts(work, ledger)
    latch(work)


def project(system, work, level):
    """Response that brings all rows of a level to 0 from their residuals, with the least motion."""
    rows, called = work.rows, work.dual.called
    if level == POSITION:
        for r in range(len(rows)):
            rows[r].residual = rows[r].error
    count = call_rows(work, level)
    for k in range(count):
        work.dual.r[k] = rows[called[k]].residual
    if len(work.aims) > 0:
        clear_impulses(work)
        aim(work, level)
        answer(system, work)
        for k in range(count):
            work.dual.r[k] += change_of_row(rows[called[k]], work.terms, work.bodies, work.response)
        aim_nowhere(work)
    build_delassus(system, work, count)
    solve_dual(work, count)
    clear_impulses(work)
    impel_called(work, count)
    aim(work, level)
    answer(system, work)


@kernel
def touch(work):
    """Call the one-sided rows that are at their limit, or beyond it at any time while positions are projected."""
    for r in range(len(work.rows)):
        row = work.rows[r]
        if row.one_sided and row.error <= TOUCHING:
            row.active = 1


@kernel
def worst_error(work):
    """Largest error of position, m or rad."""
    rows, worst = work.rows, 0.0
    for r in range(len(rows)):
        error = rows[r].error
        worst = max(worst, -error if rows[r].one_sided else abs(error))
    return worst


@kernel
def find_velocities(work, v):
    """Residuals at the level of velocities; the largest that takes part."""
    rows, worst = work.rows, 0.0
    for r in range(len(rows)):
        row = rows[r]
        row.residual = velocity_of_row(row, work.terms, work.bodies, v)
        if is_called(row, VELOCITY):
            worst = max(worst, -row.residual if row.one_sided else abs(row.residual))
    return worst


@kernel
def book_impacts(work, ledger):
    """Book what impacts on one-sided rows dissipate: impulse times the mean of the rates before and after."""
    for r in range(len(work.rows)):
        row = work.rows[r]
        change = change_of_row(row, work.terms, work.bodies, work.response)
        if row.one_sided:
            ledger[row.account] -= row.multiplier * (row.residual + 0.5 * change)
        row.residual += change


@kernel
def latch(work):
    """Let the one-sided rows that touched take part in accelerations, unless they separate."""
    for r in range(len(work.rows)):
        row = work.rows[r]
        if row.one_sided:
            row.active = row.active == 1 and row.residual <= RESTING


# --- binding ------------------------------------------------------------------------------------------------------
class Restraint(NamedTuple):
    """The templates above, bound to one method."""

    build_delassus: Any
    restrain: Any
    project: Any
    restore: Any


@cache
def bind(accelerate: Any, respond: Any) -> Restraint:
    """Bind a method's two kernels, from the parts upward."""
    answer_ = bound_kernel(answer, respond=respond)
    build_ = bound_kernel(build_delassus, respond=respond)
    project_ = bound_kernel(project, answer=answer_, build_delassus=build_)
    return Restraint(
        build_delassus=build_,
        restrain=bound_kernel(restrain, respond=respond, build_delassus=build_),
        project=project_,
        restore=bound_kernel(restore, accelerate=accelerate, project=project_),
    )
