"""Linearly implicit forces: accelerations with the forces at the end of a step.

With K = dF/dx and D = dF/dv of all forces on bodies (`forces.variation`), J the Jacobian of the body twists, and C the
coordinates of loop joints, an implicit step of h solves

    A y = b,    A = M + H - J^T (h D + h^2 K) J + C^T H_C C,

where H = h D_r + h^2 K_r of the joints of the tree is diagonal.  A method solves P y = b, where P is M + H and the
diagonal blocks of the middle term, which keep the structure of any tree.  The rest R = A - P couples bodies across the
tree; products with R take O(n).  Conjugate gradients with the preconditioner P lead from the solution y0 of the method
to that of A.  The first residual is b - A y0 = -R y0.  Because P z = r holds for every z that the method returns, no
product with M is needed.  Constraint rows of the method stay satisfied, because every solution of the method satisfies
them.

Residuals are wrenches on the bodies, and solutions are twists of the bodies together with the rates, so that their
product is a sum over bodies.

Sources: Sueda, notes 2.5, (2.77)-(2.79), and 2.13, Alg. 10; Baraff and Witkin, Large Steps in Cloth Simulation (1998).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.constraint_solver.loop_joints import (
    apply_loop_impulses,
    compute_loop_accelerations,
    compute_loop_rates,
    compute_loop_velocities,
)
from multibody_cli.constraint_solver.solver import zero_rhs
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.element_products import (
    add_stiffness_blocks,
    add_stiffness_damping_products,
    linearize_forces,
)
from multibody_cli.forces.elements import apply_implicit_joint_forces
from multibody_cli.kernel import bound_kernel, kernel, lazy_kernel, template
from multibody_cli.linalg.vectors import add_scaled, clear
from multibody_cli.method_kernels import accelerate, apply_inverse_mass
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, no_force, no_inertia, power, shift_motion
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.articulated_body import (
    add_column_motion,
    load_inertia,
    load_motion_change,
    rigid_body_inertia,
    store_inertia,
    store_motion_change,
)
from multibody_cli.tree.configuration import free_end
from multibody_cli.tree.jacobian import write_ball_columns
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes
from multibody_cli.tree.workspace import BLOCKS, reset_armature


# --- forces at the end of the step ------------------------------------------------------------------------------------
@kernel
def set_implicit_coefficients(tree, work, h, displacement_factor, velocity_factor):
    """Set the step h, s, and the factors of K and D.

    See `forces.elements.apply_implicit_joint_forces`.
    """
    coefficients = work.implicit_coefficients
    coefficients[0], coefficients[1], coefficients[2] = h, displacement_factor, velocity_factor
    reset_armature(tree, work)
    clear_blocks(work)


@kernel
def clear_blocks(work):
    """Set the diagonal blocks of all bodies to zero."""
    blocks = work.implicit_solve.blocks
    for i in range(len(blocks)):
        store_inertia(blocks[i], no_inertia())


@kernel
def add_implicit_joint_terms(system, work, t):
    """Add the implicit terms of springs and dampers of joints to `work.tau` and `work.armature`."""
    coefficients, rates = work.implicit_coefficients, work.implicit_rates
    reset_armature(system.tree, work)
    apply_implicit_joint_forces(system.forces, t, coefficients, False, rates, work.tau, work.armature)


@kernel
def add_implicit_terms(system, work, t):
    """Add the implicit terms of all forces for the rates `work.implicit_rates`: right-hand side, H and blocks."""
    tree, bodies, coefficients, rates = system.tree, work.bodies, work.implicit_coefficients, work.implicit_rates
    write_ball_columns(tree, work)
    jacobian_product(tree, rates, work)
    update_marker_changes(tree, bodies)
    compute_loop_velocities(tree, rates, work)
    reset_armature(tree, work)
    apply_implicit_joint_forces(system.forces, t, coefficients, False, rates, work.tau, work.armature)
    work.implicit_solve.time[0] = t
    linearize_forces(system.forces, t, bodies)
    clear_wrenches(work)
    add_stiffness_damping_products(system.forces, t, bodies, coefficients[1], coefficients[2], False, work.wrenches)
    if coefficients[1] > 0.0:
        add_implicit_bias_terms(system, work, t)
    for i in range(len(bodies)):
        w = load_force(work.wrenches[i])
        apply_wrench(bodies[i], w.t, w.f)
    clear_blocks(work)
    if work.implicit_solve.settings.preconditioner == BLOCKS:
        h = coefficients[0]
        add_stiffness_blocks(system.forces, t, bodies, h * h, h, work.implicit_solve.blocks)


@kernel
def add_implicit_bias_terms(system, work, t):
    """Add the products of h^2 K + h D with the bias accelerations of the bodies to the wrenches.

    Forces then depend on the twists of the bodies at the end of the step, in any coordinates with the same origins;
    with others, steps differ by h D w x (w x s) for the vector s between the origins.
    """
    tree, h = system.tree, work.implicit_coefficients[0]
    write_bias_motion(tree, work, work.implicit_solve.z)
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            if not tree.driven[j]:
                work.tau[j] -= work.armature[j] * work.implicit_solve.z[j]
    add_stiffness_damping_products(system.forces, t, work.bodies, h * h, h, False, work.wrenches)


@kernel
def write_bias_motion(tree, work, rates):
    """Write the accelerations at zero free dv/dt into `dw` and `dv` of the bodies, and of closures into `rates`.

    Markers have none, since bodies with markers have maximal coordinates.
    """
    bodies = work.bodies
    for i in range(len(tree.links)):
        store_motion_change(bodies[i], Motion(ZERO, ZERO))
    update_marker_changes(tree, bodies)
    compute_loop_accelerations(tree, rates, work)
    ground = load(bodies[0].a)  # gravity is an acceleration of the ground
    for i in range(1, len(tree.links)):
        up = ZERO if tree.links[i].ignores_gravity else ground
        store_motion_change(bodies[i], Motion(load(bodies[i].alpha), load(bodies[i].a) - up))


@kernel
def jacobian_product(tree, x, work):
    """Compute J x for the rates x (nv,) of all coordinates, prescribed ones too, into `dw` and `dv` of the bodies."""
    links, bodies, columns = tree.links, work.bodies, work.columns
    store_motion_change(bodies[0], Motion(ZERO, ZERO))
    for i in range(1, len(links)):
        V = shift_motion(load_motion_change(bodies[links[i].parent]), load(bodies[i].r))
        for j in range(links[i].iv, links[i].iv + links[i].nv):
            V = add_column_motion(V, columns[j], x[j])
        store_motion_change(bodies[i], V)


# --- products ---------------------------------------------------------------------------------------------------------
@kernel
def clear_wrenches(work):
    """Set the wrenches on all bodies to zero."""
    for i in range(len(work.wrenches)):
        store_force(work.wrenches[i], no_force())


@kernel
def apply_off_diagonal_stiffness(system, work, y, of_stiffness):
    """Compute (M + H - A) y into `work.wrenches`, for rates y (nv,) with J y in `dw` and `dv` of the bodies.

    `of_stiffness` is 1, or 0 to leave out K of the bodies.
    """
    tree, x = system.tree, work.implicit_solve.x
    clear_wrenches(work)
    for j in range(free_end(tree), len(x)):
        x[j] = 0.0
    add_changes_of_forces(system, work, x, y, of_stiffness)
    apply_loop_impulses(tree, x, work)
    transfer_marker_wrenches(tree, work.bodies, work.wrenches)


@lazy_kernel
def add_changes_of_forces(system, work, x, y, of_stiffness):
    """Add the changes of all implicit forces due to the motion `dw`, `dv` of the bodies, h^2 K and h D times it.

    Wrenches on bodies and markers go to `work.wrenches`, generalized forces of loop joints to x (nv,), and the rates
    of loop joints to y (nv,).
    """
    tree, h = system.tree, work.implicit_coefficients[0]
    update_marker_changes(tree, work.bodies)
    compute_loop_rates(tree, y, work)
    add_stiffness_damping_products(
        system.forces, work.implicit_solve.time[0], work.bodies, of_stiffness * h * h, h, False, work.wrenches
    )
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        for j in range(closure.iv, closure.iv + closure.nv):
            x[j] -= work.armature[j] * y[j]


@kernel
def add_implicit_impulses(system, work):
    """Add the impulses of implicit forces that a change `dw`, `dv` of the motion of the bodies causes within the step.

    Impulses on bodies go to `work.wrenches`, those on coordinates of loop joints to `work.impulse` (nv,).  For a change
    of the acceleration they are forces.
    """
    if system.implicit:
        add_changes_of_forces(system, work, work.impulse, work.implicit_solve.p, 1.0)


@kernel
def add_block_product(tree, work):
    """Add the diagonal blocks times the twists `dw`, `dv` of the bodies to the wrenches."""
    blocks, wrenches = work.implicit_solve.blocks, work.wrenches
    for i in range(1, len(tree.links)):
        w = load_inertia(blocks[i]) @ load_motion_change(work.bodies[i])
        store_force(wrenches[i], load_force(wrenches[i]) + w)


@kernel
def wrench_motion_product(wrenches, bodies, count):
    """Return the product of the wrenches with the twists `dw`, `dv` of the first `count` bodies."""
    total = 0.0
    for i in range(1, count):
        total += power(load_motion_change(bodies[i]), load_force(wrenches[i]))
    return total


@kernel
def mass_norm_squared(tree, work, y) -> float:
    """Return y . (M + H) y for rates y (nv,) with J y in `dw` and `dv` of the bodies."""
    total = 0.0
    for i in range(1, len(tree.links)):
        V = load_motion_change(work.bodies[i])
        total += power(V, rigid_body_inertia(tree.links[i], work.bodies[i]) @ V)
        for j in range(tree.links[i].iv, tree.links[i].iv + tree.links[i].nv):
            total += 0.0 if tree.driven[j] else work.armature[j] * y[j] * y[j]
    return total


# --- conjugate gradients ----------------------------------------------------------------------------------------------
@template(apply_inverse_mass)
def precondition(system, work):
    """Compute z = P^-1 r into `work.implicit_solve.z`, and J z into `dw` and `dv` of the bodies."""
    solve = work.implicit_solve
    for i in range(len(solve.r)):
        store_force(work.wrenches[i], load_force(solve.r[i]))
    clear(solve.x)
    apply_inverse_mass(system, work, solve.x, solve.z)


@template(apply_inverse_mass)
def correct(system, work, y):
    """Change the solution y (nv,) of P to that of A, and `dw` and `dv` of the bodies to J y."""
    if work.implicit_coefficients[0] == 0.0:
        return
    tree, bodies, solve, n = system.tree, work.bodies, work.implicit_solve, len(system.tree.links)
    zero_rhs(work)
    threshold = solve.settings.tolerance * solve.settings.tolerance * mass_norm_squared(tree, work, y)
    store_motions(bodies, solve.solution)
    accumulate_multipliers(work, 0, 0.0)
    apply_off_diagonal_stiffness(system, work, y, 1.0)
    add_block_product(tree, work)
    for i in range(n):
        store_force(solve.r[i], load_force(work.wrenches[i]))
    precondition(system, work)
    residual, iterations = wrench_motion_product(solve.r, bodies, n), 0
    store_motions(bodies, solve.direction)
    accumulate_multipliers(work, 1, 0.0)
    for i in range(n):
        store_force(solve.s[i], load_force(solve.r[i]))
    for j in range(len(y)):
        solve.p[j] = solve.z[j]
    while residual > threshold and iterations < solve.settings.max_iterations:
        load_motions(solve.direction, bodies)
        curvature = wrench_motion_product(solve.s, bodies, n)
        apply_off_diagonal_stiffness(system, work, solve.p, 1.0)
        add_block_product(tree, work)
        curvature -= wrench_motion_product(work.wrenches, bodies, n)
        advance_solution(solve, work.wrenches, residual / curvature, y)
        precondition(system, work)
        new_residual = wrench_motion_product(solve.r, bodies, n)
        update_search_direction(solve, bodies, new_residual / residual)
        accumulate_multipliers(work, 1, new_residual / residual)
        residual = new_residual
        iterations += 1
    load_motions(solve.solution, bodies)
    add_multipliers(work)
    solve.iterations[0] = max(solve.iterations[0], iterations)
    if not residual <= threshold:
        solve.unsolved[0] += 1


@kernel
def accumulate_multipliers(work, k, beta):
    """Store the multipliers of the primary rows, plus beta times those stored before, at index k."""
    stored = work.implicit_solve.multipliers
    for r in range(len(work.rhs)):
        stored[k, r] = work.rows[r].multiplier + beta * stored[k, r]


@kernel
def add_multipliers(work):
    """Add the multipliers of the solution to those of the primary rows, which are due to the last residual.

    A residual on bodies that do not move, as those of drives, has no effect on the motion, but rows bear it.
    """
    for r in range(len(work.rhs)):
        if work.rows[r].primary:
            work.rows[r].multiplier += work.implicit_solve.multipliers[0, r]


@kernel
def store_motions(bodies, motions):
    """Store the twists `dw`, `dv` of the bodies."""
    for i in range(len(motions)):
        V = load_motion_change(bodies[i])
        store_force(motions[i], Force(V.w, V.v))


@kernel
def load_motions(motions, bodies):
    """Load stored twists into `dw` and `dv` of the bodies."""
    for i in range(len(motions)):
        V = load_force(motions[i])
        store_motion_change(bodies[i], Motion(V.t, V.f))


@kernel
def advance_solution(solve, wrenches, alpha, y):
    """Step along the search direction: y += alpha p, r -= alpha (P p + R p), with -R p in `wrenches`."""
    for i in range(len(solve.r)):
        store_force(solve.solution[i], load_force(solve.solution[i]) + alpha * load_force(solve.direction[i]))
        change = alpha * (load_force(wrenches[i]) - load_force(solve.s[i]))
        store_force(solve.r[i], load_force(solve.r[i]) + change)
    add_scaled(y, alpha, solve.p)
    for r in range(solve.multipliers.shape[1]):
        solve.multipliers[0, r] += alpha * solve.multipliers[1, r]


@kernel
def update_search_direction(solve, bodies, beta):
    """Compute the next search direction p = z + beta p, and P p = r + beta P p."""
    for i in range(len(solve.r)):
        V = load_motion_change(bodies[i])
        store_force(solve.direction[i], Force(V.w, V.v) + beta * load_force(solve.direction[i]))
        store_force(solve.s[i], load_force(solve.r[i]) + beta * load_force(solve.s[i]))
    for j in range(len(solve.p)):
        solve.p[j] = solve.z[j] + beta * solve.p[j]


# --- binding ----------------------------------------------------------------------------------------------------------
@template(accelerate, apply_inverse_mass)
def accelerate_implicitly(system, work, a):
    """A method's `accelerate` with implicit forces."""
    accelerate(system, work, a)
    correct(system, work, a)


@template(apply_inverse_mass)
def apply_inverse_mass_implicitly(system, work, x, y):
    """A method's `apply_inverse_mass` with implicit forces."""
    apply_inverse_mass(system, work, x, y)
    correct(system, work, y)


class Implicit(NamedTuple):
    """A method's kernels with implicit forces; `factor` is its `accelerate` for the factors alone."""

    factor: Any
    accelerate: Any
    apply_inverse_mass: Any
    terms: Any = add_implicit_terms


def by_iteration(accelerate: Any, apply_inverse_mass: Any) -> Implicit:
    """Bind the templates to the two kernels of a method."""
    return Implicit(
        accelerate,
        bound_kernel(accelerate_implicitly, accelerate=accelerate, apply_inverse_mass=apply_inverse_mass),
        bound_kernel(apply_inverse_mass_implicitly, apply_inverse_mass=apply_inverse_mass),
    )
