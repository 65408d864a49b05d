"""Rows of restraint in a variational step: positions hold at its end, velocities wherever a step ends.

A step pushes with impulses J^T x of its rows at the start, J and x those of the start, so that the errors g of the rows
are 0 at the end, or stay above it where they are one-sided:

    g(q') >= 0,   x >= 0,   one of both 0.

With y_0 the correction of the mean rates without them, the rows correct it by M^-1 J^T z such that

    W z + (g / h + J y_0) = 0,      W = J M^-1 J^T

both taken at the start: what is wrong in this shrinks with the step, as the inverse mass matrix itself does for it.
At the end velocities are projected onto those that the rows allow.  Rows that restrain velocities alone take part in
this projection only, with the same impulse once more before the next step, so that it acts around the instant: the
mean of the momenta before and after it is allowed.

Sources: Andersen's RATTLE, see Hairer, Lubich and Wanner, VII.1.4; Bruedigam and Manchester 2020, section 4; for
rows of velocities, Ferraro, Iglesias and Martin de Diego, Nonlinearity 21 (2008).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import impel_closures
from multibody_cli.constraint_solver.solver import (
    CLOSED,
    VELOCITY,
    aim,
    aim_nowhere,
    answer,
    book_impacts,
    clear_impulses,
    find_velocities,
    latch,
    touch,
    worst_error,
)
from multibody_cli.constraints.rows import change_of_row, impel_row
from multibody_cli.kernel import formula, kernel, records
from multibody_cli.linalg.multipliers import solve_multipliers
from multibody_cli.model import Floats, Integers, System, Tree
from multibody_cli.tree.jacobian import add_jacobian_transposed_times
from multibody_cli.tree.workspace import Work, workspace_for
from multibody_cli.variational.discrete_motion import add_wrenches, find_lacks, leave_over, move_velocities
from multibody_cli.variational.maximal_joints import Bonds, bonds_for
from multibody_cli.variational.unconstrained import prepare_free
from multibody_cli.variational.workspace import TOLD_RESIDUAL, largest


class Held(NamedTuple):
    """Work arrays of a step with m rows."""

    tree: Tree  # with those closures alone that are no bonds
    bonds: Bonds
    work: Work  # bodies, ghosts and rows at the coordinates ahead
    v: Floats  # (n,) scratch
    a: Floats  # (n,)
    errors: Floats  # (m,) of the rows at the coordinates ahead
    written: Floats  # (m,) of the rows where the run started: bodies as they were made cannot hold better
    load: Floats  # (m,) multipliers that are among the pushes at the start
    push: Floats  # (m,) impulses of the rows beside these
    lost: Floats  # (m,) what those of one-sided rows dissipate, J
    taken: Integers  # (m,) whether a row is called
    called: Integers  # (1,) how many are


def held_for(system: System) -> Held:
    """Allocate the work arrays."""
    n, m, bonds = len(system.tree.driven), len(system.rows), bonds_for(system)
    left = np.delete(np.asarray(system.tree.closures), bonds.table["closure"])
    left.flags.writeable = False
    return Held(
        tree=system.tree._replace(closures=records(left)),
        bonds=bonds,
        work=workspace_for(system),
        v=np.zeros(n),
        a=np.zeros(n),
        errors=np.zeros(m),
        written=np.zeros(m),
        load=np.zeros(m),
        push=np.zeros(m),
        lost=np.zeros(m),
        taken=np.zeros(m, np.int64),
        called=np.zeros(1, np.int64),
    )


# --- stand-ins ----------------------------------------------------------------------------------------------------
def build_delassus(system: Any, work: Any, count: int) -> None:
    """Stand for the kernel that works out how the called rows answer each other (`constraint_solver.solver`)."""


def answer_lacks(system: Any, work: Any, ahead: Any, h: float) -> None:
    """Stand for the kernel that answers to impulses on bodies and coordinates: `answer_by_start`, or an exact one.

    To the impulses in `work.wrenches` and `work.impulse` it adds those of the primary rows so far, and to these what it
    finds.
    """


def project(system: Any, work: Any, level: int) -> None:
    """Stand for the kernel that brings all rows of a level to 0."""


# --- the start of a search ----------------------------------------------------------------------------------------
def prepare_held(system, work, ahead, h):
    """Push the bodies at the start, gather the impulses on coordinates, and find how the rows answer each other."""
    prepare_free(system, work, ahead, h)
    call_rows(work, ahead.held)
    aim_nowhere(work)
    build_delassus(system, work, ahead.held.called[0])


@kernel
def call_rows(work, held):
    """Call the rows that hold positions, and those one-sided ones that push at the start."""
    rows, count = work.rows, 0
    for r in range(len(rows)):
        held.push[r] = held.lost[r] = 0.0
        held.taken[r] = 0
        if not rows[r].primary and (rows[r].active if rows[r].one_sided else rows[r].holonomic):
            work.dual.called[count] = r
            held.taken[r] = 1
            count += 1
    held.called[0] = count


@kernel
def call_more(work, held):
    """Call one-sided rows that the coordinates ahead violate; whether there are any.  Locks of closures are not."""
    rows, called, before = work.rows, work.dual.called, held.called[0]
    count = before
    for r in range(len(work.locks), len(rows)):
        if rows[r].one_sided and held.errors[r] < 0.0 and not held.taken[r]:
            called[count] = r
            held.taken[r] = 1
            count += 1
    held.called[0] = count
    return count > before


# --- on the way ---------------------------------------------------------------------------------------------------
def correct_held(system, work, ahead, h):
    """Correct the mean rates by the response to what the bodies lack, and the rows by theirs."""
    rows, terms, dual, held = work.rows, work.terms, work.dual, ahead.held
    if call_more(work, held):
        aim_nowhere(work)
        build_delassus(system, work, held.called[0])
    gather_lacks(system, work, ahead, h)
    answer_lacks(system, work, ahead, h)
    for j in range(len(ahead.change)):
        ahead.change[j] = work.response[j]
    count = held.called[0]
    if count == 0:
        return
    for k in range(count):
        r = dual.called[k]
        dual.r[k] = held.errors[r] / h + change_of_row(rows[r], terms, work.bodies, work.response)
        dual.lower[k] = -held.push[r] - h * held.load[r] if rows[r].one_sided else -math.inf
        dual.upper[k] = math.inf
        dual.x[k] = math.nan
        if dual.W[k, k] == 0.0:
            dual.r[k] = 0.0
    solve_multipliers(
        dual.W[:count, :count], dual.r[:count], dual.lower[:count], dual.upper[:count], dual.x[:count], dual.solver
    )
    clear_impulses(work)
    for k in range(count):
        r = dual.called[k]
        held.push[r] += dual.x[k]
        impel_row(rows[r], terms, dual.x[k], work.wrenches, work.impulse)
    aim_nowhere(work)
    answer(system, work)
    keep_primary(work, held)
    for j in range(len(ahead.change)):
        ahead.change[j] += work.response[j]


def answer_by_start(system, work, ahead, h):
    """Response to the impulses in `work.wrenches` and `work.impulse` by the factors of the start: quasi-Newton."""
    push_primary(work, ahead.held)
    for r in range(len(work.aims)):
        if work.rows[r].primary:
            work.rows[r].residual = ahead.held.errors[r] / h
    aim(work, VELOCITY)
    answer(system, work)
    keep_primary(work, ahead.held)


@kernel
def gather_lacks(system, work, ahead, h):
    """What the bodies lack to stride as they do, called rows included, into `work.wrenches` and `work.impulse`."""
    find_lacks(system.tree.links, work.bodies, ahead.strides, h, work.wrenches)
    for j in range(len(work.impulse)):
        work.impulse[j] = ahead.impulse[j]
    push_called(work, ahead.held)


@kernel
def push_called(work, held):
    """Add the impulses so far of the called rows to those on the bodies and on the coordinates."""
    for k in range(held.called[0]):
        r = work.dual.called[k]
        impel_row(work.rows[r], work.terms, held.push[r], work.wrenches, work.impulse)


@kernel
def push_primary(work, held):
    """Add the impulses so far of the rows that the method holds itself to those on the bodies."""
    for r in range(len(work.aims)):
        if work.rows[r].primary:
            impel_row(work.rows[r], work.terms, held.push[r], work.wrenches, work.impulse)


@kernel
def keep_primary(work, held):
    """Add the multipliers that the method found for the rows that it holds itself."""
    for r in range(len(work.aims)):
        if work.rows[r].primary:
            held.push[r] += work.rows[r].multiplier


@kernel
def holds_rows(work, ahead, slack):
    """Whether called rows hold at the end, as far as they did where the run started.

    Corrections do not mind rows that cannot push, since others hold what they restrain already, or forbid it.
    """
    rows, held = work.rows, ahead.held
    for k in range(held.called[0]):
        r = work.dual.called[k]
        if amiss(rows[r], held.errors[r]) > slack + 10.0 * held.written[r]:
            return False
    return True


@formula
def amiss(row, error):
    """How far a row is from holding."""
    return max(-error, 0.0) if row.one_sided else abs(error)


@kernel
def carry_over_held(system, work, ahead, h):
    """Keep what is left of the equations of the step for the next one."""
    tree = system.tree
    gather_lacks(system, work, ahead, h)
    push_primary(work, ahead.held)
    impel_closures(tree, work.impulse, work)
    if ahead.settings.maximal:  # its coordinates take no impulses of their own
        left = leave_over(tree.links, ahead.strides, work.wrenches)
    else:
        for j in range(len(ahead.carry)):
            ahead.carry[j] = 0.0 if tree.driven[j] else work.impulse[j]
        add_jacobian_transposed_times(tree, work, ahead.carry)
        forget_closures(tree, ahead.carry)
        left = largest(ahead.carry)
    ahead.told[TOLD_RESIDUAL] = max(ahead.told[TOLD_RESIDUAL], left)
    find_losses(work.rows, ahead.held, h)


@kernel
def find_losses(rows, held, h):
    """Find what impulses of one-sided rows dissipate: by the mean of their rates at the start and on the way."""
    for r in range(len(rows)):
        if rows[r].one_sided:
            on_the_way = (held.errors[r] - rows[r].error) / h
            held.lost[r] = -0.5 * held.push[r] * (rows[r].residual + on_the_way)


@kernel
def forget_closures(tree, x):
    """Leave nothing on the coordinates of closures: what pushes them has been handed to the bodies."""
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            x[j] = 0.0


# --- the arrival --------------------------------------------------------------------------------------------------
@kernel
def begin_rows(work, ahead):
    """Keep what rows push with where the run starts, and how far they are off."""
    keep_loads(work, ahead)
    for r in range(len(work.rows)):
        ahead.held.written[r] = amiss(work.rows[r], work.rows[r].error)


@kernel
def keep_loads(work, ahead):
    """Keep the multipliers of one-sided rows that the accelerations at the start came with: they push in `push_of`."""
    for r in range(len(work.rows)):
        ahead.held.load[r] = work.rows[r].multiplier if work.rows[r].one_sided else 0.0


def settle_held(system, work, ahead, v, ledger):
    """Give the bodies the velocities that belong to their momenta, and that the rows allow."""
    links, rows = system.tree.links, work.rows
    keep_loads(work, ahead)
    for r in range(len(rows)):
        if rows[r].one_sided:
            ledger[rows[r].account] += ahead.held.lost[r]
    work.dual.worst[0] = worst_error(work)
    for j in range(len(v)):
        work.impulse[j] = ahead.carry[j]
    aim_nowhere(work)
    answer(system, work)
    follow_response(links, work, v)
    touch(work)
    if find_velocities(work, v) > CLOSED:
        project(system, work, VELOCITY)
        follow_response(links, work, v)
        book_impacts(work, ledger)
        again = 1.0 / ahead.settings.first_kick - 1.0
        clear_impulses(work)
        for r in range(len(rows)):
            if not (rows[r].holonomic or rows[r].one_sided):
                impel_row(rows[r], work.terms, again * rows[r].multiplier, work.wrenches, work.impulse)
        impel_closures(system.tree, work.impulse, work)
        add_wrenches(ahead.strides, work.wrenches)
        forget_closures(system.tree, work.impulse)
        for j in range(len(v)):
            ahead.carry[j] += work.impulse[j]
    latch(work)


@kernel
def follow_response(links, work, v):
    """Let velocities of coordinates and bodies follow the response of the mechanism."""
    for j in range(len(v)):
        v[j] += work.response[j]
    move_velocities(links, work.bodies)
