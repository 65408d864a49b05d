"""Rows: the one language of everything that restrains a motion.

A row is a linear combination of body twists and of coordinate rates, known at three levels:

    position      error                                        0 for a row that restrains velocities alone
    velocity      sum_k w_k . V_k + c_k v_k + rate
    acceleration  sum_k w_k . A_k + c_k a_k + bias

and each level is the time derivative of the one above.  Term k is either a wrench w_k on a body, about the origin of
its joint frame in world axes, paired with the body's twist V_k = (w, v) and true acceleration A_k = (alpha, a); or it
is a coefficient c_k of a coordinate.  An equality holds a row at 0; a one-sided row keeps it at 0 or above.  The
multiplier of a row pushes with the wrenches w_k and the generalized forces c_k.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, kernel
from multibody_cli.spatial.memory import load, load_force, store_force
from multibody_cli.spatial.products import power
from multibody_cli.spatial.values import Force, Motion

ROW = np.dtype(
    [
        ("first_term", "i8"),
        ("last_term", "i8"),
        ("holonomic", "i8"),  # whether the row restrains positions as well
        ("one_sided", "i8"),  # whether it keeps its value at 0 or above, instead of at 0
        ("primary", "i8"),  # whether the method itself holds it, in its own factorization
        ("active", "i8"),  # whether it takes part: always for an equality
        ("account", "i8"),  # in the ledger, for what the impacts of a one-sided row dissipate
        ("error", "f8"),
        ("rate", "f8"),
        ("bias", "f8"),
        ("residual", "f8"),  # its value at the level that is being solved
        ("multiplier", "f8"),
    ]
)

TERM = np.dtype([("body", "i8"), ("iv", "i8"), ("coefficient", "f8"), ("t", "f8", 3), ("f", "f8", 3)])
"""A wrench on a body (iv < 0), or a coefficient of the coordinate iv (body 0)."""


@formula
def write_level(row, error, rate, bias):
    """What a row is at the levels of position, velocity and acceleration, beyond its terms."""
    row.error = error
    row.rate = rate
    row.bias = bias


@formula
def write_wrench(term, body, t, f):
    """Let a term be the wrench (t, f) on a body, about the origin of its joint frame."""
    term.body = body
    term.iv = -1
    store_force(term, Force(t, f))


@formula
def write_coefficient(term, iv, coefficient):
    """Let a term be a coefficient of a coordinate."""
    term.body = 0
    term.iv = iv
    term.coefficient = coefficient


# --- values of rows -----------------------------------------------------------------------------------------------
@kernel
def velocity_of_row(row, terms, bodies, v):
    """A row at the level of velocities."""
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
def placed_acceleration_of_row(row, terms, bodies) -> float:
    """A row at the level of accelerations, if every free coordinate kept its rate."""
    total = row.bias
    rise = load(bodies[0].a)  # of the ground, which stands for gravity
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv < 0 and term.body > 0:
            body = bodies[term.body]
            total += power(Motion(load(body.alpha), load(body.a) - rise), load_force(term))
    return total


@kernel
def acceleration_of_row(row, terms, bodies, a):
    """A row at the level of accelerations, for bodies that were placed and accelerated."""
    return placed_acceleration_of_row(row, terms, bodies) + change_of_row(row, terms, bodies, a)


@kernel
def change_of_row(row, terms, bodies, y):
    """What the changes (dw, dv) of the bodies and y of the coordinates make of a row."""
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
def impel_row(row, terms, multiplier, wrenches, x):
    """Add the impulses of a row's multiplier to those on the bodies, and to x (nv,) on the coordinates."""
    for k in range(row.first_term, row.last_term):
        term = terms[k]
        if term.iv >= 0:
            x[term.iv] += multiplier * term.coefficient
        else:
            wrench = wrenches[term.body]
            store_force(wrench, load_force(wrench) + multiplier * load_force(term))
