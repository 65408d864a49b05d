"""Ineffective rows: rows without effect in the present configuration.

The diagonal entry W_kk of the Delassus matrix is the response of row k to its own unit multiplier.  Where other joints
constrain the same direction, or in a singular configuration, W_kk is round-off, which W alone does not show.  The
threshold is therefore taken from the response of the same impulses on the unconstrained bodies: a row is ineffective if

    W_kk <= sum_i  s_f |f_i|^2 / m_i  +  s_t |t_i|^2 / tr I_i

with the impulses f_i and t_i on the bodies, at their centres of mass, and the relative tolerances s_f and s_t.

At the angle x from a singular configuration W_kk is of the order of x^2, and a constraint error c that projection
leaves displaces the mechanism by c / x from its branch. s_f drops the row long before c / x reaches x.  Moments of
inertia vary by many more orders of magnitude than masses, so that s_t is at round-off level.  In the stages of an
integrator the mechanism is off the constraint manifold by an error e, and an ineffective row shows an apparent rotation
of that order: both tolerances grow with e^2.

An effective row of which little more than its dependence on other rows is left has a pivot that is a difference of
responses.  The round-off of these is relative to the response of the unconstrained bodies, R: an entry W_kj has an
error of e sqrt(R_k W_jj), and the pivot one of e sqrt(R_k W_kk).  The size of row k, to which pivots are compared, is
therefore sqrt(R_k W_kk) where W_kk is much smaller than R_k.

In maximal coordinates, W_kk is the sum of such responses to row k and to the primary rows that balance it.  Their
round-off exceeds that of row k alone where they act on lighter bodies between those of row k.
"""

from __future__ import annotations

import math

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force
from multibody_cli.spatial.products import cross, dot

FORCE_TOLERANCE, MOMENT_TOLERANCE, MAX_TOLERANCE = 1e-9, 1e-13, 1e-8

WEAK = 1e-3
"""Response of a row, relative to that of the unconstrained bodies, below which it is much smaller."""

ROTATION_PER_ERROR = 10.0
"""Rotation, rad, that is assumed for an error of position of the length of the mechanism."""


@formula
def ineffective_tolerances(error):
    """Return the tolerances s_f and s_t; `error` is the largest weighted error of position."""
    seeming = min((ROTATION_PER_ERROR * error) ** 2, MAX_TOLERANCE)
    return max(FORCE_TOLERANCE, seeming), max(MOMENT_TOLERANCE, seeming)


@kernel
def unconstrained_responses(links, work):
    """Return the responses of the unconstrained bodies to the impulses `work.wrenches`: of forces, and of moments."""
    of_forces, of_moments = 0.0, 0.0
    for i in range(1, len(links)):
        by_force, by_moment = unconstrained_response(links[i], work.bodies[i], load_force(work.wrenches[i]))
        of_forces += by_force
        of_moments += by_moment
    return of_forces, of_moments


@kernel
def ineffective_threshold(links, work, error) -> float:
    """Value of W_kk up to which the row with the impulses `work.wrenches` is ineffective.

    `error` is the largest weighted error of position.
    """
    s_f, s_t = ineffective_tolerances(error)
    of_forces, of_moments = unconstrained_responses(links, work)
    return s_f * of_forces + s_t * of_moments


@formula
def unconstrained_response(link, body, wrench):
    """Response of one unconstrained body to the impulse `wrench` about the origin of its joint frame.

    The part of the force at its centre of mass, |f|^2 / m, and that of the moment, |t|^2 / tr I.
    """
    m, central, t = link.mass, link.central, wrench.t
    trace, of_force, of_moment = central[0] + central[3] + central[5], 0.0, 0.0
    if m > 0.0:
        of_force = dot(wrench.f, wrench.f) / m
        t = t - (1.0 / m) * cross(load(body.h), wrench.f)
    if trace > 0.0:
        of_moment = dot(t, t) / trace
    return of_force, of_moment


@formula
def ineffective_response(link, body, wrench, s_f, s_t):
    """Part of one body in the threshold, for the impulse `wrench` about the origin of its joint frame."""
    of_force, of_moment = unconstrained_response(link, body, wrench)
    return s_f * of_force + s_t * of_moment


@formula
def row_size(response, unconstrained):
    """Return the size of a row with the response W_kk, and R_k of the unconstrained bodies, to compare its pivots."""
    if 0.0 < response < WEAK * unconstrained:
        return math.sqrt(response * unconstrained)
    return response


@kernel
def primary_threshold(links, work) -> float:
    """Return the value of W_kk up to which it is round-off of the impulses of primary rows that balance row k.

    Their multipliers are those of the response to a unit impulse of row k.
    """
    total = 0.0
    for r in range(len(work.rhs)):
        row = work.rows[r]
        if row.primary:
            for k in range(row.first_term, row.last_term):
                i, W = work.terms[k].body, row.multiplier * load_force(work.terms[k])
                total += ineffective_response(links[i], work.bodies[i], W, MOMENT_TOLERANCE, MOMENT_TOLERANCE)
    return total


@kernel
def drop_ineffective_row(W, k, count):
    """Zero row and column k of the lower triangle of W (count, count): the row gets no multiplier and no response."""
    for j in range(k + 1):
        W[k, j] = 0.0
    for i in range(k, count):
        W[i, k] = 0.0
