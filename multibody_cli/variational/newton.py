"""Newton's and Broyden's methods for a step in generalized coordinates: the Jacobian of the DEL residual, dense.

The unknowns are mean rates.  A displacement of body i by the twist y_i h at the end of the step changes its momentum by
h D_i y_i, with the block h D_i of `discrete_motion.write_derivative`.  The derivative of the residual is therefore

    N = sum_i  J_i(q)^T h D_i J_i(q'),        N[j, l] = S_j . A_i S_l'

with the motion subspaces S of the start and S' of the end.  The composite A_i is h D_i plus the composites of the
children of i; i is the outboard one of the two bodies.  The matrix costs O(n^2), its factorization O(n^3).

Broyden's method updates the Jacobian of the first iteration by secants.  With H_0 = N^-1 of the first correction s_0
and the residual e after k + 1 corrections, the next correction is

    z = H_0 e,    z += s_(i+1) (s_i . z) / s_i . s_i   for i < k,    s_(k+1) = z / (1 - (s_k . z) / s_k . s_k)

Sources: Lee, Liu, Park and Srinivasa 2016, Alg. 1 and the appendix (Alg. 4), which computes N column by column;
Broyden, Math. Comp. 19 (1965), in the form of Kelley, Iterative Methods for Linear and Nonlinear Equations, 7.3.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates
from multibody_cli.kernel import formula, kernel, kernel_parameter, template
from multibody_cli.kkt.nodes import Cells, cells_for
from multibody_cli.linalg.dense_lu import factor_dense, solve_dense
from multibody_cli.linalg.vectors import add_scaled, clear, copy, inner_product
from multibody_cli.model import Floats, Integers, System
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, power, shift_force
from multibody_cli.spatial.values import Force, Vec3
from multibody_cli.tree.articulated_body import load_motion_change, store_motion_change
from multibody_cli.tree.jacobian import column_of, jacobian_times, write_ball_columns
from multibody_cli.tree.kinematics import forward_kinematics
from multibody_cli.tree.markers import update_marker_changes
from multibody_cli.tree.workspace import Work, workspace_for
from multibody_cli.variational.constrained import transfer_impulses_to_bodies
from multibody_cli.variational.discrete_motion import write_derivative
from multibody_cli.variational.newton_constraints import NewtonConstraintWork, newton_constraint_work_for
from multibody_cli.variational.newton_forces import add_force_derivatives
from multibody_cli.variational.step_forces import act_within_step


class DenseNewton(NamedTuple):
    """Work arrays for b bodies and n velocities."""

    work: Work  # bodies and columns at the iterate
    rest: Floats  # (n,)
    composites: Cells  # six rows per body
    N: Floats  # (n, n), then its factors
    order: Integers  # (n,) of its rows
    residual: Floats  # (n,)


def dense_newton_for(system: System) -> DenseNewton:
    """Allocate the work arrays."""
    n, b = len(system.tree.driven), len(system.tree.links)
    return DenseNewton(
        workspace_for(system), np.zeros(n), cells_for(6 * b), np.zeros((n, n)), np.zeros(n, np.int64), np.zeros(n)
    )


class RootFinderWork(NamedTuple):
    """Work arrays of the root finders in generalized coordinates: Jacobian and corrections of one step."""

    dense: DenseNewton
    corrections: Floats  # (max_iterations, n)
    constraint_work: NewtonConstraintWork


def root_finder_work_for(system: System, max_iterations: int) -> RootFinderWork:
    """Allocate the work arrays, for at most `max_iterations` corrections."""
    return RootFinderWork(
        dense_newton_for(system),
        np.zeros((max_iterations, len(system.tree.driven))),
        newton_constraint_work_for(system),
    )


@kernel_parameter
def evaluate_residual(tree: Any, work: Any, residual: Any) -> None:
    """Compute the residual (n,) from impulses, by `step.drnea_inward_pass` or `svi_residual`."""


@kernel_parameter
def evaluate_jacobian(tree: Any, work: Any, step: Any) -> None:
    """Compute N into `step.solver.dense.N`, by `composite_jacobian` or `svi_jacobian`.

    The kinematics of the iterate are in `step.solver.dense.work`.  Rows and columns of prescribed coordinates and of
    loop joints are those of the identity.
    """


# --- composites ---------------------------------------------------------------------------------------------------
@kernel
def compute_composites(tree, bodies, ends, discrete_motions, composites):
    """Compute the composite derivatives of all bodies, (b, 6, 6), into `composites`."""
    links = tree.links
    clear(composites.numbers)
    for i in range(len(links) - 1, 0, -1):
        add_derivative(composites, i, links[i], bodies[i], discrete_motions[i])
        if links[i].parent > 0:
            add_to_parent(composites.numbers, i, links[i].parent, load(bodies[i].r), load(ends[i].r))


@kernel
def add_derivative(composites, i, link, body, discrete_motion):
    """Add the momentum derivative of a body to its composite; block 0 of A is scratch."""
    write_derivative(composites.wrenches, 0, link, body, discrete_motion)
    for k in range(36):
        composites.numbers[36 * i + k] += composites.numbers[k]


@formula
def shift_rows(numbers, first, r):
    """Shift the six wrenches in the columns of a 6 x 6 block to a point from which the present one lies at r."""
    for j in range(6):
        t = Vec3(numbers[first + j], numbers[first + 6 + j], numbers[first + 12 + j])
        f = Vec3(numbers[first + 18 + j], numbers[first + 24 + j], numbers[first + 30 + j])
        t = t + cross(r, f)
        numbers[first + j], numbers[first + 6 + j], numbers[first + 12 + j] = t.x, t.y, t.z


@kernel
def add_to_parent(A, i, parent, r, r_end):
    """Add the composite of a body to that of its parent. The parent's origins lie at -r and -r_end from its own."""
    for k in range(36):
        A[k] = A[36 * i + k]
    shift_rows(A, 0, r)
    for k in range(6):  # a twist of the parent moves the body's origin by w x r_end in addition
        w = Vec3(A[6 * k], A[6 * k + 1], A[6 * k + 2])
        w = w + cross(r_end, Vec3(A[6 * k + 3], A[6 * k + 4], A[6 * k + 5]))
        A[6 * k], A[6 * k + 1], A[6 * k + 2] = w.x, w.y, w.z
    for k in range(36):
        A[36 * parent + k] += A[k]


@formula
def block_times(A, i, down, along, y):
    """Return A_i y, (down, along) = (6, 1), or A_i^T y, (1, 6): the distances of rows and of columns in A."""
    p = 36 * i
    return Force(
        Vec3(line_times(A, p, along, y), line_times(A, p + down, along, y), line_times(A, p + 2 * down, along, y)),
        Vec3(
            line_times(A, p + 3 * down, along, y),
            line_times(A, p + 4 * down, along, y),
            line_times(A, p + 5 * down, along, y),
        ),
    )


@formula
def line_times(A, p, step, y):
    """Return the product of six numbers, `step` apart from index p on, with a twist."""
    angular = A[p] * y.w.x + A[p + step] * y.w.y + A[p + 2 * step] * y.w.z
    return angular + A[p + 3 * step] * y.v.x + A[p + 4 * step] * y.v.y + A[p + 5 * step] * y.v.z


# --- the matrix ---------------------------------------------------------------------------------------------------
@kernel
def composite_jacobian(tree, work, step):
    """Compute N from the composites, O(n^2): `evaluate_jacobian`."""
    links, driven, dense, N = tree.links, tree.driven, step.solver.dense, step.solver.dense.N
    compute_composites(tree, work.bodies, dense.work.bodies, step.discrete_motions, dense.composites)
    fill_identity(N)
    for i in range(1, len(links)):
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            if not driven[j]:
                fill_path_to_ground(tree, work, dense, i, j)
                N[j, j] += tree.armature[j]


@kernel
def fill_path_to_ground(tree, work, dense, i, j):
    """Fill column and row j of N, for a coordinate of body i and the coordinates between it and the ground."""
    links, driven, N = tree.links, tree.driven, dense.N
    F = block_times(dense.composites.numbers, i, 6, 1, column_of(dense.work.columns[j]))
    G = block_times(dense.composites.numbers, i, 1, 6, column_of(work.columns[j]))
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


@kernel
def fill_identity(N):
    """Make N (n, n) the identity."""
    for j in range(len(N)):
        for k in range(len(N)):
            N[j, k] = 0.0
        N[j, j] = 1.0


# --- responses ----------------------------------------------------------------------------------------------------
@template(evaluate_jacobian)
def factor_jacobian(system, work, step, h):
    """Compute kinematics at the iterate, and factor N there."""
    tree, dense = system.tree, step.solver.dense
    forward_kinematics(tree, step.q, dense.rest, dense.rest, dense.work)
    write_ball_columns(tree, dense.work)
    evaluate_jacobian(tree, work, step)
    if act_within_step(step.forces):
        add_force_derivatives(system, work, step, h)
    factor_dense(dense.N, dense.order)


@kernel
def propagate_response(tree, work, ends):
    """Compute the response of bodies, markers and loop joints from that of the coordinates, at the end of the step."""
    jacobian_times(tree, work.response, ends)
    update_marker_changes(tree, ends.bodies)
    for i in range(len(ends.bodies)):
        store_motion_change(work.bodies[i], load_motion_change(ends.bodies[i]))
    compute_loop_rates(tree, work.response, work)


@template(evaluate_residual, evaluate_jacobian)
def newton_response(system, work, step, h):
    """Compute Newton's correction of the mean rates for the impulses in `work.wrenches` and `work.impulse`."""
    factor_jacobian(system, work, step, h)
    newton_response_reusing_factors(system, work, step)


@template(evaluate_residual)
def newton_response_reusing_factors(system, work, step):
    """Like `newton_response` for other impulses, with the last factorization of N."""
    dense = step.solver.dense
    transfer_impulses_to_bodies(system.tree, work)
    evaluate_residual(system.tree, work, dense.residual)
    solve_dense(dense.N, dense.order, dense.residual, work.response)
    propagate_response(system.tree, work, dense.work)


# --- Broyden's method ----------------------------------------------------------------------------------------------
@template(evaluate_residual, evaluate_jacobian)
def broyden_response(system, work, step, h):
    """Compute Broyden's correction of the mean rates for the impulses in `work.wrenches` and `work.impulse`."""
    dense, steps, k = step.solver.dense, step.solver.corrections, step.iteration[0]
    transfer_impulses_to_bodies(system.tree, work)
    evaluate_residual(system.tree, work, dense.residual)
    if k == 0:
        factor_jacobian(system, work, step, h)
    z = work.response
    solve_dense(dense.N, dense.order, dense.residual, z)
    if k > 0:
        for i in range(k - 1):
            add_scaled(z, inner_product(steps[i], z) / inner_product(steps[i], steps[i]), steps[i + 1])
        scale = 1.0 / (1.0 - inner_product(steps[k - 1], z) / inner_product(steps[k - 1], steps[k - 1]))
        for j in range(len(z)):
            z[j] *= scale
    copy(z, steps[k])
    propagate_response(system.tree, work, dense.work)
