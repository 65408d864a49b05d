"""Dense equations of motion of a tree from poses alone, with numpy, in any precision.

Each joint is defined here by its pose as a function of time along a motion with constant v.  Poses are carried as
`Jet`s (value, first and second time derivative) for many directions of v at once; Jacobians are first derivatives
along unit directions, and the bias is the second derivative along v.  Then

    M = sum_i m J_v^T J_v + J_w^T I J_w,     h = sum_i m J_v^T (a_v - g) + J_w^T (I a_w + w x I w),     M a + h = Q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jets import Jet
from shapes import pose_of_shape

from multibody_cli.joints.contract import (  # the description of a mechanism, none of its mathematics
    Part,
    PartCode,
)


def hat(a: np.ndarray) -> np.ndarray:
    """[a], with [a] b = a x b."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


def vee(A: np.ndarray) -> np.ndarray:
    """The vector of the skew part of A."""
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1) / 2


def exponential(A: Jet) -> Jet:
    """exp of a jet of 3 x 3 matrices: Taylor series of a 256th part, squared eight times."""
    scaled = Jet(A.value / 256, A.first / 256, A.second / 256)
    eye = np.eye(3, dtype=A.value.dtype)
    one = Jet(eye, np.zeros_like(A.first), np.zeros_like(A.second))
    total = term = one
    for k in range(1, 14):
        term = (term @ scaled).times(eye / k)
        total = total + term
    for _ in range(8):
        total = total @ total
    return total


def rotation(axis: np.ndarray, angle) -> np.ndarray:
    """Turn by an angle about a unit axis."""
    K = hat(axis)
    return np.eye(3, dtype=K.dtype) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def rotation_of_quaternion(q: np.ndarray) -> np.ndarray:
    """Of any length: w^2 - u.u + 2 u u^T + 2 w [u], over the squared length."""
    w, u = q[0], q[1:]
    R = (w * w - u @ u) * np.eye(3, dtype=q.dtype) + 2 * np.outer(u, u) + 2 * w * hat(u)
    return R / (q @ q)


def across(part: Part, q: np.ndarray, rates: np.ndarray) -> tuple[Jet, Jet]:
    """Rotation and displacement (3, 1) across a part, for rates (directions, nv)."""
    n, dtype = len(rates), q.dtype
    still = Jet(np.zeros((3, 1), dtype), np.zeros((n, 3, 1), dtype), np.zeros((n, 3, 1), dtype))
    if part.code == PartCode.SCREW:
        turn, slide = np.array(part.turn, dtype), np.array(part.slide, dtype)
        R = rotation(turn, q[0]) if turn.any() else np.eye(3, dtype=dtype)
        spin = rates[:, 0, None, None] * hat(turn)
        d = Jet((slide * q[0])[:, None], (rates[:, :1] * slide)[:, :, None], still.second)
        return Jet(R, spin @ R, spin @ spin @ R), d
    if part.code == PartCode.BALL:
        R, spin = rotation_of_quaternion(q), hat(rates)
        return Jet(R, R @ spin, R @ spin @ spin), still
    if part.code == PartCode.EXPONENTIAL:
        return exponential(Jet(hat(q), hat(rates), np.zeros((n, 3, 3), dtype))), still
    if part.code == PartCode.FREE:
        R, spin = rotation_of_quaternion(q[3:]), hat(rates[:, 3:])
        return Jet(R, spin @ R, spin @ spin @ R), Jet(q[:3, None], rates[:, :3, None], still.second)
    if part.code == PartCode.OFFSET:
        at_rest = np.zeros((n, 3, 3), dtype)
        d = Jet(np.array(part.slide, dtype)[:, None], still.first, still.second)
        return Jet(np.eye(3, dtype=dtype), at_rest, at_rest), d
    if part.code == PartCode.GENERATED:
        return pose_of_shape(part, q, rates)
    raise NotImplementedError(part)


@dataclass(frozen=True)
class Body:
    """A body: jets of its joint frame M and of its body frame, along e_1 .. e_nv and v."""

    joint_R: Jet
    joint_x: Jet
    R: Jet
    x: Jet
    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def point(self, r: Sequence[float]) -> Jet:
        """A point of the body frame."""
        return self.x + self.R.times(np.asarray(r, self.x.value.dtype)[:, None])

    def angular(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Angular Jacobian (3, nv), angular velocity and angular acceleration (3,) at dv/dt = 0."""
        RT = self.R.value.T
        rates = vee(self.R.first @ RT)
        bias = vee(self.R.second[-1] @ RT + self.R.first[-1] @ self.R.first[-1].T)
        return rates[:-1].T, rates[-1], bias

    def linear(self, r: Sequence[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Jacobian (3, nv), velocity and acceleration (3,) at dv/dt = 0 of a point of the body frame."""
        p = self.point(r)
        return p.first[:-1, :, 0].T, p.first[-1, :, 0], p.second[-1, :, 0]


def place(tree_links, q, v, dtype=np.longdouble) -> list[Body]:
    """Every body at (q, v)."""
    q, v = np.asarray(q, dtype), np.asarray(v, dtype)
    directions = np.vstack([np.eye(len(v), dtype=dtype), v[None, :]])
    n = len(directions)

    def fixed(matrix) -> Jet:
        matrix = np.asarray(matrix, dtype)
        return Jet(matrix, np.zeros((n, *matrix.shape), dtype), np.zeros((n, *matrix.shape), dtype))

    frames = {0: (fixed(np.eye(3)), fixed(np.zeros((3, 1))))}
    bodies, iq, iv = [], 0, 0
    for tree_link in tree_links:
        R, x = frames[tree_link.parent]
        x = x + R.times(np.asarray(tree_link.origin.position, dtype)[:, None])
        R = R.times(np.asarray(tree_link.origin.rotation, dtype))
        for part in tree_link.parts:
            turn, d = across(part, q[iq : iq + part.nq], directions[:, iv : iv + part.nv])
            x, R = x + R @ d, R @ turn
            iq, iv = iq + part.nq, iv + part.nv
        C = np.asarray(tree_link.child_origin.rotation, dtype)
        body_R = R.times(C.T)
        body_x = x + body_R.times(-np.asarray(tree_link.child_origin.position, dtype)[:, None])
        frames[tree_link.row] = body_R, body_x
        properties = tree_link.mass
        com, inertia = np.asarray(properties.com, dtype), np.asarray(properties.inertia, dtype)
        bodies.append(Body(R, x, body_R, body_x, dtype(properties.mass), com, inertia))
    return bodies


def equations(bodies: list[Body], gravity) -> tuple[np.ndarray, np.ndarray]:
    """M (nv, nv) and h (nv,), with gravity in h."""
    M = h = 0
    for body in bodies:
        Jw, w, aw = body.angular()
        Jv, _, av = body.linear(body.com)
        inertia = body.R.value @ body.inertia @ body.R.value.T
        M = M + body.mass * Jv.T @ Jv + Jw.T @ inertia @ Jw
        h = h + body.mass * Jv.T @ (av - np.asarray(gravity, av.dtype))
        h = h + Jw.T @ (inertia @ aw + np.cross(w, inertia @ w))
    return M, h


def solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """M^-1 b for a positive definite M by L D L^T, in the precision of M."""
    A, y = M.copy(), b.copy()
    n = len(A)
    for k in range(n):
        factor = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= np.outer(factor, A[k, k:])
        y[k + 1 :] -= np.multiply.outer(factor, y[k])
    for k in range(n - 1, -1, -1):
        y[k] = (y[k] - A[k, k + 1 :] @ y[k + 1 :]) / A[k, k]
    return y


def solve_hybrid(M, rhs, driven, given) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations where some are given, and the efforts that these take: M a = rhs + effort."""
    driven = np.asarray(driven, bool)
    free = ~driven
    a = np.zeros_like(rhs)
    a[driven] = np.asarray(given, rhs.dtype)[driven]
    if free.any():
        a[free] = solve(M[np.ix_(free, free)], rhs[free] - M[np.ix_(free, driven)] @ a[driven])
    effort = M @ a - rhs
    effort[free] = 0
    return a, effort


def reactions(tree_links, bodies: list[Body], a, gravity, wrenches) -> np.ndarray:
    """[moment; force] of each joint (nj, 6) in the axes of M about its origin, by balance of the bodies beyond it.

    `wrenches` are (torque, force at the centre of mass) on each body in world axes, gravity apart.
    """
    rows = {tree_link.row: k for k, tree_link in enumerate(tree_links)}
    force, moment = [None] * len(bodies), [None] * len(bodies)  # about the world's origin
    for k in range(len(bodies) - 1, -1, -1):
        body = bodies[k]
        Jw, w, aw = body.angular()
        Jv, _, av = body.linear(body.com)
        inertia = body.R.value @ body.inertia @ body.R.value.T
        torque, applied = wrenches[k]
        f = body.mass * (Jv @ a + av - np.asarray(gravity, av.dtype)) - applied
        m = inertia @ (Jw @ a + aw) + np.cross(w, inertia @ w) - torque
        m = m + np.cross(body.point(body.com).value[:, 0], f)
        force[k] = f if force[k] is None else force[k] + f
        moment[k] = m if moment[k] is None else moment[k] + m
        if tree_links[k].parent:
            parent = rows[tree_links[k].parent]
            force[parent] = force[k] if force[parent] is None else force[parent] + force[k]
            moment[parent] = moment[k] if moment[parent] is None else moment[parent] + moment[k]
    out = []
    for body, f, m in zip(bodies, force, moment, strict=True):
        RT = body.joint_R.value.T
        out.append(np.concatenate([RT @ (m - np.cross(body.joint_x.value[:, 0], f)), RT @ f]))
    return np.array(out)
