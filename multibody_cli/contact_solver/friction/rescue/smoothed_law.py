"""Smoothed Coulomb's law as a system of equations, and a Newton step for it.

In units in which every cone is |beta| <= alpha, Coulomb's law for a contact is (de Saxce)

    x and z in the cone,   x.z = 0,   z = (u_n + |u_t|, u_t)

or x = P(y), z = P(y) - y for some y, where P projects onto the cone.  With smoothing by sigma (`cones`), x and
z are in the interior of their cones.  With a guess of the impulses and a compliance eps,

    u + (|u_t|, 0) + eps (P(y) - guess) = P(y) - y,   u = B xi + b,   xi = xi0 + B^T P(y)

are equations for y and xi.  Eliminating y contact by contact leaves a system for xi with the sparsity of the contact
graph.  Limits are cones of one dimension; equalities have x = y for all y.  Friction patches, and resistances of
contacts with the loads of the guess, have discs of given radius, without |u_t|.  The convex relaxation has no |u_t|
either.

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
    first_resistance,
)
from multibody_cli.contact_solver.laws import CONVEX_CONE
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
def has_cone(problem, c):
    """Return whether contact c has a friction cone, with a limit proportional to its normal impulse."""
    return not has_disc(problem, c) and problem.mu[c] >= MIN_CONE_FRICTION


@formula
def has_disc(problem, c):
    """Return whether disc c has a given radius: that of a friction patch, or of a resistance."""
    return c < problem.friction_patches or c >= first_resistance(problem)


@kernel
def initialize(problem, xi0, x, xi, smoothed) -> float:
    """Compute the units, the scaled guess and the initial y; return the size of the velocities of the problem."""
    m, constraint_rows, size = len(x), problem.constraint_rows, 0.0
    for i in range(len(xi)):
        size += (xi[i] - xi0[i]) ** 2
    size = math.sqrt(size)
    for k in range(m):
        smoothed.unit[k] = math.sqrt(problem.w[k])
        size = max(size, abs(problem.r[k]) / smoothed.unit[k])
    for c in range(len(problem.mu)):
        if has_cone(problem, c):
            smoothed.unit[constraint_rows + PER_CONTACT * c] *= problem.mu[c]
    compute_row_velocities(problem, xi, smoothed.u)
    for k in range(m):
        smoothed.u[k] /= smoothed.unit[k]
        smoothed.guess[k] = smoothed.unit[k] * x[k]
        smoothed.y[k] = smoothed.guess[k] - smoothed.u[k]
    for c in range(len(problem.mu)):
        if has_cone(problem, c) and problem.law != CONVEX_CONE:
            k = constraint_rows + PER_CONTACT * c
            smoothed.y[k] -= math.hypot(smoothed.u[k + 1], smoothed.u[k + 2])
    return size


# --- equations ------------------------------------------------------------------------------------------------------
@kernel
def compute_residual(problem, compliance, sigma, xi0, y, xi, smoothed) -> float:
    """Compute the residual of the equations at y and xi, and the data of a Newton step; return its norm."""
    m, constraint_rows, square, residual = len(problem.r), problem.constraint_rows, sigma * sigma, smoothed.residual
    compute_row_velocities(problem, xi, smoothed.u)
    for k in range(m):
        smoothed.u[k] /= smoothed.unit[k]
    for k in range(problem.equalities):
        smoothed.x[k], smoothed.slope[k], smoothed.square_slope[k] = y[k], 1.0, 0.0
    for k in range(problem.equalities, constraint_rows):
        project_smoothed_half_line(k, square, y, smoothed.x, smoothed.slope, smoothed.square_slope)
    for c in range(len(problem.mu)):
        k = constraint_rows + PER_CONTACT * c
        if has_disc(problem, c):
            project_smoothed_disc(
                c, k, square, smoothed.guess[k], y, smoothed.x, smoothed.slope, smoothed.square_slope, smoothed.d
            )
        elif has_cone(problem, c):
            project_smoothed_cone(c, k, square, y, smoothed.x, smoothed.slope, smoothed.square_slope, smoothed.d)
        else:
            project_smoothed_half_line(k, square, y, smoothed.x, smoothed.slope, smoothed.square_slope)
    for k in range(m):
        residual[k] = smoothed.u[k] + compliance * (smoothed.x[k] - smoothed.guess[k]) - (smoothed.x[k] - y[k])
    for c in range(len(problem.mu)):
        k = constraint_rows + PER_CONTACT * c
        if has_cone(problem, c):
            if problem.law != CONVEX_CONE:
                residual[k] += smoothed_speed(k, sigma, smoothed) - SPEED_SMOOTHING * sigma
        elif not has_disc(problem, c):
            for j in range(k + 1, k + PER_CONTACT):
                smoothed.x[j] = smoothed.slope[j] = smoothed.square_slope[j] = residual[j] = 0.0
    return residual_norm(xi0, xi, m, problem, smoothed)


@kernel
def smoothed_speed(k, sigma, smoothed):
    """Return the smoothed |u_t| of the contact with rows from k on, always positive."""
    return math.sqrt(smoothed.u[k + 1] ** 2 + smoothed.u[k + 2] ** 2 + (SPEED_SMOOTHING * sigma) ** 2)


@kernel
def residual_norm(xi0, xi, m, problem, smoothed) -> float:
    """Compute the residual of the equations for xi from x; return the norm of all residuals."""
    total = 0.0
    for k in range(m):
        total += smoothed.residual[k] * smoothed.residual[k]
        smoothed.impulse[k] = smoothed.x[k] / smoothed.unit[k]
    for i in range(len(xi)):
        smoothed.xi_residual[i] = 0.0
    accumulate_transposed(problem, smoothed.impulse[:m], smoothed.xi_residual)
    for i in range(len(xi)):
        smoothed.xi_residual[i] = xi[i] - xi0[i] - smoothed.xi_residual[i]
        total += smoothed.xi_residual[i] * smoothed.xi_residual[i]
    return math.sqrt(total)


# --- step -----------------------------------------------------------------------------------------------------------
@kernel
def compute_step(problem, compliance, sigma, target, n, smoothed, matrix):
    """Compute the Newton step for y, xi and sigma^2, with the target value target^2.

    Rows: residual + z_step + (1 - P' + eps P') y_step = 0, with |u_t| in z_step; xi, with x_step = P' y_step +
    square_slope (change of sigma^2): xi_residual + xi_step - B^T x_step = 0.
    """
    m, constraint_rows, square_slope = len(problem.r), problem.constraint_rows, target * target - sigma * sigma
    for k in range(m):
        smoothed.square_slope[k] *= square_slope
        smoothed.residual[k] -= (1.0 - compliance) * smoothed.square_slope[k]
    clear(n, matrix)
    for k in range(constraint_rows):
        eliminate_line(k, compliance, smoothed)
        add_rows(problem, k, 1, smoothed.D, 1.0, matrix)
    for c in range(len(problem.mu)):
        k = constraint_rows + PER_CONTACT * c
        if has_disc(problem, c):
            eliminate_disc(c, k, compliance, smoothed)
            add_rows(problem, k, PER_CONTACT, smoothed.D, 1.0, matrix)
        elif has_cone(problem, c):
            if problem.law != CONVEX_CONE:
                smoothed.residual[k] += (
                    SPEED_SMOOTHING
                    * (SPEED_SMOOTHING * sigma / smoothed_speed(k, sigma, smoothed) - 1.0)
                    * (target - sigma)
                )
            eliminate_cone(c, k, compliance, sigma, problem.law == CONVEX_CONE, smoothed)
            add_rows(problem, k, PER_CONTACT, smoothed.D, 1.0, matrix)
        else:
            eliminate_line(k, compliance, smoothed)
            add_rows(problem, k, 1, smoothed.D, 1.0, matrix)
    eliminate(n, matrix)
    step = smoothed.xi_step[:n]
    for i in range(n):
        step[i] = -smoothed.xi_residual[i]
    accumulate_transposed(problem, smoothed.impulse[:m], step)
    substitute(n, matrix, step)
    back_substitute_rows(problem, sigma, smoothed)


@formula
def compliance_eigenvalue(slope, compliance):
    """Return the eigenvalue of K along an eigenvector of P' with eigenvalue `slope`."""
    return 1.0 / ((1.0 - slope) + compliance * slope)


@kernel
def eliminate_line(k, compliance, smoothed):
    """Compute K, D and the change of impulse at fixed xi, for one row."""
    smoothed.K[k, 0] = compliance_eigenvalue(smoothed.slope[k], compliance)
    smoothed.impulse[k] = (
        smoothed.square_slope[k] - smoothed.slope[k] * smoothed.K[k, 0] * smoothed.residual[k]
    ) / smoothed.unit[k]
    smoothed.D[k, 0] = smoothed.slope[k] * smoothed.K[k, 0] / smoothed.unit[k] ** 2


@kernel
def eliminate_cone(contact, k, compliance, sigma, convex, smoothed):
    """Compute K, D and the change of impulse at fixed xi, for the three rows of a contact."""
    inner, outer, across = smoothed.slope[k], smoothed.slope[k + 1], smoothed.slope[k + 2]
    a, b, c = (
        compliance_eigenvalue(inner, compliance),
        compliance_eigenvalue(outer, compliance),
        compliance_eigenvalue(across, compliance),
    )
    write_function(k, a, b, c, smoothed.d[contact, 0], smoothed.d[contact, 1], smoothed.K)
    write_function(k, inner * a, outer * b, across * c, smoothed.d[contact, 0], smoothed.d[contact, 1], smoothed.D)
    speed = smoothed_speed(k, sigma, smoothed)
    for i in range(k, k + PER_CONTACT):
        impulse = (
            smoothed.D[i, 0] * smoothed.residual[k]
            + smoothed.D[i, 1] * smoothed.residual[k + 1]
            + smoothed.D[i, 2] * smoothed.residual[k + 2]
        )
        smoothed.impulse[i] = (smoothed.square_slope[i] - impulse) / smoothed.unit[i]
    for i in range(k, k + PER_CONTACT):
        if not convex:
            for j in range(1, PER_CONTACT):
                smoothed.D[i, j] += smoothed.D[i, 0] * smoothed.u[k + j] / speed
        for j in range(PER_CONTACT):
            smoothed.D[i, j] /= smoothed.unit[i] * smoothed.unit[k + j]


@kernel
def eliminate_disc(contact, k, compliance, smoothed):
    """Compute K, D and the change of impulse at fixed xi, for a friction patch; the first row does not change."""
    along, across = smoothed.slope[k + 1], smoothed.slope[k + 2]
    a, b = compliance_eigenvalue(along, compliance), compliance_eigenvalue(across, compliance)
    write_flat(k, a, b, smoothed.d[contact, 0], smoothed.d[contact, 1], smoothed.K)
    write_flat(k, along * a, across * b, smoothed.d[contact, 0], smoothed.d[contact, 1], smoothed.D)
    smoothed.impulse[k] = 0.0
    for i in range(k + 1, k + PER_CONTACT):
        impulse = smoothed.D[i, 1] * smoothed.residual[k + 1] + smoothed.D[i, 2] * smoothed.residual[k + 2]
        smoothed.impulse[i] = (smoothed.square_slope[i] - impulse) / smoothed.unit[i]
    for i in range(k + 1, k + PER_CONTACT):
        for j in range(1, PER_CONTACT):
            smoothed.D[i, j] /= smoothed.unit[i] * smoothed.unit[k + j]


@kernel
def back_substitute_rows(problem, sigma, smoothed):
    """Compute the step for y from the step for xi."""
    constraint_rows, velocity_change, step = problem.constraint_rows, smoothed.velocity_change, smoothed.y_step
    for k in range(len(problem.r)):
        velocity_change[k] = add_row_product(problem, k, smoothed.xi_step, 0.0) / smoothed.unit[k]
        step[k] = -smoothed.residual[k] - velocity_change[k]
    for k in range(constraint_rows):
        step[k] *= smoothed.K[k, 0]
    for c in range(len(problem.mu)):
        k = constraint_rows + PER_CONTACT * c
        if has_disc(problem, c):
            multiply(k, smoothed.K, step)
        elif has_cone(problem, c):
            if problem.law != CONVEX_CONE:
                change = smoothed.u[k + 1] * velocity_change[k + 1] + smoothed.u[k + 2] * velocity_change[k + 2]
                step[k] -= change / smoothed_speed(k, sigma, smoothed)
            multiply(k, smoothed.K, step)
        else:
            step[k] *= smoothed.K[k, 0]
            step[k + 1] = step[k + 2] = 0.0
