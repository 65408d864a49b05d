"""Limit of a joint coordinate: s (q - bound) >= 0, with s = 1 for a lower and -1 for an upper limit."""

from __future__ import annotations

import numpy as np

from multibody_cli.constraints.contract import ConstraintTable
from multibody_cli.constraints.rows import write_coefficient, write_level
from multibody_cli.kernel import formula

LIMIT = np.dtype(
    [("first_row", "i8"), ("first_term", "i8"), ("iq", "i8"), ("iv", "i8"), ("bound", "f8"), ("sign", "f8")]
)


@formula
def write(limit, signals, points, states, buffers, t, bodies, q, v, rows, terms):
    """Write the one-sided row of a limit."""
    write_coefficient(terms[limit.first_term], limit.iv, limit.sign)
    write_level(rows[limit.first_row], limit.sign * (q[limit.iq] - limit.bound), 0.0, 0.0)


TABLE = ConstraintTable("limit", LIMIT, write)
