"""The way of a cable round a circle, from which those round a sphere, a cylinder and others follow.

In the plane of a circle of radius R, with the angle D from p to q about its centre,

    |p - P| = sqrt(p^2 - R^2),    angle of the arc = D - atan(|p - P| / R) - atan(|q - Q| / R),

and the cable touches the circle while this is positive.  Without a side, D is the smaller of the two angles; with a
side e it is the one that does not cross the direction -e.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from multibody_cli.cables.surface import norm
from multibody_cli.kernel import formula
from multibody_cli.spatial.products import cross, dot

ON_SURFACE = 1e-9
"""Depth of a point below a surface that counts as on it, relative to the radius."""

AMBIGUOUS = 1e-6
"""Sine of the angle between the directions to both points below which a way round is not defined."""

TINY = 1e-300
"""A divisor in place of 0, where the quotient is not used."""


class Way(NamedTuple):
    """A way round a circle: the normal about which it turns, lengths of both lines, and angle of the arc."""

    touches: Any
    doubtful: Any
    n: Any
    before: Any
    after: Any
    angle: Any


@formula
def angle_about(n, a, b):
    """Angle from a to b about the unit vector n, rad, between -pi and pi."""
    return math.atan2(dot(n, cross(a, b)), dot(a, b))


@formula
def way_round(n, p, q, side, only_cut, R, sine):
    """The way round a circle about n between two points of its plane, whose directions have an angle with this sine."""
    p_size, q_size = norm(p), norm(q)
    inside, has_side = min(p_size, q_size) < R * (1.0 - ON_SURFACE), dot(side, side) > 0.0
    angle = angle_about(n, side, q) - angle_about(n, side, p) if has_side else angle_about(n, p, q)
    before, after = math.sqrt(max(p_size - R, 0.0) * (p_size + R)), math.sqrt(max(q_size - R, 0.0) * (q_size + R))
    arc = abs(angle) - math.atan2(before, R) - math.atan2(after, R)
    cuts = only_cut == 0 or abs(angle_about(n, p, q)) > math.atan2(before, R) + math.atan2(after, R)
    touches = arc > 0.0 and cuts and not inside
    doubtful = inside or (touches and not has_side and sine < AMBIGUOUS and dot(p, q) < 0.0)
    return Way(touches, doubtful, (1.0 if angle >= 0.0 else -1.0) * n, before, after, arc)


@formula
def tangent_point(n, p, before, R):
    """The point of the circle at which the line from p, of the length `before`, becomes its tangent."""
    return (R / max(dot(p, p), TINY)) * (R * p + before * cross(n, p))
