"""Mass, centre of mass and inertia of bodies: sums and changes of frame.

Source: Sueda, notes 1.3 and (1.25)-(1.26).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.kernel import Floats as Floats


class MassProperties(Immutable):
    """Mass (kg), centre of mass (3,) (m) and central inertia (3, 3) (kg m^2), in the axes of one frame."""

    mass: float
    com: Floats
    inertia: Floats

    def moved(self, position: Floats, rotation: Floats) -> MassProperties:
        """Return the same mass properties in a frame in which the present one has `position` and `rotation` (3, 3)."""
        return MassProperties(self.mass, position + rotation @ self.com, rotation @ self.inertia @ rotation.T)

    def about(self, point: Floats) -> Floats:
        """Return the inertia (3, 3) about another point, kg m^2: parallel-axis theorem."""
        r = self.com - point
        return self.inertia + self.mass * ((r @ r) * np.eye(3) - np.outer(r, r))


ROUND_OFF = 1e-9
"""Relative error of principal moments that does not count."""


def objection_to(properties: MassProperties) -> str:
    """Return the reason for which no body has these mass properties; empty if there may be one.

    The principal moments of a body are sums of two of three second moments of its mass, which are not negative.
    """
    least, middle, largest = map(float, np.linalg.eigvalsh(properties.inertia))
    slack = ROUND_OFF * max(abs(largest), abs(least))
    if least < -slack:
        return f"a principal moment is negative ({least:.6g} kg*m^2)"
    if largest > least + middle + slack:
        return (
            f"the principal moment {largest:.6g} exceeds the sum of the two others, {least:.6g} + {middle:.6g} = "
            f"{least + middle:.6g} kg*m^2"
        )
    if properties.mass == 0.0 and largest > 0.0:
        return f"it has a moment of {largest:.6g} kg*m^2 without mass"
    return ""


def summed(pieces: Iterable[MassProperties]) -> MassProperties:
    """Return the mass properties of several bodies rigidly connected."""
    pieces = list(pieces)
    mass = sum(piece.mass for piece in pieces)
    moment = sum((piece.mass * piece.com for piece in pieces), np.zeros(3))
    com = moment / mass if mass else moment
    return MassProperties(mass, com, sum((piece.about(com) for piece in pieces), np.zeros((3, 3))))
