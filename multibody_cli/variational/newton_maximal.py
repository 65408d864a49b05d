"""Newton's method for a step in maximal coordinates, as Bruedigam and Manchester write it, in O(n) without fill-in.

Let every body move by an additional twist y h at the end of the step, in world axes about its origin there.  Its
momentum, about the origin at the start, changes by D y h, and the errors g of the rows change by K y h:

    [ h D  -J^T ] [ y      ]   [ e      ]
    [ K     0   ] [ lambda ] = [ -g / h ]

with the residual e of the bodies, the rows J of the start, where their impulses act, and the rows K of the end, where
their errors vanish.  The accumulated impulses of the rows are part of e, so that lambda is their change.

    equations     subject                                              here
    (26), (33)    momentum balance d of a body; (33) is twice ours     `step.drnea_body_residuals`
    (35), (36)    Newton's iteration for v, w and lambda               `step.find_root`
    (27), (32)    poses from mean rates                                `tree.configuration.displace_coordinates`
    (38)          D, the derivative of d with respect to v and w       `discrete_motion.write_derivative`
                  -G^T (printed without sign), here -J^T; G_(v,w), K   `joint_sides.write_sides`
    (39)          linear system: Alg. 3, factors, and Alg. 4           `newton_maximal_response`, `kkt.ldu_tree`
    4.3           loops                                                `constrained.correct_rows`

Source: Bruedigam and Manchester 2020, Linear-time variational integrators in maximal coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_rates
from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.assembly import bodies_of, gather_forces, scatter_motions, write_jacobian
from multibody_cli.kkt.ldu_rigid import eliminate_rigid, reduce_rigid
from multibody_cli.kkt.ldu_tree import factor, recover, reduce, solve, solve_l_multipliers
from multibody_cli.kkt.nodes import UNSYMMETRIC, Cells, KktTree, kkt_tree_for, vector_for
from multibody_cli.linalg.vectors import clear
from multibody_cli.model import Floats, Integers, Records, System
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.tree.articulated_body import load_motion_change, store_motion_change
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes
from multibody_cli.variational.constrained import accumulate_primary_impulses, apply_primary_impulses
from multibody_cli.variational.discrete_motion import write_derivative, write_projected_derivative
from multibody_cli.variational.joint_sides import SIDES, apply_joint_impulses, sides_for, write_sides
from multibody_cli.variational.maximal_joints import maximal_joints_for
from multibody_cli.variational.newton_constraints import NewtonConstraintWork, newton_constraint_work_for


class MaximalNewton(NamedTuple):
    """Work arrays of this root finder."""

    kkt: KktTree
    first_links: Integers  # (n + 1,) first link of each node, and the number of links
    mixed: Floats  # (1,) whether any body is not rigid
    sides: Records  # if all bodies are rigid
    x: Cells
    multipliers: Floats  # (m,)
    constraint_work: NewtonConstraintWork  # of the auxiliary rows


def maximal_newton_for(system: System) -> MaximalNewton:
    """Allocate the work arrays for a system in maximal coordinates."""
    first_links, n_dofs = bodies_of(system.tree)
    kkt = kkt_tree_for(system.tree.inboard_joints, n_dofs, UNSYMMETRIC)
    mixed = any(n != 6 for n in n_dofs)
    sides = records(np.zeros(0, SIDES)) if mixed else sides_for(system.tree, kkt, maximal_joints_for(system))
    multipliers = np.zeros(len(system.rows))
    return MaximalNewton(
        kkt,
        first_links,
        np.array([float(mixed)]),
        sides,
        vector_for(kkt),
        multipliers,
        newton_constraint_work_for(system),
    )


@kernel
def reduce_rigid_bodies(newton, tree, work, constrained, discrete_motions):
    """Assemble the linear system of rigid bodies, factor it, and reduce its right-hand side, in a single inward pass.

    The blocks of a joint are written when it is eliminated: large systems are then read once from memory.
    Chains of 20 to 1000 bodies take 12 to 15 % less time for a step than with the separate passes of `reduce_mixed`.
    """
    nodes, cells, sides, x, y = newton.kkt.nodes, newton.kkt.cells, newton.sides, newton.x, newton.multipliers
    links, bodies, terms, ends = tree.links, work.bodies, work.terms, constrained.work.terms
    maximal_joints, row_states = constrained.maximal_joints, constrained.row_states
    for i in range(1, len(nodes)):
        write_derivative(cells.wrenches, nodes[i].block, links[i], bodies[i], discrete_motions[i])
        store_force(x.wrenches[i], load_force(work.wrenches[i]))
    for i in range(len(nodes) - 1, 0, -1):
        node, parent = nodes[i], nodes[nodes[i].parent]
        write_sides(sides[i], maximal_joints, discrete_motions, terms, ends, cells.wrenches)
        apply_joint_impulses(sides[i], cells.wrenches, row_states, x.wrenches)
        eliminate_rigid(node, parent, cells)
        solve_l_multipliers(node, cells.numbers, y)
        reduce_rigid(node, parent, cells, x, y)


@kernel
def reduce_mixed(newton, tree, work, constrained, discrete_motions):
    """Like `reduce_rigid_bodies` for bodies of any number of degrees of freedom, in separate passes."""
    nodes, cells, first_links = newton.kkt.nodes, newton.kkt.cells, newton.first_links
    apply_primary_impulses(work, constrained)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    gather_forces(newton.kkt, first_links, tree, work, newton.x)
    for i in range(1, len(nodes)):
        node, row = nodes[i], first_links[i]
        if node.n_dofs == 6:
            write_derivative(cells.wrenches, node.block, tree.links[row], work.bodies[row], discrete_motions[row])
        else:
            write_links(node, cells.numbers, row, first_links[i + 1], tree.links, work, discrete_motions)
    ends = constrained.work
    body_rows, parent_rows, columns = nodes.body_rows, nodes.parent_rows, work.columns
    write_jacobian(nodes, body_rows, parent_rows, cells, first_links, tree, work.bodies, columns, work.rows, work.terms)
    body_rows, parent_rows = nodes.body_rows_k, nodes.parent_rows_k
    write_jacobian(nodes, body_rows, parent_rows, cells, first_links, tree, ends.bodies, columns, ends.rows, ends.terms)
    factor(newton.kkt)
    reduce(newton.kkt, newton.x, newton.multipliers)


@kernel
def write_links(node, numbers, first, last, links, work, discrete_motions):
    """Write the derivative of a body that is not rigid; its links are not coupled."""
    for k in range(6 * node.block, 6 * (node.block + node.n_dofs * node.cells)):
        numbers[k] = 0.0
    p = 0
    for i in range(first, last):
        write_projected_derivative(numbers, node, p, links[i], work.bodies[i], discrete_motions[i], work.columns)
        p += links[i].nv


@kernel
def newton_maximal_response(system, work, step, h):
    """Compute Newton's correction of the mean rates for the impulses in `work.wrenches` and `work.impulse`.

    The changes of the impulses of primary rows are added to their accumulated impulses; the twists of the bodies are
    left in (dw, dv).
    """
    tree, newton, constrained = system.tree, step.solver, step.constrained
    apply_loop_impulses(constrained.tree, work.impulse, work)
    for r in range(len(newton.multipliers)):
        newton.multipliers[r] = -constrained.row_states[r].error / h
    if newton.mixed[0]:
        reduce_mixed(newton, tree, work, constrained, step.discrete_motions)
    else:
        reduce_rigid_bodies(newton, tree, work, constrained, step.discrete_motions)
    recover(newton.kkt, newton.x, newton.multipliers)
    scatter_solution(tree, work, newton, constrained)
    accumulate_primary_impulses(work, constrained)


@kernel
def newton_maximal_response_reusing_factors(system, work, step):
    """Like `newton_maximal_response` for other impulses, with the last factorization.

    Primary rows keep their errors.
    """
    tree, newton, constrained = system.tree, step.solver, step.constrained
    apply_loop_impulses(constrained.tree, work.impulse, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)
    clear(newton.multipliers)
    gather_forces(newton.kkt, newton.first_links, tree, work, newton.x)
    solve(newton.kkt, newton.x, newton.multipliers)
    scatter_solution(tree, work, newton, constrained)


@kernel
def scatter_solution(tree, work, newton, constrained):
    """Copy the solution to coordinates, bodies and rows."""
    clear(work.response)
    scatter_motions(newton.kkt, newton.first_links, tree, work, newton.x, work.response)
    for r in range(len(newton.multipliers)):
        if work.rows[r].primary:
            work.rows[r].multiplier = newton.multipliers[r]
    move_markers(tree, work.bodies, constrained.work.bodies)
    compute_loop_rates(constrained.tree, work.response, work)


@kernel
def move_markers(tree, bodies, ends):
    """Compute the changes of motion of all markers from those of the bodies, at the end of the step."""
    if len(tree.markers) == 0:
        return
    for i in range(len(tree.links)):
        store_motion_change(ends[i], load_motion_change(bodies[i]))
    update_marker_changes(tree, ends)
    for i in range(len(tree.links), len(bodies)):
        store_motion_change(bodies[i], load_motion_change(ends[i]))
