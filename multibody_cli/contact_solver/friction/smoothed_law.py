"""Coulomb's law with rounded corners, as equations, and a step of Newton's method for them.

In units in which every cone is |beta| <= alpha, Coulomb's law says of a contact (de Saxce)

    x and z in the cone,   x.z = 0,   z = (u_n + |u_t|, u_t)

or x = P(y), z = P(y) - y for some y, where P projects onto the cone.  Rounded off by sigma (`rounded_cone`) x and z lie
inside of their cones.  With a guess of the impulses and a compliance eps,

    u + (|u_t|, 0) + eps (P(y) - guess) = P(y) - y,   u = B xi + b,   xi = xi0 + B^T P(y)

are equations for y and xi.  y is eliminated contact by contact, so that a system for xi is left, as sparse as bodies
touch each other.  Limits are cones of one dimension; of equalities x = y, whatever y.  Journals have discs of a given
radius, without |u_t|.

A step changes sigma^2 too, in which x and z are nearly linear, so that it leads along the path of the solutions.

Sources: de Saxce and Feng, Math. Comput. Model. 28 (1998); Qi, Sun and Zhou, A new look at smoothing Newton methods,
Math. Program. 87 (2000) (sigma as an unknown).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multibody_cli.contact_solver.friction.envelope import add_rows, clear, eliminate, substitute
from multibody_cli.contact_solver.friction.factored import PER_CONTACT, felt, find_velocities, pull
from multibody_cli.contact_solver.friction.smoothed_cone import (
    multiply,
    round_cone,
    round_disc,
    round_line,
    write_flat,
    write_function,
)
from multibody_cli.kernel import formula, kernel

Floats = NDArray[np.float64]

SLOW = 1e-3
"""Speed of sliding, relative to sigma, around which |u_t| is rounded off."""

SLIPPERY = 1e-3
"""Coefficient of friction below which a contact has none here: a cone as sharp as that is no cone."""


class RoundedScratch(NamedTuple):
    """Work arrays for m rows and n velocities, in the units of the equations."""

    unit: Floats  # (m,) impulses are so many times those of the problem
    guess: Floats  # (m,)
    y: Floats  # (m,)
    y_ahead: Floats  # (m,) at the end of a step
    y_step: Floats  # (m,)
    xi_ahead: Floats  # (n,)
    xi_step: Floats  # (n,)
    x: Floats  # (m,) P(y)
    u: Floats  # (m,)
    later: Floats  # (m,) change of u by a step
    left: Floats  # (m,) what is left of the equations of the rows, and of those for xi
    xi_left: Floats  # (n,)
    slope: Floats  # (m,) see `rounded_cone`
    rise: Floats  # (m,)
    d: Floats  # (contacts, 2)
    pressed: Floats  # (m,) impulses in the units of the problem
    K: Floats  # (m, 3) derivative of y by -z, which is (1 - P' + eps P')^-1
    D: Floats  # (m, 3) derivative of the impulses by -u, in the units of the problem


def rounded_for(m: int, n: int, contacts: int) -> RoundedScratch:
    """Allocate the work arrays."""
    return RoundedScratch(
        unit=np.zeros(m),
        guess=np.zeros(m),
        y=np.zeros(m),
        y_ahead=np.zeros(m),
        y_step=np.zeros(m),
        xi_ahead=np.zeros(n),
        xi_step=np.zeros(n),
        x=np.zeros(m),
        u=np.zeros(m),
        later=np.zeros(m),
        left=np.zeros(m),
        xi_left=np.zeros(n),
        slope=np.zeros(m),
        rise=np.zeros(m),
        d=np.zeros((contacts, 2)),
        pressed=np.zeros(m),
        D=np.zeros((m, PER_CONTACT)),
        K=np.zeros((m, PER_CONTACT)),
    )


@kernel
def has_cone(F, c):
    """Whether contact c has friction here that goes with what presses it."""
    return c >= F.journals and F.mu[c] >= SLIPPERY


@kernel
def begin(F, free, x, xi, S) -> float:
    """Units, the guess, and y of the guess; the size of the velocities of the problem."""
    m, statics, size = len(x), F.equalities + F.limits, 0.0
    for i in range(len(xi)):
        size += (xi[i] - free[i]) ** 2
    size = math.sqrt(size)
    for k in range(m):
        S.unit[k] = math.sqrt(F.w[k])
        size = max(size, abs(F.r[k]) / S.unit[k])
    for c in range(len(F.mu)):
        if has_cone(F, c):
            S.unit[statics + PER_CONTACT * c] *= F.mu[c]
    find_velocities(F, xi, S.u)
    for k in range(m):
        S.u[k] /= S.unit[k]
        S.guess[k] = S.unit[k] * x[k]
        S.y[k] = S.guess[k] - S.u[k]
    for c in range(len(F.mu)):
        if has_cone(F, c):
            k = statics + PER_CONTACT * c
            S.y[k] -= math.hypot(S.u[k + 1], S.u[k + 2])
    return size


# --- equations ------------------------------------------------------------------------------------------------------
@kernel
def find_left(F, eps, sigma, free, y, xi, S) -> float:
    """What is left of the equations at y and xi, and all that a step from there needs; its norm."""
    m, statics, square, left = len(F.r), F.equalities + F.limits, sigma * sigma, S.left
    find_velocities(F, xi, S.u)
    for k in range(m):
        S.u[k] /= S.unit[k]
    for k in range(F.equalities):
        S.x[k], S.slope[k], S.rise[k] = y[k], 1.0, 0.0
    for k in range(F.equalities, statics):
        round_line(k, square, y, S.x, S.slope, S.rise)
    for c in range(len(F.mu)):
        k = statics + PER_CONTACT * c
        if c < F.journals:
            round_disc(c, k, square, S.guess[k], y, S.x, S.slope, S.rise, S.d)
        elif has_cone(F, c):
            round_cone(c, k, square, y, S.x, S.slope, S.rise, S.d)
        else:
            round_line(k, square, y, S.x, S.slope, S.rise)
    for k in range(m):
        left[k] = S.u[k] + eps * (S.x[k] - S.guess[k]) - (S.x[k] - y[k])
    for c in range(len(F.mu)):
        k = statics + PER_CONTACT * c
        if has_cone(F, c):
            left[k] += rounded_speed(k, sigma, S) - SLOW * sigma
        elif c >= F.journals:
            for j in range(k + 1, k + PER_CONTACT):
                S.x[j] = S.slope[j] = S.rise[j] = left[j] = 0.0
    return measure(free, xi, m, F, S)


@kernel
def rounded_speed(k, sigma, S):
    """|u_t| of the contact whose rows begin with k, never 0."""
    return math.sqrt(S.u[k + 1] ** 2 + S.u[k + 2] ** 2 + (SLOW * sigma) ** 2)


@kernel
def measure(free, xi, m, F, S) -> float:
    """What is left of the equations for xi, from x; the norm with that of the rows."""
    total = 0.0
    for k in range(m):
        total += S.left[k] * S.left[k]
        S.pressed[k] = S.x[k] / S.unit[k]
    for i in range(len(xi)):
        S.xi_left[i] = 0.0
    pull(F, S.pressed[:m], S.xi_left)
    for i in range(len(xi)):
        S.xi_left[i] = xi[i] - free[i] - S.xi_left[i]
        total += S.xi_left[i] * S.xi_left[i]
    return math.sqrt(total)


# --- a step ---------------------------------------------------------------------------------------------------------
@kernel
def find_step(F, eps, sigma, aim, n, S, E):
    """The step of Newton's method for y, xi and sigma^2, which is to become aim^2.

    Of the rows: left + z_step + (1 - P' + eps P') y_step = 0, with |u_t| in z_step; of xi, with x_step = P' y_step +
    rise: xi_left + xi_step - B^T x_step = 0.
    """
    m, statics, rise = len(F.r), F.equalities + F.limits, aim * aim - sigma * sigma
    for k in range(m):
        S.rise[k] *= rise
        S.left[k] -= (1.0 - eps) * S.rise[k]
    clear(n, E)
    for k in range(statics):
        eliminate_line(k, eps, S)
        add_rows(F, k, 1, S.D, 1.0, E)
    for c in range(len(F.mu)):
        k = statics + PER_CONTACT * c
        if c < F.journals:
            eliminate_disc(c, k, eps, S)
            add_rows(F, k, PER_CONTACT, S.D, 1.0, E)
        elif has_cone(F, c):
            S.left[k] += SLOW * (SLOW * sigma / rounded_speed(k, sigma, S) - 1.0) * (aim - sigma)
            eliminate_cone(c, k, eps, sigma, S)
            add_rows(F, k, PER_CONTACT, S.D, 1.0, E)
        else:
            eliminate_line(k, eps, S)
            add_rows(F, k, 1, S.D, 1.0, E)
    eliminate(n, E)
    step = S.xi_step[:n]
    for i in range(n):
        step[i] = -S.xi_left[i]
    pull(F, S.pressed[:m], step)
    substitute(n, E, step)
    follow_rows(F, sigma, S)


@formula
def given_way(slope, eps):
    """How y gives way along a direction in which P' is a slope: an eigenvalue of K."""
    return 1.0 / ((1.0 - slope) + eps * slope)


@kernel
def eliminate_line(k, eps, S):
    """Of one row: K, D, and the change of its impulse if xi stays."""
    S.K[k, 0] = given_way(S.slope[k], eps)
    S.pressed[k] = (S.rise[k] - S.slope[k] * S.K[k, 0] * S.left[k]) / S.unit[k]
    S.D[k, 0] = S.slope[k] * S.K[k, 0] / S.unit[k] ** 2


@kernel
def eliminate_cone(contact, k, eps, sigma, S):
    """Of the three rows of a contact likewise."""
    inner, outer, across = S.slope[k], S.slope[k + 1], S.slope[k + 2]
    a, b, c = given_way(inner, eps), given_way(outer, eps), given_way(across, eps)
    write_function(k, a, b, c, S.d[contact, 0], S.d[contact, 1], S.K)
    write_function(k, inner * a, outer * b, across * c, S.d[contact, 0], S.d[contact, 1], S.D)
    speed = rounded_speed(k, sigma, S)
    for i in range(k, k + PER_CONTACT):
        pressed = S.D[i, 0] * S.left[k] + S.D[i, 1] * S.left[k + 1] + S.D[i, 2] * S.left[k + 2]
        S.pressed[i] = (S.rise[i] - pressed) / S.unit[i]
    for i in range(k, k + PER_CONTACT):
        for j in range(1, PER_CONTACT):
            S.D[i, j] += S.D[i, 0] * S.u[k + j] / speed
        for j in range(PER_CONTACT):
            S.D[i, j] /= S.unit[i] * S.unit[k + j]


@kernel
def eliminate_disc(contact, k, eps, S):
    """Of the three rows of a journal, the first of which does not change."""
    along, across = S.slope[k + 1], S.slope[k + 2]
    a, b = given_way(along, eps), given_way(across, eps)
    write_flat(k, a, b, S.d[contact, 0], S.d[contact, 1], S.K)
    write_flat(k, along * a, across * b, S.d[contact, 0], S.d[contact, 1], S.D)
    S.pressed[k] = 0.0
    for i in range(k + 1, k + PER_CONTACT):
        pressed = S.D[i, 1] * S.left[k + 1] + S.D[i, 2] * S.left[k + 2]
        S.pressed[i] = (S.rise[i] - pressed) / S.unit[i]
    for i in range(k + 1, k + PER_CONTACT):
        for j in range(1, PER_CONTACT):
            S.D[i, j] /= S.unit[i] * S.unit[k + j]


@kernel
def follow_rows(F, sigma, S):
    """The step for y that belongs to that for xi."""
    statics, later, step = F.equalities + F.limits, S.later, S.y_step
    for k in range(len(F.r)):
        later[k] = felt(F, k, S.xi_step, 0.0) / S.unit[k]
        step[k] = -S.left[k] - later[k]
    for k in range(statics):
        step[k] *= S.K[k, 0]
    for c in range(len(F.mu)):
        k = statics + PER_CONTACT * c
        if c < F.journals:
            multiply(k, S.K, step)
        elif has_cone(F, c):
            step[k] -= (S.u[k + 1] * later[k + 1] + S.u[k + 2] * later[k + 2]) / rounded_speed(k, sigma, S)
            multiply(k, S.K, step)
        else:
            step[k] *= S.K[k, 0]
            step[k + 1] = step[k + 2] = 0.0
