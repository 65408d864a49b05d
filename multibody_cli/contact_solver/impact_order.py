"""Order of the impacts in a step: gaps and restitution of contacts, and contacts that an earlier impact prevents.

A contact that begins at the time t of a step belongs to paths without impulses.  An impact on its island at t1 < t
leads its bodies elsewhere: a ball that bounces off a wall does not meet the body behind it.  Such a contact is *held*:
it has the gap of t1 on these paths, g - (t - t1) u_n with its normal velocity u_n < 0, closes from then on, and does
not rebound.  If it has an impulse all the same, its bodies meet, and it is released: it gets its own gap, time and
rebound.  Contacts are released in the order of their times.

Impacts within `TIE` steps are simultaneous.
"""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import IMPACT_SPEED
from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.kernel import formula, kernel

TIE = 1e-6
"""Difference of times, relative to the step, of impacts that are simultaneous."""


@kernel
def add_biases(contacts, groups, step, impact_times):
    """Add gaps and restitution to the normal velocities v* of all contacts, and gaps to the velocities of limits.

    `closing` (m,) becomes gap / h, `rebound` (m,) its increase by restitution, and `turned_work` (m,) 0.
    """
    sizes = step.sizes[0]
    for k in range(sizes.rows):
        step.closing[k] = step.rebound[k] = step.turned_work[k] = 0.0
    for k in range(sizes.equalities, sizes.constraint_rows):
        gap_velocity = max(step.rows[k].error, 0.0) / sizes.h
        set_bias(step, k, gap_velocity, gap_velocity)
    hold_later_contacts(contacts, groups, step, impact_times)
    for c in range(sizes.contacts):
        contact, k = contacts[c], sizes.first_contact + PER_CONTACT * c
        if impact_times.own_delay[c] > 0.0:
            gap_velocity = contact.gap / (sizes.h - contact.delay)
            set_bias(step, k, gap_velocity, gap_velocity)
        else:
            add_bias(contact, k, step)


@kernel
def add_bias(contact, k, step):
    """Add gap / h, or the restitution velocity, to the normal velocity of a contact with its normal in row k.

    The velocity before the step and v* are those half a step before and after its start, as in the leapfrog method: an
    impact within the step has the approach velocity of its time, the forces after it change the velocity further, and
    `velocity_before` becomes that by which its mean with the velocity after the step is the mean at the impact.
    """
    h, free, before = step.sizes[0].h, step.velocity_after, step.velocity_before
    approach, forced, share = before[k], 0.0, contact.delay / h
    if share > 0.0:
        forced = (share - 0.5) * (free[k] - approach)
        approach = free[k] + forced
        for j in range(k, k + PER_CONTACT):
            before[j] += 2.0 * share * (free[j] - before[j])
    gap_velocity = max(contact.gap, 0.0) / (h - contact.delay)
    bias, least = gap_velocity, IMPACT_SPEED * step.rows[k].speed
    if contact.restitution > 0.0 and approach < -least and free[k] + gap_velocity < 0.0:
        bias = min(contact.restitution * approach + forced, 0.0)
    set_bias(step, k, gap_velocity, bias)


@kernel
def set_bias(step, k, closing, bias):
    """Replace the bias of the normal velocity in row k."""
    change = bias - (step.closing[k] + step.rebound[k])
    step.closing[k], step.rebound[k] = closing, bias - closing
    step.r[k] += change
    if len(step.r_without_coupled) > 0:
        step.r_without_coupled[k] += change


@kernel
def hold_later_contacts(contacts, groups, step, impact_times):
    """Hold the contacts that begin after the first impact of their island."""
    sizes, first, delayed = step.sizes[0], impact_times.first, False
    for c in range(sizes.contacts):
        impact_times.own_delay[c] = impact_times.passed_at[c] = 0.0
        delayed = delayed or contacts[c].delay > 0.0
    if not delayed:
        return
    for i in range(len(first)):
        first[i] = math.inf
    for c in range(sizes.contacts):
        island = groups.row_island[sizes.first_contact + PER_CONTACT * c]
        if island >= 0 and contacts[c].delay > 0.0:
            first[island] = min(first[island], contacts[c].delay)
    for c in range(sizes.contacts):
        contact, k = contacts[c], sizes.first_contact + PER_CONTACT * c
        island, u = groups.row_island[k], step.velocity_after[k]
        if island < 0 or contact.delay == 0.0 or u >= 0.0:
            continue
        if time_of_contact(contact.delay, contact.gap, u) > first[island] + TIE * sizes.h:
            impact_times.own_delay[c], impact_times.own_gap[c] = contact.delay, contact.gap
            contact.gap, contact.delay = max(contact.gap, 0.0) - (contact.delay - first[island]) * u, first[island]


@formula
def time_of_contact(delay, gap, u):
    """Return the time at which a gap is 0 that closes with u < 0 from the delay on."""
    return delay - max(gap, 0.0) / u


@kernel
def release_first_contact(island_rows, contacts, step, impact_times, x) -> bool:
    """Release the first held contact of an island with an impulse, and those at its time; return whether any has."""
    own_delay, own_gap, first = impact_times.own_delay, impact_times.own_gap, math.inf
    for released in (False, True):
        for j in range(len(island_rows)):
            k = island_rows[j]
            row = k - step.sizes[0].first_contact
            c = row // PER_CONTACT if row % PER_CONTACT == 0 else -1
            if 0 <= c < step.sizes[0].contacts and own_delay[c] > 0.0 and x[j] > 0.0:
                time = time_of_contact(own_delay[c], own_gap[c], step.velocity_after[k])
                if not released:
                    first = min(first, time)
                elif time <= first + TIE * step.sizes[0].h:
                    contacts[c].gap, contacts[c].delay, own_delay[c] = own_gap[c], own_delay[c], 0.0
                    add_bias(contacts[c], k, step)
    return first < math.inf
