"""Energy of springs and dampers of combinations of coordinates: k s^2 / 2, with the stretch s beyond the range of rest.

Their forces are records of `forces.joint_control`, which has their derivatives by all coordinates.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.forces.contract import ForceElement, JointFields
from multibody_cli.kernel import formula

TERM = np.dtype([("iq", "i8"), ("iv", "i8"), ("coefficient", "f8")])
"""One coordinate of a combination; all are in `Forces.terms`."""

COMBINATION_SPRING = np.dtype(
    [
        ("iv", "i8"),  # of its first coordinate
        ("first", "i8"),  # its terms
        ("last", "i8"),
        ("offset", "f8"),
        ("stiffness", "f8"),
        ("damping", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
        ("account", "i8"),
    ]
)


@formula
def apply_force(spring, forces, t, q, v, bodies, tau, powers, watched, warnings, k):
    """Add the loss d (dc/dt)^2 to the account."""
    rate = 0.0
    for i in range(spring.first, spring.last):
        rate += forces.terms[i].coefficient * v[forces.terms[i].iv]
    powers[spring.account] += spring.damping * rate * rate


@formula
def elastic_energy(spring, forces, q, bodies) -> float:
    """Elastic energy, J."""
    value = spring.offset
    for i in range(spring.first, spring.last):
        value += forces.terms[i].coefficient * q[forces.terms[i].iq]
    stretch = max(value - spring.upper, 0.0) + min(value - spring.lower, 0.0)
    return 0.5 * spring.stiffness * stretch * stretch


ELEMENT = ForceElement(
    "combination_springs",
    COMBINATION_SPRING,
    description="springs or dampers of combinations",
    rest="`rest`",
    account="dissipation",
    implicit=False,
    coordinates=1,
    apply_force=apply_force,
    elastic_energy=elastic_energy,
    joint=JointFields((), "damping", lambda joint, context: ()),  # entries of `combinations` describe it
)
