"""Open loops in the elimination of bodies (`friction_elimination`): their wrenches are unknown until they close.

With the wrenches W_c of the loop joints that are open at a body, the wrench of its own joint and the relative motion at
each open loop are

    W   = A V + p + sum_c P_c W_c
    E_d = Q_d V + sum_c G_dc W_c + g_d.

The joint of the body implies V = Y V_parent + y - sum_c Z_c W_c with Z_c = (B + L A)^-1 L P_c, and hence for the parent

    P_c' = P_c - A Z_c,   Q_d' = Q_d Y,   G_dc' = G_dc - Q_d Z_c,   g_d' = g_d + Q_d y.

For one column S of a joint with l = S - sigma g on the left, and U, V, D, u as in `joint_columns`, these are

    P_c - U (l P_c) / D,   Q_d - (Q_d S) V^T / D,   G_dc - (Q_d S) (l P_c) / D,   g_d + (Q_d S) u / D.

Where loop c closes, its own equations B E_c + L W_c = c (`joint_equations`) give, with S = B G_cc + L,

    W_c = w - K (Q_c V + sum_d G_cd W_d),   K = S^-1 B,   w = S^-1 (c - B g_c),

and A - P_c K Q_c, p + P_c w, and likewise for all other loops.  This is constraint propagation
(`constraint_solver.constrained_bodies`) for six equations of each joint instead of its rows, with unsymmetric matrices.

W_c and E_c are components along the directions in which the wrench of the loop joint may have an effect: three of the
six for parallel hinges (`packing.loop_motions`).

The loop of a pair of bodies that edges connect has their equations (`edges`).

Of equations that depend on those of other joints, gauges take the place (`independent_equations`).

Sources: Popov, Vereshchagin and Zenkevich 1978; Sathya and Carpentier, Constrained articulated body dynamics
algorithms, IEEE Transactions on Robotics 41 (2025).
"""

from __future__ import annotations

from multibody_cli.contact_solver.elimination_workspace import AXES
from multibody_cli.contact_solver.independent_equations import write_independent_equations
from multibody_cli.contact_solver.joint_equations import store_disc_inertias
from multibody_cli.contact_solver.matrices import (
    add_vector_product,
    solve_columns,
    subtract_product,
    subtract_transposed_product,
    write_product,
)
from multibody_cli.contact_solver.tree_friction_workspace import (
    STICKS,
    jam,
    jams_with,
    load_inertia,
    load_vector,
    store_inertia,
    store_vector,
)
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.dense_lu import factor_scaled, solve_dense
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import no_force, power, rotated_force, shift_force
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, times
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3


@formula
def add_row(Q, e, W):
    """Add a Force to row e of a matrix (6, 6)."""
    store_vector(Q[e], load_vector(Q[e]) + W)


@kernel
def wrench_of_loop(plan, c) -> Force:
    """Return the wrench of a loop joint, world axes."""
    W = no_force()
    for e in range(plan.loops[c].unknowns):
        W = W + plan.wrench[c, e] * load_vector(plan.directions[c, e])
    return W


# --- start ------------------------------------------------------------------------------------------------------------
@kernel
def start_loops(bodies, plan, edges):
    """Set P and Q of the bodies at both ends of all loops, and all other matrices to 0."""
    for s in range(plan.slots_used[0]):
        clear_rows(plan.P[s], plan.slots[s].unknowns)
        clear_rows(plan.Q[s], plan.slots[s].unknowns)
    for c in range(plan.number[0]):
        loop = plan.loops[c]
        clear_rows(plan.G[c], loop.unknowns)
        for e in range(loop.unknowns):
            plan.g[c, e] = 0.0
        for k in range(loop.first_neighbour, loop.last_neighbour):
            one = plan.neighbours[k]
            clear_rows(plan.G[one.coupling], loop.unknowns)
            clear_rows(plan.G[one.transposed], plan.loops[one.loop].unknowns)
        if loop.pair >= 0 and edges.edge_of_pair[loop.pair] >= 0:
            start_edge(plan, edges, edges.edges[edges.edge_of_pair[loop.pair]], loop)
            continue
        x = load(bodies[plan.nodes[loop.node].frame if loop.node >= 0 else loop.child].x)
        start_end(plan, c, loop.child_slot, x - load(bodies[loop.child].x), 1.0)
        start_end(plan, c, loop.parent_slot, x - load(bodies[loop.parent].x), -1.0)


@kernel
def find_directions(bodies, plan):
    """Compute the directions of the wrenches of all loops, in M where not all have an effect, once for each step."""
    for c in range(plan.number[0]):
        loop = plan.loops[c]
        for e in range(loop.unknowns):
            W = load_vector(plan.basis[loop.directions, e])
            if loop.directions > 0:
                W = rotated_force(load(bodies[plan.nodes[loop.node].frame].R), W)
            store_vector(plan.directions[c, e], W)


@kernel
def start_edge(plan, edges, edge, loop):
    """Set P and Q of the bodies of an edge, whose unknowns are the impulses of its rows."""
    for e in range(edge.rows):
        row = edges.rows[edge.row + e]
        for k in range(row.first_term, row.last_term):
            slot, W = (
                loop.child_slot if edges.terms[k].body == loop.child else loop.parent_slot,
                load_force(edges.terms[k]),
            )
            store_vector(plan.P[slot, e], -W)
            store_vector(plan.Q[slot, e], W)


@kernel
def clear_rows(A, m):
    """Set m rows of a matrix (6, 6) to 0."""
    for e in range(m):
        for k in range(AXES):
            A[e, k] = 0.0


@kernel
def start_end(plan, c, slot, r, sign):
    """Set P and Q of one end of loop c, whose wrench times `sign` acts on the body at r."""
    if slot >= 0:
        for e in range(plan.loops[c].unknowns):
            W = sign * shift_force(load_vector(plan.directions[c, e]), r)
            store_vector(plan.P[slot, e], -W)
            store_vector(plan.Q[slot, e], W)


# --- joints that loops pass -------------------------------------------------------------------------------------------
@kernel
def pass_column(plan, link, k, S, left, U, V, dinv, u):
    """Eliminate column k of the joint of a body from all loops that are open there.

    Its rate is dinv (u - V . V_parent - sum_c Z_c W_c), with Z_c = left P_c.
    """
    first, count = link.first_slot, link.last_open - link.first_slot
    for s in range(first, link.last_open):
        P, Q, Z, rate, g = plan.P[s], plan.Q[s], plan.Z[s, k], plan.rate[s], plan.g[plan.slots[s].loop]
        for e in range(plan.slots[s].unknowns):
            Z[e], rate[e] = power(left, load_vector(P[e])), power(S, load_vector(Q[e]))
            add_row(P, e, (-dinv * Z[e]) * U)
            add_row(Q, e, (-dinv * rate[e]) * V)
            g[e] += rate[e] * dinv * u
    for a in range(count):
        for b in range(count):
            G, rate, Z = plan.G[plan.pairs[link.first_pair + count * a + b]], plan.rate[first + a], plan.Z[first + b, k]
            for e in range(plan.slots[first + a].unknowns):
                for j in range(plan.slots[first + b].unknowns):
                    G[e, j] -= dinv * rate[e] * Z[j]


@kernel
def pass_given_rate(plan, link, S, change):
    """Add the motion of a column with a given change of its rate to all loops that are open at a body."""
    for s in range(link.first_slot, link.last_open):
        for e in range(plan.slots[s].unknowns):
            plan.g[plan.slots[s].loop, e] += power(S, load_vector(plan.Q[s, e])) * change


@kernel
def pass_equations(plan, i, A, inner):
    """Eliminate the joint of body i, with its equations factored, from all loops that are open there.

    A and y are about the origin of the joint; `inner` leads from there to the body.
    """
    link = plan.links[i]
    first, count = link.first_slot, link.last_open - link.first_slot
    for s in range(first, link.last_open):
        P, Q, size = plan.P[s], plan.Q[s], plan.slots[s].unknowns
        for e in range(size):
            store_vector(Q[e], shift_force(load_vector(Q[e]), inner))
            store_vector(P[e], shift_force(load_vector(P[e]), inner))
        for k in range(size):
            for e in range(AXES):
                plan.column[e] = 0.0
                for j in range(AXES):
                    plan.column[e] += plan.load[e, j] * P[k, j]
            solve_dense(plan.matrix, plan.order, plan.column, plan.solution)
            for e in range(AXES):
                plan.Z[s, e, k] = plan.solution[e]
    for a in range(count):
        slot, Q = plan.slots[first + a], plan.Q[first + a]
        add_vector_product(plan.g[slot.loop], Q, plan.y[i], 1.0, slot.unknowns, AXES)
        for b in range(count):
            G = plan.G[plan.pairs[link.first_pair + count * a + b]]
            subtract_product(G, Q, plan.Z[first + b], slot.unknowns, AXES)
    for s in range(first, link.last_open):
        P, Q, Z, size = plan.P[s], plan.Q[s], plan.Z[s], plan.slots[s].unknowns
        for k in range(size):
            W = Force(Vec3(Z[0, k], Z[1, k], Z[2, k]), Vec3(Z[3, k], Z[4, k], Z[5, k]))
            add_row(P, k, -times(A, Motion(W.t, W.f)))
        for e in range(size):
            for k in range(AXES):
                plan.column[k] = 0.0
                for j in range(AXES):
                    plan.column[k] += Q[e, j] * plan.Y[i, k, j]
            store_vector(Q[e], load_vector(plan.column))


@kernel
def pass_to_parent(plan, link, outer):
    """Add P and Q of all loops that are open at a body, or at its joint, to its parent; `outer` leads there from it."""
    for s in range(link.first_slot, link.last_open):
        to = plan.slots[s].parent
        if to >= 0:
            for e in range(plan.slots[s].unknowns):
                add_row(plan.P[to], e, shift_force(load_vector(plan.P[s, e]), outer))
                add_row(plan.Q[to], e, shift_force(load_vector(plan.Q[s, e]), outer))


# --- loops that close -------------------------------------------------------------------------------------------------
@kernel
def close_loops(system, work, joint_friction, passes, h, i) -> bool:
    """Eliminate the loops that close at body i from its inertia and bias impulse; return False if one is singular."""
    plan = passes.bodies
    for s in range(plan.links[i].last_open, plan.links[i].last_slot):
        if not eliminate_loop(system, work, joint_friction, passes, h, plan.slots[s].loop):
            return False
        close_loop(passes.inertias[i], plan, plan.slots[s].loop)
    return True


@kernel
def close_loops_at_ground(system, work, joint_friction, passes, h) -> bool:
    """Eliminate the loops that close at the ground; return False if one is singular."""
    for c in range(passes.bodies.number[0]):
        if passes.bodies.loops[c].slot < 0 and not eliminate_loop(system, work, joint_friction, passes, h, c):
            return False
    return True


@kernel
def eliminate_loop(system, work, joint_friction, passes, h, c) -> bool:
    """Compute K and w of a loop, and eliminate it from the loops coupled to it; return False if it is singular."""
    plan = passes.bodies
    loop = plan.loops[c]
    size, order = loop.unknowns, plan.order[: loop.unknowns]
    if not factor_loop(system, work, joint_friction, passes, h, c):
        return False
    add_vector_product(plan.rhs, plan.motion, plan.g[c], -1.0, size, size)
    solve_dense(plan.matrix, order, plan.rhs, plan.w[c])
    solve_columns(plan.matrix, order, plan.motion, plan.K[c])
    for k in range(loop.first_neighbour, loop.last_neighbour):
        one = plan.neighbours[k]
        of_other = plan.loops[one.loop].unknowns
        write_product(plan.product, plan.K[c], plan.G[one.coupling], size, size)
        update = loop.first_update + k - loop.first_neighbour
        for n in range(loop.first_neighbour, loop.last_neighbour):
            other = plan.neighbours[n]
            G = plan.G[plan.updates[update]]
            subtract_product(G, plan.G[other.transposed], plan.product, plan.loops[other.loop].unknowns, size)
            update += loop.last_neighbour - loop.first_neighbour
        if loop.slot >= 0:
            subtract_transposed_product(plan.P[one.slot], plan.product, plan.P[loop.slot], of_other, size)
        add_vector_product(plan.g[one.loop], plan.G[one.transposed], plan.w[c], 1.0, of_other, size)
    return True


@kernel
def close_loop(record, plan, c):
    """Eliminate a loop from the inertia and the bias impulse of the body where it closes, and from Q of all others."""
    loop = plan.loops[c]
    write_product(plan.product, plan.K[c], plan.Q[loop.slot], loop.unknowns, loop.unknowns)
    for k in range(loop.first_neighbour, loop.last_neighbour):
        one = plan.neighbours[k]
        subtract_product(
            plan.Q[one.slot], plan.G[one.transposed], plan.product, plan.loops[one.loop].unknowns, loop.unknowns
        )
    p = load_force(record)
    for e in range(loop.unknowns):
        p = p + plan.w[c, e] * load_vector(plan.P[loop.slot, e])
    clear_rows(plan.matrix, AXES)
    subtract_transposed_product(plan.matrix, plan.P[loop.slot], plan.product, AXES, loop.unknowns)
    A, D = load_inertia(record), plan.matrix
    store_inertia(
        record,
        UnsymmetricInertia(
            A.J + corner(D[:3, :3]), A.H + corner(D[:3, 3:]), A.K + corner(D[3:, :3]), A.M + corner(D[3:, 3:])
        ),
    )
    store_force(record, p)


@formula
def corner(D):
    """Return a matrix (3, 3) as a Mat3, which has its columns."""
    return Mat3(Vec3(D[0, 0], D[1, 0], D[2, 0]), Vec3(D[0, 1], D[1, 1], D[2, 1]), Vec3(D[0, 2], D[1, 2], D[2, 2]))


# --- equations of a loop ----------------------------------------------------------------------------------------------
@kernel
def factor_loop(system, work, joint_friction, passes, h, c) -> bool:
    """Factor the equations of a loop; return False if the matrix is singular.

    If the joint jams, its patches slide without friction, or stick.
    """
    plan, sliding = passes.bodies, 0
    if plan.loops[c].pair >= 0:
        write_pair_equations(plan, passes.edges, plan.loops[c].pair)
        return determinant_of_loop(plan, c, plan.load) != 0.0
    node = plan.nodes[plan.loops[c].node]
    for p in range(node.first_patch, node.last_patch):
        sliding += passes.state[p] != STICKS
    store_disc_inertias(system, work, passes, node)
    write_independent_equations(system, work, joint_friction, passes, h, c)
    if sliding > 0:
        unloaded = 0.0 if passes.soft[0] else determinant_of_loop(plan, c, plan.free)
        loaded = determinant_of_loop(plan, c, plan.load)
        if not jams_with(loaded, unloaded, passes):
            return True
        for p in range(node.first_patch, node.last_patch):
            if passes.state[p] != STICKS:
                jam(p, passes)
        write_independent_equations(system, work, joint_friction, passes, h, c)
    return determinant_of_loop(plan, c, plan.load) != 0.0


@kernel
def write_pair_equations(plan, edges, pair):
    """Write the equations of the edges between two bodies, with the identity as L."""
    for e in range(AXES):
        plan.rhs[e] = edges.pair_impulse[pair, e]
        for k in range(AXES):
            plan.motion[e, k], plan.load[e, k] = edges.pair_penalty[pair, e, k], 1.0 if e == k else 0.0


@kernel
def determinant_of_loop(plan, c, load) -> float:
    """Factor B G + L of a loop, with the rows of L in `load` (6, 6), and return the determinant."""
    size = plan.loops[c].unknowns
    write_product(plan.matrix, plan.motion, plan.G[c], size, size)
    for e in range(size):
        for k in range(size):
            plan.matrix[e, k] += load[e, k]
    return factored_determinant(plan, plan.loops[c].directions)


@kernel
def factored_determinant(plan, directions) -> float:
    """Factor plan.matrix in place, for unknowns along the directions of a row of `basis`; return the determinant."""
    order = plan.order[: plan.basis_size[directions]]
    if not factor_scaled(plan.matrix, order, plan.units[directions], plan.scales):
        return 0.0
    value = 1.0
    for e in range(len(order)):
        value *= plan.matrix[e, e]
        for k in range(e):
            if order[k] > order[e]:
                value = -value
    return value


# --- outward ----------------------------------------------------------------------------------------------------------
@kernel
def solve_loop(plan, c):
    """Compute the wrench of a loop joint from those of its neighbours, and the motion where it closes."""
    loop, E = plan.loops[c], plan.rhs
    for e in range(loop.unknowns):
        E[e] = 0.0
        plan.wrench[c, e] = plan.w[c, e]
    for k in range(loop.first_neighbour, loop.last_neighbour):
        d = plan.neighbours[k].loop
        add_vector_product(
            E, plan.G[plan.neighbours[k].coupling], plan.wrench[d], 1.0, loop.unknowns, plan.loops[d].unknowns
        )
    if loop.slot >= 0:
        add_vector_product(E, plan.Q[loop.slot], plan.column, 1.0, loop.unknowns, AXES)
    add_vector_product(plan.wrench[c], plan.K[c], E, -1.0, loop.unknowns, loop.unknowns)
