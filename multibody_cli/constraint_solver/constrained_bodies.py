"""Forward dynamics of a tree in O(n) by articulated bodies, with or without equality rows that close its loops.

    outward   pose and velocity of every body; its bias wrench p at zero free dv/dt   (kinematics.forward_kinematics)
    inward    A, p = articulated inertia and bias force; each joint is eliminated, and the rest added to the parent
    outward   dv/dt of each joint, and the accelerations that it causes

With rows, the inward pass carries besides, for each row that is open at the body, the wrench K of a unit multiplier,
and the accelerations L and l of the rows that close inside its subtree, for unit multipliers and for the forces:

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

Lines of the notes; the velocity products of a line (eta_j) are part of p, because p is that of the bias motion:

    Alg. 9     1-5      V, eta, and S ddq of prescribed joints    `kinematics.forward_kinematics`
               7, 8     inertia and bias force with children      `inward_pass`
               9-11     prescribed joint: A and p unchanged       `inward_pass`, `eliminate_general`
               13-15    Psi = 1 / D, then A', p'                  `eliminate_rank_one`; `eliminate_ball`
               18-25    ddq, and the acceleration that it causes  `outward_pass`, `accelerate_column`
               21, 22, 26  joint wrench F; tau of a motion        `joint_wrenches.compute_joint_wrenches`
    Alg. 10    1-12     A and D of the last evaluation            `inward_pass`
               5-8      implicit terms: armature, inertia blocks  `add_implicit_blocks`
               15-18    impulses alone, by stored factors         `pass_impulses_inward`
               19-22    response                                  `outward_pass`

Sources: Featherstone, Rigid Body Dynamics Algorithms (2008), table 7.1; Sueda, notes 2.9; 2.12, Alg. 9; 2.13, Alg. 10;
Popov, Vereshchagin and Zenkevich 1978; Sathya and Carpentier, Constrained articulated body dynamics algorithms, IEEE
Transactions on Robotics 41 (2025).
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
from multibody_cli.constraint_solver.row_elimination import set_primary
from multibody_cli.kernel import bound_kernel, formula, kernel, number_parameter, template
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
from multibody_cli.tree.articulated_body import (
    accelerate_general,
    accelerate_link,
    add_child_inertia,
    eliminate,
    eliminate_general,
    impulse_past_ball,
    impulse_past_column,
    load_child_inertia,
    load_inertia,
    load_motion_change,
    rigid_body_inertia,
    store_child_inertia,
    store_motion_change,
)

ROWS = number_parameter("ROWS", bool)
"""Whether rows are eliminated with the joints, by the plan `work.elimination`."""


# --- inward -------------------------------------------------------------------------------------------------------
@template(ROWS)
def inward_pass(tree, work):
    """Eliminate all joints and rows; `plan.regular` is whether every dependence among rows is local."""
    links, bodies, columns, driven = tree.links, work.bodies, work.columns, tree.driven
    child_inertias, tau, armature, plan = work.child_inertias, work.tau, work.armature, work.elimination
    if ROWS:
        write_open_rows(links, work, plan)
        read_rhs(work, plan)
    for i in range(len(links)):
        if links[i].has_side_children or (ROWS and closes_blocks(plan, i)):
            store_child_inertia(child_inertias[i], no_inertia(), no_force())
    if len(work.implicit_solve.blocks) > 0:
        add_implicit_blocks(links, work.implicit_solve.blocks, child_inertias)
    A_in, p_in = no_inertia(), no_force()
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        A, p = rigid_body_inertia(link, body) + A_in, load_force(body) + p_in
        A_in, p_in = no_inertia(), no_force()
        if ROWS and closes_blocks(plan, i) and not close_blocks(plan, i, child_inertias[i]):
            plan.regular[0] = False
            return
        if link.has_side_children or (ROWS and closes_blocks(plan, i)):
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
        if ROWS and passes_rows(plan, i):
            pass_rows(link, plan.links[i], driven, body, columns, plan)
    if ROWS:
        plan.regular[0] = close_blocks(plan, 0, child_inertias[0])


@kernel
def add_implicit_blocks(links, blocks, child_inertias):
    """Add the inertia blocks of implicit forces (`implicit.implicit_forces`) to the child inertias."""
    for i in range(1, len(links)):
        if links[i].has_side_children:
            add_child_inertia(child_inertias[i], load_inertia(blocks[i]), no_force())


@formula
def closes_blocks(plan, i):
    """Return whether blocks of rows close at a body."""
    return plan.links[i].last_block > plan.links[i].first_block


@formula
def passes_rows(plan, i):
    """Return whether rows pass the joint that leads to a body."""
    return plan.links[i].last_passing > plan.links[i].first_slot


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


@template(ROWS)
def pass_impulses_inward(tree, work, x):
    """Inward pass of impulses alone, `x` (nv,) and `work.wrenches`, with the factors of `inward_pass`."""
    links, bodies, columns, wrenches, driven = tree.links, work.bodies, work.columns, work.wrenches, tree.driven
    plan = work.elimination
    if ROWS:
        read_rhs(work, plan)
    for i in range(len(links) - 1, 0, -1):
        link, body = links[i], bodies[i]
        W = load_force(wrenches[i])
        if ROWS:
            W = W + reduce_blocks(plan, i)
        p = -W
        if p.t == ZERO and p.f == ZERO and link.joint_kernel != KERNEL_BALL and is_without_impulse(x, link, columns):
            continue
        if link.joint_kernel == KERNEL_BALL:
            p = impulse_past_ball(body, p, Vec3(x[link.iv], x[link.iv + 1], x[link.iv + 2]))
        else:
            for j in range(link.iv, link.iv + link.nv):
                if not driven[j]:
                    p = impulse_past_column(columns[j], p, x[j])
        if ROWS and passes_rows(plan, i):
            add_impulse_to_rows(link, plan.links[i], driven, body, columns, plan)
        parent = wrenches[link.parent]
        store_force(parent, load_force(parent) - shift_force(p, load(body.r)))
    if ROWS:
        reduce_blocks(plan, 0)


@kernel
def is_without_impulse(x, link, columns) -> bool:
    """Return whether a joint has no generalized impulses; then clear those of its columns."""
    for j in range(link.iv, link.iv + link.nv):
        if x[j] != 0.0:
            return False
        columns[j].u = 0.0
    return True


# --- outward ------------------------------------------------------------------------------------------------------
@template(ROWS)
def outward_pass(tree, a, work):
    """Write dv/dt of every joint into `a` (nv,), the change of motion of every body, and the multipliers."""
    links, bodies, columns, driven, plan = tree.links, work.bodies, work.columns, tree.driven, work.elimination
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    if ROWS:
        solve_blocks(plan, 0, Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        link, body = links[i], bodies[i]
        if ROWS and passes_rows(plan, i):
            apply_multipliers(link, plan.links[i], driven, body, columns, plan)
        da = shift_motion(load_motion_change(bodies[link.parent]), load(body.r))
        if link.joint_kernel == KERNEL_GENERAL:
            accelerate_general(link, driven, body, da, a, columns)
        else:
            store_motion_change(body, accelerate_link(link, body, da, a, columns))
        if ROWS:
            solve_blocks(plan, i, load_motion_change(body))
    if ROWS:
        for place in range(len(plan.x)):
            work.rows[plan.rows[place]].multiplier = plan.x[place]


# --- the kernels of a method: without rows, and with them ---------------------------------------------------------
@template(ROWS)
def respond(system, work, x, y):
    """Compute y (nv,) = M^-1 (x + J^T of the impulses in `work.wrenches`) in O(n); driven coordinates of y are 0.

    The two passes of `accelerate` for impulses alone, with the factors of the last inward pass. Overwrites the
    generalized and bias forces of that pass, and keeps its factors.  Rows that are eliminated are at `work.rhs`.
    """
    pass_impulses_inward(system.tree, work, x)
    clear(y)
    outward_pass(system.tree, y, work)


apply_inverse_mass, respond_with_rows = (bound_kernel(respond, ROWS=rows) for rows in (False, True))
pass_inward, pass_inward_with_rows = (bound_kernel(inward_pass, ROWS=rows) for rows in (False, True))
pass_outward, pass_outward_with_rows = (bound_kernel(outward_pass, ROWS=rows) for rows in (False, True))


@kernel
def accelerate(system, work, a):
    """Write dv/dt of the free coordinates into `a` (nv,), after forward kinematics and application of all forces."""
    pass_inward(system.tree, work)
    pass_outward(system.tree, a, work)


@kernel
def accelerate_with_rows(system, work, a):
    """Write dv/dt of the free coordinates into `a` (nv,), and the multipliers, with the rows at `work.rhs`."""
    clear_multipliers(work)
    factor_with_rows(system, work, a)
    if work.elimination.regular[0]:
        pass_outward_with_rows(system.tree, a, work)
    else:
        pass_outward(system.tree, a, work)


@kernel
def accelerate_again(system, work, a):
    """Like `accelerate_with_rows`, with the factors of the same positions."""
    clear_multipliers(work)
    for i in range(len(system.tree.links)):
        store_force(work.wrenches[i], -load_force(work.bodies[i]))
    apply_inverse_mass_with_rows(system, work, work.tau, work.response)
    for j in range(len(a)):
        if not system.tree.driven[j]:
            a[j] = work.response[j]


@kernel
def clear_multipliers(work):
    """Set the multipliers of all rows to 0: one-sided rows have those of the last projection."""
    for r in range(len(work.rows)):
        work.rows[r].multiplier = 0.0


@kernel
def factor_with_rows(system, work, a):
    """Like `accelerate_with_rows`, for the factors alone: which rows are primary is decided here."""
    plan = work.elimination
    pass_inward_with_rows(system.tree, work)
    set_primary(work, plan.regular[0])
    if not plan.regular[0]:
        pass_inward(system.tree, work)


@kernel
def apply_inverse_mass_with_rows(system, work, x, y):
    """Like `apply_inverse_mass`, with the rows at `work.rhs`."""
    if work.elimination.regular[0]:
        respond_with_rows(system, work, x, y)
    else:
        apply_inverse_mass(system, work, x, y)
