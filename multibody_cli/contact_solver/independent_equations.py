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
from multibody_cli.contact_solver.matrices import transposed_times_vector
from multibody_cli.contact_solver.tree_friction_workspace import load_vector
from multibody_cli.kernel import kernel
from multibody_cli.linalg.pivoted_lu import DEPENDENT_PIVOT
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import inner, shift_force


@kernel
def write_independent_equations(system, work, joint_friction, passes, h, c):
    """Write the equations of a loop joint, with gauges in place of equations of motion that depend on others."""
    plan = passes.bodies
    node = plan.nodes[plan.loops[c].node]
    write_equations(system, work, joint_friction, passes, h, node)
    count = write_effects(system.tree.links, work, plan, node, plan.G[c])
    for n in range(count):
        e = next_pivot(plan, count, n)
        if e < 0:
            write_gauges(plan, count, n)
            return
        exchange_rows(plan, n, e)
        for k in range(n + 1, count):
            factor = plan.effects[k, n] / plan.effects[n, n]
            for j in range(n, count):
                plan.effects[k, j] -= factor * plan.effects[n, j]
            for j in range(AXES):
                plan.combination[k, j] -= factor * plan.combination[n, j]


@kernel
def write_effects(links, work, plan, node, G) -> int:
    """Write the equations of motion of a joint into `combination`, and their responses to one another into `effects`.

    Return their number.
    """
    child, parent = work.bodies[node.child], work.bodies[node.parent]
    x = load(work.bodies[node.frame].x)
    s_f, s_t = ineffective_tolerances(0.0)
    count = 0
    for e in range(AXES):
        is_motion = True
        for k in range(AXES):
            is_motion = is_motion and plan.free[e, k] == 0.0
            plan.combination[count, k] = plan.motion[e, k]
        if is_motion:
            W = load_vector(plan.motion[e])
            at_child = shift_force(W, x - load(child.x))
            plan.ineffective[count] = ineffective_response(links[node.child], child, at_child, s_f, s_t)
            if node.parent > 0:
                at_parent = shift_force(W, x - load(parent.x))
                plan.ineffective[count] += ineffective_response(links[node.parent], parent, at_parent, s_f, s_t)
            plan.equation[count] = e
            count += 1
    for a in range(count):
        row = transposed_times_vector(G, load_vector(plan.combination[a]))
        for b in range(count):
            plan.effects[a, b] = inner(row, load_vector(plan.combination[b]))
        plan.effect[a] = plan.effects[a, a]
    return count


@kernel
def next_pivot(plan, count, n) -> int:
    """Return the equation of motion with the largest part of its effect left, or -1 if all depend on the first n."""
    best, largest = -1, DEPENDENT_PIVOT
    for k in range(n, count):
        if plan.effects[k, k] > plan.ineffective[k] and plan.effects[k, k] > largest * plan.effect[k]:
            best, largest = k, plan.effects[k, k] / plan.effect[k]
    return best


@kernel
def exchange_rows(plan, n, k):
    """Exchange the equations of motion n and k."""
    for j in range(AXES):
        plan.combination[n, j], plan.combination[k, j] = plan.combination[k, j], plan.combination[n, j]
        plan.effects[n, j], plan.effects[k, j] = plan.effects[k, j], plan.effects[n, j]
    for j in range(AXES):
        plan.effects[j, n], plan.effects[j, k] = plan.effects[j, k], plan.effects[j, n]
    plan.effect[n], plan.effect[k] = plan.effect[k], plan.effect[n]
    plan.ineffective[n], plan.ineffective[k] = plan.ineffective[k], plan.ineffective[n]
    plan.equation[n], plan.equation[k] = plan.equation[k], plan.equation[n]


@kernel
def write_gauges(plan, count, first):
    """Replace the equations of motion from `first` on, whose combinations have no effect, by gauges of the wrench."""
    for n in range(first, count):
        e = plan.equation[n]
        for k in range(AXES):
            plan.motion[e, k] = 0.0
            plan.load[e, k] = plan.free[e, k] = plan.combination[n, k]
        plan.rhs[e] = 0.0
