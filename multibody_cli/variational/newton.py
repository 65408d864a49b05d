"""Newton's method for a step in the coordinates of the joints: the exact derivative, as a dense matrix.

A further twist y_i of body i at the end of the step changes its momentum by D_i y_i (`newton_maximal`), so that the
impulses that the coordinates lack change by

    N = sum_i  J_i(q)^T D_i J_i(q'),        N[j, l] = S_j . A_i S_l'

with the columns S of the start and S' of the end, and the composite A_i = D_i + what the children of i hand in, of that
joint of the two which is farther out: O(n^2) for the matrix, O(n^3) for its factors.

Source: Lee, Liu, Park and Srinivasa 2016, Alg. 1 and the appendix, where N is built one column after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import follow_closures, impel_closures
from multibody_cli.kernel import formula, kernel
from multibody_cli.kkt.assembly import column_of
from multibody_cli.kkt.nodes import Cells, cells_for
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.model import Floats, Integers, System
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, power, shift_force
from multibody_cli.spatial.values import Force, Vec3
from multibody_cli.tree.articulated_body import change_of, keep_change
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, complete_columns, jacobian_times
from multibody_cli.tree.kinematics import place_all
from multibody_cli.tree.markers import follow_markers, hand_on
from multibody_cli.tree.workspace import Work, workspace_for
from multibody_cli.variational.momentum_derivative import write_derivative
from multibody_cli.variational.newton_constraints import Exact, exact_for


class Dense(NamedTuple):
    """Work arrays for b bodies and n velocities."""

    work: Work  # bodies and columns at the coordinates ahead
    rest: Floats  # (n,)
    composites: Cells  # six rows a body
    N: Floats  # (n, n), then its factors
    order: Integers  # (n,) of its rows
    lacks: Floats  # (n,)


def dense_for(system: System) -> Dense:
    """Allocate the work arrays."""
    n, b = len(system.tree.driven), len(system.tree.links)
    return Dense(
        workspace_for(system), np.zeros(n), cells_for(6 * b), np.zeros((n, n)), np.zeros(n, np.int64), np.zeros(n)
    )


class Searching(NamedTuple):
    """What the root finders of this method need: the derivative, and the corrections of one search."""

    dense: Dense
    corrections: Floats  # (most, n)
    exact: Exact  # of rows of restraint


def searching_for(system: System, most: int = 0) -> Searching:
    """Allocate the work arrays, with room for so many corrections."""
    return Searching(dense_for(system), np.zeros((most, len(system.tree.driven))), exact_for(system))


def gather(tree: Any, work: Any, lacks: Any) -> None:
    """Stand for the kernel that evaluates what the coordinates lack: `gather_lacks`, or that of `svi`."""


# --- composites ---------------------------------------------------------------------------------------------------
@kernel
def gather_composites(tree, bodies, ends, strides, A):
    """Derivatives of the momenta of all bodies, with those of the bodies that they carry, into A."""
    links = tree.links
    for k in range(len(A.numbers)):
        A.numbers[k] = 0.0
    for i in range(len(links) - 1, 0, -1):
        add_derivative(A, i, links[i], bodies[i], strides[i])
        if links[i].parent > 0:
            hand_in(A.numbers, i, links[i].parent, load(bodies[i].r), load(ends[i].r))


@kernel
def add_derivative(A, i, link, body, stride):
    """Add the derivative of a body's own momentum, by way of the space of the ground."""
    write_derivative(A.wrenches, 0, link, body, stride)
    for k in range(36):
        A.numbers[36 * i + k] += A.numbers[k]


@formula
def shift_rows(numbers, first, r):
    """Refer the six wrenches in the columns of a 6 x 6 block to a point from which the present one lies at r."""
    for j in range(6):
        t = Vec3(numbers[first + j], numbers[first + 6 + j], numbers[first + 12 + j])
        f = Vec3(numbers[first + 18 + j], numbers[first + 24 + j], numbers[first + 30 + j])
        t = t + cross(r, f)
        numbers[first + j], numbers[first + 6 + j], numbers[first + 12 + j] = t.x, t.y, t.z


@kernel
def hand_in(A, i, parent, r, r_end):
    """Add the composite of a body to that of its parent, whose origins lie at -r and -r_end from its own."""
    for k in range(36):
        A[k] = A[36 * i + k]
    shift_rows(A, 0, r)
    for k in range(6):  # a motion of the parent's origin moves the body's by w x r_end more
        w = Vec3(A[6 * k], A[6 * k + 1], A[6 * k + 2])
        w = w + cross(r_end, Vec3(A[6 * k + 3], A[6 * k + 4], A[6 * k + 5]))
        A[6 * k], A[6 * k + 1], A[6 * k + 2] = w.x, w.y, w.z
    for k in range(36):
        A[36 * parent + k] += A[k]


@formula
def composite_times(A, i, y):
    """The wrench A_i y."""
    p = 36 * i
    return Force(
        Vec3(row_times(A, p, y), row_times(A, p + 6, y), row_times(A, p + 12, y)),
        Vec3(row_times(A, p + 18, y), row_times(A, p + 24, y), row_times(A, p + 30, y)),
    )


@formula
def row_times(A, p, y):
    """Six numbers from place p on, times a motion."""
    turning = A[p] * y.w.x + A[p + 1] * y.w.y + A[p + 2] * y.w.z
    return turning + A[p + 3] * y.v.x + A[p + 4] * y.v.y + A[p + 5] * y.v.z


@formula
def transposed_composite_times(A, i, s):
    """A_i^T s, as something to pair with motions at the end."""
    p = 36 * i
    return Force(
        Vec3(column_times(A, p, s), column_times(A, p + 1, s), column_times(A, p + 2, s)),
        Vec3(column_times(A, p + 3, s), column_times(A, p + 4, s), column_times(A, p + 5, s)),
    )


@formula
def column_times(A, p, s):
    """Every sixth number from place p on, times a motion."""
    turning = A[p] * s.w.x + A[p + 6] * s.w.y + A[p + 12] * s.w.z
    return turning + A[p + 18] * s.v.x + A[p + 24] * s.v.y + A[p + 30] * s.v.z


# --- the matrix ---------------------------------------------------------------------------------------------------
@kernel
def fill_derivative(tree, work, dense):
    """N, from the composites; 1 on the diagonal of coordinates that are prescribed, or of joints that close loops."""
    links, driven, N = tree.links, tree.driven, dense.N
    n = len(driven)
    for j in range(n):
        for k in range(n):
            N[j, k] = 0.0
        N[j, j] = 1.0
    for i in range(1, len(links)):
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            if not driven[j]:
                write_path(tree, work, dense, i, j)


@kernel
def write_path(tree, work, dense, i, j):
    """Column and row j of N, for a coordinate of body i, with the coordinates from the ground to it."""
    links, driven, N = tree.links, tree.driven, dense.N
    F = composite_times(dense.composites.numbers, i, column_of(dense.work.columns[j]))
    G = transposed_composite_times(dense.composites.numbers, i, column_of(work.columns[j]))
    for k in range(links[i].iv, links[i].iv + links[i].nv):
        if not driven[k]:
            N[k, j] = power(column_of(work.columns[k]), F)
    while links[i].parent > 0:
        F = shift_force(F, load(work.bodies[i].r))
        G = shift_force(G, load(dense.work.bodies[i].r))
        i = links[i].parent
        for k in range(links[i].iv, links[i].iv + links[i].nv):
            if not driven[k]:
                N[k, j] = power(column_of(work.columns[k]), F)
                N[j, k] = power(column_of(dense.work.columns[k]), G)


# --- answers ------------------------------------------------------------------------------------------------------
@kernel
def factor_ahead(system, work, ahead, h):
    """Place bodies and columns at the coordinates ahead, and factor N there."""
    tree, dense = system.tree, ahead.solver.dense
    place_all(tree, ahead.q, dense.rest, dense.rest, dense.work)
    complete_columns(tree, dense.work)
    gather_composites(tree, work.bodies, dense.work.bodies, ahead.strides, dense.composites)
    fill_derivative(tree, work, dense)
    factor_dense(dense.N, dense.order)


@kernel
def gather_lacks(tree, work, lacks):
    """What the coordinates lack, for impulses in `work.wrenches` and `work.impulse`: one recursion inward (DRNEA)."""
    hand_on_all(tree, work)
    for j in range(len(lacks)):
        lacks[j] = 0.0 if tree.driven[j] else work.impulse[j]
    add_jacobian_transposed_times(tree, work, lacks)


@kernel
def hand_on_all(tree, work):
    """Hand what pushes closures and markers on to the bodies."""
    impel_closures(tree, work.impulse, work)
    hand_on(tree, work.wrenches)


@kernel
def spread_response(tree, work, ends):
    """Let bodies, markers and closures follow the response of the coordinates, as they would at the end of the step."""
    jacobian_times(tree, work.response, ends)
    follow_markers(tree, ends.bodies)
    for i in range(len(ends.bodies)):
        keep_change(work.bodies[i], change_of(ends.bodies[i]))
    follow_closures(tree, work.response, work)


def answer_by_newton(system, work, ahead, h):
    """Correction of the mean rates, by the exact derivative, for impulses in `work.wrenches` and `work.impulse`."""
    factor_ahead(system, work, ahead, h)
    answer_by_factors(system, work, ahead)


def answer_by_factors(system, work, ahead):
    """`answer_by_newton` to other impulses, by the factors that it left."""
    dense = ahead.solver.dense
    gather(system.tree, work, dense.lacks)
    solve_dense(dense.N, dense.order, dense.lacks, work.response)
    spread_response(system.tree, work, dense.work)
