"""Viscous drag on a body: force -c v at its centre of mass, torque -c_w w."""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import cross, dot

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
