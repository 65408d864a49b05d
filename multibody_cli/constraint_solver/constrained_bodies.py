"""Constrained articulated bodies: forward dynamics of a tree with equality rows, linear in bodies and local loops.

The inward pass carries, besides the inertia A and the bias force p of each body, for each row that is open at the body
the wrench K of a unit multiplier, and the accelerations L and l of the rows that close inside its subtree, for unit
multipliers and for the forces:

    p - K x,                   bias force with the multipliers x
    K^T a + L x + l = rhs,     rows, for the acceleration a of the body relative to that of forward kinematics

Elimination of one column S with generalized force tau and coefficients c of its coordinate in the rows: U, D, u as in
`tree.articulated_body`, then

    k = K^T S + c,    K' = K - U k^T / D,    L' = L + k k^T / D,    l' = l + k u / D

and in the outward pass dv/dt = (u + k . x - U . da) / D (`open_rows`).  At the last common ancestor of the bodies of a
block of rows its multipliers are eliminated (`row_blocks`); the multipliers of blocks that close at the ground follow
from a sparse system, in the order of `row_elimination`.

The kernels satisfy the interface of a method (`method_kernels`), with all these rows primary.  Where rows of different
blocks depend on each other they eliminate no row, and all rows are rows of the Delassus matrix (`solver`).

Sources: Popov, Vereshchagin and Zenkevich 1978; Sathya and Carpentier, Constrained articulated body dynamics
algorithms, IEEE Transactions on Robotics 41 (2025).
"""

from __future__ import annotations

from multibody_cli.constraint_solver.open_rows import (
    add_impulse_to_rows,
    apply_multipliers,
    pass_rows,
    read_rhs,
    write_open_rows,
)
from multibody_cli.constraint_solver.row_blocks import (
    factor_block,
    reduce_blocks,
    reduce_neighbours,
    solve_blocks,
    substitute_rows,
)
from multibody_cli.kernel import kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import (
    ZERO,
    no_force,
    no_inertia,
    rank_one,
    shift_force,
    shift_inertia,
    shift_motion,
)
from multibody_cli.spatial.values import Motion, Vec3
from multibody_cli.tree import articulated_body
from multibody_cli.tree.articulated_body import (
    accelerate_general,
    accelerate_link,
    add_child_inertia,
    add_implicit_blocks,
    eliminate,
    eliminate_general,
    impulse_past_ball,
    impulse_past_column,
    load_child_inertia,
    load_motion_change,
    rigid_body_inertia,
    store_child_inertia,
    store_motion_change,
)


# --- the kernels of a method --------------------------------------------------------------------------------------
@kernel
def accelerate(system, work, a):
    """Write dv/dt of the free coordinates into `a` (nv,), and the multipliers, with the rows at `work.rhs`."""
    clear_multipliers(work)
    factor(system, work, a)
    if work.elimination.regular[0]:
        pass_outward(system.tree, a, work, work.elimination)
    else:
        articulated_body.outward_pass(system.tree, a, work)


@kernel
def accelerate_again(system, work, a):
    """Like `accelerate`, with the factors of the same positions."""
    clear_multipliers(work)
    for i in range(len(system.tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    apply_inverse_mass(system, work, work.tau, work.response)
    for j in range(len(a)):
        if not system.tree.driven[j]:
            a[j] = work.response[j]


@kernel
def clear_multipliers(work):
    """Set the multipliers of all rows to 0: one-sided rows have those of the last projection."""
    for r in range(len(work.rows)):
        work.rows[r].multiplier = 0.0


@kernel
def factor(system, work, a):
    """Like `accelerate`, for the factors alone: which rows are primary is decided here."""
    plan = work.elimination
    regular = factor_and_pass_inward(system.tree, work, plan)
    plan.regular[0] = regular
    for place in range(len(plan.rows)):
        work.rows[plan.rows[place]].primary = regular
    if not regular:
        articulated_body.inward_pass(system.tree, work.tau, work)


@kernel
def apply_inverse_mass(system, work, x, y):
    """Response to impulses, as `articulated_body.apply_inverse_mass`, with the rows at `work.rhs`."""
    plan = work.elimination
    if not plan.regular[0]:
        articulated_body.apply_inverse_mass(system, work, x, y)
        return
    pass_impulses_inward(system.tree, work, x, plan)
    clear(y)
    pass_outward(system.tree, y, work, plan)


# --- inward -------------------------------------------------------------------------------------------------------
@kernel
def factor_and_pass_inward(tree, work, plan) -> bool:
    """Eliminate all joints and rows; return whether every dependence among rows is local."""
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    child_inertias, tau, armature = work.child_inertias, work.tau, work.armature
    write_open_rows(links, work, plan)
    read_rhs(work, plan)
    for i in range(len(links)):
        if links[i].has_side_children or plan.links[i].last_block > plan.links[i].first_block:
            store_child_inertia(child_inertias[i], no_inertia(), no_force())
    if len(work.implicit_solve.blocks) > 0:
        add_implicit_blocks(links, work.implicit_solve.blocks, child_inertias)
    A_in, p_in = no_inertia(), no_force()
    for i in range(len(links) - 1, 0, -1):
        link, body, open_link = links[i], bodies[i], plan.links[i]
        A, p = rigid_body_inertia(link, body) + A_in, load_force(body) + p_in
        A_in, p_in = no_inertia(), no_force()
        if open_link.last_block > open_link.first_block and not close_blocks(plan, i, child_inertias[i]):
            return False
        if link.has_side_children or open_link.last_block > open_link.first_block:
            A_side, p_side = load_child_inertia(child_inertias[i])
            A, p = A + A_side, p + p_side
        if link.joint_kernel == KERNEL_GENERAL:
            eliminate_general(link, driven, body, A, p, tau, armature, columns, child_inertias[link.parent])
        else:
            A, p = eliminate(link, body, A, p, tau, armature, columns)
            r = load(body.r)
            A, p = shift_inertia(A, r), shift_force(p, r)
            if link.parent == i - 1:
                A_in, p_in = A, p
            else:
                add_child_inertia(child_inertias[link.parent], A, p)
        if open_link.last_passing > open_link.first_slot:
            pass_rows(link, open_link, driven, body, columns, plan)
    return close_blocks(plan, 0, child_inertias[0])


@kernel
def close_blocks(plan, i, child_inertia) -> bool:
    """Eliminate the blocks that close at body i: add their inertia and bias force; return whether that succeeded."""
    A, p = load_child_inertia(child_inertia)
    for b in range(plan.links[i].first_block, plan.links[i].last_block):
        if not factor_block(plan, plan.blocks[b]):
            return False
        if i > 0:
            for j in range(substitute_rows(plan, plan.blocks[b])):
                V = load_force(plan.substituted[j])
                A = A + rank_one(plan.solution[j] * V, V)
        reduce_neighbours(plan, plan.blocks[b])
    store_child_inertia(child_inertia, A, p - reduce_blocks(plan, i))
    return True


@kernel
def pass_impulses_inward(tree, work, x, plan):
    """Inward pass of impulses alone, with the factors of `factor_and_pass_inward`."""
    links, bodies, columns, wrenches, driven = tree.links, work.bodies, work.columns, work.wrenches, tree.driven
    read_rhs(work, plan)
    for i in range(len(links) - 1, 0, -1):
        link, body, open_link = links[i], bodies[i], plan.links[i]
        p = -(load_force(wrenches[i]) + reduce_blocks(plan, i))
        if p.t == ZERO and p.f == ZERO and link.joint_kernel != KERNEL_BALL and rest(x, link, columns):
            continue
        if link.joint_kernel == KERNEL_BALL:
            p = impulse_past_ball(body, p, Vec3(x[link.iv], x[link.iv + 1], x[link.iv + 2]))
        else:
            for j in range(link.iv, link.iv + link.nv):
                if not driven[j]:
                    p = impulse_past_column(columns[j], p, x[j])
        if open_link.last_passing > open_link.first_slot:
            add_impulse_to_rows(link, open_link, driven, body, columns, plan)
        parent = wrenches[link.parent]
        store_force(parent, load_force(parent) - shift_force(p, load(body.r)))
    reduce_blocks(plan, 0)


@kernel
def rest(x, link, columns) -> bool:
    """Whether a joint has no generalized impulses; then clear those of its columns."""
    for j in range(link.iv, link.iv + link.nv):
        if x[j] != 0.0:
            return False
        columns[j].u = 0.0
    return True


# --- outward ------------------------------------------------------------------------------------------------------
@kernel
def pass_outward(tree, a, work, plan):
    """Outward pass: dv/dt of every joint into `a` (nv,), the change of motion of every body, and the multipliers."""
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    solve_blocks(plan, 0, Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body, open_link = links[i], bodies[i], plan.links[i]
        if open_link.last_passing > open_link.first_slot:
            apply_multipliers(link, open_link, driven, body, columns, plan)
        da = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        if link.joint_kernel == KERNEL_GENERAL:
            accelerate_general(link, driven, body, da, a, columns)
        else:
            store_motion_change(body, accelerate_link(link, body, da, a, columns))
        solve_blocks(plan, i, load_motion_change(body))
    for place in range(len(plan.x)):
        work.rows[plan.rows[place]].multiplier = plan.x[place]
