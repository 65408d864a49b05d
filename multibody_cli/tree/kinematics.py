"""Forward kinematics: pose, twist and acceleration of every body from q, v and the prescribed accelerations.

World axes throughout; the quantities of a body refer to the origin of its own joint frame.  The accelerations are those
at dv/dt = 0 of every free coordinate (Featherstone's velocity-product terms, propagated in one pass).
"""

from __future__ import annotations

from multibody_cli.joints.motion import prescribe
from multibody_cli.joints.parts import ball, screw
from multibody_cli.joints.parts.crossing import point_acceleration
from multibody_cli.joints.parts.switch import cross_part, differentiate_columns
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.model import KERNEL_BALL, KERNEL_GENERAL, KERNEL_SCREW
from multibody_cli.spatial.memory import load, store, store_force
from multibody_cli.spatial.products import ZERO, cross, rotated, rotated_diagonal, steiner
from multibody_cli.spatial.rotations import rotation_of_quaternion
from multibody_cli.spatial.values import Force, Vec3


@kernel
def update_tree_kinematics(system, t, q, v, a, work):
    """Set prescribed coordinates and compute the kinematics of a system without loop joints, rows and markers."""
    prescribe(system.motions, t, q, v, a)
    forward_kinematics(system.tree, q, v, a, work)


@kernel
def forward_kinematics(tree, q, v, a, work):
    """Compute the kinematics of all bodies; `a` (nv,) is read for prescribed coordinates alone."""
    links, bodies, columns, rates = tree.links, work.bodies, work.columns, work.column_rates
    for j in range(len(work.q)):
        work.q[j] = q[j]
    for j in range(len(work.v)):
        work.v[j] = v[j]
    for i in range(1, len(links)):
        link = links[i]
        if link.floats:
            floating_link_kinematics(link, bodies[0], bodies[i], q, v)
        elif link.joint_kernel == KERNEL_GENERAL:
            general_link_kinematics(
                link, tree, bodies[link.parent], bodies[i], q, v, a, columns, rates, work.generated_buffers
            )
        else:
            link_kinematics(link, bodies[link.parent], bodies[i], q, v, columns)


@kernel
def place_bodies(tree, q, v, a, work):
    """`forward_kinematics` without the inertial wrenches of floating bodies.

    Return the largest coordinate of the origin of a body, relative to the length of the mechanism but at least 1, and
    the `largest_speed`, but at least the slowest rate.
    """
    links, bodies, columns, rates = tree.links, work.bodies, work.columns, work.column_rates
    farthest, fastest, per_length = tree.length, tree.rate, 1.0 / tree.length
    for i in range(1, len(links)):
        link = links[i]
        if link.floats:
            place_floating(link, bodies[0], bodies[i], q, v)
        elif link.joint_kernel == KERNEL_GENERAL:
            general_link_kinematics(
                link, tree, bodies[link.parent], bodies[i], q, v, a, columns, rates, work.generated_buffers
            )
        else:
            link_kinematics(link, bodies[link.parent], bodies[i], q, v, columns)
        farthest = max(farthest, largest_component(load(bodies[i].x)))
        fastest = max(fastest, largest_speed(bodies[i], per_length))
    return per_length * farthest, fastest


@formula
def largest_speed(body, per_length):
    """Largest component of the twist of a body, at its own origin or at that of the world, in lengths and rad, 1/s."""
    w, v = load(body.w), load(body.v)
    linear = max(largest_component(v), largest_component(v + cross(load(body.x), w)))
    return max(largest_component(w), per_length * linear)


@formula
def largest_component(a):
    """Largest absolute value of the components of a vector."""
    return max(abs(a.x), abs(a.y), abs(a.z))


@kernel
def update_motions(tree, q, v, a, work):
    """Update velocities, accelerations and inertial wrenches of all bodies, for other v at the same q."""
    if len(work.column_rates) > 0:
        forward_kinematics(tree, q, v, a, work)
        return
    links, bodies, columns, rates = tree.links, work.bodies, work.columns, work.column_rates
    for i in range(1, len(links)):
        link, parent, body = links[i], bodies[links[i].parent], bodies[i]
        if link.floats:
            move_floating(link, body, v)
        elif link.joint_kernel == KERNEL_SCREW:
            move_across_screw(link, parent, body, v[link.iv], columns[link.iv])
        elif link.joint_kernel == KERNEL_BALL:
            link_kinematics(link, parent, body, q, v, columns)
        else:
            general_link_kinematics(link, tree, parent, body, q, v, a, columns, rates, work.generated_buffers)


@kernel
def update_tree_rates(system, t, q, v, a, work):
    """Update all that `update_tree_kinematics` has computed at the same t and q with other v."""
    update_motions(system.tree, q, v, a, work)


@formula
def move_floating(link, body, v):
    """Compute the motion and the inertial wrench of a floating body, in its known pose; its accelerations are known."""
    R, i, w = load(body.R), link.iv, Vec3(v[link.iv + 3], v[link.iv + 4], v[link.iv + 5])
    store(body.v, Vec3(v[i], v[i + 1], v[i + 2]))
    store(body.w, w)
    store_force(body, inertial_wrench(link, central_inertia(link, R), R @ load(link.com), w, ZERO, load(body.a)))


@formula
def move_across_screw(link, parent, body, rate, column):
    """Compute the motion and the inertial wrench of a body on a single screw, in its known pose."""
    R, r, w, alpha = load(body.R), load(body.r), load(parent.w), load(parent.alpha)
    spin, slip = rate * load(column.angular), rate * load(column.linear)
    a = point_acceleration(load(parent.a), alpha, w, r) + 2.0 * cross(w, slip)
    w, alpha = w + spin, alpha + cross(w, spin)
    store(body.v, load(parent.v) + cross(load(parent.w), r) + slip)
    store(body.w, w)
    store(body.alpha, alpha)
    store(body.a, a)
    store_force(body, inertial_wrench(link, central_inertia(link, R), R @ load(link.com), w, alpha, a))


@formula
def link_kinematics(link, parent, body, q, v, columns):
    """Compute the kinematics of a body on a single screw or ball.

    Each branch stores its own results: shared result variables would slow down the most frequent branch.
    """
    P = load(parent.R)
    r = P @ load(link.origin)
    if link.frame_is_rotated:
        P = P @ load(link.frame)
    if link.joint_kernel == KERNEL_BALL:
        R, spin = ball.turn(P, link.iq, link.iv, q, v)
        store_link_kinematics(link, parent, body, R, r, spin, ZERO, ZERO)
    elif link.slides:
        R, spin = screw.turn(link, P, q[link.iq], v[link.iv], columns[link.iv])
        d, slip = screw.slide(link, P, q[link.iq], v[link.iv], columns[link.iv])
        store_link_kinematics(link, parent, body, R, r + d, spin, slip, 2.0 * cross(load(parent.w), slip))
    else:
        R, spin = screw.turn(link, P, q[link.iq], v[link.iv], columns[link.iv])
        store_link_kinematics(link, parent, body, R, r, spin, ZERO, ZERO)


@formula
def store_link_kinematics(link, parent, body, R, r, spin, slip, coriolis):
    """Store the kinematics of a body at r from the parent's origin.

    `spin` and `slip` are its angular and linear velocity relative to the parent.
    """
    w, alpha = load(parent.w), load(parent.alpha)
    store(body.R, R)
    store(body.r, r)
    store(body.x, load(parent.x) + r)
    store(body.v, load(parent.v) + cross(w, r) + slip)
    a = point_acceleration(load(parent.a), alpha, w, r) + coriolis
    store_motion_and_inertia(link, body, R, w + spin, alpha + cross(w, spin), a)


@formula
def floating_link_kinematics(link, ground, body, q, v):
    """Compute the kinematics of a body whose coordinates are in world axes; its columns of S are constant."""
    k, i = link.iq, link.iv
    x = load(link.origin) + Vec3(q[k], q[k + 1], q[k + 2])
    R = rotation_of_quaternion(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
    a = load(ground.a)
    store(body.R, R)
    store(body.r, x)
    store(body.x, x)
    store(body.v, Vec3(v[i], v[i + 1], v[i + 2]))
    store_motion_and_inertia(link, body, R, Vec3(v[i + 3], v[i + 4], v[i + 5]), ZERO, a)


@formula
def place_floating(link, ground, body, q, v):
    """`floating_link_kinematics` without the inertial wrench."""
    k, i = link.iq, link.iv
    x = load(link.origin) + Vec3(q[k], q[k + 1], q[k + 2])
    R = rotation_of_quaternion(q[k + 3], q[k + 4], q[k + 5], q[k + 6])
    c = R @ load(link.com)
    store(body.R, R)
    store(body.r, x)
    store(body.x, x)
    store(body.v, Vec3(v[i], v[i + 1], v[i + 2]))
    store(body.w, Vec3(v[i + 3], v[i + 4], v[i + 5]))
    store(body.alpha, ZERO)
    store(body.a, load(ground.a))
    store(body.J, steiner(central_inertia(link, R), link.mass, c))
    store(body.h, link.mass * c)


@lazy_kernel
def general_link_kinematics(link, tree, parent, body, q, v, a, columns, rates, generated_buffers):
    """Compute the kinematics of a body on any sequence of parts, in memory."""
    P, w, alpha = load(parent.R), load(parent.w), load(parent.alpha)
    r = P @ load(link.origin)
    store(body.R, P @ load(link.frame))
    store(body.r, r)
    store(body.x, load(parent.x) + r)
    store(body.w, w)
    store(body.v, load(parent.v) + cross(w, r))
    store(body.alpha, alpha)
    store(body.a, ZERO if link.ignores_gravity else point_acceleration(load(parent.a), alpha, w, r))
    for k in range(link.first_part, link.last_part):
        part, r_before, w_before, v_before = tree.parts[k], load(body.r), load(body.w), load(body.v)
        cross_part(part, body, q, v, columns, generated_buffers)
        d = load(body.r) - r_before
        shift_columns(columns, link.iv, part.iv, d)
        if len(rates) > 0:
            differentiate_columns(part, w_before, body, q, v, columns, rates, generated_buffers)
            shift_column_rates(columns, rates, link.iv, part.iv, d, load(body.v) - v_before)
    add_prescribed_accelerations(link, tree.driven, body, a, columns)
    store_motion_and_inertia(link, body, load(body.R), load(body.w), load(body.alpha), load(body.a))


@formula
def shift_columns(columns, first, last, d):
    """Refer the columns of earlier parts to the new origin at d."""
    for j in range(first, last):
        column = columns[j]
        store(column.linear, load(column.linear) + cross(load(column.angular), d))


@formula
def shift_column_rates(columns, rates, first, last, d, d_rate):
    """Refer the rates of the columns of earlier parts to the new origin at d, which has the velocity d_rate."""
    for j in range(first, last):
        angular, rate = load(columns[j].angular), rates[j]
        change = cross(load(rate.angular_rate), d) + cross(angular, d_rate)
        store(rate.linear_rate, load(rate.linear_rate) + change)


@formula
def add_prescribed_accelerations(joint, driven, frame, a, columns):
    """Add the accelerations of the prescribed coordinates of a joint to those of the frame that it moves."""
    for j in range(joint.iv, joint.iv + joint.nv):
        if driven[j]:
            store(frame.alpha, load(frame.alpha) + a[j] * load(columns[j].angular))
            store(frame.a, load(frame.a) + a[j] * load(columns[j].linear))


@formula
def store_motion_and_inertia(link, body, R, w, alpha, a):
    """Store the motion of a body, its inertia about its origin, and its inertial wrench."""
    c = R @ load(link.com)
    J = central_inertia(link, R)
    store(body.w, w)
    store(body.alpha, alpha)
    store(body.a, a)
    store_force(body, inertial_wrench(link, J, c, w, alpha, a))
    store(body.J, steiner(J, link.mass, c))
    store(body.h, link.mass * c)


@formula
def inertial_wrench(link, J, c, w, alpha, a):
    """Inertial wrench of a motion about the origin; c leads to the centre of mass, J is the inertia there."""
    f = link.mass * point_acceleration(a, alpha, w, c)
    return Force(J @ alpha + cross(w, J @ w) + cross(c, f), f)


@formula
def central_inertia(link, R):
    """Inertia about the centre of mass in world axes."""
    A = load(link.central)
    if link.principal:
        return rotated_diagonal(R, Vec3(A.xx, A.yy, A.zz))
    return rotated(R, A)
