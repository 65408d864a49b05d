"""Multipliers that balance forces: of equalities of either sign, of touched one-sided rows of at least 0.

Among all multipliers, those have the least unbalanced force.  It is the force along the motions that the rows allow:
without it there is equilibrium.  Rows that depend on others share their multipliers with the least sum of squares:
first that of one-sided rows, all of which may press, then that of equalities.  Touched rows that do not press have no
force in this distribution, and leave displacements to one side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from multibody_cli.initial.linearized_motion import null_space
from multibody_cli.kernel import Flags, Floats

PRESSED = 1e-12
"""Multiplier of a one-sided row, relative to the largest force, from which it counts as pressed."""

LEAST_NORM = 1e-7
"""Factor of the multipliers beside the unbalanced forces, relative to the rows: it selects those of the least norm.

Rows that are independent have multipliers with errors of its square.
"""


class Balance(NamedTuple):
    """Multipliers x (m,), the rows that are active (m,), and a basis N (n, k) of the motions that these allow."""

    x: Floats
    active: Flags
    N: Floats


def balance(forces: Floats, G: Floats, equality: Flags, touching: Flags) -> Balance:
    """Return the multipliers that balance forces best.

    Parameters
    ----------
    forces, G
        The forces (n,) and the Jacobian (m, n) of the rows.
    equality, touching
        Which rows (m,) are equalities, and which others may press.
    """
    active = equality.copy()
    N = motions(G[active])
    if touching.any():
        own, left = (G[touching] @ N).T, -N.T @ forces
        factor = LEAST_NORM * np.abs(own).max(initial=0.0) * np.eye(own.shape[1])
        pressing, _ = nnls(np.vstack([own, factor]), np.append(left, np.zeros(own.shape[1])))
        pressed = pressing > PRESSED * np.abs(forces).max(initial=0.0)
        active[np.flatnonzero(touching)[pressed]] = True
        x = np.zeros(len(G))
        x[active & ~equality] = np.linalg.lstsq(own[:, pressed], left, rcond=RANK)[0]
        x += multipliers(forces + G.T @ x, G, equality)
        return Balance(x, active, motions(G[active]))
    return Balance(multipliers(forces, G, active), active, N)


def motions(G: Floats) -> Floats:
    """Return a basis (n, k) of the motions that rows (m, n) allow: coordinates without a row in common do not mix."""
    basis, row_sets, left = [], G != 0.0, np.ones(G.shape[1], np.bool_)
    while left.any():
        own, last = np.zeros(len(left), np.bool_), 0
        own[np.argmax(left)] = True
        while np.count_nonzero(own) > last:
            last = int(np.count_nonzero(own))
            own |= row_sets[(row_sets & own).any(axis=1)].any(axis=0)
        part = G[np.ix_((row_sets & own).any(axis=1), own)]
        basis.append(np.zeros((len(left), np.count_nonzero(own))))
        basis[-1][own] = np.eye(len(basis[-1].T))
        if len(part):
            basis[-1] = basis[-1] @ null_space(part)
        left &= ~own
    return np.hstack(basis) if basis else np.zeros((0, 0))


def multipliers(forces: Floats, G: Floats, active: Flags) -> Floats:
    """Return the multipliers (m,) of the active rows alone that balance forces (n,) best."""
    x = np.zeros(len(G))
    if active.any():
        x[active] = np.linalg.lstsq(G[active].T, -forces, rcond=RANK)[0]
    return x


RANK = 1e-10
"""Singular value, relative to the largest, below which rows are dependent."""
