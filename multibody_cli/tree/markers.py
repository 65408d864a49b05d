"""Markers: points of affine bodies, as separate rows behind those of bodies and loop-joint frames.

With p the centre of mass of an affine body and a_k its directors, all of them rows of the table of bodies, the point
with the material coordinates c_k is

    x = p + sum_k c_k a_k,    and likewise its velocity, its acceleration and its response.

A marker follows row k with the constant weight (1, c_1, c_2, c_3)_k, and distributes the forces on it by the same
weights.  A marker without `turns` has the axes of the world and supports no torque.  One with `turns` has the rotation
R of the polar decomposition D = R U of D = (a_1 a_2 a_3).  Its angular velocity w is linear in the rates of the
directors (`tree.affine`); with e_k the unit vectors,

    R^T w = K^-1 sum_k e_k x R^T da_k/dt,    K = (tr U) 1 - U,

so that a torque t is the forces (R s) x (R e_k) on the directors, s = K^-1 R^T t.  A marker may replace a body in a
constraint row, a loop joint or a load.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, kernel, lazy_kernel
from multibody_cli.model import Integers, Tree
from multibody_cli.spatial.factor import factor, solve
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, cross, no_force, transposed, transposed_times
from multibody_cli.spatial.values import Force, Mat3
from multibody_cli.tree.affine import (
    angular_acceleration_of,
    angular_velocity_of,
    director_rates_of,
    directors_of,
    polar_rotation,
    stretch_of,
)


def bodies_of_rows(tree: Tree) -> Integers:
    """Return a body that moves with each row of the table of bodies: frames of loop joints with the child.

    An affine body is the first of its four links.
    """
    links = np.arange(len(tree.links))
    links[tree.links["is_director"] == 1] = 0
    of_links = np.maximum.accumulate(links)
    found = np.concatenate((of_links, tree.closures["child"], tree.markers["link"]))
    return np.asarray(found[found])


@formula
def first_marker(tree):
    """Row of the first marker."""
    return len(tree.links) + len(tree.closures)


@formula
def weight_of(marker, k):
    """Weight of row k of its body in a marker: 1 for the centre of mass, then the material coordinates."""
    return 1.0 if k == 0 else marker.coordinates[k - 1]


@kernel
def wrench_on_link(tree, bodies, row, W, link) -> Force:
    """Return the part that acts on a link of a wrench W on a row of the table of bodies, marker or link."""
    m = row - first_marker(tree)
    if m < 0:
        return W if row == link else no_force()
    marker = tree.markers[m]
    k = link - marker.link
    if k < 0 or k > 3:
        return no_force()
    f = weight_of(marker, k) * W.f
    if k > 0 and marker.turns:
        f = f + director_force(marker, bodies, bodies[row], W.t, k)
    return Force(ZERO, f)


@kernel
def director_force(marker, bodies, point, t, k):
    """Return the force on director k, from 1, of a torque on a marker that turns."""
    R = load(point.R) @ load(marker.axes)
    s = R @ solve(factor(stretch_of(R, directors_of(bodies, marker.link))), transposed_times(R, t))
    return cross(s, R.x if k == 1 else R.y if k == 2 else R.z)


@kernel
def update_markers(tree, bodies):
    """Write pose, twist and acceleration of all markers, from those of the bodies."""
    first = first_marker(tree)
    for m in range(len(tree.markers)):
        marker, point = tree.markers[m], bodies[first + m]
        x, v, a = ZERO, ZERO, ZERO
        for k in range(4):
            row, c = bodies[marker.link + k], weight_of(marker, k)
            x, v, a = x + c * load(row.x), v + c * load(row.v), a + c * load(row.a)
        store(point.x, x)
        store(point.v, v)
        store(point.a, a)
        store_force(point, no_force())
        if marker.turns:
            turn_marker(marker, bodies, point)


@lazy_kernel
def turn_marker(marker, bodies, point):
    """Write rotation, angular velocity and angular acceleration of a marker."""
    D, rate = directors_of(bodies, marker.link), director_rates_of(bodies, marker.link)
    one, two, three = bodies[marker.link + 1], bodies[marker.link + 2], bodies[marker.link + 3]
    R = polar_rotation(D)
    w = angular_velocity_of(R, D, rate)
    store(point.R, R @ transposed(load(marker.axes)))
    store(point.w, w)
    store(point.alpha, angular_acceleration_of(R, D, rate, Mat3(load(one.a), load(two.a), load(three.a)), w))


@kernel
def update_marker_changes(tree, bodies):
    """Write the changes dw, dv of all markers, from those of the bodies."""
    first = first_marker(tree)
    for m in range(len(tree.markers)):
        marker, point, dv = tree.markers[m], bodies[first + m], ZERO
        for k in range(4):
            dv = dv + weight_of(marker, k) * load(bodies[marker.link + k].dv)
        store(point.dv, dv)
        if marker.turns:
            one, two, three = bodies[marker.link + 1], bodies[marker.link + 2], bodies[marker.link + 3]
            R = load(point.R) @ load(marker.axes)
            changes = Mat3(load(one.dv), load(two.dv), load(three.dv))
            store(point.dw, angular_velocity_of(R, directors_of(bodies, marker.link), changes))


@kernel
def transfer_marker_wrenches(tree, bodies, wrenches):
    """Transfer the wrenches on all markers to the bodies, in a table of wrenches or bodies, and clear the former."""
    first = first_marker(tree)
    for m in range(len(tree.markers)):
        marker, W = tree.markers[m], load_force(wrenches[first + m])
        for k in range(4):
            row = wrenches[marker.link + k]
            store_force(row, load_force(row) + wrench_on_link(tree, bodies, first + m, W, marker.link + k))
        store_force(wrenches[first + m], no_force())
