"""Loop frames: frame M of each loop joint, carried by the predecessor with the joint's own coordinates.

The coordinates are fitted so that the loop frame coincides with frame M on the child as closely as possible; the
remaining displacement is the loop-closure error.  A single screw or ball is fitted in closed form, any other joint by
Gauss-Newton iteration from its last position.  The coordinates are integrated with the others, so that the iteration
starts close to its solution, including full turns.

With S the motion subspace at the origin of the loop frame and D its dual basis, the rates are v = D . (V_child -
V_parent), with the twists of the material points of both bodies at that origin.  The coordinate of a screw that turns
is fitted to the rotation alone; its D is a moment about the axis, for any pitch, so that v is the rate of the fitted
coordinate also for twists that do not satisfy the constraints yet, in any unit of length.
"""

from __future__ import annotations

import math

from multibody_cli.joints.directions import find_constraint_axes, find_dual_basis, find_planar_constraint_axes
from multibody_cli.joints.parts.crossing import point_acceleration, write_column
from multibody_cli.joints.parts.screw import NOT_TURNING, angle_across, axis_in_world
from multibody_cli.joints.parts.switch import cross_part
from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.model import KERNEL_BALL, KERNEL_SCREW
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import (
    UNIT,
    ZERO,
    cross,
    dot,
    power,
    shift_motion,
    transposed_product,
    transposed_times,
)
from multibody_cli.spatial.rotations import angle_of, quaternion_of_rotation, rotation_about, vector_of_quaternion
from multibody_cli.spatial.values import Force, Mat3, Motion, Vec3
from multibody_cli.tree.configuration import displace_coordinates, write_quaternion
from multibody_cli.tree.jacobian import column_of
from multibody_cli.tree.kinematics import add_prescribed_accelerations, shift_columns

MAX_FIT_ITERATIONS = 30
"""Maximum number of Gauss-Newton iterations; one or two are usual."""

SMALL_SINE_SQUARED = 1e-14
"""Square of the sine below which an angle is its series."""

FIT_TOLERANCE = 1e-13
"""Weighted correction below which the iteration ends."""


@kernel
def update_loop_frames(tree, q, v, work):
    """Fit the coordinates q of every closure to the poses of the bodies, and place its loop frame."""
    for k in range(len(tree.closures)):
        update_loop_frame(tree, tree.closures[k], q, v, work, True)


@formula
def update_loop_frame(tree, closure, q, v, work, fits):
    """Place the loop frame of a closure, and its constraint axes; coordinates that these do not need if it `fits`."""
    loop_frame = work.bodies[closure.loop_frame]
    if closure.joint_kernel == KERNEL_SCREW:  # a fixed joint has no parts
        place_screw(tree.parts[closure.first_part], closure, loop_frame, q, work)
        if fits:
            fit_angle(tree.parts[closure.first_part], closure, loop_frame, q, work)
    elif closure.joint_kernel == KERNEL_BALL:
        place_ball(closure, loop_frame, work)
        if fits:
            fit_ball(tree.parts[closure.first_part], closure, loop_frame, q, work)
    else:
        fit_position(tree, closure, loop_frame, q, v, work)
    update_constraint_axes(tree, closure, loop_frame, work)


@kernel
def update_loop_rates(tree, v, work):
    """Fit the rates v of every closure to the twists of the bodies."""
    closures = tree.closures
    for k in range(len(closures)):
        closure, loop_frame = closures[k], work.bodies[closures[k].loop_frame]
        if closure.joint_kernel == KERNEL_BALL:
            fit_ball_rates(closure, loop_frame, v, work)
        else:
            fit_velocity(tree, closure, loop_frame, v, work)


@kernel
def update_loop_motions(tree, q, v, a, work):
    """Compute twist and acceleration of every loop frame, in its known pose."""
    closures = tree.closures
    for k in range(len(closures)):
        closure, loop_frame = closures[k], work.bodies[closures[k].loop_frame]
        if closure.joint_kernel == KERNEL_SCREW:
            move_across_screw(closure, loop_frame, v, work)
        elif closure.joint_kernel == KERNEL_BALL:
            move_across_ball(closure, loop_frame, work)
        else:
            place_loop_frame(tree, closure, loop_frame, q, v, work)
            add_prescribed_accelerations(closure, tree.driven, loop_frame, a, work.columns)


# --- a single screw or ball ---------------------------------------------------------------------------------------
@formula
def place_screw(part, closure, loop_frame, q, work):
    """Place a single free screw; its coordinate is fitted if its position depends on it."""
    parent, child = work.bodies[closure.parent], work.bodies[closure.child]
    P, C = load(parent.R), load(child.R)
    r = P @ load(closure.origin)
    F, M = (P @ load(closure.frame), C @ load(closure.child_frame)) if closure.is_rotated else (P, C)
    place = load(child.x) + C @ load(closure.child_origin)
    S, m = Motion(axis_in_world(part, F), F @ load(part.slide)), axis_in_world(part, M)
    D = Force(S.w, ZERO)
    if part.axis_kind == NOT_TURNING:
        D = Force(ZERO, (1.0 / dot(S.v, S.v)) * S.v)
        q[part.iq] = dot(D.f, place - load(parent.x) - r)
        R = F
        turned = rotation_vector_between(R, M)
    elif dot(m, S.w) > 0.0:
        R, turned = with_axis(M, m, S.w)
        if dot(S.v, S.v) > 0.0:
            q[part.iq] = nearest_angle(angle_across(part, F, R), q[part.iq])
    else:
        w, i, j, k = quaternion_of_rotation(transposed_product(F, M))
        angle = 2.0 * math.atan2(dot(load(part.turn), Vec3(i, j, k)), w)
        q[part.iq] = nearest_angle(angle, q[part.iq])
        R = F @ rotation_about(load(part.turn), math.sin(angle), math.cos(angle))
        turned = rotation_vector_between(R, M)
    d = q[part.iq] * S.v
    store(loop_frame.x, load(parent.x) + r + d)
    store_force(work.dual_basis[part.iv], D)
    write_column(work.columns[part.iv], S.w, S.v)
    store(loop_frame.R, R)
    store(loop_frame.r, r + d)
    store(loop_frame.dw, turned)
    store(loop_frame.dv, place - load(loop_frame.x))


@formula
def fit_angle(part, closure, loop_frame, q, work):
    """Fit the coordinate of a single free screw that turns, with the pose of its loop frame.

    The result is the same for all last angles that are nearer to it than half a turn: a fit of fitted coordinates
    changes nothing.
    """
    if part.axis_kind != NOT_TURNING:
        P = load(work.bodies[closure.parent].R)
        F = P @ load(closure.frame) if closure.is_rotated else P
        angle = angle_across(part, F, load(loop_frame.R))
        turns = math.floor((q[part.iq] - angle) / (2.0 * math.pi) + 0.5)
        q[part.iq] = angle + 2.0 * math.pi * turns


@kernel
def move_across_screw(closure, loop_frame, v, work):
    """Compute the motion of the loop frame of a single free screw, with its pose and rate."""
    slide_and_spin = v[closure.iv] * column_of(work.columns[closure.iv])
    store_loop_motion(work.bodies[closure.parent], loop_frame, slide_and_spin)


@formula
def place_ball(closure, loop_frame, work):
    """Place the loop frame of a single free ball."""
    parent, child = work.bodies[closure.parent], work.bodies[closure.child]
    P, C = load(parent.R), load(child.R)
    r = P @ load(closure.origin)
    store(loop_frame.R, C @ load(closure.child_frame))
    store(loop_frame.r, r)
    store(loop_frame.x, load(parent.x) + r)
    store(loop_frame.dw, ZERO)
    store(loop_frame.dv, load(child.x) + C @ load(closure.child_origin) - load(loop_frame.x))


@formula
def fit_ball(part, closure, loop_frame, q, work):
    """Fit the quaternion of a single free ball, from F to M, with the pose of its loop frame; write its columns."""
    F, M, iv = load(work.bodies[closure.parent].R) @ load(closure.frame), load(loop_frame.R), part.iv
    w, x, y, z = quaternion_of_rotation(transposed_product(F, M))
    write_quaternion(q, part.iq, w, Vec3(x, y, z))
    for axis, j in ((M.x, iv), (M.y, iv + 1), (M.z, iv + 2)):
        store_force(work.dual_basis[j], Force(axis, ZERO))
        write_column(work.columns[j], axis, ZERO)


@kernel
def fit_ball_rates(closure, loop_frame, v, work):
    """Compute the rates of a single free ball, with the pose of its loop frame."""
    rate = transposed_times(load(loop_frame.R), relative_spin(closure, work.bodies))
    j = closure.iv
    v[j] = rate.x
    v[j + 1] = rate.y
    v[j + 2] = rate.z


@kernel
def move_across_ball(closure, loop_frame, work):
    """Compute the motion of the loop frame of a single free ball, with its pose."""
    store_loop_motion(work.bodies[closure.parent], loop_frame, Motion(relative_spin(closure, work.bodies), ZERO))


@formula
def relative_spin(closure, bodies):
    """Angular velocity of the child relative to the parent."""
    return load(bodies[closure.child].w) - load(bodies[closure.parent].w)


@formula
def store_loop_motion(parent, loop_frame, twist):
    """Store the motion of a loop frame that moves in F with a relative twist along constant directions of F.

    The acceleration of the parent is taken as zero.
    """
    w, r, spin, slip = load(parent.w), load(loop_frame.r), twist.w, twist.v
    store(loop_frame.w, w + spin)
    store(loop_frame.v, load(parent.v) + cross(w, r) + slip)
    store(loop_frame.alpha, cross(w, spin))
    store(loop_frame.a, cross(w, cross(w, r)) + cross(2.0 * w + spin, slip))


@formula
def with_axis(M, m, n):
    """Turn M by the smallest rotation that takes its unit axis m to n, by less than a right angle.

    Also return the rotation vector back to M.
    """
    k, cosine = cross(m, n), dot(m, n)
    sine2 = dot(k, k)
    if sine2 < SMALL_SINE_SQUARED:
        back = -(1.0 + sine2 / 6.0) * k
    else:
        sine = math.sqrt(sine2)
        back = (-angle_of(sine, cosine) / sine) * k
    g = 1.0 / (1.0 + cosine)
    x = cosine * M.x + cross(k, M.x) + (g * dot(k, M.x)) * k
    y = cosine * M.y + cross(k, M.y) + (g * dot(k, M.y)) * k
    z = cosine * M.z + cross(k, M.z) + (g * dot(k, M.z)) * k
    return Mat3(x, y, z), back


@formula
def rotation_vector_between(R, M):
    """Rotation vector from R to M, world axes."""
    w, i, j, k = quaternion_of_rotation(transposed_product(R, M))
    return R @ vector_of_quaternion(w, Vec3(i, j, k))


@formula
def nearest_angle(angle, last):
    """The angle, up to full turns, that is nearest to the last one."""
    change = angle - last
    return last + (change - 2.0 * math.pi * math.floor(change / (2.0 * math.pi) + 0.5))


# --- any joint ----------------------------------------------------------------------------------------------------
@lazy_kernel
def fit_position(tree, closure, loop_frame, q, v, work):
    """Fit the free coordinates to the child's frame M by Gauss-Newton iteration."""
    last = closure.iv + closure.nv
    plain = tree.plain[closure.first_plain : closure.last_plain]
    quaternions = tree.quaternions[closure.first_quaternion : closure.last_quaternion]
    for _ in range(MAX_FIT_ITERATIONS):
        place_loop_frame(tree, closure, loop_frame, q, v, work)
        find_dual_basis(work.columns, closure.iv, last, tree.driven, work.basis, work.dual_basis)
        store_loop_closure_error(closure, work.bodies[closure.child], loop_frame)
        error, largest = loop_closure_error(loop_frame), 0.0
        for j in range(closure.iv, last):
            work.shift[j] = power(error, load_force(work.dual_basis[j]))
            largest = max(largest, abs(work.shift[j]) * tree.weights[j])
        if not largest > FIT_TOLERANCE:
            return
        displace_coordinates(plain, quaternions, q, work.shift, 1.0)


@lazy_kernel
def fit_velocity(tree, closure, loop_frame, v, work):
    """Compute the rates of the free coordinates from the twists of both bodies."""
    twist = relative_twist(closure, loop_frame, work.bodies)
    for j in range(closure.iv, closure.iv + closure.nv):
        if tree.driven[j]:
            twist = twist - v[j] * column_of(work.columns[j])
    for j in range(closure.iv, closure.iv + closure.nv):
        if not tree.driven[j]:
            v[j] = power(twist, load_force(work.dual_basis[j]))


@kernel
def place_loop_frame(tree, closure, loop_frame, q, v, work):
    """Compute the kinematics of the loop frame from the parent, whose acceleration is taken as zero."""
    parent, columns = work.bodies[closure.parent], work.columns
    P, w = load(parent.R), load(parent.w)
    r = P @ load(closure.origin)
    store(loop_frame.R, P @ load(closure.frame))
    store(loop_frame.r, r)
    store(loop_frame.x, load(parent.x) + r)
    store(loop_frame.w, w)
    store(loop_frame.v, load(parent.v) + cross(w, r))
    store(loop_frame.alpha, ZERO)
    store(loop_frame.a, point_acceleration(ZERO, ZERO, w, r))
    place_across_parts(
        tree.parts[closure.first_part : closure.last_part],
        closure.iv,
        loop_frame,
        q,
        v,
        columns,
        work.generated_buffers,
    )


@kernel
def place_across_parts(parts, iv, loop_frame, q, v, columns, generated_buffers):
    """Move the loop frame across the parts of a joint whose columns begin at `iv`."""
    for k in range(len(parts)):
        part, before = parts[k], load(loop_frame.r)
        cross_part(part, loop_frame, q, v, columns, generated_buffers)
        shift_columns(columns, iv, part.iv, load(loop_frame.r) - before)


@kernel
def find_constraint_axes_at(
    parts, q, v, driven, flat, normal, loop_frames, columns, generated_buffers, basis, constraint_axes
) -> int:
    """Compute the constraint axes, in the axes of M, of a single joint at the coordinates q; return their number.

    `flat` and `normal` (3,) are those of a closure; on return the loop frame is frame M relative to F.
    """
    loop_frame = loop_frames[0]
    store(loop_frame.R, UNIT)
    store(loop_frame.r, ZERO)
    place_across_parts(parts, 0, loop_frame, q, v, columns, generated_buffers)
    if flat:
        n = Vec3(normal[0], normal[1], normal[2])
        return find_planar_constraint_axes(
            columns, 0, len(driven), driven, load(loop_frame.R), n, basis, constraint_axes
        )
    find_constraint_axes(
        columns, 0, len(driven), driven, load(loop_frame.R), constraint_axes[:0], basis, constraint_axes
    )
    return len(constraint_axes)


@kernel
def store_loop_closure_error(closure, child, loop_frame):
    """Store the rotation vector (rad) and the displacement (m) from the loop frame to the child's frame M."""
    C = load(child.R)
    store(loop_frame.dw, rotation_vector_between(load(loop_frame.R), C @ load(closure.child_frame)))
    store(loop_frame.dv, load(child.x) + C @ load(closure.child_origin) - load(loop_frame.x))


@formula
def loop_closure_error(loop_frame):
    """Loop-closure error stored by `store_loop_closure_error`, as a Motion (rad, m), world axes."""
    return Motion(load(loop_frame.dw), load(loop_frame.dv))


@formula
def loop_closure_error_norm(tree, loop_frame):
    """Euclidean norm of the loop-closure error, m: of the displacement, and of the rotation times the length."""
    error = loop_closure_error(loop_frame)
    return math.sqrt(tree.length * tree.length * dot(error.w, error.w) + dot(error.v, error.v))


@formula
def relative_twist(closure, loop_frame, bodies):
    """Twist of the child relative to the parent, at the origin of the loop frame."""
    parent, child, x = bodies[closure.parent], bodies[closure.child], load(loop_frame.x)
    outer = shift_motion(Motion(load(child.w), load(child.v)), x - load(child.x))
    inner = shift_motion(Motion(load(parent.w), load(parent.v)), x - load(parent.x))
    return outer - inner


@kernel
def update_constraint_axes(tree, closure, loop_frame, work):
    """Compute the constraint axes of a closure, in the axes of M, unless all of them are constant."""
    if closure.last_constant_row == closure.last_row:
        return
    R, constraint_axes = load(loop_frame.R), work.constraint_axes[closure.first_row : closure.last_row]
    given, last = tree.constraint_axes[closure.first_row : closure.last_constant_row], closure.iv + closure.nv
    if closure.one_plane:
        find_planar_constraint_axes(
            work.columns, closure.iv, last, tree.driven, R, load(closure.normal), work.basis, constraint_axes
        )
    else:
        find_constraint_axes(work.columns, closure.iv, last, tree.driven, R, given, work.basis, constraint_axes)
