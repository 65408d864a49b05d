"""The problem of impacts of one island: its velocities before and after, its rebounds, and parts of it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import (
    BLOCKS_PER_ROW,
    PER_CONTACT,
    Factored,
    SolutionReport,
    accumulate_transposed,
    add_row_product,
)
from multibody_cli.kernel import kernel
from multibody_cli.linalg.multipliers import SOLVED
from multibody_cli.model import Floats, Integers


class ImpactWorkspace(NamedTuple):
    """Work arrays for the impacts of an island with m rows and n = 6 nodes normal velocities."""

    before: Annotated[Floats, "m"]  # velocities before the step; of constraint rows, those without impulses
    free: Annotated[Floats, "m"]  # velocities without impulses
    rebound: Annotated[Floats, "m"]  # increase of the velocity r of a normal by restitution
    other: Annotated[Floats, "m"]  # impulses of another problem
    total: Annotated[Floats, "m"]  # impulses of all passes
    gap: Annotated[Floats, "m"]  # gaps of the normals over the step, m/s, as the passes change them
    u: Annotated[Floats, "m"]  # velocities, or W x
    change: Annotated[Floats, "m"]  # W x of other impulses
    xi: Annotated[Floats, "6 * nodes"]
    xi0: Annotated[Floats, "6 * nodes"]  # zeros
    block: Annotated[Integers, "m", BLOCKS_PER_ROW]  # blocks of all rows
    balanced: Annotated[
        Floats, PER_CONTACT, "m"
    ]  # unit impulses of a contact, and those of the equalities that they cause
    response: Annotated[Floats, PER_CONTACT, "m"]  # velocities due to them
    W: Annotated[Floats, PER_CONTACT, PER_CONTACT]  # their Delassus matrix, and velocity and impulse of the contact
    velocity: Annotated[Floats, PER_CONTACT]
    impulse: Annotated[Floats, PER_CONTACT]


@kernel
def read_velocities(problem, island_rows, step, impact):
    """Copy the velocities and rebounds of the rows of an island."""
    for j in range(len(problem.r)):
        k = island_rows[j]
        impact.rebound[j] = step.rebound[k]
        impact.free[j] = problem.r[j] - step.closing[k] - step.rebound[k]
        is_constraint = j < problem.constraint_rows
        impact.before[j] = impact.free[j] if is_constraint else step.velocity_before[k]


@kernel
def write_rebounds(problem, island_rows, step, impact):
    """Set the velocities r of the rows of an island to those with rebounds."""
    for j in range(len(problem.r)):
        problem.r[j] = impact.free[j] + step.closing[island_rows[j]] + impact.rebound[j]


@kernel
def contact_of_row(k, step) -> int:
    """Return the number of the contact with row k of the step; it is negative for rows of no contact."""
    return (k - step.sizes[0].first_contact) // PER_CONTACT if k < step.sizes[0].first_resistance else -1


@kernel
def compute_changes(problem, x, xi, u):
    """Compute u = W x."""
    n = 0
    for b in range(len(problem.width)):
        n = max(n, problem.start[b] + problem.width[b])
    for i in range(n):
        xi[i] = 0.0
    accumulate_transposed(problem, x, xi)
    for k in range(len(problem.r)):
        u[k] = add_row_product(problem, k, xi, 0.0)


@kernel
def worse(one, other) -> SolutionReport:
    """Return the report of two solves in turn."""
    status = one.status if one.status != SOLVED else other.status
    residual = max(one.residual, other.residual)
    return SolutionReport(status, one.sweeps + other.sweeps, one.steps + other.steps, residual)


# --- parts of a problem ---------------------------------------------------------------------------------------------
@kernel
def without_motion(problem, impact) -> Factored:
    """Return the problem with the velocities r alone, which are not those of the motion xi0, so that b = r."""
    return Factored(
        problem.B, problem.first, problem.block, problem.start, problem.width, impact.xi0, problem.r, problem.b,
        problem.w, problem.mu, problem.loads, problem.equalities, problem.constraint_rows, problem.friction_patches,
        problem.law,
    )  # fmt: skip


@kernel
def save_blocks(problem, impact):
    """Store the blocks of all rows."""
    for j in range(len(problem.r)):
        for side in range(BLOCKS_PER_ROW):
            impact.block[j, side] = problem.block[j, side]


@kernel
def leave_out(problem, j):
    """Remove row j from the problem."""
    for side in range(BLOCKS_PER_ROW):
        problem.block[j, side] = -1


@kernel
def restore_blocks(problem, impact):
    """Restore the blocks of all rows."""
    for j in range(len(problem.r)):
        for side in range(BLOCKS_PER_ROW):
            problem.block[j, side] = impact.block[j, side]
