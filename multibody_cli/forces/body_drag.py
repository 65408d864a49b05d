"""Viscous drag on a body: force -c v at its centre of mass, torque -c_w w."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import displacement_of
from multibody_cli.spatial.products import ZERO, cross, dot, isotropic
from multibody_cli.spatial.values import Inertia, Mat3
from multibody_cli.spec import AngularDamping, Damping, Spec
from multibody_cli.spec.entries import BodyForceSpec, PackingContext


class Viscosity(Spec):
    """Coefficients of viscous drag."""

    linear: Damping = Field(0.0, description="Coefficient of the velocity of the centre of mass, N*s/m.")
    angular: AngularDamping = Field(0.0, description="Coefficient of the angular velocity, N*m*s/rad.")


class DragSpec(BodyForceSpec):
    """Viscous drag on a body."""

    body: str = Field(description="Body on which the drag acts.")
    viscous: Viscosity = Field(description="Coefficients of the drag.")

    @property
    def turning(self) -> list[NodePath]:
        """The angular coefficient."""
        return [("viscous", "angular")] if self.viscous.angular > 0.0 else []


BODY_DRAG = np.dtype([("row", "i8"), ("com", "f8", 3), ("linear", "f8"), ("angular", "f8"), ("account", "i8")])


@formula
def apply_force(drag, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the drag to its body, and add the loss c v^2 + c_w w^2 to the account."""
    body = bodies[drag.row]
    w, c = load(body.w), load(body.R) @ load(drag.com)
    velocity = load(body.v) + cross(w, c)
    force, torque = -drag.linear * velocity, -drag.angular * w
    apply_wrench(body, torque + cross(c, force), force)
    powers[drag.account] += drag.linear * dot(velocity, velocity) + drag.angular * dot(w, w)


@formula
def stiffness_damping_product(drag, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`; notes 1.9.1."""
    body = bodies[drag.row]
    w, dw, c = load(body.w), load(body.dw), load(body.R) @ load(drag.com)
    force = -drag.linear * (velocity_factor * displacement_of(body, c))
    moment = cross(c, force) - drag.angular * (velocity_factor * dw)
    if exact:
        turned = displacement_factor * cross(dw, c)
        extra = -drag.linear * cross(w, turned)
        force = force + extra
        moment = moment + cross(c, extra) - drag.linear * cross(turned, load(body.v) + cross(w, c))
    add_wrench(wrenches[drag.row], moment, force)


@formula
def add_stiffness_blocks(drag, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the diagonal blocks: see `forces.variation`."""
    c = load(bodies[drag.row].R) @ load(drag.com)
    turning = Inertia(isotropic(velocity_factor * drag.angular), Mat3(ZERO, ZERO, ZERO), isotropic(0.0))
    add_block(blocks[drag.row], block_at(isotropic(velocity_factor * drag.linear), c) + turning)


def pack(spec: DragSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a drag."""
    return context.row(spec.body), context.com(spec.body), spec.viscous.linear, spec.viscous.angular


ELEMENT = ForceElement(
    "drags",
    BODY_DRAG,
    description="forces on bodies",
    account="dissipation",
    implicit=True,
    bodies=("row",),
    apply_force=apply_force,
    stiffness_damping_product=stiffness_damping_product,
    add_stiffness_blocks=add_stiffness_blocks,
    entry=SceneEntry("forces", "drag", ("viscous",), DragSpec, pack),
)
