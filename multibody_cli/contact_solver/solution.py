"""Impulses of a contact step, island by island, from the factored Delassus matrix."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.factors import filled
from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT, Factored, Report, delassus_entry
from multibody_cli.contact_solver.friction.proximal import solve_proximal
from multibody_cli.contact_solver.friction.staggered_projections import solve_staggered
from multibody_cli.contact_solver.impact_order import release_first_contact
from multibody_cli.contact_solver.impact_problem import worse
from multibody_cli.contact_solver.impacts import NEWTON, has_impact, solve_impacts
from multibody_cli.contact_solver.islands import has_nonzero_terms
from multibody_cli.contact_solver.parameters import solve_island
from multibody_cli.contact_solver.results import AT_LIMIT, LAW
from multibody_cli.kernel import kernel, template
from multibody_cli.linalg.multipliers import SOLVED, UNFINISHED


# --- problems -------------------------------------------------------------------------------------------------------
@kernel
def number_blocks_of_island(first, last, contact_work) -> int:
    """Number the articulations of nonzero rank among the rows [first, last) of an island; return their number."""
    G, T, S, blocks = contact_work.groups, contact_work.factors, contact_work.island.factored, 0
    for i in range(first, last):
        for side in range(BLOCKS_PER_ROW):
            if G.row_articulations[G.rows[i], side] >= 0:
                contact_work.block_of_articulation[G.row_articulations[G.rows[i], side]] = -1
    for i in range(first, last):
        for side in range(BLOCKS_PER_ROW):
            c = G.row_articulations[G.rows[i], side]
            if c >= 0 and T.rank[c] > 0 and contact_work.block_of_articulation[c] < 0:
                contact_work.block_of_articulation[c] = blocks
                contact_work.island.articulation_of_block[blocks] = c
                S.width[blocks] = filled(T.rank[c])
                blocks += 1
    return blocks


@kernel
def gather_island(island, equalities, constraint_rows, convex, contact_work):
    """Collect the rows of an island as one `Factored` problem, without r, mu and xi0."""
    G, T, S = contact_work.groups, contact_work.factors, contact_work.island.factored
    first, last = G.first_row[island], G.first_row[island + 1]
    blocks, m = number_blocks_of_island(first, last, contact_work), last - first
    first_contact = constraint_rows + PER_CONTACT * len(contact_work.joint_friction.limit)
    own_equalities = own_static = own_patches = 0
    for j in range(m):
        k = G.rows[first + j]
        own_equalities += k < equalities
        own_static += k < constraint_rows
        own_patches += constraint_rows <= k < first_contact
        gather_row(j, k, contact_work)
    contacts = (m - own_static) // PER_CONTACT
    kinds = (own_equalities, own_static - own_equalities, own_patches // PER_CONTACT, convex)
    rows = (S.r[:m], S.b[:m], S.w[:m], S.mu[:contacts])
    F = Factored(T.B, S.first[:m], S.block[:m], S.start[:blocks], S.width[:blocks], S.xi0, *rows, *kinds)
    remove_ineffective_rows(F, first, own_static, contact_work)
    return F


@kernel
def gather_row(j, k, contact_work):
    """Set the blocks of row j of a problem to those of row k of the step."""
    G, T, S = contact_work.groups, contact_work.factors, contact_work.island.factored
    for side in range(BLOCKS_PER_ROW):
        c = G.row_articulations[k, side]
        S.block[j, side] = (
            contact_work.block_of_articulation[c] if c >= 0 and has_nonzero_terms(contact_work.rows[k]) else -1
        )
        S.first[j, side] = T.first[k, side]


@kernel
def remove_ineffective_rows(F, first, count, contact_work):
    """Remove the ineffective ones among the first `count` rows, the constraint rows of an island."""
    for j in range(count):
        if delassus_entry(F, j, j) <= contact_work.diagonal_bound[contact_work.groups.rows[first + j]]:
            F.block[j, 0] = F.block[j, 1] = -1


# --- velocities -----------------------------------------------------------------------------------------------------
@template(solve_island)
def solve_impulses(options, contact_work, equalities, constraint_rows, islands):
    """Solve for the impulses of all unconverged islands; `contact_work.x` (m,) is the initial guess and the result."""
    for island in range(islands):
        if not contact_work.converged[island]:
            solve_impulses_of_island(options, contact_work, equalities, constraint_rows, island)
        contact_work.newton_steps[0] = max(contact_work.newton_steps[0], contact_work.island_steps[island])


@template(solve_island)
def solve_impulses_of_island(options, contact_work, equalities, constraint_rows, island):
    """Solve for the impulses of one island."""
    F = gather_island(island, equalities, constraint_rows, options.convex, contact_work)
    initialize_island(F, island, constraint_rows, contact_work)
    x = contact_work.island.impulses[: len(F.r)]
    report = solve_by_law(F, options, island, x, contact_work)
    while release_first_contact(island, contact_work, constraint_rows, x):
        initialize_island(F, island, constraint_rows, contact_work)
        report = worse(report, solve_by_law(F, options, island, x, contact_work))
    scatter_island(island, len(F.r), contact_work)
    contact_work.island_failed[island] = LAW if report.status != SOLVED else 0
    contact_work.island_residual[island] = report.residual
    contact_work.island_steps[island] = report.steps
    contact_work.island_jams[island] = jams(F, island, contact_work)


@template(solve_island)
def solve_by_law(F, options, island, x, contact_work) -> Report:
    """Solve for the impulses x of one island by the law of impact."""
    if options.impacts != NEWTON and has_impact(island, contact_work):
        return solve_impacts(F, options, island, x, contact_work)
    return solve_island(F, options, x, contact_work)


@kernel
def initialize_island(F, island, constraint_rows, contact_work):
    """Set xi0, r, mu and the initial guess of an island, and the places of its blocks in their order."""
    G, T, place = contact_work.groups, contact_work.factors, 0
    first = G.first_row[island]
    for b in range(len(F.width)):
        c = contact_work.island.articulation_of_block[b]
        F.start[b] = place
        for i in range(F.width[b]):
            F.xi0[place + i] = T.xi0[T.first_velocity[c] + i] if i < T.rank[c] else 0.0
        place += F.width[b]
    for j in range(len(F.r)):
        F.r[j] = contact_work.r[G.rows[first + j]]
        contact_work.island.impulses[j] = contact_work.x[G.rows[first + j]]
    patches = len(contact_work.joint_friction.limit)
    for c in range(len(F.mu)):
        k = G.rows[first + F.equalities + F.limits + PER_CONTACT * c]
        F.mu[c] = (
            1.0
            if c < F.friction_patches
            else contact_work.detection.contacts[(k - constraint_rows) // PER_CONTACT - patches].friction
        )


@kernel
def jams(F, island, contact_work) -> bool:
    """Return whether a contact that slid stops without a collision, where sliding friction would press it together.

    With the impulse x of its normal, friction -mu x d against the slip d changes the normal velocity by W_nn x - mu x
    W_nt . d.  If that is negative, no finite force lets it slide on (Painleve).
    """
    first, before, x = contact_work.groups.first_row[island], contact_work.velocity_before, contact_work.island.impulses
    for j in range(F.equalities + F.limits + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        k, mu = contact_work.groups.rows[first + j], F.mu[(j - F.equalities - F.limits) // PER_CONTACT]
        speed = math.hypot(before[k + 1], before[k + 2])
        sticks = math.hypot(x[j + 1], x[j + 2]) < (1.0 - AT_LIMIT) * mu * x[j]
        least = IMPACT_SPEED * contact_work.rows[k].speed
        if sticks and speed > least and before[k] > -least:
            along = delassus_entry(F, j, j + 1) * before[k + 1] + delassus_entry(F, j, j + 2) * before[k + 2]
            if delassus_entry(F, j, j) * speed < mu * along:
                return True
    return False


@kernel
def solve_island_proximally(F, options, x, contact_work):
    """Solve for the impulses x of one island by the proximal method."""
    return solve_proximal(F, options, x, contact_work.island.proximal)


@kernel
def solve_island_by_staggered_projections(F, options, x, contact_work):
    """Solve for the impulses x of one island by staggered projections.

    The proximal method solves islands with more rows than the dense matrix; they are reported as UNFINISHED.
    """
    if len(F.r) <= len(contact_work.island.staggered.r):
        return solve_staggered(F, options, x, contact_work.island.staggered)
    report = solve_proximal(F, options, x, contact_work.island.proximal)
    return Report(
        UNFINISHED if report.status == SOLVED else report.status, report.sweeps, report.steps, report.residual
    )


SOLVERS = {False: solve_island_proximally, True: solve_island_by_staggered_projections}
"""Solvers for the impulses of one island, by `Options.staggered`."""


@kernel
def scatter_island(island, m, contact_work):
    """Copy the impulses of an island into `contact_work.x`."""
    first = contact_work.groups.first_row[island]
    for j in range(m):
        contact_work.x[contact_work.groups.rows[first + j]] = contact_work.island.impulses[j]
