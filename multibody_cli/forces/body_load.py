"""A force at a point of a body and a torque on it, as functions of time and state, in world or body axes."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.signals import derivative_along, evaluate
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import ZERO, cross, dot
from multibody_cli.spatial.values import Force, Vec3
from multibody_cli.spec import BodyPosition, Position, SignalSpec, units
from multibody_cli.spec.entries import BodyForceSpec, PackingContext
from multibody_cli.spec.signal import SignalVector

_ZERO = (SignalSpec(constant=0.0),) * 3


class LoadSpec(BodyForceSpec):
    """A force at a point of a body, a torque on the body, or both, as functions of time."""

    body: str = Field(description="Body on which the force acts.")
    point: BodyPosition = Field(
        (0.0, 0.0, 0.0), description="Point at which the force acts, in the body frame, m, or its name."
    )
    force: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.FORCE, state=())] = Field(
        _ZERO, description="Force [x, y, z], N; each a number, an expression of t and the state, or a table."
    )
    torque: Annotated[tuple[SignalSpec, SignalSpec, SignalSpec], SignalVector(units.TORQUE, state=())] = Field(
        _ZERO, description="Torque [x, y, z], N*m; each a number, an expression of t and the state, or a table."
    )
    frame: Literal["world", "body"] = Field("world", description="Axes of the components.")

    @model_validator(mode="after")
    def _refuse_entries_without_effect(self) -> Self:
        if "point" in self.model_fields_set and "force" not in self.model_fields_set:
            raise ValueError("`point` has no effect without `force`: a torque acts on the body as a whole")
        return self

    @property
    def points(self) -> list[tuple[NodePath, Position]]:
        """The point of the force."""
        return [(("point",), self.point)]

    @property
    def turning(self) -> list[NodePath]:
        """The torque and the axes of the body."""
        torque: list[NodePath] = [("torque",)] if self.torque != _ZERO else []
        return [*torque, *([("frame",)] if self.frame == "body" else [])]


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
def derivative_vector(signals, numbers, t):
    """Derivatives of three signals along the change of the state."""
    x, y, z = (
        derivative_along(signals, numbers[0], t),
        derivative_along(signals, numbers[1], t),
        derivative_along(signals, numbers[2], t),
    )
    return Vec3(x, y, z)


@formula
def apply_wrench(body, moment, force):
    """Apply a wrench about the origin of a body: subtract it from the bias wrench of the body."""
    store_force(body, load_force(body) - Force(moment, force))


@formula
def load_of(item, signals, t, R):
    """Force and torque of a load, world axes."""
    return in_world_axes(item, R, signal_vector(signals, item.force, t), signal_vector(signals, item.torque, t))


@formula
def load_change_of(item, signals, t, R):
    """Change of force and torque of a load with the quantities of the state, world axes."""
    return in_world_axes(item, R, derivative_vector(signals, item.force, t), derivative_vector(signals, item.torque, t))


@formula
def in_world_axes(item, R, force, torque):
    """Force and torque of a load, of which the signals are components along world axes or those of the body."""
    if item.turns_along:
        axes = load(item.axes)
        return R @ (axes @ force), R @ (axes @ torque)
    return force, torque


@formula
def apply_force(item, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the load to its body, and add its power to the account."""
    body = bodies[item.row]
    R = load(body.R)
    force, torque = load_of(item, forces.signals, t, R)
    r, w = R @ load(item.point), load(body.w)
    apply_wrench(body, torque + cross(r, force), force)
    powers[item.account] += dot(force, load(body.v) + cross(w, r)) + dot(torque, w)


@formula
def stiffness_damping_product(item, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add the exact K and D times the change: see `forces.variation`.  Implicit integrators neglect them.

    Source: Sueda, notes 1.9.2, (1.33).
    """
    if not exact:
        return
    body = bodies[item.row]
    R, dw = load(body.R), displacement_factor * load(body.dw)
    force, torque = load_of(item, forces.signals, t, R)
    r = R @ load(item.point)
    if item.turns_along:
        add_wrench(wrenches[item.row], cross(dw, torque + cross(r, force)), cross(dw, force))
    else:
        add_wrench(wrenches[item.row], cross(cross(dw, r), force), ZERO)
    if len(forces.quantities) > 0:
        force, torque = load_change_of(item, forces.signals, t, R)
        add_wrench(wrenches[item.row], torque + cross(r, force), force)


def pack(spec: LoadSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a load; on an affine body it acts at a marker."""
    row, point = context.attachment(spec.body, spec.point)
    axes = np.eye(3) if row != context.row(spec.body) else context.axes(spec.body)
    force = [context.signal(signal) for signal in spec.force]
    torque = [context.signal(signal) for signal in spec.torque]
    return row, spec.frame == "body", point, axes.T.ravel(), force, torque


ELEMENT = ForceElement(
    "loads",
    BODY_LOAD,
    description="forces on bodies",
    account="work",
    implicit=False,
    bodies=("row",),
    apply_force=apply_force,
    stiffness_damping_product=stiffness_damping_product,
    entry=SceneEntry("forces", "load", ("force", "torque"), LoadSpec, pack),
)
