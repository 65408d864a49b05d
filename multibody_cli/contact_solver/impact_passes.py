"""Impacts of one island that follow one another in a step: velocities after all of them, without friction.

In each pass, contacts that approach each other, as the velocities are now, separate at -e u_n.  What one pass closes
belongs to the next, until none approaches.  The velocities so found take the place of -e u_n.
"""

from __future__ import annotations

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


@template(solve_island)
def pass_on(F, options, island, touching, x, contact_work):
    """Set the rebounds to the velocities after impacts that pass on, without friction, and guess the impulses x."""
    S, static = contact_work.island.impact, F.equalities + F.limits
    for j in range(len(F.r)):
        S.u[j] = S.before[j] if j >= static else 0.0
        S.total[j] = 0.0
    save_blocks(F, S)
    for _ in range(MAX_PASSES):
        if not select_approaching(F, island, touching, contact_work):
            break
        for j in range(len(F.r)):
            S.other[j] = 0.0
        solve_island(without_motion(F, S), options, S.other[: len(F.r)], contact_work)
        restore_blocks(F, S)
        compute_changes(F, S.other[: len(F.r)], S.xi, S.change)
        for j in range(len(F.r)):
            S.u[j] += S.change[j]
            S.total[j] += S.other[j]
    restore_blocks(F, S)
    first = contact_work.groups.first_row[island]
    for j in range(len(F.r)):
        S.rebound[j] = 0.0
        if j >= static and S.total[j] > 0.0:
            S.rebound[j] = -max(S.u[j], 0.0) - contact_work.closing[contact_work.groups.rows[first + j]]
            x[j] = S.total[j]
    write_rebounds(F, island, contact_work)


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
def select_approaching(F, island, touching, contact_work) -> bool:
    """Leave in the problem constraint rows and the normals that approach; return whether there are any of these.

    Contacts that touch, with a gap / h of at most `touching`, and do not separate resist as well.  Those that are held
    meet later, if at all (`impact_order`).
    """
    G, S, found = contact_work.groups, contact_work.island.impact, False
    static = F.equalities + F.limits
    for j in range(static):
        F.r[j] = S.u[j] if j >= F.equalities else 0.0
    for j in range(static, len(F.r)):
        k = G.rows[G.first_row[island] + j]
        c = contact_of_row(k, contact_work)
        normal = (j - static) % PER_CONTACT == 0 and c >= 0 and contact_work.own_delay[c] == 0.0
        if normal and S.u[j] < -IMPACT_SPEED and S.u[j] + contact_work.closing[k] < 0.0:
            F.r[j] = (1.0 + contact_work.detection.contacts[c].restitution) * S.u[j]
            found = True
        elif normal and contact_work.closing[k] <= touching and S.u[j] <= IMPACT_SPEED:
            F.r[j] = S.u[j]
        else:
            F.r[j] = 0.0
            leave_out(F, j)
    return found
