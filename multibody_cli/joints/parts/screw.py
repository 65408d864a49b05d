"""Screw part: a rotation, a translation, or both in proportion, about one fixed axis.

X(q) = (exp[turn q], slide q) with turn a unit vector or zero and slide parallel to it if it is not zero;
S = [turn; slide], c = 0.  Revolute: slide = 0.  Prismatic: turn = 0.  Screw: slide = lead * turn.

Source: Sueda, notes 2.1, 2.4.2 and 2.4.7.
"""

from __future__ import annotations

from multibody_cli.joints.parts.crossing import Crossing
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.rotations import angle_of, rotation_about
from multibody_cli.spatial.values import Mat3, Motion
from multibody_cli.symbolic.trigonometry import sine_and_cosine

ALONG_X, ALONG_Y, ALONG_Z, OBLIQUE, NOT_TURNING = range(5)


@formula
def axis_in_world(screw, P):
    """Axis of rotation, from the orientation P of the inner frame; it is the same in the outer frame."""
    if screw.axis_kind == ALONG_Y:
        return P.y
    if screw.axis_kind == ALONG_X:
        return P.x
    if screw.axis_kind == ALONG_Z:
        return P.z
    return P @ load(screw.turn)


@formula
def turned(screw, P, angle):
    """P exp[turn angle]; cheaper if the axis is an axis of the frame."""
    s, c = sine_and_cosine(angle)
    if screw.axis_kind == ALONG_Y:
        return Mat3(c * P.x - s * P.z, P.y, s * P.x + c * P.z)
    if screw.axis_kind == ALONG_X:
        return Mat3(P.x, c * P.y + s * P.z, c * P.z - s * P.y)
    if screw.axis_kind == ALONG_Z:
        return Mat3(c * P.x + s * P.y, c * P.y - s * P.x, P.z)
    return P @ rotation_about(load(screw.turn), s, c)


@formula
def orientation_across(screw, P, angle):
    """Outer orientation."""
    if screw.axis_kind == NOT_TURNING:
        return P
    return turned(screw, P, angle)


@formula
def angle_across(screw, F, R):
    """Angle of the rotation about the axis that takes the inner orientation F to the outer one R."""
    if screw.axis_kind == ALONG_Y:
        return angle_of(dot(F.x, R.z), dot(F.z, R.z))
    if screw.axis_kind == ALONG_X:
        return angle_of(dot(F.z, R.y), dot(F.y, R.y))
    if screw.axis_kind == ALONG_Z:
        return angle_of(dot(F.y, R.x), dot(F.x, R.x))
    cosine = 0.5 * (dot(F.x, R.x) + dot(F.y, R.y) + dot(F.z, R.z) - 1.0)
    sine = 0.5 * dot(F @ load(screw.turn), cross(F.x, R.x) + cross(F.y, R.y) + cross(F.z, R.z))
    return angle_of(sine, cosine)


@formula
def turn(screw, P, angle, rate, column):
    """Return outer orientation and relative angular velocity; write the angular half of the column of S."""
    axis = axis_in_world(screw, P)
    store(column.angular, axis)
    return orientation_across(screw, P, angle), rate * axis


@formula
def slide(screw, P, travel, rate, column):
    """Return displacement and relative linear velocity; write the linear half of the column of S."""
    axis = P @ load(screw.slide)
    store(column.linear, axis)
    return travel * axis, rate * axis


@formula
def across(screw, P, iq, iv, q, v, columns):
    """Cross a screw from the orientation P of its inner frame; write its column of S."""
    R, spin = turn(screw, P, q[iq], v[iv], columns[iv])
    d, slip = slide(screw, P, q[iq], v[iv], columns[iv])
    return Crossing(R, d, Motion(spin, slip), Motion(ZERO, ZERO))
