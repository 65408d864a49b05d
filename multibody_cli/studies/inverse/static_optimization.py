"""Static optimization: the activations of muscles with the least sum of squares that supply required forces.

At one instant, with the generalized forces A (n, m) of the muscles at full activation, the required forces b (n,) and
the optimal forces r (n,) of reserve actuators, one for each coordinate,

    minimize    sum_k a_k^2 + sum_j c_j^2
    subject to  A a + diag(r) c = b,    low <= a <= 1.

The reserves c are not bounded.  With them eliminated, this is a linear least-squares problem with bounds, whose
solution is unique.

Sources: Crowninshield and Brand, J. Biomech. 14 (1981); StaticOptimization of OpenSim; Stark and Parker,
Bounded-variable least squares, Computational Statistics 10 (1995), SciPy's `lsq_linear`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from multibody_cli.kernel import Floats


class Effort(NamedTuple):
    """Activations (m,) of muscles, and forces (n,) of the reserve actuators, N or N m."""

    activations: Floats
    reserves: Floats


def share_forces(A: Floats, b: Floats, reserve: Floats, low: Floats) -> Effort:
    """Return the activations of least squares that supply forces.

    Parameters
    ----------
    A
        (n, m) generalized forces of the muscles at full activation, N or N m.
    b
        (n,) required forces.
    reserve
        (n,) optimal forces of the reserve actuators, above 0.
    low
        (m,) least activations.
    """
    count = A.shape[1]
    if not count:
        return Effort(np.zeros(0), b.copy())
    matrix = np.vstack([np.eye(count), A / reserve[:, None]])
    wanted = np.concatenate([np.zeros(count), b / reserve])
    found = lsq_linear(matrix, wanted, (low, np.ones(count)), method="bvls", tol=1e-14, max_iter=100 * count)
    activations = np.clip(found.x, low, 1.0)
    return Effort(activations, b - A @ activations)
