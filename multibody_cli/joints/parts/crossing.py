"""Propagation from the inner to the outer frame of a part: velocities and accelerations in world axes.

The outer origin lies at d from the inner one and moves with the twist (spin, slip) relative to it.  With inner angular
velocity w, differentiating x + d, v + w x d + slip and w + spin once more yields

    alpha' = alpha + w x spin + c_w
    a'     = a + alpha x d + w x (w x d) + (2 w + spin) x slip + c_v

where c = (dS/dt) v is the bias of the part, its components in the moving outer frame.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross
from multibody_cli.spatial.values import Motion


class Crossing(NamedTuple):
    """Relative motion across a part, in world axes: outer orientation, displacement, relative twist and its bias."""

    R: Any
    d: Any
    twist: Motion
    bias: Motion


@formula
def point_acceleration(a, alpha, w, r):
    """Acceleration of the point at r on a rigid body whose origin has acceleration a."""
    return a + cross(alpha, r) + cross(w, cross(w, r))


@formula
def step_across(frame, crossing):
    """Propagate the record `frame` (x R w v alpha a, and r from the parent) across a part, in place."""
    spin, slip = crossing.twist.w, crossing.twist.v
    w, alpha, d = load(frame.w), load(frame.alpha), crossing.d
    store(frame.a, point_acceleration(load(frame.a), alpha, w, d) + cross(2.0 * w + spin, slip) + crossing.bias.v)
    store(frame.v, load(frame.v) + cross(w, d) + slip)
    store(frame.alpha, alpha + cross(w, spin) + crossing.bias.w)
    store(frame.w, w + spin)
    store(frame.x, load(frame.x) + d)
    store(frame.r, load(frame.r) + d)
    store(frame.R, crossing.R)


@formula
def write_column(column, angular, linear):
    """Write one column of S, in world axes about the outer origin of its part."""
    store(column.angular, angular)
    store(column.linear, linear)


@formula
def rotate_columns(columns, rates, first, last, w):
    """Write the rate of columns that are constant in a frame of angular velocity w, about the part's outer origin."""
    for j in range(first, last):
        store(rates[j].angular_rate, cross(w, load(columns[j].angular)))
        store(rates[j].linear_rate, cross(w, load(columns[j].linear)))
