"""Couplings as a change of coordinates: dependent coordinates are linear functions of independent ones.

With q = E u + e for the independent coordinates u, the equations of motion are (E^T M E) d2u/dt2 = E^T f
(hyper-reduced coordinates).  The rows of the couplings give the same accelerations without E^T M E. The reduction
consists in that dependent coordinates and rates are not integrated but computed from the independent ones.

Source: Sueda, notes 2.6, (2.80)-(2.83), where E is J_rR and u is q_R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.kernel import kernel

DEPENDENT = np.dtype([("iq", "i8"), ("iv", "i8"), ("first", "i8"), ("last", "i8"), ("offset", "f8")])
"""One row for each dependent coordinate: offset + sum of its terms."""

REDUCTION_TERM = np.dtype([("iq", "i8"), ("iv", "i8"), ("coefficient", "f8")])
"""One row for each term."""


class Reductions(NamedTuple):
    """The dependent coordinates of a model."""

    dependents: NDArray[np.void]
    reduction_terms: NDArray[np.void]


@kernel
def update_dependent_coordinates(reductions, q, v):
    """Compute all dependent coordinates and rates, in place."""
    dependents, reduction_terms = reductions.dependents, reductions.reduction_terms
    for i in range(len(dependents)):
        dependent = dependents[i]
        position, rate = dependent.offset, 0.0
        for k in range(dependent.first, dependent.last):
            term = reduction_terms[k]
            position += term.coefficient * q[term.iq]
            rate += term.coefficient * v[term.iv]
        q[dependent.iq], v[dependent.iv] = position, rate
