"""Cubic spring on a coordinate of a joint: tau = -k q^3, energy k q^4 / 4."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import Field

from multibody_cli.forces.contract import ForceElement, SceneEntry
from multibody_cli.kernel import formula
from multibody_cli.nodes import NodePath
from multibody_cli.spec.entries import ForceSpec, PackingContext


class CubicSpringSpec(ForceSpec):
    """A cubic spring on a coordinate."""

    coordinate: str = Field(description="Coordinate on which the spring acts.")
    cubic: float = Field(description="Coefficient k, N/m^3.")

    @property
    def coordinates(self) -> list[tuple[NodePath, str]]:
        """The coordinate."""
        return [(("coordinate",), self.coordinate)]


CUBIC_SPRING = np.dtype([("iq", "i8"), ("iv", "i8"), ("coefficient", "f8"), ("account", "i8")])


@formula
def apply_force(spring, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Subtract k q^3 from `tau`."""
    tau[spring.iv] -= spring.coefficient * q[spring.iq] ** 3


@formula
def elastic_energy(spring, forces, q, bodies) -> float:
    """Elastic energy, J."""
    return 0.25 * spring.coefficient * q[spring.iq] ** 4


def pack(spec: CubicSpringSpec, context: PackingContext) -> tuple[Any, ...]:
    """Return the record of a spring."""
    return *context.coordinate(spec.coordinate), spec.cubic


ELEMENT = ForceElement(
    "cubic_springs",
    CUBIC_SPRING,
    description="springs or dampers of joints",
    account="dissipation",
    implicit=False,
    coordinates=1,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    entry=SceneEntry("forces", "cubic_spring", ("cubic",), CubicSpringSpec, pack),
)
