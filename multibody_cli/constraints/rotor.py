"""Rotor of a coordinate, its armature as a link of its own: v - v_rotor = 0 (`packing.rotors`)."""

from __future__ import annotations

import numpy as np

from multibody_cli.constraints.contract import ConstraintTable
from multibody_cli.constraints.rows import write_coefficient, write_level, write_wrench
from multibody_cli.kernel import formula
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import ZERO

ROTOR = np.dtype(
    [
        ("first_row", "i8"),
        ("first_term", "i8"),
        ("iq", "i8"),
        ("iv", "i8"),
        ("rotor_iq", "i8"),
        ("rotor_iv", "i8"),
        ("link", "i8"),
        ("closure", "i8"),
        ("axis", "f8", 3),
    ]
)
"""The coordinate, and that of the rotor, which slides along an axis of the world.

Where v is not the rate of a number of q, `iq` is `rotor_iq`: the row, which is nonholonomic, has no error.
"""


@formula
def write(rotor, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the row of a rotor."""
    write_coefficient(terms[rotor.first_term], rotor.iv, 1.0)
    write_wrench(terms[rotor.first_term + 1], rotor.link, ZERO, -load(rotor.axis))
    write_level(rows[rotor.first_row], q[rotor.iq] - q[rotor.rotor_iq], 0.0, 0.0)


TABLE = ConstraintTable("rotor", ROTOR, write)
