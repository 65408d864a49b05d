"""The impact of one contact with friction, as a process: compression, then restitution, while the slip changes.

The normal impulse s grows from 0.  With the Delassus matrix W (3, 3) of the normal and the tangents, the velocity u
(3,) and the impulse x (3,) of the contact,

    dx/ds = (1, g),   du/ds = W dx/ds,   g = -mu u_t / |u_t|                     while it slips,
                                         g = -W_tt^-1 W_tn                       while it sticks, if |g| <= mu,
                                         (W_tt + l) g = -W_tn, |g| = mu, l > 0   when it starts to slip from rest.

It ends where the normal has returned e^2 of the energy that it absorbed in compression (Stronge's energetic
coefficient of restitution).  The impulse is a polygon: on each of its sides u is linear in s, so that the works of
normal and friction have closed forms.  The sides end where the slip comes to rest.  Where it turns, they are so short
that it turns by `TURN` at most, and have the direction of the friction at their middle.  Sticking and slip from rest
last to the end.

With mu W_tn = 0, or a slip of constant direction, the result is Newton's restitution.

Sources: Keller, J. Appl. Mech. 53 (1986); Stronge, Proc. R. Soc. A 431 (1990); Bhatt and Koechling, J. Appl. Mech. 62
(1995).
"""

from __future__ import annotations

import math

from multibody_cli.kernel import kernel

TURN = 0.01
"""Largest angle by which the slip turns on a side of the polygon, rad."""

STRAIGHT = 1e-12
"""Rate of the slip across its direction, relative to the whole rate, that counts as 0."""

AT_REST = 1e-14
"""Slip relative to the velocity of the contact before the impact that counts as 0."""

SINGULAR = 1e-14
"""Determinant of W_tt, relative to its trace, that counts as 0, as for a contact that slips in one direction only."""

MAX_SIDES = 10000
"""Largest number of sides."""

MAX_ITERATIONS = 60
"""Largest number of iterations for the slip that starts from rest."""


@kernel
def follow_impact(W, mu, e, u, x) -> float:
    """Compute the impulse x (3,) of an impact, and the velocity u (3,) after it in place.

    Return the energy that friction dissipates, J.  `W` is (3, 3), kg^-1.
    """
    still = AT_REST * math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    x[0] = x[1] = x[2] = 0.0
    absorbed = returned = dissipated = 0.0
    for _ in range(MAX_SIDES):
        along, across, length, stops = next_side(W, mu, u, still)
        rate = W[0, 0] + W[0, 1] * along + W[0, 2] * across
        ends = False
        if u[0] < 0.0 or (u[0] == 0.0 and rate < 0.0):
            if rate > 0.0 and -u[0] < rate * length:
                absorbed += 0.5 * u[0] * u[0] / rate
                end = (-u[0] + math.sqrt(2.0 * rate * max(e * e * absorbed - returned, 0.0))) / rate
                ends = end <= length
                returned += 0.0 if ends else 0.5 * (u[0] + rate * length) ** 2 / rate
            else:
                end, absorbed = length, absorbed - (u[0] + 0.5 * rate * length) * length
        else:
            missing = max(e * e * absorbed - returned, 0.0)
            if rate < 0.0 and u[0] < -rate * length:
                length, stops = -u[0] / rate, False
            square = u[0] * u[0] + 2.0 * rate * missing
            end = 2.0 * missing / (u[0] + math.sqrt(square)) if square > 0.0 else 0.0
            ends = square >= 0.0 and end <= length
            returned += 0.0 if ends else (u[0] + 0.5 * rate * length) * length
        end = end if ends else length
        first, second = u[1], u[2]
        x[0] += end
        x[1] += along * end
        x[2] += across * end
        for i in range(3):
            u[i] += (W[i, 0] + W[i, 1] * along + W[i, 2] * across) * end
        if stops and not ends:
            u[1] = u[2] = 0.0
        dissipated -= 0.5 * end * (along * (first + u[1]) + across * (second + u[2]))
        if ends:
            break
    return max(dissipated, 0.0)


@kernel
def next_side(W, mu, u, still) -> tuple[float, float, float, bool]:
    """Return the friction along both tangents per normal impulse, the length of the side, and whether slip ends there.

    The length is in terms of the normal impulse; infinity if the side ends with the impact.
    """
    slip = math.hypot(u[1], u[2])
    if slip <= still:
        along, across = friction_from_rest(W, mu)
        return along, across, math.inf, False
    along, across = -mu * u[1] / slip, -mu * u[2] / slip
    a = W[1, 0] + W[1, 1] * along + W[1, 2] * across
    b = W[2, 0] + W[2, 1] * along + W[2, 2] * across
    lengthwise, turning = (a * u[1] + b * u[2]) / slip, abs(b * u[1] - a * u[2]) / slip
    stop = slip / -lengthwise if lengthwise < 0.0 else math.inf
    if turning <= STRAIGHT * math.hypot(a, b):
        return along, across, stop, stop < math.inf
    length = min(TURN * slip / turning, 0.5 * stop)
    first, second = u[1] + 0.5 * length * a, u[2] + 0.5 * length * b
    middle = math.hypot(first, second)
    return -mu * first / middle, -mu * second / middle, length, False


@kernel
def friction_from_rest(W, mu) -> tuple[float, float]:
    """Return the friction per normal impulse of a contact without slip: it sticks, or slips from rest."""
    trace = W[1, 1] + W[2, 2]
    if not trace > 0.0:
        return 0.0, 0.0
    shift = SINGULAR * trace if W[1, 1] * W[2, 2] - W[1, 2] * W[1, 2] <= SINGULAR * trace * trace else 0.0
    along = across = size = 0.0
    for _ in range(MAX_ITERATIONS):
        a, b, c = W[1, 1] + shift, W[1, 2], W[2, 2] + shift
        det = a * c - b * b
        along, across = (b * W[2, 0] - c * W[1, 0]) / det, (b * W[1, 0] - a * W[2, 0]) / det
        size = math.hypot(along, across)
        if size <= mu * (1.0 + 1e-15) or mu == 0.0:
            break
        square = (c * along * along - 2.0 * b * along * across + a * across * across) / det
        shift += size * size / square * (size - mu) / mu
    if size > mu:
        along, across = along * mu / size, across * mu / size
    return along, across
