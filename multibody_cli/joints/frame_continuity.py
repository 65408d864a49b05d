"""Continuity of the frame of a generated joint: whether the frame rotates between two states as S predicts.

A frame that is defined by derivatives jumps where they vanish: the Frenet frame where the curvature of a curve is zero,
the frame of a surface at a pole.  S is correct on both sides of the jump and does not contain it, so that a run would
continue with a rotated body.  The check integrates S along the straight path between the two positions and compares the
result with the frame at the end.  For a smooth frame the result does not depend on the path.
"""

from __future__ import annotations

import math

from multibody_cli.joints.joint_map import FIRST_COLUMN, PER_COLUMN
from multibody_cli.joints.parts.generated import vector
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import ZERO, dot, transposed_product
from multibody_cli.spatial.rotations import quaternion_of_vector, rotation_of_quaternion
from multibody_cli.spatial.values import Mat3
from multibody_cli.symbolic.generated import call

STEP_ANGLE = 0.05
"""Approximate rotation of the frame, rad, in one step of the integration."""

MAX_STEPS = 20000
"""Maximum number of integration steps; larger displacements between two checks are not checked."""


@kernel
def compute_frame_errors(parts, part_numbers, q_start, q_end, q_path, zero_rates, generated_buffers, errors):
    """Angle, rad, between the frame of a part and the frame obtained by integrating S, for each part in `part_numbers`.

    `q_start` and `q_end` (nq,) are the two positions, `q_path` (nq,) is scratch, `zero_rates` (nv,) contains zeros;
    `errors` (len(part_numbers),) is the result.
    """
    for k in range(len(part_numbers)):
        part = parts[part_numbers[k]]
        for j in range(part.iq, part.iq + part.width):
            q_path[j] = q_start[j]
        R = evaluate_frame(part, q_path, zero_rates, generated_buffers)
        step_estimate = path_rotation_angle(part, q_start, q_end, generated_buffers) / STEP_ANGLE
        if not step_estimate < MAX_STEPS:  # too large a displacement, or S is NaN
            errors[k] = 0.0
            continue
        steps = 1 + int(step_estimate)
        for i in range(steps):
            for j in range(part.iq, part.iq + part.width):
                q_path[j] = q_start[j] + (i + 0.5) / steps * (q_end[j] - q_start[j])
            evaluate_frame(part, q_path, zero_rates, generated_buffers)
            w = rotation_of_displacement(part, q_start, q_end, generated_buffers)
            cosine, u = quaternion_of_vector((1.0 / steps) * w)
            R = R @ rotation_of_quaternion(cosine, u.x, u.y, u.z)
        for j in range(part.iq, part.iq + part.width):
            q_path[j] = q_end[j]
        errors[k] = angle_between(R, evaluate_frame(part, q_path, zero_rates, generated_buffers))


@formula
def evaluate_frame(part, q_path, zero_rates, generated_buffers):
    """Evaluate pose and S of a part at `q_path`; return its orientation."""
    out = generated_buffers.out
    call(part.address, q_path, part.iq, zero_rates, part.iv, generated_buffers.constants, part.first_constant, out)
    return Mat3(vector(out, 0), vector(out, 3), vector(out, 6))


@formula
def rotation_of_displacement(part, q_start, q_end, generated_buffers):
    """Rotation vector, rad, for the displacement q_end - q_start, with S as last evaluated."""
    w = ZERO
    for j in range(part.width):
        change = q_end[part.iq + j] - q_start[part.iq + j]
        w = w + change * vector(generated_buffers.out, FIRST_COLUMN + PER_COLUMN * j)
    return w


@formula
def path_rotation_angle(part, q_start, q_end, generated_buffers):
    """Upper bound, rad, of the rotation for the displacement q_end - q_start, with S as last evaluated."""
    angle = 0.0
    for j in range(part.width):
        a = vector(generated_buffers.out, FIRST_COLUMN + PER_COLUMN * j)
        angle += abs(q_end[part.iq + j] - q_start[part.iq + j]) * math.sqrt(dot(a, a))
    return angle


@formula
def angle_between(A, B):
    """Angle, rad, of the rotation A^T B."""
    C = transposed_product(A, B)
    return math.acos(min(max(0.5 * (C.x.x + C.y.y + C.z.z - 1.0), -1.0), 1.0))
