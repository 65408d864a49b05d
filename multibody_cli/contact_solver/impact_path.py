"""The impact of one contact with friction, as a process: compression, then restitution, while the slip changes.

The normal impulse s grows from 0.  With the Delassus matrix W (3, 3) of the normal and the tangents, the velocity u
(3,) and the impulse x (3,) of the contact,

    dx/ds = (1, g),   du/ds = W dx/ds,   g = -mu u_t / |u_t|                     while it slips,
                                         g = -W_tt^-1 W_tn                       while it sticks, if |g| <= mu,
                                         (W_tt + l) g = -W_tn, |g| = mu, l > 0   when it starts to slip from rest.

The normal does the work N = integral of u_n ds.  The impact ends at u_n >= 0, where the normal has returned e^2 of the
energy that it absorbed (Stronge's energetic coefficient of restitution):

    N = (1 - e^2) N_min .

A contact that is compressed again in its restitution stores that energy without loss up to N_min, as an unloading
spring does.

While the slip turns, its path is followed in the variable tau with ds = |u_t| dtau, where it is smooth up to the end
of the slip:

    dx/dtau = (|u_t|, -mu u_t),   dN/dtau = |u_t| u_n .

Its rates are at most |W_tn| + mu tr W_tt.  The classical Runge-Kutta method with steps of `STEP` and more over this
bound computes the impulse to about 1e-5.
With a constant direction of friction, as in sticking, u is linear in s, and this part ends in closed form.

With mu W_tn = 0, or a slip of constant direction, the result is Newton's restitution.

Sources: Keller, J. Appl. Mech. 53 (1986); Stronge, Proc. R. Soc. A 431 (1990); Bhatt and Koechling, J. Appl. Mech. 62
(1995).
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.products import ZERO, dot
from multibody_cli.spatial.values import Mat3, Vec3

STEP, LONGEST_STEP, GROWTH = 0.1, 1.0, 1.03
"""First and longest step of a path that turns, relative to the inverse of the bound of its rates, and their ratio.

The fastest changes of a path decay first, and those of an ill-conditioned W are slower by up to its condition number.
"""

STRAIGHT = 1e-13
"""Slip at the end of friction of constant direction, relative to the velocity before the impact, that counts as 0."""

ROUND_OFF = 1e-12
"""Bound of zero: of velocity relative to that before the impact, and of work relative to that of compression."""

SINGULAR = 1e-12
"""Smaller eigenvalue of W_tt, relative to the larger one, that counts as 0: the contact slips in one direction only.

Responses of a mechanism have round-off of about 1e-15.
"""

MAX_STEPS = 10000
"""Largest number of steps of a path that turns; from then on the slip keeps its direction to its end."""

MAX_PARTS = 100
"""Largest number of parts of constant direction beyond."""

BISECTIONS = 60

MAX_ITERATIONS = 60
"""Largest number of iterations for the slip that starts from rest."""


@kernel
def follow_impact(delassus, mu, e, velocity, impulse) -> float:
    """Compute the impulse (3,) of an impact, and the velocity (3,) after it in place; return the loss by friction.

    The Delassus matrix is (3, 3), kg^-1; the energy is in J.
    """
    W = Mat3(vector(delassus[0]), vector(delassus[1]), vector(delassus[2]))
    before = u = vector(velocity)
    x, work, lowest, lost = ZERO, 0.0, 0.0, 1.0 - e * e
    speed = math.sqrt(dot(u, u))
    still = ROUND_OFF * speed
    step = STEP
    for k in range(MAX_STEPS + MAX_PARTS):
        missing = lost * lowest - work
        if u.x >= 0.0 and missing <= -ROUND_OFF * lowest:
            break
        if k < MAX_STEPS and math.hypot(u.y, u.z) > still and turns(W, mu, u, speed):
            change, done = turning_part(W, mu, u, missing, step)
            step = min(GROWTH * step, LONGEST_STEP)
        else:
            change, done = straight_part(W, mu, u, missing, still)
            step = STEP
            if change.x == 0.0:
                u = Vec3(0.0, u.y, u.z)
                break
        x, u, work = x + change, u + W @ change, work + done
        u, lowest = Vec3(u.x if abs(u.x) > still else 0.0, u.y, u.z), min(lowest, work)
    velocity[0], velocity[1], velocity[2] = u
    impulse[0], impulse[1], impulse[2] = x
    return max(work - 0.5 * dot(x, before + u), 0.0)


@formula
def vector(a):
    """Return an array (3,) as a vector."""
    return Vec3(a[0], a[1], a[2])


@formula
def turns(W, mu, u, speed):
    """Return whether friction of constant direction leaves a slip at its end that matters beside a speed."""
    slip = math.hypot(u.y, u.z)
    rate = W @ Vec3(1.0, -mu * u.y / slip, -mu * u.z / slip)
    return slip * abs(rate.z * u.y - rate.y * u.z) > STRAIGHT * speed * abs(rate.y * u.y + rate.z * u.z)


# --- slip that turns ------------------------------------------------------------------------------------------------
@formula
def rates(mu, u):
    """Return dx/dtau and dN/dtau."""
    slip = math.hypot(u.y, u.z)
    return Vec3(slip, -mu * u.y, -mu * u.z), slip * u.x


@formula
def advance(W, mu, u, h):
    """Return the impulse and the work of a step of h in tau."""
    a, p = rates(mu, u)
    b, q = rates(mu, u + (0.5 * h) * (W @ a))
    c, r = rates(mu, u + (0.5 * h) * (W @ b))
    d, s = rates(mu, u + h * (W @ c))
    return (h / 6.0) * (a + 2.0 * b + 2.0 * c + d), (h / 6.0) * (p + 2.0 * q + 2.0 * r + s)


@kernel
def turning_part(W, mu, u, missing, share) -> tuple[Vec3, float]:
    """Return the impulse and the work of a step, up to the end of compression or to the work that is missing."""
    step = share / (math.hypot(W.x.y, W.x.z) + mu * (W.y.y + W.z.z))
    change, work = advance(W, mu, u, step)
    if not passes(u, u + W @ change, work, missing):
        return change, work
    low, high = 0.0, step
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        change, work = advance(W, mu, u, middle)
        if passes(u, u + W @ change, work, missing):
            high = middle
        else:
            low = middle
    return advance(W, mu, u, high)


@formula
def passes(before, after, work, missing):
    """Return whether a step passes the end of compression, or the work that is missing at the end of restitution."""
    return after.x >= 0.0 if before.x < 0.0 else work >= missing


# --- friction of constant direction ---------------------------------------------------------------------------------
@kernel
def straight_part(W, mu, u, missing, still) -> tuple[Vec3, float]:
    """Return the impulse and the work while friction has one direction, in one phase of the impact.

    They are 0 if the contact sticks, and no impulse moves it along the normal, as the tip of an arm of two hinges.
    """
    slip, length = math.hypot(u.y, u.z), math.inf
    if slip > still:
        direction = Vec3(1.0, -mu * u.y / slip, -mu * u.z / slip)
        rate = W @ direction
        lengthwise = (rate.y * u.y + rate.z * u.z) / slip
        length = slip / -lengthwise if lengthwise < 0.0 else math.inf
    else:
        direction = friction_from_rest(W, mu)
        rate = W @ direction
        if rate.x <= ROUND_OFF * W.x.x:
            return ZERO, 0.0
    if u.x * rate.x < 0.0:
        length = min(length, -u.x / rate.x)
    if u.x >= 0.0:
        square = u.x * u.x + 2.0 * rate.x * missing
        if square >= 0.0:
            length = min(length, 2.0 * missing / (u.x + math.sqrt(square)))
    return length * direction, (u.x + 0.5 * length * rate.x) * length


@kernel
def friction_from_rest(W, mu) -> Vec3:
    """Return the impulse per normal impulse of a contact without slip: it sticks, or slips from rest.

    The components along the principal axes of W_tt are independent.
    """
    mean, half = 0.5 * (W.y.y + W.z.z), math.hypot(0.5 * (W.y.y - W.z.z), W.y.z)
    one, other = mean + half, mean - half
    if not one > 0.0:
        return Vec3(1.0, 0.0, 0.0)
    angle = 0.5 * math.atan2(2.0 * W.y.z, W.y.y - W.z.z)
    c, s = math.cos(angle), math.sin(angle)
    of_one, of_other = c * W.x.y + s * W.x.z, c * W.x.z - s * W.x.y
    if other <= SINGULAR * one:  # a force along this axis moves nothing, and the other ones do not move it
        other, of_other = one, 0.0
    shift = x = y = 0.0
    for _ in range(MAX_ITERATIONS):
        x, y = -of_one / (one + shift), -of_other / (other + shift)
        size = math.hypot(x, y)
        if size <= mu * (1.0 + 1e-15) or mu == 0.0:
            break
        shift += size * size / (x * x / (one + shift) + y * y / (other + shift)) * (size - mu) / mu
    size = math.hypot(x, y)
    share = mu / size if size > mu else 1.0
    return Vec3(1.0, share * (c * x - s * y), share * (s * x + c * y))
