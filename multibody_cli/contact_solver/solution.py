"""Impulses of a contact step, island by island, from the factored Delassus matrix."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.factors import filled
from multibody_cli.contact_solver.friction.problem import (
    BLOCKS_PER_ROW,
    PER_CONTACT,
    Factored,
    FactoredScratch,
    SolutionReport,
    add_row_response,
    delassus_entry,
    end_of_contacts,
    first_contact_row,
)
from multibody_cli.contact_solver.friction.proximal import ProximalScratch
from multibody_cli.contact_solver.friction.solvers import solve_island
from multibody_cli.contact_solver.friction.staggered_projections import StaggeredScratch
from multibody_cli.contact_solver.impact_order import release_first_contact
from multibody_cli.contact_solver.impact_problem import ImpactWorkspace, worse
from multibody_cli.contact_solver.impacts import NEWTON, has_impact, solve_impacts
from multibody_cli.contact_solver.islands import has_nonzero_terms
from multibody_cli.contact_solver.resistance import normal_of
from multibody_cli.contact_solver.results import AT_LIMIT, LAW
from multibody_cli.kernel import formula, kernel
from multibody_cli.linalg.multipliers import SOLVED
from multibody_cli.model import Floats, Integers


class IslandWorkspace(NamedTuple):
    """Work arrays of the solution of one island at a time."""

    block_of_articulation: Annotated[Integers, "l"]  # block number of each articulation in the island
    articulation_of_block: Annotated[Integers, "l"]  # articulation of each block number
    gathered_rows: Annotated[Integers, "m"]  # rows of the step that are rows of a problem of displacements
    impulses: Annotated[Floats, "m"]  # impulses of the island
    factored: FactoredScratch
    proximal: ProximalScratch
    impact: ImpactWorkspace
    staggered: StaggeredScratch  # empty if it is not used


# --- problems -------------------------------------------------------------------------------------------------------
@kernel
def number_blocks(island_rows, groups, factors, scratch) -> int:
    """Number the articulations of nonzero rank among the rows of an island; return their number."""
    of_row, block, blocks = groups.row_articulations, scratch.block_of_articulation, 0
    for j in range(len(island_rows)):
        for side in range(BLOCKS_PER_ROW):
            if of_row[island_rows[j], side] >= 0:
                block[of_row[island_rows[j], side]] = -1
    for j in range(len(island_rows)):
        for side in range(BLOCKS_PER_ROW):
            c = of_row[island_rows[j], side]
            if c >= 0 and factors.rank[c] > 0 and block[c] < 0:
                block[c] = blocks
                scratch.articulation_of_block[blocks] = c
                scratch.factored.width[blocks] = filled(factors.rank[c])
                blocks += 1
    return blocks


@formula
def factored_problem(B, blocks, m, discs, resistances, kinds, storage):
    """Return the problem of m rows with so many blocks, discs, and resistances among these, in the storage."""
    return Factored(
        B, storage.first[:m], storage.block[:m], storage.start[:blocks], storage.width[:blocks], storage.xi0,
        storage.r[:m], storage.b[:m], storage.w[:m], storage.mu[:discs],
        storage.loads[:resistances], *kinds,
    )  # fmt: skip


@kernel
def gather_island(island_rows, law, step, groups, factors, scratch):
    """Collect the rows of an island as one `Factored` problem, without r, mu and xi0."""
    sizes, m = step.sizes[0], len(island_rows)
    blocks = number_blocks(island_rows, groups, factors, scratch)
    equalities = constraint_rows = patches = 0
    for j in range(m):
        k = island_rows[j]
        equalities += k < sizes.equalities
        constraint_rows += k < sizes.constraint_rows
        patches += sizes.constraint_rows <= k < sizes.first_contact
        gather_row(j, k, step, groups, factors, scratch)
    kinds = (equalities, constraint_rows, patches // PER_CONTACT, law)
    discs, resistances = (m - constraint_rows) // PER_CONTACT, list_loads(island_rows, step, scratch.factored.loads)
    problem = factored_problem(factors.B, blocks, m, discs, resistances, kinds, scratch.factored)
    remove_ineffective_rows(problem, island_rows, constraint_rows, factors.diagonal_bound)
    return problem


@kernel
def list_loads(island_rows, step, loads) -> int:
    """List the places of the normals that load the resistances of an island among its rows; return their number."""
    number = load = 0
    for j in range(len(island_rows)):
        own = island_rows[j] - step.sizes[0].first_resistance
        if own >= 0 and own % PER_CONTACT == 0:
            while island_rows[load] != normal_of(own // PER_CONTACT, step):
                load += 1
            loads[number] = load
            number += 1
    return number


@kernel
def gather_row(j, k, step, groups, factors, scratch):
    """Set the blocks of row j of a problem to those of row k of the step."""
    for side in range(BLOCKS_PER_ROW):
        c, block = groups.row_articulations[k, side], -1
        if c >= 0 and has_nonzero_terms(step.rows[k]):
            block = scratch.block_of_articulation[c]
        scratch.factored.block[j, side] = block
        scratch.factored.first[j, side] = factors.first[k, side]


@kernel
def remove_ineffective_rows(problem, island_rows, count, diagonal_bound):
    """Remove the ineffective ones among the first `count` rows, the constraint rows of an island."""
    for j in range(count):
        if delassus_entry(problem, j, j) <= diagonal_bound[island_rows[j]]:
            problem.block[j, 0] = problem.block[j, 1] = -1


# --- velocities -----------------------------------------------------------------------------------------------------
@kernel
def solve_impulses(options, contacts, step, groups, factors, impact_times, reports, scratch):
    """Solve for the impulses of all unconverged islands; `step.x` (m,) is the initial guess and the result."""
    for island in range(groups.islands[0]):
        if not reports.converged[island]:
            solve_impulses_of_island(island, options, contacts, step, groups, factors, impact_times, reports, scratch)


@kernel
def solve_impulses_of_island(island, options, contacts, step, groups, factors, impact_times, reports, scratch):
    """Solve for the impulses of one island."""
    island_rows = groups.rows[groups.first_row[island] : groups.first_row[island + 1]]
    problem = gather_island(island_rows, options.law, step, groups, factors, scratch)
    initialize_island(problem, island_rows, contacts, step, factors, scratch)
    x = scratch.impulses[: len(island_rows)]
    report = solve_by_law(problem, options, island_rows, x, contacts, step, impact_times, scratch)
    store_impulses(island_rows, x, step)
    while release_first_contact(island_rows, contacts, step, impact_times, x):
        initialize_island(problem, island_rows, contacts, step, factors, scratch)
        report = worse(report, solve_by_law(problem, options, island_rows, x, contacts, step, impact_times, scratch))
        store_impulses(island_rows, x, step)
    reports.failed[island] = LAW if report.status != SOLVED else 0
    reports.residual[island] = report.residual
    reports.steps[island] = max(reports.steps[island], report.steps)
    reports.jams[island] = jams(problem, island_rows, x, step)


@kernel
def store_impulses(island_rows, x, step):
    """Store the impulses x of an island without those that v* contains."""
    for j in range(len(island_rows)):
        k = island_rows[j]
        step.x[k] = x[j] - (step.rows[k].multiplier if k < step.sizes[0].constraint_rows else 0.0)


@kernel
def solve_by_law(problem, options, island_rows, x, contacts, step, impact_times, scratch) -> SolutionReport:
    """Solve for the impulses x of one island by the law of impact."""
    if options.impacts != NEWTON and has_impact(island_rows, step):
        return solve_impacts(problem, options, island_rows, x, contacts, step, impact_times, scratch)
    return solve_island(problem, options, x, scratch)


@kernel
def initialize_island(problem, island_rows, contacts, step, factors, scratch):
    """Set xi0, r, mu and the initial guess of an island, and the starts of its blocks in their order."""
    sizes, start = step.sizes[0], 0
    for b in range(len(problem.width)):
        c = scratch.articulation_of_block[b]
        problem.start[b] = start
        for i in range(problem.width[b]):
            problem.xi0[start + i] = factors.xi0[factors.first_velocity[c] + i] if i < factors.rank[c] else 0.0
        start += problem.width[b]
    for j in range(len(problem.r)):
        problem.r[j] = step.r[island_rows[j]]
        scratch.impulses[j] = step.x[island_rows[j]]
    for c in range(len(problem.mu)):
        j = problem.constraint_rows + PER_CONTACT * c
        k = island_rows[j]
        if c < problem.friction_patches:
            problem.mu[c] = 1.0
        elif k < sizes.first_resistance:
            problem.mu[c] = contacts[(k - sizes.first_contact) // PER_CONTACT].friction
        else:
            problem.mu[c] = step.resistances[(k - sizes.first_resistance) // PER_CONTACT].coefficient
            problem.r[j] = 0.0
    release_pressed_rows(problem, island_rows, step, scratch.impulses)


@kernel
def release_pressed_rows(problem, island_rows, step, x):
    """Let the impulses x of pressed one-sided rows include those that v* contains, so that they may decrease.

    The velocities without impulses are then those without these.
    """
    for j in range(problem.equalities, problem.constraint_rows):
        contained = step.rows[island_rows[j]].multiplier
        if contained > 0.0:
            x[j] += contained
            for k in range(len(problem.r)):
                problem.r[k] -= delassus_entry(problem, k, j) * contained
            add_row_response(problem, j, -contained, problem.xi0)


@kernel
def jams(problem, island_rows, x, step) -> bool:
    """Return whether a contact that slid stops without a collision, where sliding friction would press it together.

    With the impulse x of its normal, friction -mu x d against the slip d changes the normal velocity by W_nn x - mu x
    W_nt . d.  If that is negative, no finite force lets it slide on (Painleve).
    """
    before, first_disc = step.velocity_before, problem.constraint_rows
    for j in range(first_contact_row(problem), end_of_contacts(problem), PER_CONTACT):
        k, mu = island_rows[j], problem.mu[(j - first_disc) // PER_CONTACT]
        speed = math.hypot(before[k + 1], before[k + 2])
        sticks = math.hypot(x[j + 1], x[j + 2]) < (1.0 - AT_LIMIT) * mu * x[j]
        least = IMPACT_SPEED * step.rows[k].speed
        if sticks and speed > least and before[k] > -least:
            along = delassus_entry(problem, j, j + 1) * before[k + 1]
            along += delassus_entry(problem, j, j + 2) * before[k + 2]
            if delassus_entry(problem, j, j) * speed < mu * along:
                return True
    return False
