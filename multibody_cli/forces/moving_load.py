"""A force on a body at a point that moves over it, as functions of time, such as that of the ground on a foot.

Force and torque are in the axes of the world or of the body, and so is the point: a place in the world, which the body
passes, or in the body frame.  With the lever r from the origin of the body to the point, the moment is r x f, and the
power that of the material point of the body that is there.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from multibody_cli.forces.body_load import apply_wrench, load_of, signal_vector
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spec import SignalSpec, units
from multibody_cli.spec.entries import BodyForceSpec, PackingContext
from multibody_cli.spec.signal import SignalVector

Signals3 = tuple[SignalSpec, SignalSpec, SignalSpec]

_ZERO = (SignalSpec(constant=0.0),) * 3


class MovingLoadSpec(BodyForceSpec):
    """A force on a body at a moving point, and a torque on the body, as functions of time."""

    body: str = Field(description="Body on which the force acts.")
    moving_point: Annotated[Signals3, SignalVector(units.LENGTH)] = Field(
        description="Point [x, y, z] at which the force acts, m; each a number, an expression of t, or a table."
    )
    point_frame: Literal["world", "body"] = Field(
        "world", description="Whether the point is a place in the world or in the body frame."
    )
    force: Annotated[Signals3, SignalVector(units.FORCE)] = Field(
        description="Force [x, y, z], N; each a number, an expression of t, or a table."
    )
    torque: Annotated[Signals3, SignalVector(units.TORQUE)] = Field(
        _ZERO, description="Torque [x, y, z], N*m; each a number, an expression of t, or a table."
    )
    frame: Literal["world", "body"] = Field("world", description="Axes of the components of force and torque.")

    @property
    def turning(self) -> list[NodePath]:
        """The point, at which the force turns the body."""
        return [("moving_point",)]


MOVING_LOAD = np.dtype(
    [
        ("row", "i8"),
        ("turns_along", "i8"),  # whether force and torque are given in the axes of the body
        ("moves_along", "i8"),  # whether the point is given in the body frame
        ("origin", "f8", 3),  # of the body frame in the joint frame
        ("axes", "f8", 9),  # the body frame in the joint frame
        ("point", "i8", 3),  # signals
        ("force", "i8", 3),
        ("torque", "i8", 3),
        ("account", "i8"),
    ]
)


@formula
def lever_of(item, signals, t, body, R):
    """From the origin of the body to the point, world axes."""
    point = signal_vector(signals, item.point, t)
    if item.moves_along:
        return R @ (load(item.origin) + load(item.axes) @ point)
    return point - load(body.x)


@formula
def apply_force(item, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the load to its body, and add its power to the account."""
    body = bodies[item.row]
    R = load(body.R)
    force, torque = load_of(item, forces.signals, t, R)
    r, w = lever_of(item, forces.signals, t, body, R), load(body.w)
    apply_wrench(body, torque + cross(r, force), force)
    powers[item.account] += dot(force, load(body.v) + cross(w, r)) + dot(torque, w)


@formula
def stiffness_damping_product(item, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add the exact K and D times the change: see `forces.variation`.  Implicit integrators neglect them."""
    if not exact:
        return
    body = bodies[item.row]
    R, dw = load(body.R), displacement_factor * load(body.dw)
    force, torque = load_of(item, forces.signals, t, R)
    r = lever_of(item, forces.signals, t, body, R)
    moved = cross(dw, r) if item.moves_along else -(displacement_factor * load(body.dv))
    moment = cross(moved, force)
    if item.turns_along:
        turned = cross(dw, force)
        add_wrench(wrenches[item.row], moment + cross(r, turned) + cross(dw, torque), turned)
    else:
        add_wrench(wrenches[item.row], moment, ZERO)


def pack(spec: MovingLoadSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a load."""
    signals = ([context.signal(one) for one in vector] for vector in (spec.moving_point, spec.force, spec.torque))
    row, origin = context.row(spec.body), context.point(spec.body, (0.0, 0.0, 0.0))
    axes = context.axes(spec.body).T.ravel()
    return row, spec.frame == "body", spec.point_frame == "body", origin, axes, *signals


ELEMENT = ForceElement(
    "moving_loads",
    MOVING_LOAD,
    description="forces on bodies",
    account="work",
    implicit=False,
    bodies=("row",),
    apply_force=apply_force,
    stiffness_damping_product=stiffness_damping_product,
    entry=SceneEntry("forces", "moving_load", ("moving_point",), MovingLoadSpec, pack),
)
