"""Smoothed Coulomb's law as a system of equations, and a Newton step for it.

In units in which every cone is |beta| <= alpha, Coulomb's law for a contact is (de Saxce)

    x and z in the cone,   x.z = 0,   z = (u_n + |u_t|, u_t)

or x = P(y), z = P(y) - y for some y, where P projects onto the cone.  With smoothing by sigma (`cones`), x and
z are in the interior of their cones.  With a guess of the impulses and a compliance eps,

    u + (|u_t|, 0) + eps (P(y) - guess) = P(y) - y,   u = B xi + b,   xi = xi0 + B^T P(y)

are equations for y and xi.  Eliminating y contact by contact leaves a system for xi with the sparsity of the contact
graph.  Limits are cones of one dimension; equalities have x = y for all y.  Friction patches have discs of given
radius, without |u_t|.  The convex relaxation has no |u_t| either.

A Newton step changes sigma^2 as well.  Because x and z are nearly linear in sigma^2, steps follow the solution path.

Sources: de Saxce and Feng, Math. Comput. Model. 28 (1998); Qi, Sun and Zhou, A new look at smoothing Newton methods,
Math. Program. 87 (2000) (sigma as an unknown).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.block_matrix import add_rows, clear, eliminate, substitute
from multibody_cli.contact_solver.friction.cones import (
    multiply,
    project_smoothed_cone,
    project_smoothed_disc,
    project_smoothed_half_line,
    write_flat,
    write_function,
)
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    accumulate_transposed,
    add_row_product,
    compute_row_velocities,
)
from multibody_cli.kernel import Floats, formula, kernel

SPEED_SMOOTHING = 1e-3
"""Smoothing of the sliding speed |u_t|, relative to sigma."""

MIN_CONE_FRICTION = 1e-3
"""Coefficient of friction below which a contact is frictionless here, because its cone is degenerate."""


class SmoothedScratch(NamedTuple):
    """Work arrays for m rows and n = 6 nodes velocities, in the units of the equations."""

    unit: Annotated[Floats, "m"]  # scale: impulses here are `unit` times those of the problem
    guess: Annotated[Floats, "m"]
    y: Annotated[Floats, "m"]
    y_trial: Annotated[Floats, "m"]  # at a trial step
    y_step: Annotated[Floats, "m"]
    xi_trial: Annotated[Floats, "6 * nodes"]  # at a trial step
    xi_step: Annotated[Floats, "6 * nodes"]
    x: Annotated[Floats, "m"]  # P(y)
    u: Annotated[Floats, "m"]
    velocity_change: Annotated[Floats, "m"]  # change of u in a step
    residual: Annotated[Floats, "m"]  # residual of the equations of the rows
    xi_residual: Annotated[Floats, "6 * nodes"]
    slope: Annotated[Floats, "m"]  # see `cones`
    square_slope: Annotated[Floats, "m"]
    d: Annotated[Floats, "contacts", 2]
    impulse: Annotated[Floats, "m"]  # impulses in the units of the problem
    K: Annotated[Floats, "m", PER_CONTACT]  # derivative of y by -z: (1 - P' + eps P')^-1
    D: Annotated[Floats, "m", PER_CONTACT]  # derivative of the impulses by -u, in the units of the problem


@kernel
def has_cone(F, c):
    """Return whether contact c has a friction cone, with a limit proportional to its normal impulse."""
    return c >= F.friction_patches and F.mu[c] >= MIN_CONE_FRICTION


@kernel
def initialize(F, xi0, x, xi, S) -> float:
    """Compute the units, the scaled guess and the initial y; return the size of the velocities of the problem."""
    m, constraint_rows, size = len(x), F.equalities + F.limits, 0.0
    for i in range(len(xi)):
        size += (xi[i] - xi0[i]) ** 2
    size = math.sqrt(size)
    for k in range(m):
        S.unit[k] = math.sqrt(F.w[k])
        size = max(size, abs(F.r[k]) / S.unit[k])
    for c in range(len(F.mu)):
        if has_cone(F, c):
            S.unit[constraint_rows + PER_CONTACT * c] *= F.mu[c]
    compute_row_velocities(F, xi, S.u)
    for k in range(m):
        S.u[k] /= S.unit[k]
        S.guess[k] = S.unit[k] * x[k]
        S.y[k] = S.guess[k] - S.u[k]
    for c in range(len(F.mu)):
        if has_cone(F, c) and not F.convex:
            k = constraint_rows + PER_CONTACT * c
            S.y[k] -= math.hypot(S.u[k + 1], S.u[k + 2])
    return size


# --- equations ------------------------------------------------------------------------------------------------------
@kernel
def compute_residual(F, compliance, sigma, xi0, y, xi, S) -> float:
    """Compute the residual of the equations at y and xi, and the data of a Newton step; return its norm."""
    m, constraint_rows, square, residual = len(F.r), F.equalities + F.limits, sigma * sigma, S.residual
    compute_row_velocities(F, xi, S.u)
    for k in range(m):
        S.u[k] /= S.unit[k]
    for k in range(F.equalities):
        S.x[k], S.slope[k], S.square_slope[k] = y[k], 1.0, 0.0
    for k in range(F.equalities, constraint_rows):
        project_smoothed_half_line(k, square, y, S.x, S.slope, S.square_slope)
    for c in range(len(F.mu)):
        k = constraint_rows + PER_CONTACT * c
        if c < F.friction_patches:
            project_smoothed_disc(c, k, square, S.guess[k], y, S.x, S.slope, S.square_slope, S.d)
        elif has_cone(F, c):
            project_smoothed_cone(c, k, square, y, S.x, S.slope, S.square_slope, S.d)
        else:
            project_smoothed_half_line(k, square, y, S.x, S.slope, S.square_slope)
    for k in range(m):
        residual[k] = S.u[k] + compliance * (S.x[k] - S.guess[k]) - (S.x[k] - y[k])
    for c in range(len(F.mu)):
        k = constraint_rows + PER_CONTACT * c
        if has_cone(F, c):
            if not F.convex:
                residual[k] += smoothed_speed(k, sigma, S) - SPEED_SMOOTHING * sigma
        elif c >= F.friction_patches:
            for j in range(k + 1, k + PER_CONTACT):
                S.x[j] = S.slope[j] = S.square_slope[j] = residual[j] = 0.0
    return residual_norm(xi0, xi, m, F, S)


@kernel
def smoothed_speed(k, sigma, S):
    """Return the smoothed |u_t| of the contact with rows from k on, always positive."""
    return math.sqrt(S.u[k + 1] ** 2 + S.u[k + 2] ** 2 + (SPEED_SMOOTHING * sigma) ** 2)


@kernel
def residual_norm(xi0, xi, m, F, S) -> float:
    """Compute the residual of the equations for xi from x; return the norm of all residuals."""
    total = 0.0
    for k in range(m):
        total += S.residual[k] * S.residual[k]
        S.impulse[k] = S.x[k] / S.unit[k]
    for i in range(len(xi)):
        S.xi_residual[i] = 0.0
    accumulate_transposed(F, S.impulse[:m], S.xi_residual)
    for i in range(len(xi)):
        S.xi_residual[i] = xi[i] - xi0[i] - S.xi_residual[i]
        total += S.xi_residual[i] * S.xi_residual[i]
    return math.sqrt(total)


# --- step -----------------------------------------------------------------------------------------------------------
@kernel
def compute_step(F, compliance, sigma, target, n, S, M):
    """Compute the Newton step for y, xi and sigma^2, with the target value target^2.

    Rows: residual + z_step + (1 - P' + eps P') y_step = 0, with |u_t| in z_step; xi, with x_step = P' y_step +
    square_slope (change of sigma^2): xi_residual + xi_step - B^T x_step = 0.
    """
    m, constraint_rows, square_slope = len(F.r), F.equalities + F.limits, target * target - sigma * sigma
    for k in range(m):
        S.square_slope[k] *= square_slope
        S.residual[k] -= (1.0 - compliance) * S.square_slope[k]
    clear(n, M)
    for k in range(constraint_rows):
        eliminate_line(k, compliance, S)
        add_rows(F, k, 1, S.D, 1.0, M)
    for c in range(len(F.mu)):
        k = constraint_rows + PER_CONTACT * c
        if c < F.friction_patches:
            eliminate_disc(c, k, compliance, S)
            add_rows(F, k, PER_CONTACT, S.D, 1.0, M)
        elif has_cone(F, c):
            if not F.convex:
                S.residual[k] += (
                    SPEED_SMOOTHING * (SPEED_SMOOTHING * sigma / smoothed_speed(k, sigma, S) - 1.0) * (target - sigma)
                )
            eliminate_cone(c, k, compliance, sigma, F.convex, S)
            add_rows(F, k, PER_CONTACT, S.D, 1.0, M)
        else:
            eliminate_line(k, compliance, S)
            add_rows(F, k, 1, S.D, 1.0, M)
    eliminate(n, M)
    step = S.xi_step[:n]
    for i in range(n):
        step[i] = -S.xi_residual[i]
    accumulate_transposed(F, S.impulse[:m], step)
    substitute(n, M, step)
    back_substitute_rows(F, sigma, S)


@formula
def compliance_eigenvalue(slope, compliance):
    """Return the eigenvalue of K along an eigenvector of P' with eigenvalue `slope`."""
    return 1.0 / ((1.0 - slope) + compliance * slope)


@kernel
def eliminate_line(k, compliance, S):
    """Compute K, D and the change of impulse at fixed xi, for one row."""
    S.K[k, 0] = compliance_eigenvalue(S.slope[k], compliance)
    S.impulse[k] = (S.square_slope[k] - S.slope[k] * S.K[k, 0] * S.residual[k]) / S.unit[k]
    S.D[k, 0] = S.slope[k] * S.K[k, 0] / S.unit[k] ** 2


@kernel
def eliminate_cone(contact, k, compliance, sigma, convex, S):
    """Compute K, D and the change of impulse at fixed xi, for the three rows of a contact."""
    inner, outer, across = S.slope[k], S.slope[k + 1], S.slope[k + 2]
    a, b, c = (
        compliance_eigenvalue(inner, compliance),
        compliance_eigenvalue(outer, compliance),
        compliance_eigenvalue(across, compliance),
    )
    write_function(k, a, b, c, S.d[contact, 0], S.d[contact, 1], S.K)
    write_function(k, inner * a, outer * b, across * c, S.d[contact, 0], S.d[contact, 1], S.D)
    speed = smoothed_speed(k, sigma, S)
    for i in range(k, k + PER_CONTACT):
        impulse = S.D[i, 0] * S.residual[k] + S.D[i, 1] * S.residual[k + 1] + S.D[i, 2] * S.residual[k + 2]
        S.impulse[i] = (S.square_slope[i] - impulse) / S.unit[i]
    for i in range(k, k + PER_CONTACT):
        if not convex:
            for j in range(1, PER_CONTACT):
                S.D[i, j] += S.D[i, 0] * S.u[k + j] / speed
        for j in range(PER_CONTACT):
            S.D[i, j] /= S.unit[i] * S.unit[k + j]


@kernel
def eliminate_disc(contact, k, compliance, S):
    """Compute K, D and the change of impulse at fixed xi, for a friction patch; the first row does not change."""
    along, across = S.slope[k + 1], S.slope[k + 2]
    a, b = compliance_eigenvalue(along, compliance), compliance_eigenvalue(across, compliance)
    write_flat(k, a, b, S.d[contact, 0], S.d[contact, 1], S.K)
    write_flat(k, along * a, across * b, S.d[contact, 0], S.d[contact, 1], S.D)
    S.impulse[k] = 0.0
    for i in range(k + 1, k + PER_CONTACT):
        impulse = S.D[i, 1] * S.residual[k + 1] + S.D[i, 2] * S.residual[k + 2]
        S.impulse[i] = (S.square_slope[i] - impulse) / S.unit[i]
    for i in range(k + 1, k + PER_CONTACT):
        for j in range(1, PER_CONTACT):
            S.D[i, j] /= S.unit[i] * S.unit[k + j]


@kernel
def back_substitute_rows(F, sigma, S):
    """Compute the step for y from the step for xi."""
    constraint_rows, velocity_change, step = F.equalities + F.limits, S.velocity_change, S.y_step
    for k in range(len(F.r)):
        velocity_change[k] = add_row_product(F, k, S.xi_step, 0.0) / S.unit[k]
        step[k] = -S.residual[k] - velocity_change[k]
    for k in range(constraint_rows):
        step[k] *= S.K[k, 0]
    for c in range(len(F.mu)):
        k = constraint_rows + PER_CONTACT * c
        if c < F.friction_patches:
            multiply(k, S.K, step)
        elif has_cone(F, c):
            if not F.convex:
                change = S.u[k + 1] * velocity_change[k + 1] + S.u[k + 2] * velocity_change[k + 2]
                step[k] -= change / smoothed_speed(k, sigma, S)
            multiply(k, S.K, step)
        else:
            step[k] *= S.K[k, 0]
            step[k + 1] = step[k + 2] = 0.0
