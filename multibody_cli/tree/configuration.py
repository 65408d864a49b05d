"""Integration of q along v: plain coordinates with dq/dt = v, and unit quaternions.

A quaternion x of a rotation R has the rate dx/dt = x (0, w)/2 for the angular velocity w in the outer frame, and (0, w)
x / 2 for w in the inner frame.
"""

from __future__ import annotations

import math

import numpy as np

from multibody_cli.joints.parts import exponential
from multibody_cli.kernel import Floats, formula, kernel
from multibody_cli.model import Tree
from multibody_cli.spatial.products import cross
from multibody_cli.spatial.rotations import quaternion_of_vector, quaternion_product, rotation_of_quaternion
from multibody_cli.spatial.values import Vec3


@formula
def read_quaternion(q, k):
    """Return the real part and the vector part of the quaternion at index k."""
    return q[k], Vec3(q[k + 1], q[k + 2], q[k + 3])


@formula
def write_quaternion(q, k, w, u):
    """Store a quaternion at index k."""
    q[k] = w
    q[k + 1] = u.x
    q[k + 2] = u.y
    q[k + 3] = u.z


@formula
def compose_rotation(w, u, pw, p, outer):
    """The quaternion (w, u) composed with (pw, p), which is given in the outer or in the inner frame."""
    if outer:
        return quaternion_product(w, u, pw, p)
    return quaternion_product(pw, p, w, u)


@kernel
def largest_change(tree, y):
    """Largest of weighted changes or rates y (nv,) of coordinates, or 0; NaN if one is NaN."""
    largest = 0.0
    for j in range(len(y)):
        size = abs(y[j]) * tree.weights[j]
        if not size <= largest:
            largest = size
    return largest


@kernel
def rate(tree, q, v, dq):
    """dq/dt (nq,) at v (nv,)."""
    plain, quaternions = tree.plain, tree.quaternions
    for k in range(len(plain)):
        dq[plain[k].iq] = v[plain[k].iv]
    for k in range(len(quaternions)):
        quaternion, iv = quaternions[k], quaternions[k].iv
        w, u = read_quaternion(q, quaternion.iq)
        dw, du = compose_rotation(w, u, 0.0, 0.5 * Vec3(v[iv], v[iv + 1], v[iv + 2]), quaternion.outer)
        write_quaternion(dq, quaternion.iq, dw, du)


@kernel
def displacement_rate(tree, u, v, du):
    """du/dt (nv,) at v (nv,) of the displacement u (nv,) that leads from a fixed q to the present one.

    For a quaternion it is J_r(u)^-1 v to second order in u, which is that of a method of fourth order, and v if u and v
    are parallel.  Source: Hairer, Lubich and Wanner, Geometric Numerical Integration, IV.8, (8.5).
    """
    for j in range(len(v)):
        du[j] = v[j]
    for k in range(len(tree.quaternions)):
        quaternion, i = tree.quaternions[k], tree.quaternions[k].iv
        w, p = Vec3(v[i], v[i + 1], v[i + 2]), Vec3(u[i], u[i + 1], u[i + 2])
        bend = cross(p, w)
        w = w + (0.5 if quaternion.outer else -0.5) * bend + (1.0 / 12.0) * cross(p, bend)
        du[i], du[i + 1], du[i + 2] = w.x, w.y, w.z


@kernel
def turn_with_bodies(tree, u, x, sign):
    """Rotate the angular parts of x (nv,) in the inner frame by `sign` times the displacement u (nv,), in place.

    Parts in the outer frame, which turns with the body, keep their numbers.
    """
    for k in range(len(tree.quaternions)):
        if not tree.quaternions[k].outer:
            i = tree.quaternions[k].iv
            w, p = quaternion_of_vector(sign * Vec3(u[i], u[i + 1], u[i + 2]))
            y = rotation_of_quaternion(w, p.x, p.y, p.z) @ Vec3(x[i], x[i + 1], x[i + 2])
            x[i], x[i + 1], x[i + 2] = y.x, y.y, y.z


@kernel
def displace(tree, q, v, h):
    """Displace q (nq,) by the constant velocity v (nv,) for the time h, exactly, in place."""
    displace_coordinates(tree.plain, tree.quaternions, q, v, h)


@kernel
def displace_coordinates(plain, quaternions, q, v, h):
    """`displace` for the given coordinates alone."""
    for k in range(len(plain)):
        q[plain[k].iq] += h * v[plain[k].iv]
    for k in range(len(quaternions)):
        quaternion, iv = quaternions[k], quaternions[k].iv
        w, u = read_quaternion(q, quaternion.iq)
        pw, p = quaternion_of_vector(h * Vec3(v[iv], v[iv + 1], v[iv + 2]))
        w, u = compose_rotation(w, u, pw, p, quaternion.outer)
        write_quaternion(q, quaternion.iq, w, u)


def displacement_between(tree: Tree, first: Floats, last: Floats) -> Floats:
    """Return the constant velocity (nv,) that displaces q (nq,) from `first` to `last` in unit time.

    Rotations have the shorter of both ways.
    """
    found = np.zeros(len(tree.driven))
    found[tree.plain["iv"]] = (last - first)[tree.plain["iq"]]
    for turn in tree.quaternions:
        i, j = int(turn["iq"]), int(turn["iv"])
        x, y = last[i : i + 4], first[i : i + 4]
        real, sign = float(x @ y), 1.0 if turn["outer"] else -1.0  # of the cross product in y^-1 x, and in x y^-1
        u = y[0] * x[1:] - x[0] * y[1:] + sign * np.cross(x[1:], y[1:])
        size = float(np.linalg.norm(u))
        if size > 0.0:
            found[j : j + 3] = 2.0 * math.atan2(math.copysign(size, real), abs(real)) / size * u
    return found


@formula
def free_end(tree):
    """Number of the coordinates of the tree; those of loop joints follow."""
    return tree.closures[0].iv if len(tree.closures) > 0 else len(tree.driven)


@kernel
def normalize(tree, q):
    """Normalize all quaternions, in place."""
    normalize_quaternions(tree.quaternions, q)


@kernel
def normalize_quaternions(quaternions, q):
    """`normalize` for the given quaternions alone."""
    for k in range(len(quaternions)):
        i = quaternions[k].iq
        scale = 1.0 / math.sqrt(q[i] ** 2 + q[i + 1] ** 2 + q[i + 2] ** 2 + q[i + 3] ** 2)
        for j in range(i, i + 4):
            q[j] *= scale


@kernel
def recentre(tree, q, v):
    """Move rotation vectors away from their singularity, in place; return whether any was moved."""
    moved, exponentials = False, tree.exponentials
    for k in range(len(exponentials)):
        moved = exponential.recentre(exponentials[k].iq, exponentials[k].iv, q, v) or moved
    return moved
