"""One pass over the bodies of trees and loops whose joints have friction, for given states (`tree_friction`), in O(n).

inward    elimination of joints, of loops where they close, and of edges, with unsymmetric articulated inertias
outward   wrenches of loop joints, changes of the rates, and of the motions of the bodies
inward    impulses that the joints transmit (Newton and Euler)

From the leaves to the ground, the wrench that a joint transmits is W = A V + p, with the inertia A and the bias impulse
p of all bodies beyond the joint, and further unknowns where loops are open (`open_loops`).  A joint is eliminated

    by columns     if its patches slip in one direction, or it has none (`joint_columns`)
    as a block     if they slip in two directions (`two_directional_friction`)
    by equations   in maximal coordinates, and if they slip in two directions where loops are open (`joint_equations`)

An edge at a body is part of its inertia, and one at a coordinate of the armature (`edges`).
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import compute_loop_rates
from multibody_cli.constraint_solver.solver import clear_impulses
from multibody_cli.contact_solver.edges import apply_edge_impulses
from multibody_cli.contact_solver.elimination_workspace import BY_COLUMNS, BY_EQUATIONS
from multibody_cli.contact_solver.equation_elimination import eliminate_equations, move_equations
from multibody_cli.contact_solver.friction_limits import slip_per_rate
from multibody_cli.contact_solver.independent_equations import find_thresholds
from multibody_cli.contact_solver.joint_columns import eliminate_columns, move_columns
from multibody_cli.contact_solver.joint_equations import (
    at_frame,
    elimination_of,
    find_axes,
    origin_of,
    relative_twist,
    slip_wrenches,
)
from multibody_cli.contact_solver.open_loops import (
    close_loops,
    close_loops_at_ground,
    find_directions,
    pass_to_parent,
    solve_loop,
    start_loops,
    wrench_of_loop,
)
from multibody_cli.contact_solver.tree_friction_workspace import (
    load_inertia,
    store_inertia,
    store_own_inertia,
    store_vector,
)
from multibody_cli.contact_solver.two_directional_friction import (
    compute_disc_slips,
    eliminate_discs,
    is_at_rest,
    move_discs,
)
from multibody_cli.implicit.implicit_forces import add_implicit_impulses
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, dot, power, rotated_force, shift_force
from multibody_cli.spatial.unsymmetric_inertia import UnsymmetricInertia, shifted
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import load_motion_change, rigid_body_inertia, store_motion_change
from multibody_cli.tree.jacobian import column_of


# --- elimination ------------------------------------------------------------------------------------------------------
@kernel
def eliminate_bodies(system, work, joint_friction, passes, h, v) -> bool:
    """Inward pass: eliminate every joint and loop; return False if a matrix is singular."""
    plan, links, bodies, inertias = passes.bodies, system.tree.links, work.bodies, passes.inertias
    if not plan.axes_are_known[0]:
        plan.axes_are_known[0] = 1
        find_axes(system.tree, work, plan)
        find_thresholds(system.tree, work, plan)
        find_directions(bodies, plan)
    for i in range(1, len(links)):
        store_own_inertia(inertias[i], rigid_body_inertia(links[i], bodies[i]), passes, i)
    start_loops(bodies, plan, passes.edges)
    for i in range(len(links) - 1, 0, -1):
        node, link = plan.nodes[i], plan.links[i]
        if link.last_slot > link.last_open and not close_loops(system, work, joint_friction, passes, h, i):
            return False
        elimination = elimination_of(plan, i)
        if elimination == BY_COLUMNS:
            regular = eliminate_columns(system, work, joint_friction, passes, h, v, i)
        elif elimination == BY_EQUATIONS:
            regular = eliminate_equations(system, work, joint_friction, passes, h, i)
        else:
            regular = eliminate_discs(system, work, joint_friction, passes, h, v, i)
        if not regular:
            return False
        if node.parent > 0:
            r, record, outer = origin_of(node, bodies) - load(bodies[node.parent].x), inertias[i], inertias[node.parent]
            add_inertia(outer, shifted(load_inertia(record), r))
            store_force(outer, load_force(outer) + shift_force(load_force(record), r))
            if link.last_open > link.first_slot:
                pass_to_parent(plan, link, r)
    return close_loops_at_ground(system, work, joint_friction, passes, h)


@formula
def add_inertia(record, A):
    """Add an inertia to that in a record."""
    B = load_inertia(record)
    store_inertia(record, UnsymmetricInertia(B.J + A.J, B.H + A.H, B.K + A.K, B.M + A.M))


# --- the kernels of a pass --------------------------------------------------------------------------------------------
@kernel
def solve_motion_once(system, work, joint_friction, passes, h, v) -> bool:
    """`tree_motion.solve_motion` for given impulses of the forces between bodies, `passes.coupling`, by one pass."""
    plan, tree, bodies, change = passes.bodies, system.tree, work.bodies, work.response
    if not eliminate_bodies(system, work, joint_friction, passes, h, v):
        return False
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for c in range(plan.number[0] - 1, -1, -1):
        if plan.loops[c].slot < 0:
            solve_loop(plan, c)
    for i in range(1, len(tree.links)):
        link, elimination = plan.links[i], elimination_of(plan, i)
        if elimination == BY_COLUMNS:
            move_columns(system, work, passes, i, change)
        elif elimination == BY_EQUATIONS:
            move_equations(system, work, passes, i, change)
        else:
            move_discs(system, work, passes, i, change)
        if link.last_slot > link.last_open:
            dV = load_motion_change(bodies[i])
            store_vector(plan.column, Force(dV.w, dV.v))
            for s in range(link.last_slot - 1, link.last_open - 1, -1):
                solve_loop(plan, plan.slots[s].loop)
    compute_loop_rates(tree, change, work)
    return True


@kernel
def compute_slips(system, work, joint_friction, passes, v):
    """Compute the slip velocities `passes.slip` (p, 2) of all patches after the step.

    They follow from the rates of joints, and else from the motions of the bodies.
    """
    patches, bodies = system.contacts.joint_friction.patches, work.bodies
    for p in range(len(patches)):
        patch, j = patches[p], passes.coordinate[p]
        elimination = elimination_of(passes.bodies, patch.row) if patch.row < len(system.tree.links) else BY_EQUATIONS
        if elimination == BY_COLUMNS:
            rate = v[j] + work.response[j]
            passes.slip[p, 0] = slip_per_rate(patch, bodies, work.columns[j]) * rate + joint_friction.slip_changes[p, 0]
        elif elimination == BY_EQUATIONS:
            frame, parent, child = bodies[patch.row], bodies[patch.parent], bodies[patch.child]
            along, across = slip_wrenches(patch, work)
            V = relative_twist(patch, bodies) + at_frame(load_motion_change(child), child, frame)
            V = V - at_frame(load_motion_change(parent), parent, frame)
            moves = 0.0 if is_at_rest(patch, passes) and patch.slip_directions == 2 else 1.0
            passes.slip[p, 0] = moves * (power(V, along) + joint_friction.slip_changes[p, 0])
            passes.slip[p, 1] = moves * (power(V, across) + joint_friction.slip_changes[p, 1])
        elif p == patch.first_patch:
            compute_disc_slips(patches, p, passes.joints[p], work, joint_friction, passes, v)


@kernel
def transmit_changes(system, work, passes):
    """Compute the impulses that all joints transmit, friction included, into `work.wrenches`, body by body."""
    plan, links, bodies, wrenches = passes.bodies, system.tree.links, work.bodies, work.wrenches
    clear_impulses(work)
    add_implicit_impulses(system, work)
    apply_edge_impulses(passes.edges, wrenches)
    for k in range(len(plan.loop_of_joint)):
        node, W = plan.nodes[len(links) + k], wrench_of_loop(plan, plan.loop_of_joint[k])
        add_impulse(wrenches[node.child], shift_force(W, origin_of(node, bodies) - load(bodies[node.child].x)))
        add_impulse(wrenches[node.parent], shift_force(-1.0 * W, origin_of(node, bodies) - load(bodies[node.parent].x)))
    for i in range(len(links)):
        store_force(wrenches[i], -load_force(wrenches[i]))
    for i in range(len(links) - 1, 0, -1):
        node = plan.nodes[i]
        W = load_force(wrenches[i]) + rigid_body_inertia(links[i], bodies[i]) @ load_motion_change(bodies[i])
        store_force(wrenches[i], W)
        add_impulse(wrenches[node.parent], shift_force(W, load(bodies[i].x) - load(bodies[node.parent].x)))
        if node.is_loop_joint:
            store_force(wrenches[node.frame], shift_force(W, load(bodies[i].x) - origin_of(node, bodies)))
    for k in range(len(plan.loop_of_joint)):
        store_force(wrenches[plan.nodes[len(links) + k].frame], wrench_of_loop(plan, plan.loop_of_joint[k]))


@formula
def add_impulse(record, W):
    """Add an impulse to that in a record."""
    store_force(record, load_force(record) + W)


@kernel
def store_loop_multipliers(system, work, plan, active_rows, x):
    """Store the multipliers of the first len(x) active rows, as far as they are those of loops."""
    for k in range(len(x)):
        joint = plan.joint_of_row[active_rows[k]]
        if joint >= 0:
            node, total = plan.nodes[len(plan.links) + joint], wrench_of_loop(plan, plan.loop_of_joint[joint])
            W = total
            for j in range(node.iv, node.iv + node.nv):
                if not system.tree.driven[j]:
                    S, D = column_of(work.columns[j]), load_force(work.dual_basis[j])
                    W = W - power(S, total) * D
            T = rotated_force(load(work.bodies[node.frame].R), load_force(work.constraint_axes[active_rows[k]]))
            x[k] = dot(T.t, W.t) + dot(T.f, W.f)
