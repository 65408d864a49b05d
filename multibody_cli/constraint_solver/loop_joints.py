"""Loop joints: their coordinates follow from the bodies, and their constraint axes are rows.

With S the motion subspace of the joint, D its dual basis and T its constraint axes, all at the origin of the loop
frame,

    v = D . (V_child - V_parent - S_d v_d)  rates of the free coordinates
    0 = T . (V_child - V_parent - S_d v_d)  rows; v_d are prescribed rates

where V are the twists of the material points of both bodies at the origin of the loop frame
(`constraint_solver.loop_frames`).  The same holds for accelerations, minus the acceleration of the loop frame at
constant rates.

Source: Sueda, notes 1.10 and 2.8 (loop closure), with the directions computed from S for every joint alike.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import loop_closure_error, update_loop_frames
from multibody_cli.constraints.rows import write_wrench
from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.joints.parts.crossing import point_acceleration
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.model import KERNEL_GENERAL
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import (
    ZERO,
    motion_in_axes,
    no_force,
    power,
    rotated_force,
    shift_force,
    shift_motion,
)
from multibody_cli.spatial.values import Force, Motion
from multibody_cli.tree.jacobian import column_of


# --- rows ---------------------------------------------------------------------------------------------------------
@lazy_kernel
def place_loops(tree, q, v, work):
    """Place the loop frames and write error, rate and terms of the rows of every closure."""
    update_loop_frames(tree, q, v, work)
    write_loop_rows(tree, v, work)


@kernel
def write_loop_rows(tree, v, work):
    """Write error, rate and terms of the rows of every closure."""
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        write_terms_of_closure(closures[k], bodies, work)
        write_errors_of_closure(closures[k], bodies, work)
        write_rates_of_closure(tree.driven, closures[k], v, work)


@formula
def write_terms_of_closure(closure, bodies, work):
    """Write the terms of the active rows of a closure, if the method reads any."""
    loop_frame, rows, terms = bodies[closure.loop_frame], work.rows, work.terms
    x, R = load(loop_frame.x), load(loop_frame.R)
    inner, outer = x - load(bodies[closure.parent].x), x - load(bodies[closure.child].x)
    for r in range(closure.first_row, closure.last_row):
        term = closure.first_term + 2 * (r - closure.first_row)
        if rows[r].active and len(terms) > 0:
            T = rotated_force(R, load_force(work.constraint_axes[r]))
            at_child, at_parent = shift_force(T, outer), shift_force(T, inner)
            write_wrench(terms[term], closure.child, at_child.t, at_child.f)
            write_wrench(terms[term + 1], closure.parent, -at_parent.t, -at_parent.f)


@formula
def write_errors_of_closure(closure, bodies, work):
    """Write the errors of the rows of a closure."""
    loop_frame = bodies[closure.loop_frame]
    error = motion_in_axes(load(loop_frame.R), loop_closure_error(loop_frame))
    for r in range(closure.first_row, closure.last_row):
        work.rows[r].error = power(error, load_force(work.constraint_axes[r]))


@formula
def write_rates_of_closure(driven, closure, v, work):
    """Write the rates of the rows of a closure: those of its prescribed coordinates, which no screw or ball has."""
    if closure.joint_kernel == KERNEL_GENERAL:
        R = load(work.bodies[closure.loop_frame].R)
        twist = motion_in_axes(R, prescribed_twist(driven, closure, v, work.columns))
        for r in range(closure.first_row, closure.last_row):
            work.rows[r].rate = -power(twist, load_force(work.constraint_axes[r]))


@kernel
def update_loop_row_rates(tree, v, work):
    """Write rate and bias of the rows of every closure, with the motions of their loop frames."""
    closures, bodies, rows = tree.closures, work.bodies, work.rows
    for k in range(len(closures)):
        closure, loop_frame, child = closures[k], bodies[closures[k].loop_frame], bodies[closures[k].child]
        write_rates_of_closure(tree.driven, closure, v, work)
        late = velocity_product_acceleration(child, loop_frame, load(loop_frame.x) - load(child.x))
        late = motion_in_axes(load(loop_frame.R), late)
        for r in range(closure.first_row, closure.last_row):
            if rows[r].active:
                rows[r].bias = power(late, load_force(work.constraint_axes[r]))


@kernel
def write_rotor_biases(closures, rotors, work):
    """Write the biases of the primary rows of rotors: the method has wrenches on bodies in place of coordinates."""
    for k in range(len(rotors)):
        row, closure = work.rows[rotors[k].first_row], closures[rotors[k].closure]
        if row.primary:
            child, loop_frame = work.bodies[closure.child], work.bodies[closure.loop_frame]
            late = velocity_product_acceleration(child, loop_frame, load(loop_frame.x) - load(child.x))
            row.bias = power(late, load_force(work.dual_basis[rotors[k].iv]))


@formula
def prescribed_twist(driven, closure, v, columns):
    """Relative twist due to the prescribed coordinates."""
    V = Motion(ZERO, ZERO)
    for j in range(closure.iv, closure.iv + closure.nv):
        if driven[j]:
            V = V + v[j] * column_of(columns[j])
    return V


@formula
def velocity_product_acceleration(child, loop_frame, r):
    """Velocity-product acceleration of the child relative to the loop frame; r leads from the child to that frame."""
    return Motion(-load(loop_frame.alpha), point_acceleration(ZERO, ZERO, load(child.w), r) - load(loop_frame.a))


# --- coordinates --------------------------------------------------------------------------------------------------
@kernel
def apply_loop_forces(tree, tau, work):
    """Apply generalized forces `tau` (nv,) of the coordinates of closures as wrenches on both bodies."""
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        closure, loop_frame = closures[k], bodies[closures[k].loop_frame]
        if not has_generalized_force(closure, tau):
            continue
        W = wrench_of_generalized_forces(tree.driven, closure, tau, work.dual_basis)
        apply_wrench_pair(closure, loop_frame, bodies, W)


@formula
def has_generalized_force(closure, tau):
    """Whether any generalized force of a closure differs from 0."""
    total = 0.0
    for j in range(closure.iv, closure.iv + closure.nv):
        total += abs(tau[j])
    return total != 0.0


@formula
def wrench_of_generalized_forces(driven, closure, tau, dual_basis):
    """Wrench at the origin of the loop frame of the generalized forces `tau` (nv,) of a closure."""
    W = Force(ZERO, ZERO)
    for j in range(closure.iv, closure.iv + closure.nv):
        if not driven[j]:
            W = W + tau[j] * load_force(dual_basis[j])
    return W


@formula
def apply_wrench_pair(closure, loop_frame, bodies, W):
    """Apply a wrench W at the origin of the loop frame to the child, and -W to the parent."""
    parent, child = bodies[closure.parent], bodies[closure.child]
    at_child, at_parent = (
        shift_force(W, load(loop_frame.x) - load(child.x)),
        shift_force(W, load(loop_frame.x) - load(parent.x)),
    )
    apply_wrench(child, at_child.t, at_child.f)
    apply_wrench(parent, -at_parent.t, -at_parent.f)


@kernel
def apply_loop_impulses(tree, x, work):
    """Add generalized impulses x (nv,) of the coordinates of closures to `work.wrenches` on both bodies."""
    closures, bodies, wrenches = tree.closures, work.bodies, work.wrenches
    for k in range(len(closures)):
        closure, loop_frame = closures[k], bodies[closures[k].loop_frame]
        if not has_generalized_force(closure, x):
            continue
        W = wrench_of_generalized_forces(tree.driven, closure, x, work.dual_basis)
        child, parent = wrenches[closure.child], wrenches[closure.parent]
        store_force(child, load_force(child) + shift_force(W, load(loop_frame.x) - load(bodies[closure.child].x)))
        store_force(parent, load_force(parent) - shift_force(W, load(loop_frame.x) - load(bodies[closure.parent].x)))


@kernel
def compute_loop_rates(tree, y, work):
    """Compute the free rates y (nv,) of the coordinates of closures from the velocity changes (dw, dv) of bodies."""
    closures = tree.closures
    for k in range(len(closures)):
        compute_rates_of_closure(tree.driven, closures[k], y, work)


@formula
def compute_rates_of_closure(driven, closure, y, work):
    """`compute_loop_rates` for one closure."""
    change = relative_twist_change(closure, work.bodies[closure.loop_frame], work.bodies)
    for j in range(closure.iv, closure.iv + closure.nv):
        if not driven[j]:
            y[j] = power(change, load_force(work.dual_basis[j]))


@kernel
def compute_loop_velocities(tree, v, work):
    """Compute the free rates v (nv,) of closures from twists (dw, dv) of bodies that move at the prescribed rates."""
    closures, columns = tree.closures, work.columns
    compute_loop_rates(tree, v, work)
    for k in range(len(closures)):
        driven = prescribed_twist(tree.driven, closures[k], v, columns)
        for j in range(closures[k].iv, closures[k].iv + closures[k].nv):
            if not tree.driven[j]:
                v[j] -= power(driven, load_force(work.dual_basis[j]))


@kernel
def compute_loop_accelerations(tree, a, work):
    """Compute dv/dt of the free coordinates of closures from the accelerations of the bodies."""
    closures, bodies = tree.closures, work.bodies
    for k in range(len(closures)):
        closure, loop_frame = closures[k], bodies[closures[k].loop_frame]
        parent, child = bodies[closure.parent], bodies[closure.child]
        inner, outer = load(loop_frame.x) - load(parent.x), load(loop_frame.x) - load(child.x)
        placed = shift_motion(Motion(load(child.alpha), load(child.a)), outer)
        placed = placed - shift_motion(Motion(load(parent.alpha), load(parent.a)), inner)
        A = (
            placed
            + relative_twist_change(closure, loop_frame, bodies)
            + velocity_product_acceleration(child, loop_frame, outer)
        )
        for j in range(closure.iv, closure.iv + closure.nv):
            if not tree.driven[j]:
                a[j] = power(A, load_force(work.dual_basis[j]))


@formula
def relative_twist_change(closure, loop_frame, bodies):
    """Change (dw, dv) of the twist of the child relative to the parent, at the origin of the loop frame."""
    parent, child, x = bodies[closure.parent], bodies[closure.child], load(loop_frame.x)
    outer = shift_motion(Motion(load(child.dw), load(child.dv)), x - load(child.x))
    return outer - shift_motion(Motion(load(parent.dw), load(parent.dv)), x - load(parent.x))


@kernel
def compute_loop_reactions(tree, work):
    """Compute the reaction of every closure about the origin of M, world axes: generalized forces and multipliers."""
    for k in range(len(tree.closures)):
        closure = tree.closures[k]
        W = wrench_of_generalized_forces(tree.driven, closure, work.tau, work.dual_basis)
        store_force(work.wrenches[closure.loop_frame], W + wrench_of_rows(closure, work))


@formula
def wrench_of_rows(closure, work):
    """Wrench of the multipliers of the rows of a closure at the origin of the loop frame, world axes."""
    W = no_force()
    for r in range(closure.first_row, closure.last_row):
        W = W + work.rows[r].multiplier * load_force(work.constraint_axes[r])
    return rotated_force(load(work.bodies[closure.loop_frame].R), W)
