"""Laws of impact for the rows of one island: how its contacts separate, without gain of energy.

An *impact* is a contact whose bodies approach each other before the step, at u_n < 0, and would penetrate in it.

    NEWTON       it separates at -e u_n, all impacts at once
    ENERGETIC    the same as far as energy allows (the default); impacts of other bodies that the first cause across a
                 gap follow one another
    PROPAGATING  impacts pass on: those contacts alone that approach separate at -e u_n, again and again, until none
                 does; the velocities so found take the place of -e u_n

Newton's law with friction may add energy.  With the other two laws,

    a single contact that is pressed has the impulse of `impact_path`, Stronge's energetic restitution;
    several have the impulses x = y + s (x_N - y), with y those of the same problem without restitution, x_N those with,
    and s in [0, 1] the largest share that adds no energy.

Both equal Newton's law where it adds none without friction.  The impulses y add no energy, the energy is a convex
function of s, and admissible impulses are a convex set, so that there is such a share.  Impulses *add* energy if the
kinetic energy after them exceeds both that before the step and that of the step without impulses, up to the work of
other forces.

Sources: Stronge, Proc. R. Soc. A 431 (1990); Smith, Kaufman, Vouga, Tamstorf and Grinspun, Reflections on simultaneous
impact, ACM Trans. Graph. 31 (2012), for impacts that pass on.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.dense import clipped
from multibody_cli.contact_solver.friction.problem import (
    PER_CONTACT,
    SolutionReport,
    copy,
    delassus_entry,
    first_contact_row,
)
from multibody_cli.contact_solver.friction.solvers import solve_island
from multibody_cli.contact_solver.impact_passes import acts_across_gap, pass_on, touching_bound
from multibody_cli.contact_solver.impact_path import follow_impact
from multibody_cli.contact_solver.impact_problem import (
    compute_changes,
    contact_of_row,
    leave_out,
    read_velocities,
    restore_blocks,
    save_blocks,
    without_motion,
    worse,
    write_rebounds,
)
from multibody_cli.kernel import kernel, lazy_kernel

NEWTON, ENERGETIC, PROPAGATING = range(3)
"""Laws of impact, `Options.impacts`."""

LAWS = ("newton", "energetic", "propagating")
"""Their names in scenes."""

CENTRAL = 1e-12
"""Change of the normal velocity by friction, relative to that by the normal, that counts as 0."""

ROUND_OFF = 1e-12
"""Energy that impulses add, relative to the sum of the absolute works of all rows, that counts as 0."""


@kernel
def has_impact(island_rows, step) -> bool:
    """Return whether a contact of an island rebounds."""
    found = False
    for j in range(len(island_rows)):
        found = found or step.rebound[island_rows[j]] != 0.0
    return found


@lazy_kernel
def solve_impacts(problem, options, island_rows, x, contacts, step, impact_times, scratch) -> SolutionReport:
    """Solve for the impulses x of one island with impacts; x holds the initial guess."""
    impact = scratch.impact
    read_velocities(problem, island_rows, step, impact)
    touching = touching_bound(problem, impact)
    if options.impacts == PROPAGATING:
        pass_on(problem, options, island_rows, touching, False, x, contacts, step, impact_times, scratch)
    report = solve_island(problem, options, x, scratch)
    if options.impacts == ENERGETIC and acts_across_gap(problem, island_rows, touching, x, contacts, step, impact):
        pass_on(problem, options, island_rows, touching, True, x, contacts, step, impact_times, scratch)
        report = worse(report, solve_island(problem, options, x, scratch))
    row = only_pressed_normal(problem, x)
    if row >= 0 and impact.rebound[row] != 0.0:
        report = replace_by_path(problem, options, island_rows, row, x, report, contacts, step, scratch)
    return share_restitution(problem, options, x, report, scratch)


# --- a single contact -----------------------------------------------------------------------------------------------
@kernel
def only_pressed_normal(problem, x) -> int:
    """Return the normal row of the only contact with an impulse, if no limit has one and none resists; else -1."""
    normal = -1
    if len(problem.loads) > 0:
        return -1
    for j in range(problem.equalities, problem.constraint_rows):
        if x[j] > 0.0:
            return -1
    for j in range(first_contact_row(problem), len(problem.r), PER_CONTACT):
        if x[j] > 0.0:
            if normal >= 0:
                return -1
            normal = j
    return normal


@kernel
def balance_unit_impulses(problem, options, row, report, scratch) -> SolutionReport:
    """Compute the unit impulses of a contact with the impulses of equalities that they cause, and their responses."""
    impact, m = scratch.impact, len(problem.r)
    save_blocks(problem, impact)
    for j in range(PER_CONTACT):
        for i in range(m):
            problem.r[i] = delassus_entry(problem, i, row + j) if i < problem.equalities else 0.0
            impact.other[i] = 0.0
        if problem.equalities > 0:
            for i in range(problem.equalities, m):
                leave_out(problem, i)
            report = worse(report, solve_island(without_motion(problem, impact), options, impact.other[:m], scratch))
            restore_blocks(problem, impact)
        impact.other[row + j] = 1.0
        compute_changes(problem, impact.other[:m], impact.xi, impact.change)
        copy(impact.other, impact.balanced[j], m)
        copy(impact.change, impact.response[j], m)
        for i in range(PER_CONTACT):
            impact.W[i, j] = impact.change[row + i]
    return report


@lazy_kernel
def replace_by_path(problem, options, island_rows, row, x, report, contacts, step, scratch) -> SolutionReport:
    """Replace Newton's impulse of a single contact by that of its path, and solve for those of the other forces.

    Equalities have their impulses along the path.  Limits and dry friction of joints act after it: their impulses
    are finite where that of an impact is not.  The path leads from the velocity before the step to that after the
    impact.  Forces that press the contact in the step are balanced by impulses that keep this velocity; forces that
    separate it diminish the impulse of the path.
    """
    impact, k, m = scratch.impact, island_rows[row], len(problem.r)
    contact = contacts[contact_of_row(k, step)]
    report = balance_unit_impulses(problem, options, row, report, scratch)
    write_rebounds(problem, island_rows, step, impact)
    if contact.friction * math.hypot(impact.W[0, 1], impact.W[0, 2]) <= CENTRAL * impact.W[0, 0]:
        return report
    for i in range(PER_CONTACT):
        impact.velocity[i] = impact.before[row + i]
    dissipated = follow_impact(impact.W, contact.friction, contact.restitution, impact.velocity, impact.impulse)
    straight, pull = 0.0, max(impact.free[row] - impact.before[row], 0.0)
    for i in range(1, PER_CONTACT):
        straight -= 0.5 * impact.impulse[i] * (impact.before[row + i] + impact.velocity[i])
    share = max(1.0 - pull / (impact.velocity[0] - impact.before[row]), 0.0)
    step.turned_work[k] = share * (dissipated - straight)
    for i in range(m):
        impact.other[i] = x[i] if is_given_load(problem, i) else 0.0
        for j in range(PER_CONTACT):
            problem.r[i] += share * impact.impulse[j] * impact.response[j, i]
    problem.r[row] -= step.closing[k] + impact.rebound[row] + impact.velocity[0]
    speed = ROUND_OFF * (abs(impact.before[row]) + impact.velocity[0]) / math.sqrt(impact.W[0, 0])
    if problem.equalities + problem.friction_patches > 0 or closes(problem, speed):
        report = worse(report, solve_island(without_motion(problem, impact), options, impact.other[:m], scratch))
    write_rebounds(problem, island_rows, step, impact)
    for i in range(m):
        x[i] = impact.other[i]
        for j in range(PER_CONTACT):
            x[i] += share * impact.impulse[j] * impact.balanced[j, i]
    x[row + 1], x[row + 2] = clipped(x[row + 1], x[row + 2], contact.friction * x[row])
    return report


@kernel
def closes(problem, speed) -> bool:
    """Return whether a limit or a normal closes faster than a speed in the mass norm, without further impulses."""
    found = False
    for j in range(problem.equalities, len(problem.r)):
        if j < problem.constraint_rows or (j - problem.constraint_rows) % PER_CONTACT == 0:
            found = found or -problem.r[j] > speed * math.sqrt(delassus_entry(problem, j, j))
    return found


# --- several contacts -----------------------------------------------------------------------------------------------
@kernel
def added_energy(problem, x, u, start, impact) -> tuple[float, float]:
    """Return the work of impulses x with u = W x, from the velocities `start`, and the sum of its absolute parts."""
    work = size = 0.0
    for j in range(problem.equalities, len(x)):
        if not is_given_load(problem, j):
            work += x[j] * (0.5 * (start[j] + impact.free[j] + u[j]))
            size += abs(x[j]) * (abs(start[j]) + abs(impact.free[j] + u[j]))
    return work, size


@kernel
def is_given_load(problem, j) -> bool:
    """Return whether row j is the normal of a friction patch of a joint."""
    first = problem.constraint_rows
    return first <= j < first_contact_row(problem) and (j - first) % PER_CONTACT == 0


@kernel
def share_restitution(problem, options, x, report, scratch) -> SolutionReport:
    """Replace the impulses x by those between x and the impulses without restitution, if x adds energy."""
    impact = scratch.impact
    compute_changes(problem, x, impact.xi, impact.u)
    by_before, size = added_energy(problem, x, impact.u, impact.before, impact)
    by_free, _ = added_energy(problem, x, impact.u, impact.free, impact)
    if not min(by_before, by_free) > ROUND_OFF * size:
        return report
    for j in range(len(x)):
        problem.r[j] -= impact.rebound[j]
        impact.other[j] = x[j]
    without = solve_island(problem, options, impact.other[: len(x)], scratch)
    compute_changes(problem, impact.other[: len(x)], impact.xi, impact.change)
    share = max(largest_share(problem, x, impact.before, impact), largest_share(problem, x, impact.free, impact))
    for j in range(len(x)):
        x[j] = impact.other[j] + share * (x[j] - impact.other[j])
    return worse(report, without)


@kernel
def largest_share(problem, x, start, impact) -> float:
    """Return the largest share s up to 1 of x with which `other` + s (x - `other`) adds no energy to `start`; or 0."""
    a = b = c = 0.0
    for j in range(problem.equalities, len(x)):
        if not is_given_load(problem, j):
            d, change = x[j] - impact.other[j], impact.u[j] - impact.change[j]
            mean = 0.5 * (start[j] + impact.free[j] + impact.change[j])
            a += 0.5 * d * change
            b += d * mean + 0.5 * impact.other[j] * change
            c += impact.other[j] * mean
    if c > 0.0 or not a > 0.0:
        return 0.0
    root = math.sqrt(b * b - 4.0 * a * c)
    return min(max(-2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a), 0.0), 1.0)
