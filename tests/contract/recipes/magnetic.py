"""Magnetic force on a charge at the centre of mass: F = c v x z, in a uniform field along z; it does no work."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from multibody_cli.forces.body_load import apply_wrench
from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.forces.variation import add_wrench
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import UNIT, ZERO, cross
from multibody_cli.spec.entries import BodyForceSpec, PackingContext


class MagneticSpec(BodyForceSpec):
    """A magnetic force on a point mass."""

    body: str = Field(description="Body with the charge.")
    magnetic: float = Field(description="Charge times flux density, N*s/m.")


MAGNETIC = np.dtype([("row", "i8"), ("coefficient", "f8"), ("account", "i8")])


@formula
def apply_force(charge, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Apply the force to its body."""
    body = bodies[charge.row]
    apply_wrench(body, ZERO, charge.coefficient * cross(load(body.v), UNIT.z))


@formula
def stiffness_damping_product(charge, forces, t, bodies, displacement_factor, velocity_factor, exact, wrenches):
    """Add D times the motion change to the wrenches."""
    change = velocity_factor * load(bodies[charge.row].dv)
    add_wrench(wrenches[charge.row], ZERO, charge.coefficient * cross(change, UNIT.z))


def pack(spec: MagneticSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a force."""
    return context.row(spec.body), spec.magnetic


ELEMENT = ForceElement(
    "magnetic_forces",
    MAGNETIC,
    description="forces on bodies",
    account="work",
    implicit=False,
    bodies=("row",),
    apply_force=apply_force,
    stiffness_damping_product=stiffness_damping_product,
    entry=SceneEntry("forces", "magnetic", ("magnetic",), MagneticSpec, pack),
)
