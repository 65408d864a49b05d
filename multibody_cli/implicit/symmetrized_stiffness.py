"""Linearly implicit Euler as in Sueda's notes: the symmetric part of the stiffness of springs, in axes of the bodies.

K is the whole derivative of the wrenches of springs by the displacements of their bodies, both in axes that are fixed
in each body.  It is not symmetric, and the notes take (K + K^T)/2, which is not definite and depends on these axes:

    (M + h D + h^2 K_r - h^2 J^T (K + K^T)/2 J) v' = M v + h (f + f_D)

where f are all forces but those of dampers, D belongs to these, and K_r to joints.  Forces that are given in the world
have no K: with (1.33), scene 10 of the notes would end with 749 erg instead of 1088 (exact: 1211), and their program
leaves it out.

The derivative in axes of the world lacks F x dw, the change of the components of the force F in axes that turn by dw.
F follows from the same derivative, because springs turn with all bodies: if everything turns by e_k, F changes by
e_k x F, and F = -1/2 sum e_k x (e_k x F).

Sources: Sueda, notes 1.9, (1.30), (1.35) to (1.37), with corrected signs; 2.5, (2.79).
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import compute_loop_velocities
from multibody_cli.forces.element_products import add_spring_products, linearize_forces
from multibody_cli.forces.elements import apply_implicit_joint_forces
from multibody_cli.forces.variation import add_wrench
from multibody_cli.implicit.dense_matrix import fill_dense, reduce_wrenches
from multibody_cli.implicit.implicit_forces import clear_blocks, clear_wrenches, jacobian_product
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, cross, shift_motion
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.articulated_body import load_motion_change, store_motion_change
from multibody_cli.tree.configuration import free_end
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.workspace import reset_armature


@kernel
def add_joint_terms(system, work, t):
    """`implicit_forces.add_implicit_terms` without the forces on bodies, whose terms are in the dense matrices."""
    write_ball_columns(system.tree, work)
    compute_loop_velocities(system.tree, work.implicit_rates, work)
    reset_armature(system.tree, work)
    apply_implicit_joint_forces(
        system.forces, t, work.implicit_coefficients, False, work.implicit_rates, work.tau, work.armature
    )
    work.implicit_solve.time[0] = t
    linearize_forces(system.forces, t, work.bodies)
    clear_blocks(work)


@kernel
def fill_stiffness(system, work, K):
    """Fill K (nv, nv) with J^T (K + K^T)/2 J of springs; columns of prescribed coordinates are not symmetrized."""
    tree, solve, last = system.tree, work.implicit_solve, free_end(system.tree)
    write_spring_forces(system, work, solve.r)
    for j in range(len(K)):
        for i in range(len(K)):
            solve.p[i] = 1.0 if i == j else 0.0
            K[i, j] = 0.0
        if j < last:
            jacobian_product(tree, solve.p, work)
            clear_wrenches(work)
            add_spring_products(system.forces, solve.time[0], work.bodies, 1.0, 0.0, True, work.wrenches)
            for i in range(1, len(tree.links)):
                turn = load_motion_change(work.bodies[i]).w
                add_wrench(work.wrenches[i], ZERO, cross(load_force(solve.r[i]).f, turn))
            reduce_wrenches(tree, work)
            for i in range(last):
                K[i, j] = solve.x[i]
    for i in range(last):
        for j in range(i):
            if not (tree.driven[i] or tree.driven[j]):
                K[i, j] = 0.5 * (K[i, j] + K[j, i])
                K[j, i] = K[i, j]


@kernel
def write_spring_forces(system, work, forces):
    """Write the forces of all springs on each body."""
    links, bodies = system.tree.links, work.bodies
    for i in range(len(links)):
        store_force(forces[i], Force(ZERO, ZERO))
    for k in range(3):
        turn = Vec3(1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        store_motion_change(bodies[0], Motion(turn, ZERO))
        for i in range(1, len(links)):
            store_motion_change(bodies[i], shift_motion(load_motion_change(bodies[links[i].parent]), load(bodies[i].r)))
        clear_wrenches(work)
        add_spring_products(system.forces, work.implicit_solve.time[0], bodies, 1.0, 0.0, True, work.wrenches)
        for i in range(1, len(links)):
            change = cross(turn, load_force(work.wrenches[i]).f)
            store_force(forces[i], Force(ZERO, load_force(forces[i]).f - 0.5 * change))


@kernel
def add_stiffness_forces(work, K):
    """Add h K v for the rates at the start of the step to `work.tau`."""
    for i in range(len(K)):
        for j in range(len(K)):
            work.tau[i] += work.implicit_coefficients[0] * K[i, j] * work.implicit_rates[j]


@kernel
def fill_symmetrized(system, work, K, A):
    """Fill A (nv, nv) like `fill_dense`, with the stiffness K (nv, nv) of springs instead of the semidefinite one."""
    tree, h, last = system.tree, work.implicit_coefficients[0], free_end(system.tree)
    fill_dense(system, work, A, 0.0)
    for i in range(last):
        for j in range(last):
            if not (tree.driven[i] or tree.driven[j]):
                A[i, j] -= h * h * K[i, j]
