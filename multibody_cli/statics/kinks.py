"""Second variations to the sides of kinks of forces that are at an equilibrium.

Kinks are planes c_i^T y = 0 in the displacements y.  Between them the forces L have a matrix of derivatives, and with a
potential those to both sides of a plane differ by k c c^T.  Displacements along which L has no kink lie in all planes:
their columns of K are those of all sides.  The others follow from derivatives along displacements b_j of one side that
are independent, K b_j = -dL/db_j.  Sides are those of all signs of the displacements with the largest independent jumps
of dL, in two orders of their sizes.  They are all sides if the derivatives along each displacement to either side are
those of one of them.

The equilibrium is stable if K is positive on each side.  It is unstable if the energy decreases along an axis of K, by
the derivatives along this axis itself: an axis of K need not lie on the side of K, unless there is one plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from multibody_cli.kernel import Floats
from multibody_cli.statics.admissible import Stability, stability_on_cone
from multibody_cli.statics.second_variation import CERTAIN, second_variation
from multibody_cli.statics.slopes import JUMP
from multibody_cli.statics.unbalanced_forces import SecondDerivatives, UnbalancedForces

MOST = 4
"""Number of independent jumps of the derivatives up to which all sides are examined."""

RANK = 1e-6
"""Jump, relative to the largest, from which it is independent of others."""

RATIO = 0.6
"""Of the sizes of displacements that lead to a side."""

BESIDE = 0.1
"""Distance of the displacements of one side from each other."""


class Sides(NamedTuple):
    """Second variation of the side with the least stiffness, the stiffness of each one, and the stability.

    `reason` is why it is unknown, or why other sides may exist; "" otherwise.
    """

    weakest: SecondDerivatives
    stiffness: tuple[Floats, ...]
    stability: Stability
    reason: str


def examine_sides(
    forces: UnbalancedForces,
    q: Floats,
    x: Floats,
    directions: Floats,
    found: SecondDerivatives,
    least: Floats,
    G: Floats,
) -> Sides:
    """Return the second variations to all sides of the kinks of an equilibrium, and its stability.

    Parameters
    ----------
    forces, q, x
        The forces, the equilibrium (nq,), and its multipliers (m,).
    directions
        (nv, k) displacements.
    found, least
        The derivatives along them, with kinks, and (k,) the sizes that count, J.
    G
        (t, k) touched rows without force: G y >= 0.
    """
    jumps = np.transpose([found.slopes[j].sides[0].value - found.slopes[j].sides[1].value for j, _ in found.kinks])
    _, R, order = qr(jumps, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    rank = int(np.count_nonzero(sizes > RANK * sizes[0]))
    sides = [*_sides(forces, q, x, directions, found, least, order[: min(rank, MOST)])]
    variations = [second_variation(one.K, one.samples, least) for one in sides]
    solved = [one.eigenvalues(np.eye(len(least))) for one, _ in variations]
    stiffness = tuple(values for values, _ in solved)
    weakest = int(np.argmin([values[0] for values in stiffness]))

    def result(stability: Stability, reason: str = "") -> Sides:
        return Sides(sides[weakest], stiffness, stability, reason)

    if not all(has_potential for _, has_potential in variations):
        return result("unknown", "the forces have no potential")
    reason = ""
    if rank > MOST:
        reason = f"kinks of forces in more than {MOST} independent directions meet at it"
    elif not _is_whole(found, sides, least):
        reason = "kinks of forces meet at it, and not all of their sides are known"
    axes = [own[:, 0] for values, own in solved if values[0] < 0.0]
    if len(G) == 0 and any(_descends(forces, q, x, directions, least, axis) for axis in axes):
        return result("unstable", reason)
    if reason:
        return result("unknown", reason)
    each = [stability_on_cone(one.K, one.samples, least, G) for one in sides]
    if all(one == "stable" for one in each):
        return result("stable")
    if len(G) or axes:
        return result("unknown", "the stiffness of one side of a kink is not positive, in displacements of other sides")
    return result("neutral")


def _sides(
    forces: UnbalancedForces,
    q: Floats,
    x: Floats,
    directions: Floats,
    found: SecondDerivatives,
    least: Floats,
    pivots: Floats,
) -> Iterator[SecondDerivatives]:
    """Yield the second variations to sides, by all signs of the displacements with kinks that are `pivots`."""
    own = np.array([j for j, _ in found.kinks])
    smooth = -np.transpose([one.best.value for one in found.slopes])
    errors = np.transpose([one.best.samples for one in found.slopes], (1, 2, 0))
    sizes = RATIO ** np.arange(len(pivots))
    for signs, weights in product(product((1.0, -1.0), repeat=len(pivots)), (sizes, sizes[::-1])[: len(pivots)]):
        towards, inside = np.ones(len(own)), np.zeros(len(own))
        towards[pivots], inside[pivots] = signs, signs * weights
        B = inside[:, None] + BESIDE * np.diag(towards)
        count = np.full(len(own), least[own].max())
        slopes = [one.sides[0] for one in forces.slopes(q, x, directions[:, own] @ B, directions, count)]
        K, samples, inverse = smooth.copy(), errors.copy(), np.linalg.inv(B)
        K[:, own] = -np.transpose([one.value for one in slopes]) @ inverse
        samples[:, :, own] = np.transpose([one.samples for one in slopes], (1, 2, 0)) @ inverse
        kinks = tuple((j, 1 if _distance(K, found, j, 1) <= _distance(K, found, j, -1) else -1) for j in own.tolist())
        yield SecondDerivatives(K, samples, kinks, "a force has a kink at the equilibrium", found.slopes)


def _distance(K: Floats, found: SecondDerivatives, j: int, side: int) -> float:
    """Return the difference of a column of K from the derivatives along a displacement to one side, J."""
    slope = found.slopes[j].sides[0 if side == 1 else 1]
    return float(np.abs(K[:, j] + slope.value).max())


def _is_whole(found: SecondDerivatives, sides: list[SecondDerivatives], least: Floats) -> bool:
    """Return whether the derivatives along each displacement to either side are those of one of the sides."""

    def agrees(one: SecondDerivatives, j: int, side: int) -> bool:
        slope = found.slopes[j].sides[0 if side == 1 else 1]
        error = CERTAIN * (np.abs(one.samples[:, :, j]).max() + slope.error.max())
        return bool(_distance(one.K, found, j, side) <= error + JUMP * (np.abs(slope.value).max() + least[j]))

    return all(any(agrees(one, j, side) for one in sides) for j, _ in found.kinks for side in (1, -1))


def _descends(forces: UnbalancedForces, q: Floats, x: Floats, directions: Floats, least: Floats, axis: Floats) -> bool:
    """Return whether the energy decreases along an axis (k,) to one of its sides."""
    along = (directions @ axis)[:, None]
    [slopes] = forces.slopes(q, x, along, along, np.array([np.abs(axis) ** 2 @ least]))
    return any(float(one.value[0]) > CERTAIN * float(one.error[0]) for one in slopes.sides)
