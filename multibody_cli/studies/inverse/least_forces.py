"""Forces of least norm within intervals and friction cones.

With the effects A (k, m) of m forces along the k motions that a mechanism can make, the required effects b (k,), and
the product K of a half line or a cone for each contact, of a line for each drive and of an interval for each muscle,

    minimize    |x|^2 + rho |b - A x|^2
    subject to  x in K

for rho that is much larger than 1 / |A|^2.  The problem is strictly convex; its dual is smooth and has no constraints:
with the projection P onto K, the multipliers y satisfy

    A P(A^T y) + (y - y0) / rho = b,    y0 = 0,

and x = P(z) with z = A^T y.  Newton's method solves the equation, with the derivative of P and a line search on the
dual function z P(z) - |P(z)|^2/2 + |y - y0|^2/(2 rho) - b y.  Solutions with y0 = y of the one before then let the part
b - A x that no forces supply tend to the least one (the proximal point algorithm): to 0 if there are forces with
A x = b.

The cones are those of Coulomb, of second order: |x_t| <= mu x_n.

Sources: Parikh and Boyd, Proximal Algorithms (2014), 6.3, for the projection; Rockafellar, Augmented Lagrangians and
applications of the proximal point algorithm in convex programming, Math. Oper. Res. 1 (1976); Qi and Sun, A nonsmooth
version of Newton's method, Math. Program. 58 (1993).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from multibody_cli.kernel import Floats

STIFFNESS = 1e6
"""rho |A|^2."""

MOST_ROUNDS, MOST_STEPS, MOST_SHORTER = 1000, 100, 40

PRECISION = 1e-14
"""Error, relative to the multipliers and to the required effects, that is round-off."""

SUPPLIED, SETTLED = 1e-13, 1e-11
"""Part of the required effects that counts as supplied, and change of this part in a round that ends the rounds."""

DESCENT = 1e-4
"""Part of the predicted decrease of the dual function that a step must reach."""


class Part(NamedTuple):
    """A force among x.

    Parameters
    ----------
    first
        Its first place.
    friction
        The coefficient of the cone of its normal and tangential components; None for one component.
    low, high
        The bounds of one component.
    """

    first: int
    friction: float | None = None
    low: float = -np.inf
    high: float = np.inf


class Forces(NamedTuple):
    """Forces x (m,), and the part b - A x (k,) of the required effects that they do not supply."""

    x: Floats
    residual: Floats


def least_forces(A: Floats, b: Floats, parts: Sequence[Part]) -> Forces:
    """Return the forces of least norm in K with A x = b, or with the least |b - A x| if there are none.

    Parameters
    ----------
    A
        (k, m) effects of unit forces.
    b
        (k,) required effects, in the unit of A.
    parts
        The kinds of the m forces.
    """
    size, (least, _) = float(np.linalg.norm(A, 2)) if min(A.shape) else 0.0, _projection(np.zeros(A.shape[1]), parts)
    scale = float(np.linalg.norm(b)) + size * float(np.linalg.norm(least))
    if not size > 0.0 or not scale > 0.0:
        return Forces(least, b.copy())
    parts = [part._replace(low=part.low * size / scale, high=part.high * size / scale) for part in parts]
    A, rho, origin = A / size, STIFFNESS, np.zeros(len(b))
    wanted, residual = b / scale, np.full(len(b), np.inf)
    for _ in range(MOST_ROUNDS):
        y = _multipliers(A, wanted, parts, rho, origin)
        x, _ = _projection(A.T @ y, parts)
        before, residual = residual, wanted - A @ x
        origin = y
        if np.linalg.norm(residual) <= SUPPLIED or np.linalg.norm(residual - before) <= SETTLED:
            break
    return Forces(x * scale / size, residual * scale)


def _multipliers(A: Floats, b: Floats, parts: Sequence[Part], rho: float, origin: Floats) -> Floats:
    """Return the multipliers y (k,) near y0, by Newton's method from there."""
    y = origin.copy()

    def value_at(y: Floats) -> tuple[float, Floats, Floats]:
        z = A.T @ y
        x, derivative = _projection(z, parts)
        change = (y - origin) / rho
        value = float(z @ x) - 0.5 * float(x @ x) + 0.5 * float(change @ (y - origin)) - float(b @ y)
        return value, A @ x + change - b, derivative

    value, error, derivative = value_at(y)
    for _ in range(MOST_STEPS):
        if np.linalg.norm(error) <= PRECISION * (1.0 + np.linalg.norm(y)):
            break
        step = np.linalg.solve(A @ derivative @ A.T + np.eye(len(b)) / rho, -error)
        slope, length = float(error @ step), 1.0
        for _ in range(MOST_SHORTER):
            found = value_at(y + length * step)
            nearer = np.linalg.norm(found[1]) <= 0.5 * np.linalg.norm(error)
            allowed = PRECISION * (1.0 + abs(value)) if nearer else DESCENT * length * slope
            if found[0] <= value + allowed:
                break
            length *= 0.5
        else:
            break  # round-off of the dual function
        y = y + length * step
        value, error, derivative = found
    return y


def _projection(z: Floats, parts: Sequence[Part]) -> tuple[Floats, Floats]:
    """Return the projection P(z) (m,) onto K, and its derivative (m, m)."""
    x, derivative = z.copy(), np.eye(len(z))
    for part in parts:
        i = part.first
        if part.friction is not None:
            own = slice(i, i + 3)
            x[own], derivative[own, own] = _onto_cone(z[own], part.friction)
        elif not part.low < z[i] < part.high:
            x[i], derivative[i, i] = min(max(z[i], part.low), part.high), 0.0
    return x, derivative


def _onto_cone(z: Floats, friction: float) -> tuple[Floats, Floats]:
    """Return the projection of normal and tangential components (3,) onto a cone, and its derivative (3, 3)."""
    slip = float(np.hypot(z[1], z[2]))
    if slip <= friction * z[0]:
        return z, np.eye(3)
    if friction * slip <= -z[0]:
        return np.zeros(3), np.zeros((3, 3))
    along = z[1:] / slip
    edge = np.array([1.0, *(friction * along)])
    normal = float(edge @ z) / (1.0 + friction**2)
    derivative = np.outer(edge, edge) / (1.0 + friction**2)
    derivative[1:, 1:] += normal * friction / slip * (np.eye(2) - np.outer(along, along))
    return normal * edge, derivative
