"""The matrix A of implicit forces as a dense matrix, by columns: see `implicit.implicit_forces`."""

from __future__ import annotations

from multibody_cli.implicit.implicit_forces import apply_off_diagonal_stiffness, clear_wrenches
from multibody_cli.kernel import kernel
from multibody_cli.linalg.dense_lu import solve_dense
from multibody_cli.linalg.vectors import clear
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia
from multibody_cli.tree.configuration import free_end
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, jacobian_times


@kernel
def fill_dense(system, work, A, of_stiffness):
    """Fill A (nv, nv) column by column; the identity for prescribed coordinates and those of loop joints.

    `of_stiffness` is 1, or 0 to leave out K of the bodies.
    """
    tree, solve, last = system.tree, work.implicit_solve, free_end(system.tree)
    for j in range(len(A)):
        unknown = j < last and not tree.driven[j]
        for i in range(len(A)):
            solve.p[i] = 1.0 if i == j else 0.0
            A[i, j] = 0.0 if unknown else solve.p[i]
        if not unknown:
            continue
        jacobian_times(tree, solve.p, work)
        apply_off_diagonal_stiffness(system, work, solve.p, of_stiffness)
        for i in range(1, len(tree.links)):
            w = rigid_body_inertia(tree.links[i], work.bodies[i]) @ load_motion_change(work.bodies[i])
            store_force(work.wrenches[i], load_force(work.wrenches[i]) - w)
        reduce_wrenches(tree, work)
        for i in range(last):
            A[i, j] = -solve.x[i]
        A[j, j] += work.armature[j]


@kernel
def reduce_wrenches(tree, work):
    """Compute J^T times `work.wrenches` into `work.implicit_solve.x` (nv,); 0 for coordinates that are not unknown."""
    x = work.implicit_solve.x
    clear(x)
    add_jacobian_transposed_times(tree, work, x)


@kernel
def correct_dense(system, work, A, order, y):
    """Change the solution y (nv,) of M + H to that of A, by the LU factors of A: A y' = (M + H) y."""
    tree, solve = system.tree, work.implicit_solve
    clear_wrenches(work)
    for i in range(1, len(tree.links)):
        store_force(
            work.wrenches[i], rigid_body_inertia(tree.links[i], work.bodies[i]) @ load_motion_change(work.bodies[i])
        )
    reduce_wrenches(tree, work)
    for j in range(free_end(tree)):
        solve.x[j] += 0.0 if tree.driven[j] else work.armature[j] * y[j]
    solve_dense(A, order, solve.x, solve.z)
    for j in range(free_end(tree)):
        y[j] = y[j] if tree.driven[j] else solve.z[j]
    jacobian_times(tree, y, work)
