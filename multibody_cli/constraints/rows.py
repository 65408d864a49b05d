"""Constraint rows: the common form of all constraints, couplings, limits and loop closures.

A row is a linear combination of body twists and of coordinate rates, given at three levels:

    position      error                                        0 for a nonholonomic row
    velocity      sum_k w_k . V_k + c_k v_k + rate
    acceleration  sum_k w_k . A_k + c_k a_k + bias

and each level is the time derivative of the one above.  Term k is either a wrench w_k on a body, about the origin of
its joint frame in world axes, paired with the body's twist V_k = (w, v) and true acceleration A_k = (alpha, a); or it
is a coefficient c_k of a coordinate.  An equality requires the value 0, a one-sided row a value of at least 0.  The
multiplier x of a row applies the wrenches x w_k and the generalized forces x c_k.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import cross, power
from multibody_cli.spatial.values import Force, Motion

ROW = np.dtype(
    [
        ("first_term", "i8"),
        ("last_term", "i8"),
        ("holonomic", "i8"),  # whether the row constrains positions as well
        ("one_sided", "i8"),  # whether it requires a value >= 0, instead of 0
        ("primary", "i8"),  # whether the method satisfies it within its own factorization
        ("active", "i8"),  # 1 in the active set, as an equality is unless it never has an effect; -1 while suspended
        ("in_contact", "i8"),  # whether bodies of a limit of a coordinate are in an island of contacts in this step
        ("account", "i8"),  # in the ledger: impact losses of a one-sided row, or work of a prescribed velocity; else -1
        ("drive", "i8"),  # in the ledger: work of a one-sided row whose required value changes with time; else -1
        ("weight", "f8"),  # 1 / its error where a body turns by 1 rad or moves by the length of the mechanism
        ("speed", "f8"),  # its value at velocity level in the slowest motion that counts
        ("error", "f8"),
        ("rate", "f8"),
        ("bias", "f8"),
        ("residual", "f8"),  # its value at the present level
        ("multiplier", "f8"),
        ("pressing", "f8"),  # impulse by forces that press a one-sided row, which its own impulse may take back
        ("restitution", "f8"),  # of an impact on a one-sided row
        ("start_error", "f8"),  # error and value at velocity level of such a row at the start of the step
        ("start_rate", "f8"),  # NaN before the first step, and behind a change of the state
        ("depth", "f8"),  # -error at the end of the step, if positive, before it is corrected
        ("approach", "f8"),  # values at velocity level before and after an impact
        ("rebound", "f8"),
        ("loss", "f8"),  # energy that it dissipates, J
    ]
)

TERM = np.dtype([("body", "i8"), ("iv", "i8"), ("coefficient", "f8"), ("t", "f8", 3), ("f", "f8", 3)])
"""A wrench on a body (iv < 0), or a coefficient of the coordinate iv (body 0)."""

IMPACT_SPEED = 1e-6
"""Approach speed of limits and contacts below which restitution is not applied, relative to `speed` of the row."""


@formula
def write_level(row, error, rate, bias):
    """Write error, rate and bias of a row: its values at the three levels without its terms."""
    row.error = error
    row.rate = rate
    row.bias = bias


@formula
def write_wrench(term, body, t, f):
    """Write a term as the wrench (t, f) on a body, about the origin of its joint frame, world axes."""
    term.body = body
    term.iv = -1
    store_force(term, Force(t, f))


@formula
def write_point_force(terms, k, row, r, f):
    """Write the force f at the lever arm r of the body `row` as term k of a row; return the number of the next term.

    The ground does not move and has no term.
    """
    if row > 0:
        write_wrench(terms[k], row, cross(r, f), f)
        k += 1
    return k


@formula
def write_coefficient(term, iv, coefficient):
    """Write a term as a coefficient of the coordinate iv."""
    term.body = 0
    term.iv = iv
    term.coefficient = coefficient


@formula
def constraint_violation(row, error):
    """Return the violation of a row with this error or rate; nonnegative.  A pressed one-sided row is an equality."""
    return max(-error, 0.0) if row.one_sided and row.pressing == 0.0 else abs(error)


# --- values of rows -----------------------------------------------------------------------------------------------
@kernel
def velocity_of_row(row, terms, bodies, v):
    """Value of a row at velocity level, for the twists of the bodies and the rates v (nv,)."""
    total = row.rate
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv >= 0:
            total += term.coefficient * v[term.iv]
        else:
            body = bodies[term.body]
            total += power(Motion(load(body.w), load(body.v)), load_force(term))
    return total


@kernel
def bias_acceleration_of_row(row, terms, bodies) -> float:
    """Value of a row at acceleration level without its coefficients, with zero dv/dt of all free coordinates."""
    total = row.bias
    ground_acceleration = load(bodies[0].a)  # -g, which represents gravity
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv < 0 and term.body > 0:
            body = bodies[term.body]
            total += power(Motion(load(body.alpha), load(body.a) - ground_acceleration), load_force(term))
    return total


@kernel
def prescribed_acceleration_of_row(row, terms, driven, a):
    """Share of the prescribed coordinates in the coefficients of a row at acceleration level, for dv/dt `a` (nv,)."""
    total = 0.0
    for k in range(row.first_term, row.last_term):
        if terms[k].iv >= 0 and driven[terms[k].iv]:
            total += terms[k].coefficient * a[terms[k].iv]
    return total


@kernel
def acceleration_of_row(row, terms, bodies, a):
    """Value of a row at acceleration level, for dv/dt `a` (nv,) and the accelerations of the bodies."""
    return bias_acceleration_of_row(row, terms, bodies) + jacobian_product_of_row(row, terms, bodies, a)


@kernel
def jacobian_product_of_row(row, terms, bodies, y):
    """Product J y of a row with the changes (dw, dv) of the bodies and y (nv,) of the coordinates."""
    total = 0.0
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv >= 0:
            total += term.coefficient * y[term.iv]
        else:
            body = bodies[term.body]
            total += power(Motion(load(body.dw), load(body.dv)), load_force(term))
    return total


@kernel
def apply_row_impulse(row, terms, multiplier, wrenches, x):
    """Add the impulses of a row's multiplier to `wrenches` on the bodies, and to x (nv,) on the coordinates."""
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv >= 0:
            x[term.iv] += multiplier * term.coefficient
        else:
            wrench = wrenches[term.body]
            store_force(wrench, load_force(wrench) + multiplier * load_force(term))
