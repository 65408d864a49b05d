"""The problem of impacts of one island: its velocities before and after, its rebounds, and parts of it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import (
    BLOCKS_PER_ROW,
    PER_CONTACT,
    Factored,
    Report,
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
    rebound: Annotated[Floats, "m"]  # what restitution adds to the velocity r of a normal
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
def read_velocities(F, island, contact_work):
    """Copy the velocities and rebounds of the rows of an island."""
    G, S, first = contact_work.groups, contact_work.island.impact, contact_work.groups.first_row[island]
    for j in range(len(F.r)):
        k = G.rows[first + j]
        S.rebound[j] = contact_work.rebound[k]
        S.free[j] = F.r[j] - contact_work.closing[k] - contact_work.rebound[k]
        S.before[j] = contact_work.velocity_before[k] if j >= F.equalities + F.limits else S.free[j]


@kernel
def write_rebounds(F, island, contact_work):
    """Set the velocities r of the rows of an island to those with rebounds."""
    G, S = contact_work.groups, contact_work.island.impact
    for j in range(len(F.r)):
        F.r[j] = S.free[j] + contact_work.closing[G.rows[G.first_row[island] + j]] + S.rebound[j]


@kernel
def contact_of_row(k, contact_work) -> int:
    """Return the number of the contact with row k of the step; it is negative for rows of joints and constraints."""
    return (k - contact_work.constraint_row_count[0]) // PER_CONTACT - len(contact_work.joint_friction.limit)


@kernel
def compute_changes(F, x, xi, u):
    """Compute u = W x."""
    n = 0
    for b in range(len(F.width)):
        n = max(n, F.start[b] + F.width[b])
    for i in range(n):
        xi[i] = 0.0
    accumulate_transposed(F, x, xi)
    for k in range(len(F.r)):
        u[k] = add_row_product(F, k, xi, 0.0)


@kernel
def worse(one, other) -> Report:
    """Return the report of two solves in turn."""
    status = one.status if one.status != SOLVED else other.status
    residual = max(one.residual, other.residual)
    return Report(status, one.sweeps + other.sweeps, one.steps + other.steps, residual)


# --- parts of a problem ---------------------------------------------------------------------------------------------
@kernel
def without_motion(F, S) -> Factored:
    """Return the problem with the velocities r alone, which are not those of the motion xi0, so that b = r."""
    return Factored(
        F.B, F.first, F.block, F.start, F.width, S.xi0, F.r, F.b, F.w, F.mu,
        F.equalities, F.limits, F.friction_patches, F.convex,
    )  # fmt: skip


@kernel
def save_blocks(F, S):
    """Store the blocks of all rows."""
    for j in range(len(F.r)):
        for side in range(BLOCKS_PER_ROW):
            S.block[j, side] = F.block[j, side]


@kernel
def leave_out(F, j):
    """Remove row j from the problem."""
    for side in range(BLOCKS_PER_ROW):
        F.block[j, side] = -1


@kernel
def restore_blocks(F, S):
    """Restore the blocks of all rows."""
    for j in range(len(F.r)):
        for side in range(BLOCKS_PER_ROW):
            F.block[j, side] = S.block[j, side]
