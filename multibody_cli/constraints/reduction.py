"""Couplings as a change of coordinates: some coordinates are functions of others, and follow them exactly.

With q = E u + e for the independent coordinates u, the equations of motion are (E^T M E) du/dt = E^T f (hyper-reduced
coordinates).  The same accelerations come from the rows of the couplings, without E^T M E ever being formed; what
makes the change of coordinates is that dependent coordinates and rates are never integrated but set.

Source: Sueda, notes 2.6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel

DEPENDENT = np.dtype([("iq", "i8"), ("iv", "i8"), ("first", "i8"), ("last", "i8"), ("offset", "f8")])
"""One row a dependent coordinate: offset + sum of its terms."""

SHARE = np.dtype([("iq", "i8"), ("iv", "i8"), ("coefficient", "f8")])
"""One row a term."""


class Reductions(NamedTuple):
    """The dependent coordinates of a model."""

    dependents: NDArray[np.void]
    shares: NDArray[np.void]


@kernel
def follow(reductions, q, v):
    """Set all dependent coordinates and rates, in place."""
    dependents, shares = reductions.dependents, reductions.shares
    for i in range(len(dependents)):
        dependent = dependents[i]
        position, rate = dependent.offset, 0.0
        for k in range(dependent.first, dependent.last):
            share = shares[k]
            position += share.coefficient * q[share.iq]
            rate += share.coefficient * v[share.iv]
        q[dependent.iq], v[dependent.iv] = position, rate
