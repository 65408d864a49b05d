"""Impacts of one island that follow one another in a step: velocities after all of them, without friction.

In each pass, the contacts that meet next, as the velocities are now, separate at -e u_n, until none approaches.  The
velocities so found take the place of -e u_n.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
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
from multibody_cli.contact_solver.parameters import solve_island
from multibody_cli.kernel import kernel, template

MAX_PASSES = 1000
"""Largest number of passes of impacts that pass on; bodies that still approach each other then do not rebound."""

FEW_PASSES = 10
"""The same with the default law; inelastic bodies in a pile meet again and again."""


@template(solve_island)
def pass_on(F, options, island, touching, together, x, contact_work):
    """Set the rebounds to the velocities after impacts that pass on, without friction, and guess the impulses x.

    Contacts with a gap / h of at most `touching` touch; `together`: even if they do not approach.
    """
    S, static, time = contact_work.island.impact, F.equalities + F.limits, 0.0
    start_passes(F, island, contact_work)
    save_blocks(F, S)
    for _ in range(FEW_PASSES if together else MAX_PASSES):
        wait = time_to_next(F, island, contact_work)
        if wait == math.inf:
            break
        time += wait
        for j in range(static, len(F.r)):
            S.gap[j] += wait * S.u[j]
        select_approaching(F, island, time, touching, together, contact_work)
        for j in range(len(F.r)):
            S.other[j] = 0.0
        solve_island(without_motion(F, S), options, S.other[: len(F.r)], contact_work)
        restore_blocks(F, S)
        compute_changes(F, S.other[: len(F.r)], S.xi, S.change)
        for j in range(len(F.r)):
            S.u[j] += S.change[j]
            S.total[j] += S.other[j]
    first = contact_work.groups.first_row[island]
    for j in range(len(F.r)):
        S.rebound[j] = 0.0
        if j >= static and S.total[j] > 0.0:
            S.rebound[j] = -max(S.u[j], 0.0) - contact_work.closing[contact_work.groups.rows[first + j]]
            x[j] = S.total[j]
    write_rebounds(F, island, contact_work)


@kernel
def start_passes(F, island, contact_work):
    """Set velocities and gaps to those of the start of the step."""
    S, static, first = contact_work.island.impact, F.equalities + F.limits, contact_work.groups.first_row[island]
    for j in range(len(F.r)):
        S.u[j] = S.before[j] if j >= static else 0.0
        S.total[j] = S.gap[j] = 0.0
    for j in range(static + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        k = contact_work.groups.rows[first + j]
        c = contact_of_row(k, contact_work)
        share = contact_work.detection.contacts[c].delay / contact_work.step[0]
        S.gap[j] = (1.0 - share) * contact_work.closing[k] - share * S.u[j]
        contact_work.passed_at[c] = 0.0


@kernel
def time_to_next(F, island, contact_work) -> float:
    """Return the time to the next impact, over the step; infinity if there is none."""
    S, first, wait = contact_work.island.impact, contact_work.groups.first_row[island], math.inf
    for j in range(F.equalities + F.limits + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        if approaches(j, contact_work.groups.rows[first + j], contact_work):
            wait = min(wait, max(S.gap[j], 0.0) / -S.u[j])
    return wait


@kernel
def approaches(j, k, contact_work) -> bool:
    """Return whether the bodies of the contact with the normal row j, row k of the step, meet with their velocities.

    Those that are held meet later, if at all (`impact_order`).
    """
    u = contact_work.island.impact.u[j]
    held = contact_work.own_delay[contact_of_row(k, contact_work)] > 0.0
    return u < -IMPACT_SPEED * contact_work.rows[k].speed and u + contact_work.closing[k] < 0.0 and not held


@kernel
def touching_bound(F, island, contact_work) -> float:
    """Return the velocity gap / h up to which bodies touch, for the fastest impact of an island."""
    fastest, S = 0.0, contact_work.island.impact
    for j in range(F.equalities + F.limits, len(F.r), PER_CONTACT):
        if S.rebound[j] != 0.0:
            fastest = max(fastest, -S.before[j])
    return TIE * fastest


@kernel
def acts_across_gap(F, island, touching, x, contact_work) -> bool:
    """Return whether a contact has an impulse whose bodies are apart and meet only through impacts of other bodies."""
    S, first = contact_work.island.impact, contact_work.groups.first_row[island]
    for j in range(F.equalities + F.limits + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        k = contact_work.groups.rows[first + j]
        apart = contact_work.closing[k] > touching and S.free[j] + contact_work.closing[k] > 0.0
        if apart and x[j] > 0.0 and not rebounds(F, island, contact_of_row(k, contact_work), contact_work):
            return True
    return False


@kernel
def rebounds(F, island, c, contact_work) -> bool:
    """Return whether the two bodies of contact c rebound from each other."""
    G, contacts, found = contact_work.groups, contact_work.detection.contacts, False
    for j in range(F.equalities + F.limits + PER_CONTACT * F.friction_patches, len(F.r), PER_CONTACT):
        other = contacts[contact_of_row(G.rows[G.first_row[island] + j], contact_work)]
        same = other.body_a == contacts[c].body_a and other.body_b == contacts[c].body_b
        found = found or (same and contact_work.island.impact.rebound[j] != 0.0)
    return found


@kernel
def select_approaching(F, island, time, touching, together, contact_work):
    """Leave in the problem constraint rows, the normals that meet at a time over the step, and those that hold."""
    G, S, static, h = contact_work.groups, contact_work.island.impact, F.equalities + F.limits, contact_work.step[0]
    for j in range(static):
        F.r[j] = S.u[j] if j >= F.equalities else 0.0
    for j in range(static, len(F.r)):
        k = G.rows[G.first_row[island] + j]
        c = contact_of_row(k, contact_work)
        parts = S.gap[j] > touching or S.u[j] > IMPACT_SPEED * contact_work.rows[k].speed
        if c < 0 or (j - static) % PER_CONTACT > 0 or parts:
            F.r[j] = 0.0
            leave_out(F, j)
        elif approaches(j, k, contact_work):
            F.r[j] = (1.0 + contact_work.detection.contacts[c].restitution) * S.u[j]
            if contact_work.closing[k] > touching and S.total[j] == 0.0:
                contact_work.passed_at[c] = min(time, 1.0) * h
        elif together:
            F.r[j] = S.u[j]
        else:
            F.r[j] = 0.0
            leave_out(F, j)
