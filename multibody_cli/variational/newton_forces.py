"""Derivatives of forces within a step (`step_forces`) in Newton's method, column by column.

The end of body i moves by the twist h y_i for a change y of the mean rates.  It changes at the part theta of the step

    orientation        h (w - T x w) / 2, or h w with theta = 1           w: angular part of y_i
    center of mass     theta h (v + w x e)                                 v: of the origin, e leads to the center
    velocities         J_l(phi)^-1 w and v + w x e

with the left Jacobian J_l of the rotation vector phi of the step.  Forces change by K and D times these
(`forces.variation`), exactly; so do the impulses at the start, with the turn of T = u / (1 + s).  Coordinates of loop
joints change as at the start of the step.
"""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_joints import apply_loop_impulses, compute_loop_rates
from multibody_cli.forces.element_products import add_stiffness_damping_products, linearize_forces
from multibody_cli.forces.elements import apply_implicit_joint_forces
from multibody_cli.forces.quantities import write_directions
from multibody_cli.implicit.implicit_forces import clear_wrenches
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.linalg.vectors import clear
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.rotations import inverse_right_jacobian_times, quaternion_of_vector
from multibody_cli.spatial.values import Force, Motion, Vec3
from multibody_cli.tree.articulated_body import load_motion_change, store_motion_change
from multibody_cli.tree.configuration import free_end
from multibody_cli.tree.jacobian import add_jacobian_transposed_times, jacobian_times
from multibody_cli.tree.markers import transfer_marker_wrenches, update_marker_changes
from multibody_cli.variational.discrete_motion import relative_quaternion, rotation_factor
from multibody_cli.variational.step_forces import wrench_at_start


@lazy_kernel
def add_force_derivatives(system, work, step, h):
    """Subtract the derivatives of the impulses at the start by the mean rates from N; J of the end is in `dense`."""
    tree, forces, N, last = system.tree, step.forces, step.solver.dense.N, free_end(system.tree)
    for i in range(len(forces.kept)):
        store_force(forces.kept[i], load_force(work.wrenches[i]))
    linearize_forces(system.forces, forces.time[0], forces.work.bodies)
    for j in range(last):
        if not tree.driven[j]:
            for k in range(len(forces.unit)):
                forces.unit[k] = 1.0 if k == j else 0.0
            write_change_of_impulses(system, work, step, h)
            for i in range(last):
                if not tree.driven[i]:
                    N[i, j] -= step.settings.first_kick * h * forces.change[i]
    for i in range(len(forces.kept)):
        store_force(work.wrenches[i], load_force(forces.kept[i]))


@kernel
def write_change_of_impulses(system, work, step, h):
    """Write the change of the generalized forces at the start, for the change `unit` of the mean rates."""
    tree, forces, theta = system.tree, step.forces, step.settings.first_kick
    bodies, ends, discrete_motions = forces.work.bodies, step.solver.dense.work.bodies, step.discrete_motions
    t, change = forces.time[0], forces.change
    jacobian_times(tree, forces.unit, step.solver.dense.work)
    for i in range(1, len(tree.links)):
        store_motion_change(work.bodies[i], load_motion_change(ends[i]))
    update_marker_changes(tree, work.bodies)
    compute_loop_rates(tree, forces.unit, work)
    clear(change)
    clear_wrenches(forces.work)
    for is_velocity in (0, 1):
        displacement, velocity = (0.0, 1.0) if is_velocity else (h, 0.0)
        for i in range(1, len(tree.links)):
            V = change_within(tree.links[i], discrete_motions[i], bodies[i], ends[i], theta, h, is_velocity)
            store_motion_change(bodies[i], V)
        update_marker_changes(tree, bodies)
        change_coordinates(tree, forces, theta, h, is_velocity)
        write_directions(
            system.forces.quantities,
            system.forces.points,
            system.forces.signals,
            forces.scaled,
            bodies,
            displacement,
            velocity,
        )
        forces.coefficients[0], forces.coefficients[1], forces.coefficients[2] = 0.0, displacement, velocity
        apply_implicit_joint_forces(
            system.forces, t, forces.coefficients, True, forces.scaled, change, forces.work.armature
        )
        add_stiffness_damping_products(system.forces, t, bodies, displacement, velocity, True, forces.work.wrenches)
    transfer_marker_wrenches(tree, bodies, forces.work.wrenches)
    for i in range(1, len(tree.links)):
        dW = load_force(forces.work.wrenches[i])
        store_force(
            work.wrenches[i], change_at_start(tree.links[i], discrete_motions[i], bodies[i], dW, ends[i], theta, h)
        )
    apply_loop_impulses(tree, change, work)
    add_jacobian_transposed_times(tree, work, change)


@kernel
def change_coordinates(tree, forces, theta, h, is_velocity):
    """Write the change of the coordinates within the step, divided by h, or that of their mean rates, into `scaled`."""
    for k in range(len(forces.unit)):
        forces.scaled[k] = forces.unit[k] * (1.0 if is_velocity else theta)
    for k in range(len(tree.quaternions)):
        i, side = tree.quaternions[k].iv, 1.0 if tree.quaternions[k].outer else -1.0
        y = Vec3(forces.unit[i], forces.unit[i + 1], forces.unit[i + 2])
        phi = (side * h) * Vec3(forces.rates[i], forces.rates[i + 1], forces.rates[i + 2])
        if is_velocity:
            y = inverse_right_jacobian_times(phi, y)
        elif theta < 1.0:
            s, u = quaternion_of_vector(phi)
            y = turned_within(s, -u, y)
        forces.scaled[i], forces.scaled[i + 1], forces.scaled[i + 2] = y.x, y.y, y.z


@formula
def turned_within(s, u, w):
    """Return the turn of the middle of a step with the rotation (s, u) for the turn w of its end."""
    return 0.5 * (w - (1.0 / (1.0 + s)) * cross(u, w))


@formula
def change_of_center(link, discrete_motion, V):
    """Return the velocity of the center of mass for the twist V of the origin at the end."""
    return V.v + cross(V.w, load(discrete_motion.R) @ load(link.com))


@formula
def turn_within(discrete_motion, w, theta):
    """Return the turn of the part `theta` of the step, for the turn w of the end."""
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    return w if theta == 1.0 else turned_within(s, u, w)


@formula
def change_within(link, discrete_motion, body, end, theta, h, is_velocity):
    """Return the change of the pose of a body within the step, divided by h, or that of its twist."""
    V, r = load_motion_change(end), load(body.R) @ load(link.com)
    moved, turn = change_of_center(link, discrete_motion, V), turn_within(discrete_motion, V.w, theta)
    if not is_velocity:
        return Motion(turn, theta * moved - cross(turn, r))
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    w = inverse_right_jacobian_times(-rotation_factor(s, u)[0] * u, V.w)
    return Motion(w, moved - cross(w, r) - cross(load(body.w), h * cross(turn, r)))


@formula
def change_at_start(link, discrete_motion, body, change, end, theta, h):
    """Return the change of the wrench at the start, for the change of that within the step."""
    V, r, W = load_motion_change(end), load(body.R) @ load(link.com), -load_force(body)
    turn = turn_within(discrete_motion, V.w, theta)
    moment = change.t - cross(r, change.f) - h * cross(cross(turn, r), W.f)
    found = wrench_at_start(link, discrete_motion, Force(moment, change.f), theta)
    if theta == 1.0:
        return Force(found.t + h * cross(change_of_center(link, discrete_motion, V), W.f), found.f)
    s, u = relative_quaternion(load(discrete_motion.R_start), load(discrete_motion.R))
    turned = (0.5 * h / (1.0 + s)) * (s * V.w + cross(V.w, u)) + (0.5 * h * dot(u, V.w) / (1.0 + s) ** 2) * u
    return Force(found.t - cross(turned, W.t - cross(r, W.f)), found.f)
