"""Couplings as a change of coordinates: dependent coordinates are functions of independent ones, q = f(u).

With E = df/du, the equations of motion are (E^T M E) d2u/dt2 = E^T (tau - M (dE/dt) du/dt) (hyper-reduced coordinates).
The rows of the couplings give the same accelerations without E^T M E. The reduction consists in that dependent
coordinates and rates are not integrated but computed from the independent ones. Each map may have the results of
others among its inputs: maps are computed in order, and E is the product of their Jacobians.

Source: Sueda, notes 2.6, (2.80)-(2.83), where E is J_rR and u is q_R.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.constraints.code_buffers import CodeBuffers
from multibody_cli.constraints.function import FIRST_SLOPE
from multibody_cli.kernel import kernel, lazy_kernel
from multibody_cli.symbolic.generated import call_on_arrays

DEPENDENT = np.dtype([("iq", "i8"), ("iv", "i8"), ("first", "i8"), ("last", "i8"), ("offset", "f8"), ("address", "i8")])
"""One row for each dependent coordinate, after those on which it depends: a generated function of its terms, or, with
the address 0, offset + their sum."""

REDUCTION_TERM = np.dtype([("iq", "i8"), ("iv", "i8"), ("coefficient", "f8")])
"""One row for each term."""


class Reductions(NamedTuple):
    """The dependent coordinates of a model."""

    dependents: NDArray[np.void]
    reduction_terms: NDArray[np.void]
    buffers: CodeBuffers


@kernel
def update_dependent_coordinates(reductions, q, v):
    """Compute all dependent coordinates and rates, in place."""
    dependents = reductions.dependents
    for i in range(len(dependents)):
        if dependents[i].address == 0:
            add_terms(dependents[i], reductions.reduction_terms, q, v)
        else:
            evaluate_map(dependents[i], reductions.reduction_terms, reductions.buffers, q, v)


@kernel
def add_terms(dependent, terms, q, v):
    """Compute a dependent coordinate as the sum of its terms."""
    position, rate = dependent.offset, 0.0
    for k in range(dependent.first, dependent.last):
        position += terms[k].coefficient * q[terms[k].iq]
        rate += terms[k].coefficient * v[terms[k].iv]
    q[dependent.iq], v[dependent.iv] = position, rate


@lazy_kernel
def evaluate_map(dependent, terms, buffers, q, v):
    """Compute a dependent coordinate as a function of its terms."""
    for k in range(dependent.first, dependent.last):
        slot = k - dependent.first
        buffers.x[slot], buffers.u[slot] = q[terms[k].iq], v[terms[k].iv]
    call_on_arrays(dependent.address, (buffers.x, buffers.u, buffers.out))
    rate = 0.0
    for slot in range(dependent.last - dependent.first):
        rate += buffers.out[FIRST_SLOPE + slot] * buffers.u[slot]
    q[dependent.iq], v[dependent.iv] = buffers.out[0], rate
