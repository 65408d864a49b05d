"""Viscous drag on a body: force -c v at its centre of mass, torque -c_w w."""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.variation import add_block, add_wrench, block_at, displacement_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross, dot, isotropic
from multibody_cli.spatial.values import Inertia, Mat3

BODY_DRAG = np.dtype([("row", "i8"), ("com", "f8", 3), ("linear", "f8"), ("angular", "f8"), ("account", "i8")])


@kernel
def push(drags, bodies, powers):
    """Apply every drag to its body; the loss c v^2 + c_w w^2 goes to the account."""
    for k in range(len(drags)):
        drag = drags[k]
        body = bodies[drag.row]
        w, c = load(body.w), load(body.R) @ load(drag.com)
        v = load(body.v) + cross(w, c)
        force, torque = -drag.linear * v, -drag.angular * w
        apply_wrench(body, torque + cross(c, force), force)
        powers[drag.account] += drag.linear * dot(v, v) + drag.angular * dot(w, w)


@kernel
def vary(drags, bodies, along, faster, exact, wrenches):
    """Add what a change of the motion makes of the wrenches: see `forces.variation`; notes 1.9.1."""
    for k in range(len(drags)):
        drag = drags[k]
        body = bodies[drag.row]
        w, dw, c = load(body.w), load(body.dw), load(body.R) @ load(drag.com)
        force = -drag.linear * (faster * displacement_of(body, c))
        moment = cross(c, force) - drag.angular * (faster * dw)
        if exact:
            swing = along * cross(dw, c)
            more = -drag.linear * cross(w, swing)
            force = force + more
            moment = moment + cross(c, more) - drag.linear * cross(swing, load(body.v) + cross(w, c))
        add_wrench(wrenches[drag.row], moment, force)


@kernel
def harden(drags, bodies, faster, blocks):
    """Add to the blocks of the bodies."""
    for k in range(len(drags)):
        drag = drags[k]
        c = load(bodies[drag.row].R) @ load(drag.com)
        turning = Inertia(isotropic(faster * drag.angular), Mat3(ZERO, ZERO, ZERO), isotropic(0.0))
        add_block(blocks[drag.row], block_at(isotropic(faster * drag.linear), c) + turning)
