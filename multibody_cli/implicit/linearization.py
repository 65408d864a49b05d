"""Small motion about a state: what each coordinate, displaced or moving, makes of the generalized forces, K and D.

With S the exact derivatives of all that pushes (`forces.variation`), J the Jacobian of the bodies' twists, and C the
rates of the coordinates of joints that close loops,

    K = J^T (dF/dx) J + d tau/dq + C^T (d tau/dq) C,    D alike with rates.

The weight and the inertia of the bodies add nothing here: this is for motion that is fast beside them.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import follow_closures, impel_closures
from multibody_cli.constraint_solver.solver import place
from multibody_cli.constraints.rows import change_of_row
from multibody_cli.forces.elements import foresee_all, push_all, vary_all
from multibody_cli.implicit.implicit_forces import clear_wrenches, free_end
from multibody_cli.kernel import kernel
from multibody_cli.tree.articulated_body import accelerate, respond
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, complete_columns, jacobian_times
from multibody_cli.tree.markers import follow_markers, hand_on


@kernel
def linearize(system, work, state, powers, inverse, K, D, G):
    """M^-1, K and D, (n, n) of the n coordinates that carry bodies, and G (m, n) of all rows; of driven ones 0."""
    tree, t, unit = system.tree, state.time[0], work.ahead
    place(system, t, state.q, state.v, state.a, work)
    push_all(system.forces, t, state.q, state.v, work, powers)
    accelerate(system, work, work.response)
    complete_columns(tree, work)
    for j in range(free_end(tree)):
        for i in range(len(unit)):
            unit[i] = 1.0 if i == j and not tree.driven[j] else 0.0
        write_change(system, work, t, 1.0, 0.0, K, j)
        write_change(system, work, t, 0.0, 1.0, D, j)
        for r in range(len(work.rows)):
            G[r, j] = change_of_row(work.rows[r], work.terms, work.bodies, unit)
        clear_wrenches(work)
        respond(system, work, unit, work.response)
        for i in range(free_end(tree)):
            inverse[i, j] = 0.0 if tree.driven[j] else work.response[i]


@kernel
def write_change(system, work, t, along, faster, matrix, j):
    """One column: the generalized forces of a unit of coordinate j, which `work.ahead` holds."""
    tree, unit, tau = system.tree, work.ahead, work.impulse
    jacobian_times(tree, unit, work)
    follow_markers(tree, work.bodies)
    follow_closures(tree, unit, work)
    work.horizon[0], work.horizon[1], work.horizon[2] = 0.0, along, faster
    for i in range(len(tau)):
        tau[i] = 0.0
    foresee_all(system.forces, work.horizon, unit, tau, work.armature)
    work.horizon[1] = work.horizon[2] = 0.0
    clear_wrenches(work)
    vary_all(system.forces, t, work.bodies, along, faster, True, work.wrenches)
    impel_closures(tree, tau, work)
    hand_on(tree, work.wrenches)
    add_jacobian_transposed_times(tree, work, tau)
    for i in range(free_end(tree)):
        matrix[i, j] = 0.0 if tree.driven[i] else tau[i]
