"""Impacts of one island that follow one another in a step: velocities after all of them, without friction.

In each pass, the contacts that meet next, as the velocities are now, separate at -e u_n, until none approaches.  The
velocities so found take the place of -e u_n.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.friction.problem import PER_CONTACT, end_of_contacts, first_contact_row
from multibody_cli.contact_solver.friction.solvers import solve_island
from multibody_cli.contact_solver.impact_order import TIE
from multibody_cli.contact_solver.impact_problem import (
    compute_changes,
    contact_of_row,
    leave_out,
    restore_blocks,
    save_blocks,
    without_motion,
    write_rebounds,
)
from multibody_cli.kernel import kernel, lazy_kernel

MAX_PASSES = 1000
"""Largest number of passes of impacts that pass on; bodies that still approach each other then do not rebound."""

FEW_PASSES = 10
"""The same with the default law; inelastic bodies in a pile meet again and again."""


@lazy_kernel
def pass_on(problem, options, island_rows, touching, together, x, contacts, step, impact_times, scratch):
    """Set the rebounds to the velocities after impacts that pass on, without friction, and guess the impulses x.

    Contacts with a gap / h of at most `touching` touch; `together`: even if they do not approach.
    """
    impact, time = scratch.impact, 0.0
    m = len(problem.r)
    start_passes(problem, island_rows, contacts, step, impact_times, impact)
    save_blocks(problem, impact)
    for _ in range(FEW_PASSES if together else MAX_PASSES):
        wait = time_to_next(problem, island_rows, step, impact_times, impact)
        if wait == math.inf:
            break
        time += wait
        for j in range(problem.constraint_rows, m):
            impact.gap[j] += wait * impact.u[j]
        select_approaching(problem, island_rows, time, touching, together, contacts, step, impact_times, impact)
        for j in range(m):
            impact.other[j] = 0.0
        solve_island(without_motion(problem, impact), options, impact.other[:m], scratch)
        restore_blocks(problem, impact)
        compute_changes(problem, impact.other[:m], impact.xi, impact.change)
        for j in range(m):
            impact.u[j] += impact.change[j]
            impact.total[j] += impact.other[j]
    for j in range(m):
        impact.rebound[j] = 0.0
        if j >= problem.constraint_rows and impact.total[j] > 0.0:
            impact.rebound[j] = -max(impact.u[j], 0.0) - step.closing[island_rows[j]]
            x[j] = impact.total[j]
    write_rebounds(problem, island_rows, step, impact)


@kernel
def start_passes(problem, island_rows, contacts, step, impact_times, impact):
    """Set velocities and gaps to those of the start of the step."""
    for j in range(len(problem.r)):
        impact.u[j] = impact.before[j] if j >= problem.constraint_rows else 0.0
        impact.total[j] = impact.gap[j] = 0.0
    for j in range(first_contact_row(problem), end_of_contacts(problem), PER_CONTACT):
        k = island_rows[j]
        c = contact_of_row(k, step)
        share = contacts[c].delay / step.sizes[0].h
        impact.gap[j] = (1.0 - share) * step.closing[k] - share * impact.u[j]
        impact_times.passed_at[c] = 0.0


@kernel
def time_to_next(problem, island_rows, step, impact_times, impact) -> float:
    """Return the time to the next impact, over the step; infinity if there is none."""
    wait = math.inf
    for j in range(first_contact_row(problem), end_of_contacts(problem), PER_CONTACT):
        if approaches(j, island_rows[j], step, impact_times, impact):
            wait = min(wait, max(impact.gap[j], 0.0) / -impact.u[j])
    return wait


@kernel
def approaches(j, k, step, impact_times, impact) -> bool:
    """Return whether the bodies of the contact with the normal row j, row k of the step, meet with their velocities.

    Those that are held meet later, if at all (`impact_order`).
    """
    u, held = impact.u[j], impact_times.own_delay[contact_of_row(k, step)] > 0.0
    return u < -IMPACT_SPEED * step.rows[k].speed and u + step.closing[k] < 0.0 and not held


@kernel
def touching_bound(problem, impact) -> float:
    """Return the velocity gap / h up to which bodies touch, for the fastest impact of an island."""
    fastest = 0.0
    for j in range(problem.constraint_rows, len(problem.r), PER_CONTACT):
        if impact.rebound[j] != 0.0:
            fastest = max(fastest, -impact.before[j])
    return TIE * fastest


@kernel
def acts_across_gap(problem, island_rows, touching, x, contacts, step, impact) -> bool:
    """Return whether a contact has an impulse whose bodies are apart and meet only through impacts of other bodies."""
    for j in range(first_contact_row(problem), end_of_contacts(problem), PER_CONTACT):
        k = island_rows[j]
        apart = step.closing[k] > touching and impact.free[j] + step.closing[k] > 0.0
        if apart and x[j] > 0.0 and not rebounds(problem, island_rows, contact_of_row(k, step), contacts, step, impact):
            return True
    return False


@kernel
def rebounds(problem, island_rows, c, contacts, step, impact) -> bool:
    """Return whether the two bodies of contact c rebound from each other."""
    found = False
    for j in range(first_contact_row(problem), end_of_contacts(problem), PER_CONTACT):
        other = contacts[contact_of_row(island_rows[j], step)]
        same = other.body_a == contacts[c].body_a and other.body_b == contacts[c].body_b
        found = found or (same and impact.rebound[j] != 0.0)
    return found


@kernel
def select_approaching(problem, island_rows, time, touching, together, contacts, step, impact_times, impact):
    """Leave in the problem constraint rows, the normals that meet at a time over the step, and those that hold."""
    for j in range(problem.constraint_rows):
        problem.r[j] = impact.u[j] if j >= problem.equalities else 0.0
    for j in range(problem.constraint_rows, len(problem.r)):
        k = island_rows[j]
        c = contact_of_row(k, step)
        parts = impact.gap[j] > touching or impact.u[j] > IMPACT_SPEED * step.rows[k].speed
        if c < 0 or (j - problem.constraint_rows) % PER_CONTACT > 0 or parts:
            problem.r[j] = 0.0
            leave_out(problem, j)
        elif approaches(j, k, step, impact_times, impact):
            problem.r[j] = (1.0 + contacts[c].restitution) * impact.u[j]
            if step.closing[k] > touching and impact.total[j] == 0.0:
                impact_times.passed_at[c] = min(time, 1.0) * step.sizes[0].h
        elif together:
            problem.r[j] = impact.u[j]
        else:
            problem.r[j] = 0.0
            leave_out(problem, j)
