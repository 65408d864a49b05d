"""Quadratic drag on a body: the force F = -c |v| v at a point P with the velocity v.

A fluid of density rho exerts it on a body of the frontal area A at large Reynolds numbers, with c = rho C_d A / 2.

With e = v/|v| the damping matrix -dF/dv = c |v| (1 + e e^T) is symmetric and positive semidefinite, and 0 at rest: no
part of it is left out for implicit integrators.  The power c |v|^3 goes to the account.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_block, add_wrench, block_at
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.points import displacement_of
from multibody_cli.spatial.products import cross, dot, isotropic, symmetric_outer
from multibody_cli.spec import BodyPosition, Position, Quantity, units
from multibody_cli.spec.entries import BodyForceSpec, PackingContext


class QuadraticDragSpec(BodyForceSpec):
    """Quadratic drag on a body: a force -c v |v| at its centre of mass or at a point."""

    body: str = Field(description="Body on which the drag acts.")
    quadratic: Annotated[float, Quantity(units.QUADRATIC_DAMPING, least=0.0)] = Field(
        description="Coefficient c, N*s^2/m^2; rho*C_d*A/2 for a fluid of density rho and a frontal area A."
    )
    point: BodyPosition | None = Field(
        None,
        description="Point at which the force acts, in the body frame, m, or its name. Default: the centre of mass.",
    )

    @property
    def points(self) -> list[tuple[NodePath, Position]]:
        """The point of the force, where it is given."""
        return [(("point",), self.point)] if self.point is not None else []


QUADRATIC_DRAG = np.dtype([("row", "i8"), ("point", "f8", 3), ("coefficient", "f8"), ("account", "i8")])


@formula
def velocity_at(body, r):
    """Velocity of the point at the lever r, world axes, and its magnitude."""
    v = load(body.v) + cross(load(body.w), r)
    return v, math.sqrt(dot(v, v))


@formula
def damping_matrix(c, v, speed):
    """-dF/dv = c (|v| + v v^T / |v|), N s/m; 0 at rest."""
    if speed == 0.0:
        return isotropic(0.0)
    return isotropic(c * speed) + (c / speed) * symmetric_outer(v, v)


@formula
def apply_force(drag, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the drag to its body, and add the loss c |v|^3 to the account."""
    body = bodies[drag.row]
    r = load(body.R) @ load(drag.point)
    velocity, speed = velocity_at(body, r)
    force = -(drag.coefficient * speed) * velocity
    apply_wrench(body, cross(r, force), force)
    powers[drag.account] += drag.coefficient * speed * speed * speed


@formula
def stiffness_damping_product(drag, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add K and D times the motion change to the wrenches: see `forces.variation`.

    K comes from the lever alone, which turns with the body: dr = dw x r and dv = w x dr.
    """
    body = bodies[drag.row]
    r = load(body.R) @ load(drag.point)
    velocity, speed = velocity_at(body, r)
    N = damping_matrix(drag.coefficient, velocity, speed)
    change = velocity_factor * displacement_of(body, r)
    if exact:
        turned = displacement_factor * cross(load(body.dw), r)
        force = -(N @ (change + cross(load(body.w), turned)))
        moment = cross(r, force) - cross(turned, (drag.coefficient * speed) * velocity)
        add_wrench(wrenches[drag.row], moment, force)
    else:
        force = -(N @ change)
        add_wrench(wrenches[drag.row], cross(r, force), force)


@formula
def add_stiffness_blocks(drag, forces, t, bodies, displacement_factor, velocity_factor, blocks):
    """Add the damping to the block of the body: see `forces.variation`."""
    body = bodies[drag.row]
    r = load(body.R) @ load(drag.point)
    velocity, speed = velocity_at(body, r)
    add_block(blocks[drag.row], block_at(velocity_factor * damping_matrix(drag.coefficient, velocity, speed), r))


def pack(spec: QuadraticDragSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a drag; at a given point of an affine body it acts at a marker."""
    if spec.point is None:
        return context.row(spec.body), context.com(spec.body), spec.quadratic
    return *context.attachment(spec.body, spec.point), spec.quadratic


ELEMENT = ForceElement(
    "quadratic_drags",
    QUADRATIC_DRAG,
    description="forces on bodies",
    account="dissipation",
    implicit=True,
    bodies=("row",),
    apply_force=apply_force,
    stiffness_damping_product=stiffness_damping_product,
    add_stiffness_blocks=add_stiffness_blocks,
    entry=SceneEntry("forces", "quadratic_drag", ("quadratic",), QuadraticDragSpec, pack),
)
