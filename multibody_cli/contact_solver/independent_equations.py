"""Independent equations of a joint that closes a loop (`open_loops`).

Where other joints constrain the same motion, some equations of motion of a loop joint, its constraint axes and slips
that stop, depend on theirs, and components of its wrench have no effect on the motion.  A combination z of these
equations without effect, z^T B E_c = 0 for all motions, is replaced by (B^T z) . W_c = 0.  With constraint axes alone
this is the wrench of least norm, as for rows (`linalg.pivoted_lu`).

The effects of the equations on one another, B G_cc B^T, are eliminated with the largest remaining part of the own
effect as pivot.  A part that an ineffective row would have ends the elimination; round-off is less.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.ineffective_rows import ineffective_response, ineffective_tolerances
from multibody_cli.contact_solver.elimination_workspace import AXES
from multibody_cli.contact_solver.joint_equations import OF_SLIP, OF_WRENCH, write_equations
from multibody_cli.contact_solver.tree_friction_workspace import load_vector
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import inner, rotated_force, shift_force


@kernel
def write_independent_equations(system, work, joint_friction, passes, h, c):
    """Write the equations of a loop joint, with gauges in place of equations of motion that depend on others."""
    plan = passes.bodies
    loop = plan.loops[c]
    node, size = plan.nodes[loop.node], loop.unknowns
    write_equations(system, work, joint_friction, passes, h, node)
    count = write_effects(system.tree.links, work, plan, c, node, size)
    for n in range(count):
        e = next_pivot(plan, count, n)
        if e < 0:
            write_gauges(plan, count, n, size)
            return
        exchange_rows(plan, n, e, size)
        for k in range(n + 1, count):
            factor = plan.effects[k, n] / plan.effects[n, n]
            for j in range(n, count):
                plan.effects[k, j] -= factor * plan.effects[n, j]
            for j in range(size):
                plan.combination[k, j] -= factor * plan.combination[n, j]


@kernel
def find_thresholds(tree, work, plan):
    """Compute the effect up to which a constraint axis of a loop joint has none, once for each step."""
    for k in range(len(plan.links), len(plan.nodes)):
        node = plan.nodes[k]
        for r in range(node.first_axis, node.last_axis):
            if tree.has_effect[r]:
                T = rotated_force(load(work.bodies[node.frame].R), load_force(work.constraint_axes[r]))
                plan.thresholds[r] = threshold(tree.links, work, node, T)


@kernel
def threshold(links, work, node, W) -> float:
    """Return the effect up to which a motion along the wrench W of a joint has none."""
    child, parent = work.bodies[node.child], work.bodies[node.parent]
    x = load(work.bodies[node.frame].x)
    s_f, s_t = ineffective_tolerances(0.0)
    total = ineffective_response(links[node.child], child, shift_force(W, x - load(child.x)), s_f, s_t)
    if node.parent > 0:
        total += ineffective_response(links[node.parent], parent, shift_force(W, x - load(parent.x)), s_f, s_t)
    return total


@kernel
def write_effects(links, work, plan, c, node, size) -> int:
    """Write the equations of motion of a joint into `combination`, and their responses to one another into `effects`.

    Return their number.  All equations are then those along the directions of the loop.
    """
    G, directions = plan.G[c], plan.directions[c]
    count = 0
    for e in range(size):
        r, W = plan.axis[e], load_vector(plan.motion[e])
        if size < AXES:
            resolve(plan.motion[e], directions, size)
            if r == OF_WRENCH:
                resolve(plan.load[e], directions, size)
                resolve(plan.free[e], directions, size)
        if r != OF_WRENCH:
            for k in range(size):
                plan.combination[count, k] = plan.motion[e, k]
            plan.ineffective[count] = threshold(links, work, node, W) if r == OF_SLIP else plan.thresholds[r]
            plan.equation[count] = e
            count += 1
    for a in range(count):
        for k in range(size):
            plan.column[k] = 0.0
            for j in range(size):
                plan.column[k] += plan.combination[a, j] * G[j, k]
        for b in range(count):
            plan.effects[a, b] = 0.0
            for k in range(size):
                plan.effects[a, b] += plan.column[k] * plan.combination[b, k]
        plan.effect[a] = plan.effects[a, a]
    return count


@kernel
def resolve(row, directions, size):
    """Replace a Force or a Motion in `row` by its components along directions."""
    W = load_vector(row)
    for k in range(AXES):
        row[k] = inner(W, load_vector(directions[k])) if k < size else 0.0


@kernel
def next_pivot(plan, count, n) -> int:
    """Return the equation of motion with the largest part of its effect left, or -1 if all depend on the first n."""
    best, largest = -1, 0.0
    for k in range(n, count):
        if plan.effects[k, k] > plan.ineffective[k] and plan.effects[k, k] > largest * plan.effect[k]:
            best, largest = k, plan.effects[k, k] / plan.effect[k]
    return best


@kernel
def exchange_rows(plan, n, k, size):
    """Exchange the equations of motion n and k."""
    if n == k:
        return
    for j in range(size):
        plan.combination[n, j], plan.combination[k, j] = plan.combination[k, j], plan.combination[n, j]
        plan.effects[n, j], plan.effects[k, j] = plan.effects[k, j], plan.effects[n, j]
    for j in range(size):
        plan.effects[j, n], plan.effects[j, k] = plan.effects[j, k], plan.effects[j, n]
    plan.effect[n], plan.effect[k] = plan.effect[k], plan.effect[n]
    plan.ineffective[n], plan.ineffective[k] = plan.ineffective[k], plan.ineffective[n]
    plan.equation[n], plan.equation[k] = plan.equation[k], plan.equation[n]


@kernel
def write_gauges(plan, count, first, size):
    """Replace the equations of motion from `first` on, whose combinations have no effect, by gauges of the wrench."""
    for n in range(first, count):
        e = plan.equation[n]
        for k in range(size):
            plan.motion[e, k] = 0.0
            plan.load[e, k] = plan.free[e, k] = plan.combination[n, k]
        plan.rhs[e] = 0.0
