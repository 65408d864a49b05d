"""Motion of the links of a mechanism, and its accuracy: loop errors, energy and speed.

The formulas are those of textbooks, in NumPy, and use no kernel of this program; they judge all programs alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from multibody_cli.model import Floats
from multibody_cli.peers.contract import Closure, JointPrimitive, Mechanism, PeerLink, PeerMotion, Piece
from multibody_cli.spec.rotations import rotation_matrix

ARM = 1.0
"""Distance along the axis of a hinge at which a second pair of points is compared, m."""


def motion_of(links: Sequence[PeerLink], q: Floats, v: Floats) -> PeerMotion:
    """Return the motion of the links at coordinates q and velocities v of the tree."""
    n = len(links)
    motion = PeerMotion(np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 3)))
    origins = np.zeros((n + 1, 3))  # velocities of the last joint frames; row 0 is the ground
    for k, link in enumerate(links):
        up = link.parent - 1
        ground = link.parent == 0
        x, R = (np.zeros(3), np.eye(3)) if ground else (motion.positions[up], motion.rotations[up])
        w, u = (np.zeros(3) if ground else motion.spins[up]), origins[link.parent]
        arm = R @ link.position
        x, u, R = x + arm, u + np.cross(w, arm), R @ link.rotation
        for piece in link.pieces:
            x, R, u, w = _across(piece, q, v, x, R, u, w)
        origins[k + 1] = u
        motion.positions[k], motion.rotations[k], motion.spins[k] = x, R, w
        motion.velocities[k] = u + np.cross(w, R @ link.mass.com)
    return motion


def _across(
    piece: Piece, q: Floats, v: Floats, x: Floats, R: Floats, u: Floats, w: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return position, rotation, velocity of the origin and angular velocity behind a joint primitive."""
    if piece.kind is JointPrimitive.HINGE:
        return x, R @ _turn(piece.axis, q[piece.iq]), u, w + R @ piece.axis * v[piece.iv]
    if piece.kind is JointPrimitive.BALL:
        R = R @ rotation_matrix(q[piece.iq : piece.iq + 4])
        return x, R, u, w + R @ v[piece.iv : piece.iv + 3]
    free = piece.kind is JointPrimitive.FREE
    shift = R @ (q[piece.iq : piece.iq + 3] if free else piece.axis * q[piece.iq])
    slip = R @ (v[piece.iv : piece.iv + 3] if free else piece.axis * v[piece.iv])
    x, u = x + shift, u + np.cross(w, shift) + slip
    if free:
        w, R = w + R @ v[piece.iv + 3 : piece.iv + 6], R @ rotation_matrix(q[piece.iq + 3 : piece.iq + 7])
    return x, R, u, w


def energy_of(mechanism: Mechanism, motion: PeerMotion) -> float:
    """Kinetic energy and potential energy of gravity, J."""
    energy = 0.0
    for link, x, R, u, w in zip(mechanism.links, *motion, strict=True):
        spin = R.T @ w
        energy += 0.5 * link.mass.mass * (u @ u) + 0.5 * spin @ link.mass.inertia @ spin
        energy -= link.mass.mass * mechanism.gravity @ (x + R @ link.mass.com)
    return float(energy)


def pairs_of_points(closure: Closure) -> Iterator[tuple[Floats, Floats]]:
    """Yield the pairs of points that a closure holds together, each in the frame of its link: (3,) and (3,), m.

    Of a hinge that keeps its axes parallel, the second pair lies at the distance `ARM` on the axes.
    """
    for arm in (0.0, ARM) if closure.holds_axis else (0.0,):
        yield closure.parent_point + arm * closure.parent_axis, closure.child_point + arm * closure.child_axis


def loop_error(mechanism: Mechanism, motion: PeerMotion) -> float:
    """Largest distance of two points that a closure holds together, m."""
    errors = [
        float(np.linalg.norm(_placed(motion, closure.parent, one) - _placed(motion, closure.child, other)))
        for closure in mechanism.closures
        for one, other in pairs_of_points(closure)
    ]
    return max(errors, default=0.0)


def largest_speed(motion: PeerMotion) -> float:
    """Largest speed of a center of mass, m/s."""
    return float(np.linalg.norm(motion.velocities, axis=1).max(initial=0.0))


def _turn(axis: Floats, angle: float) -> Floats:
    """Return the rotation matrix (3, 3) about a unit axis."""
    return rotation_matrix(np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis]))


def _placed(motion: PeerMotion, link: int, point: Floats) -> Floats:
    """Return a point of a link in the world; link 0 is the ground."""
    return point if link == 0 else motion.positions[link - 1] + motion.rotations[link - 1] @ point
