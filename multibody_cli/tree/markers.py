"""Markers: points of affine bodies, as separate rows behind those of bodies and loop-joint frames.

With p the centre of mass of an affine body and a_k its directors, all of them rows of the table of bodies, the point
with the material coordinates c_k is

    x = p + sum_k c_k a_k,    and likewise its velocity, its acceleration and its response.

A marker follows row k with the constant weight (1, c_1, c_2, c_3)_k, and distributes the forces on it by the same
weights.  A marker has the axes of the world, supports no torque, and may replace a body in a constraint row, a loop
joint or a load.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store, store_force
from multibody_cli.spatial.products import ZERO, no_force
from multibody_cli.spatial.values import Force


@formula
def first_marker(tree):
    """Row of the first marker."""
    return len(tree.links) + len(tree.closures)


@formula
def weight_of(marker, k):
    """Weight of row k of its body in a marker: 1 for the centre of mass, then the material coordinates."""
    return 1.0 if k == 0 else marker.coordinates[k - 1]


@formula
def weight_in_link(tree, body, link):
    """Weight of a link in the motion of a row of the table of bodies, marker or link."""
    m = body - first_marker(tree)
    if m < 0:
        return 1.0 if body == link else 0.0
    k = link - tree.markers[m].link
    return weight_of(tree.markers[m], k) if 0 <= k < 4 else 0.0


@kernel
def update_markers(tree, bodies):
    """Write position, velocity and acceleration of all markers, from those of the bodies."""
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


@kernel
def update_marker_changes(tree, bodies):
    """Write the changes dv of all markers, from those of the bodies."""
    first = first_marker(tree)
    for m in range(len(tree.markers)):
        marker, dv = tree.markers[m], ZERO
        for k in range(4):
            dv = dv + weight_of(marker, k) * load(bodies[marker.link + k].dv)
        store(bodies[first + m].dv, dv)


@kernel
def transfer_marker_wrenches(tree, wrenches):
    """Transfer the forces on all markers to the bodies, in a table of wrenches or bodies, and clear the former."""
    first = first_marker(tree)
    for m in range(len(tree.markers)):
        marker, f = tree.markers[m], load_force(wrenches[first + m]).f
        for k in range(4):
            row = wrenches[marker.link + k]
            store_force(row, load_force(row) + Force(ZERO, weight_of(marker, k) * f))
        store_force(wrenches[first + m], no_force())
