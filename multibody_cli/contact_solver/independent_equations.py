"""Independent equations of a joint that closes a loop (`open_loops`).

Where other joints constrain the same motion, some equations of motion of a loop joint, its constraint axes and slips
that stop, depend on theirs, and components of its wrench have no effect on the motion.  A combination z of these
equations without effect, z^T B E_c = 0 for all motions, is replaced by (B^T z) . W_c = 0.  With constraint axes alone
this is the wrench of least norm, as for rows (`linalg.pivoted_lu`).

The effects of the equations on one another, B G_cc B^T, are eliminated with the largest remaining part of the own
effect as pivot.  A part that is round-off, or that an ineffective row would have, ends the elimination.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.ineffective_rows import ineffective_response, ineffective_tolerances
from multibody_cli.contact_solver.elimination_workspace import AXES
from multibody_cli.contact_solver.joint_equations import write_equations
from multibody_cli.contact_solver.tree_friction_workspace import load_vector
from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import DEPENDENT_PIVOT
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import shift_force


@kernel
def write_independent_equations(system, work, joint_friction, T, h, c):
    """Write the equations of a loop joint, with gauges in place of equations of motion that depend on others."""
    B = T.bodies
    node = B.nodes[B.loops[c].node]
    write_equations(system, work, joint_friction, T, h, node)
    count = write_effects(system.tree.links, work, B, node, B.G[c])
    for n in range(count):
        e = next_pivot(B, count, n)
        if e < 0:
            write_gauges(B, count, n)
            return
        exchange_rows(B, n, e)
        for k in range(n + 1, count):
            factor = B.effects[k, n] / B.effects[n, n]
            for j in range(n, count):
                B.effects[k, j] -= factor * B.effects[n, j]
            for j in range(AXES):
                B.combination[k, j] -= factor * B.combination[n, j]


@kernel
def write_effects(links, work, B, node, G) -> int:
    """Write the equations of motion of a joint into `combination`, and their responses to one another into `effects`.

    Return their number.
    """
    inner, outer = work.bodies[node.child], work.bodies[node.parent]
    x = load(work.bodies[node.frame].x)
    s_f, s_t = ineffective_tolerances(0.0)
    count = 0
    for e in range(AXES):
        is_motion = True
        for k in range(AXES):
            is_motion = is_motion and B.free[e, k] == 0.0
            B.combination[count, k] = B.motion[e, k]
        if is_motion:
            W = load_vector(B.motion[e])
            at_child = shift_force(W, x - load(inner.x))
            B.ineffective[count] = ineffective_response(links[node.child], inner, at_child, s_f, s_t)
            if node.parent > 0:
                at_parent = shift_force(W, x - load(outer.x))
                B.ineffective[count] += ineffective_response(links[node.parent], outer, at_parent, s_f, s_t)
            B.equation[count] = e
            count += 1
    for a in range(count):
        for k in range(AXES):
            B.column[k] = 0.0
            for e in range(AXES):
                B.column[k] += B.combination[a, e] * G[e, k]
        for b in range(count):
            B.effects[a, b] = 0.0
            for k in range(AXES):
                B.effects[a, b] += B.column[k] * B.combination[b, k]
        B.effect[a] = B.effects[a, a]
    return count


@kernel
def next_pivot(B, count, n) -> int:
    """Return the equation of motion with the largest part of its effect left, or -1 if all depend on the first n."""
    best, largest = -1, DEPENDENT_PIVOT
    for k in range(n, count):
        if B.effects[k, k] > B.ineffective[k] and B.effects[k, k] > largest * B.effect[k]:
            best, largest = k, B.effects[k, k] / B.effect[k]
    return best


@kernel
def exchange_rows(B, n, k):
    """Exchange the equations of motion n and k."""
    for j in range(AXES):
        B.combination[n, j], B.combination[k, j] = B.combination[k, j], B.combination[n, j]
        B.effects[n, j], B.effects[k, j] = B.effects[k, j], B.effects[n, j]
    for j in range(AXES):
        B.effects[j, n], B.effects[j, k] = B.effects[j, k], B.effects[j, n]
    B.effect[n], B.effect[k] = B.effect[k], B.effect[n]
    B.ineffective[n], B.ineffective[k] = B.ineffective[k], B.ineffective[n]
    B.equation[n], B.equation[k] = B.equation[k], B.equation[n]


@kernel
def write_gauges(B, count, first):
    """Replace the equations of motion from `first` on, whose combinations have no effect, by gauges of the wrench."""
    for n in range(first, count):
        e = B.equation[n]
        for k in range(AXES):
            B.motion[e, k] = 0.0
            B.load[e, k] = B.free[e, k] = B.combination[n, k]
        B.rhs[e] = 0.0
