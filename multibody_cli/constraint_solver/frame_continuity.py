"""Whether the frame of a generated joint turned as its S says, between two states.

A frame that is made of derivatives jumps where these vanish: that of Frenet where a curve has no curvature, that of a
surface at a pole.  S is right on both sides, and says nothing of the jump: a run goes on from there as if nothing had
been, with a body that is turned over.  S is therefore summed up on the straight way between the two; frames are
functions of q, so that any way leads to the same one if they are smooth.
"""

from __future__ import annotations

import math

from multibody_cli.joints.parts.generated import vector
from multibody_cli.joints.shape import FIRST_COLUMN, PER_COLUMN
from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import ZERO, dot, transposed_product
from multibody_cli.spatial.rotations import rotation_about
from multibody_cli.spatial.values import Mat3
from multibody_cli.symbolic.generated import call

TURN = 0.05
"""Angle, rad, that the frame turns by in a step of the sum, about."""

MOST_STEPS = 20000
"""Steps of a sum, at most: who moves farther between two looks is not followed."""


@kernel
def find_strays(parts, which, before, after, way, still, shaping, strays):
    """Angle, rad, between the frame of a part and the one to which S leads, for each part of `which`.

    `before` and `after` (nq,) are the two positions, `way` (nq,) and `still` (nv,) are scratch, the latter 0; `strays`
    is written, one for each part.
    """
    for k in range(len(which)):
        part = parts[which[k]]
        for j in range(part.iq, part.iq + part.width):
            way[j] = before[j]
        R = frame_at(part, way, still, shaping)
        turns = turned_by(part, before, after, shaping) / TURN
        if not turns < MOST_STEPS:  # nor is who moves where S is no number
            strays[k] = 0.0
            continue
        steps = 1 + int(turns)
        for i in range(steps):
            for j in range(part.iq, part.iq + part.width):
                way[j] = before[j] + (i + 0.5) / steps * (after[j] - before[j])
            frame_at(part, way, still, shaping)
            w = rotation_along(part, before, after, shaping)
            R = R @ turn_of((1.0 / steps) * w)
        for j in range(part.iq, part.iq + part.width):
            way[j] = after[j]
        strays[k] = angle_between(R, frame_at(part, way, still, shaping))


@formula
def frame_at(part, way, still, shaping):
    """Find pose and S of a part; its orientation."""
    out = shaping.out
    call(part.address, way, part.iq, still, part.iv, shaping.constants, part.first_constant, out)
    return Mat3(vector(out, 0), vector(out, 3), vector(out, 6))


@formula
def rotation_along(part, before, after, shaping):
    """How far S turns, at the place that was found last, for the whole way."""
    w = ZERO
    for j in range(part.width):
        far = after[part.iq + j] - before[part.iq + j]
        w = w + far * vector(shaping.out, FIRST_COLUMN + PER_COLUMN * j)
    return w


@formula
def turned_by(part, before, after, shaping):
    """The same without regard to signs."""
    angle = 0.0
    for j in range(part.width):
        a = vector(shaping.out, FIRST_COLUMN + PER_COLUMN * j)
        angle += abs(after[part.iq + j] - before[part.iq + j]) * math.sqrt(dot(a, a))
    return angle


@formula
def turn_of(w):
    """exp[w]."""
    angle = math.sqrt(dot(w, w))
    if angle == 0.0:
        return rotation_about(w, 0.0, 1.0)
    return rotation_about((1.0 / angle) * w, math.sin(angle), math.cos(angle))


@formula
def angle_between(A, B):
    """Angle of A^T B."""
    C = transposed_product(A, B)
    return math.acos(min(max(0.5 * (C.x.x + C.y.y + C.z.z - 1.0), -1.0), 1.0))
