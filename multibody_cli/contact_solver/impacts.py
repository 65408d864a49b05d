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
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, Report, copy, delassus_entry
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
from multibody_cli.contact_solver.parameters import solve_island
from multibody_cli.kernel import kernel, template

NEWTON, ENERGETIC, PROPAGATING = range(3)
"""Laws of impact, `Options.impacts`."""

LAWS = ("newton", "energetic", "propagating")
"""Their names in scenes."""

CENTRAL = 1e-12
"""Change of the normal velocity by friction, relative to that by the normal, that counts as 0."""

ROUND_OFF = 1e-12
"""Energy that impulses add, relative to the sum of the absolute works of all rows, that counts as 0."""


@kernel
def has_impact(island, contact_work) -> bool:
    """Return whether a contact of an island rebounds."""
    G = contact_work.groups
    found = False
    for i in range(G.first_row[island], G.first_row[island + 1]):
        found = found or contact_work.rebound[G.rows[i]] != 0.0
    return found


@template(solve_island)
def solve_impacts(F, options, island, x, contact_work) -> Report:
    """Solve for the impulses x of one island with impacts; x holds the initial guess."""
    read_velocities(F, island, contact_work)
    touching = touching_bound(F, island, contact_work)
    if options.impacts == PROPAGATING:
        pass_on(F, options, island, touching, False, x, contact_work)
    report = solve_island(F, options, x, contact_work)
    if options.impacts == ENERGETIC and acts_across_gap(F, island, touching, x, contact_work):
        pass_on(F, options, island, touching, True, x, contact_work)
        report = worse(report, solve_island(F, options, x, contact_work))
    row = only_pressed_normal(F, x)
    if row >= 0 and contact_work.island.impact.rebound[row] != 0.0:
        report = replace_by_path(F, options, island, row, x, report, contact_work)
    return share_restitution(F, options, x, report, contact_work)


# --- a single contact -----------------------------------------------------------------------------------------------
@kernel
def only_pressed_normal(F, x) -> int:
    """Return the normal row of the only contact with an impulse, if no limit has one; -1 else."""
    static, normal = F.equalities + F.limits, -1
    for j in range(F.equalities, static):
        if x[j] > 0.0:
            return -1
    for j in range(static + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        if x[j] > 0.0:
            if normal >= 0:
                return -1
            normal = j
    return normal


@template(solve_island)
def balance_unit_impulses(F, options, row, report, contact_work) -> Report:
    """Compute the unit impulses of a contact with the impulses of equalities that they cause, and their responses."""
    S, m = contact_work.island.impact, len(F.r)
    save_blocks(F, S)
    for j in range(PER_CONTACT):
        for i in range(m):
            F.r[i] = delassus_entry(F, i, row + j) if i < F.equalities else 0.0
            S.other[i] = 0.0
        if F.equalities > 0:
            for i in range(F.equalities, m):
                leave_out(F, i)
            report = worse(report, solve_island(without_motion(F, S), options, S.other[:m], contact_work))
            restore_blocks(F, S)
        S.other[row + j] = 1.0
        compute_changes(F, S.other[:m], S.xi, S.change)
        copy(S.other, S.balanced[j], m)
        copy(S.change, S.response[j], m)
        for i in range(PER_CONTACT):
            S.W[i, j] = S.change[row + i]
    return report


@template(solve_island)
def replace_by_path(F, options, island, row, x, report, contact_work) -> Report:
    """Replace Newton's impulse of a single contact by that of its path, and solve for those of the other forces.

    Equalities have their impulses along the path.  Limits and dry friction of joints act after it: their impulses
    are finite where that of an impact is not.  The path leads from the velocity before the step to that after the
    impact.  Forces that press the contact in the step are balanced by impulses that keep this velocity; forces that
    separate it diminish the impulse of the path.
    """
    S, k = contact_work.island.impact, contact_work.groups.rows[contact_work.groups.first_row[island] + row]
    contact, m = contact_work.detection.contacts[contact_of_row(k, contact_work)], len(F.r)
    report = balance_unit_impulses(F, options, row, report, contact_work)
    write_rebounds(F, island, contact_work)
    if contact.friction * math.hypot(S.W[0, 1], S.W[0, 2]) <= CENTRAL * S.W[0, 0]:
        return report
    for i in range(PER_CONTACT):
        S.velocity[i] = S.before[row + i]
    dissipated = follow_impact(S.W, contact.friction, contact.restitution, S.velocity, S.impulse)
    straight, pull = 0.0, max(S.free[row] - S.before[row], 0.0)
    for i in range(1, PER_CONTACT):
        straight -= 0.5 * S.impulse[i] * (S.before[row + i] + S.velocity[i])
    share = max(1.0 - pull / (S.velocity[0] - S.before[row]), 0.0)
    contact_work.turned_work[k] = share * (dissipated - straight)
    for i in range(m):
        S.other[i] = x[i] if is_given_load(F, i) else 0.0
        for j in range(PER_CONTACT):
            F.r[i] += share * S.impulse[j] * S.response[j, i]
    F.r[row] -= contact_work.closing[k] + S.rebound[row] + S.velocity[0]
    speed = ROUND_OFF * (abs(S.before[row]) + S.velocity[0]) / math.sqrt(S.W[0, 0])
    if F.equalities + F.friction_patches > 0 or closes(F, speed):
        report = worse(report, solve_island(without_motion(F, S), options, S.other[:m], contact_work))
    write_rebounds(F, island, contact_work)
    for i in range(m):
        x[i] = S.other[i]
        for j in range(PER_CONTACT):
            x[i] += share * S.impulse[j] * S.balanced[j, i]
    x[row + 1], x[row + 2] = clipped(x[row + 1], x[row + 2], contact.friction * x[row])
    return report


@kernel
def closes(F, speed) -> bool:
    """Return whether a limit or a normal closes faster than a speed in the mass norm, without further impulses."""
    static, found = F.equalities + F.limits, False
    for j in range(F.equalities, len(F.r)):
        if j < static or (j - static) % PER_CONTACT == 0:
            found = found or -F.r[j] > speed * math.sqrt(delassus_entry(F, j, j))
    return found


# --- several contacts -----------------------------------------------------------------------------------------------
@kernel
def added_energy(F, x, u, start, S) -> tuple[float, float]:
    """Return the work of impulses x with u = W x, from the velocities `start`, and the sum of its absolute parts."""
    work = size = 0.0
    for j in range(F.equalities, len(x)):
        if not is_given_load(F, j):
            work += x[j] * (0.5 * (start[j] + S.free[j] + u[j]))
            size += abs(x[j]) * (abs(start[j]) + abs(S.free[j] + u[j]))
    return work, size


@kernel
def is_given_load(F, j) -> bool:
    """Return whether row j is the normal of a friction patch of a joint."""
    place = j - F.equalities - F.limits
    return 0 <= place < PER_CONTACT * F.friction_patches and place % PER_CONTACT == 0


@template(solve_island)
def share_restitution(F, options, x, report, contact_work) -> Report:
    """Replace the impulses x by those between x and the impulses without restitution, if x adds energy."""
    S = contact_work.island.impact
    compute_changes(F, x, S.xi, S.u)
    by_before, size = added_energy(F, x, S.u, S.before, S)
    by_free, _ = added_energy(F, x, S.u, S.free, S)
    if not min(by_before, by_free) > ROUND_OFF * size:
        return report
    for j in range(len(x)):
        F.r[j] -= S.rebound[j]
        S.other[j] = x[j]
    without = solve_island(F, options, S.other[: len(x)], contact_work)
    compute_changes(F, S.other[: len(x)], S.xi, S.change)
    share = max(largest_share(F, x, S.before, S), largest_share(F, x, S.free, S))
    for j in range(len(x)):
        x[j] = S.other[j] + share * (x[j] - S.other[j])
    return worse(report, without)


@kernel
def largest_share(F, x, start, S) -> float:
    """Return the largest share s up to 1 of x with which `other` + s (x - `other`) adds no energy to `start`; or 0."""
    a = b = c = 0.0
    for j in range(F.equalities, len(x)):
        if not is_given_load(F, j):
            d, change = x[j] - S.other[j], S.u[j] - S.change[j]
            mean = 0.5 * (start[j] + S.free[j] + S.change[j])
            a += 0.5 * d * change
            b += d * mean + 0.5 * S.other[j] * change
            c += S.other[j] * mean
    if c > 0.0 or not a > 0.0:
        return 0.0
    root = math.sqrt(b * b - 4.0 * a * c)
    return min(max(-2.0 * c / (b + root) if b > 0.0 else (root - b) / (2.0 * a), 0.0), 1.0)
