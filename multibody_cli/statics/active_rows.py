"""Multipliers that balance forces: of equalities of either sign, of touched one-sided rows of at least 0.

Among all multipliers, those have the least unbalanced force.  It is the force along the motions that the rows allow:
without it there is equilibrium.  Rows that depend on others share their multipliers with the least sum of squares:
first that of one-sided rows, all of which may press, then that of equalities.  Touched rows that do not press have no
force in this distribution, and leave displacements to one side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from multibody_cli.initial.linearized_motion import motions, parts
from multibody_cli.kernel import Flags, Floats

PRESSED = 1e-12
"""Multiplier of a one-sided row, relative to the largest force of its part, from which it counts as pressed."""

LEAST_NORM = 1e-7
"""Factor of the multipliers beside the unbalanced forces, relative to the rows: it selects those of the least norm.

Rows that are independent have multipliers with errors of its square.
"""


class Balance(NamedTuple):
    """Multipliers x (m,), the rows that are active (m,), and a basis N (n, k) of the motions that these allow."""

    x: Floats
    active: Flags
    N: Floats


def balance(forces: Floats, G: Floats, equality: Flags, touching: Flags, least: Floats) -> Balance:
    """Return the multipliers that balance forces best, of each part of coordinates and rows by itself.

    Parameters
    ----------
    forces, G
        The forces (n,) and the Jacobian (m, n) of the rows.
    equality, touching
        Which rows (m,) are equalities, and which others may press.
    least
        Size (n,) of forces that counts in each coordinate.
    """
    x, active = np.zeros(len(G)), equality.copy()
    for columns, rows in parts(G):
        own = G[np.ix_(rows, columns)]
        size = float(np.maximum(np.abs(forces), least)[columns].max(initial=0.0))
        x[rows], active[rows] = _balance(forces[columns], own, equality[rows], touching[rows], size)
    return Balance(x, active, motions(G[active]))


def _balance(forces: Floats, G: Floats, equality: Flags, touching: Flags, size: float) -> tuple[Floats, Flags]:
    """Return the multipliers of one part with forces of a size, and which rows are active."""
    active = equality.copy()
    if not touching.any():
        return multipliers(forces, G, active), active
    from scipy.optimize import nnls  # on demand: it takes as long as the equilibrium of a mechanism

    N, x = motions(G[active]), np.zeros(len(G))
    own, left = (G[touching] @ N).T, -N.T @ forces
    factor = LEAST_NORM * np.abs(own).max(initial=0.0) * np.eye(own.shape[1])
    pressing, _ = nnls(np.vstack([own, factor]), np.append(left, np.zeros(own.shape[1])))
    pressed = pressing > PRESSED * size
    active[np.flatnonzero(touching)[pressed]] = True
    x[active & ~equality] = np.linalg.lstsq(own[:, pressed], left, rcond=RANK)[0]
    return x + multipliers(forces + G.T @ x, G, equality), active


def multipliers(forces: Floats, G: Floats, active: Flags) -> Floats:
    """Return the multipliers (m,) of the active rows alone that balance forces (n,) best."""
    x = np.zeros(len(G))
    if active.any():
        x[active] = np.linalg.lstsq(G[active].T, -forces, rcond=RANK)[0]
    return x


RANK = 1e-10
"""Singular value, relative to the largest, below which rows are dependent."""
