"""A force at a point of a body and a torque on it, as functions of time, in world or body axes."""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.signals import evaluate
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import cross, dot
from multibody_cli.spatial.values import Force, Vec3

BODY_LOAD = np.dtype(
    [
        ("row", "i8"),
        ("turns_along", "i8"),  # whether force and torque are given in the axes of the body
        ("point", "f8", 3),  # in the joint frame
        ("axes", "f8", 9),  # the body frame in the joint frame
        ("force", "i8", 3),  # signals
        ("torque", "i8", 3),
        ("account", "i8"),
    ]
)


@formula
def signal_vector(signals, numbers, t):
    """Three signals as a vector."""
    x, _, _ = evaluate(signals, numbers[0], t)
    y, _, _ = evaluate(signals, numbers[1], t)
    z, _, _ = evaluate(signals, numbers[2], t)
    return Vec3(x, y, z)


@formula
def apply_wrench(body, moment, force):
    """Push a body: what its acceleration takes is less by the wrench about its origin."""
    store_force(body, load_force(body) - Force(moment, force))


@kernel
def push(loads, signals, t, bodies, powers):
    """Apply every load to its body; its power goes to the account."""
    for k in range(len(loads)):
        item = loads[k]
        body = bodies[item.row]
        force, torque = signal_vector(signals, item.force, t), signal_vector(signals, item.torque, t)
        R = load(body.R)
        if item.turns_along:
            axes = load(item.axes)
            force, torque = R @ (axes @ force), R @ (axes @ torque)
        r, w = R @ load(item.point), load(body.w)
        apply_wrench(body, torque + cross(r, force), force)
        powers[item.account] += dot(force, load(body.v) + cross(w, r)) + dot(torque, w)
