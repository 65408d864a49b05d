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
from multibody_cli.contact_solver.islands import island_of
from multibody_cli.kernel import formula, kernel

TIE = 1e-6
"""Difference of times, relative to the step, of impacts that are simultaneous."""


@kernel
def add_biases(contact_work, h, first, count):
    """Add gaps and restitution to the normal velocities v* of all contacts, with rows from `first` on.

    `closing` (m,) becomes gap / h, `rebound` (m,) what restitution adds to it, and `turned_work` (m,) 0.
    """
    for k in range(first + PER_CONTACT * count):
        contact_work.closing[k] = contact_work.rebound[k] = contact_work.turned_work[k] = 0.0
    hold_later_contacts(contact_work, h, first, count)
    for c in range(count):
        if contact_work.own_delay[c] > 0.0:
            add_bias_of_held(contact_work, h, c, first + PER_CONTACT * c)
        else:
            add_bias(contact_work, h, c, first + PER_CONTACT * c)


@kernel
def add_bias(contact_work, h, c, k):
    """Add gap / h, or the restitution velocity, to the normal velocity of contact c with its normal in row k.

    The velocity before the step and v* are those half a step before and after its start, as in the leapfrog method: an
    impact within the step has the approach velocity of its time, the forces after it change the velocity further, and
    `velocity_before` becomes that by which its mean with the velocity after the step is the mean at the impact.
    """
    contact, free, before = (
        contact_work.detection.contacts[c],
        contact_work.velocity_after,
        contact_work.velocity_before,
    )
    approach, forced, share = before[k], 0.0, contact.delay / h
    if share > 0.0:
        forced = (share - 0.5) * (free[k] - approach)
        approach = free[k] + forced
        for j in range(k, k + PER_CONTACT):
            before[j] += 2.0 * share * (free[j] - before[j])
    gap_velocity = max(contact.gap, 0.0) / (h - contact.delay)
    bias, least = gap_velocity, IMPACT_SPEED * contact_work.rows[k].speed
    if contact.restitution > 0.0 and approach < -least and free[k] + gap_velocity < 0.0:
        bias = min(contact.restitution * approach + forced, 0.0)
    set_bias(contact_work, k, gap_velocity, bias)


@kernel
def add_bias_of_held(contact_work, h, c, k):
    """Add gap / h of a contact that is held."""
    contact = contact_work.detection.contacts[c]
    gap_velocity = contact.gap / (h - contact.delay)
    set_bias(contact_work, k, gap_velocity, gap_velocity)


@kernel
def set_bias(contact_work, k, closing, bias):
    """Replace the bias of the normal velocity in row k."""
    change = bias - (contact_work.closing[k] + contact_work.rebound[k])
    contact_work.closing[k], contact_work.rebound[k] = closing, bias - closing
    contact_work.r[k] += change
    if len(contact_work.r_without_coupled) > 0:
        contact_work.r_without_coupled[k] += change


@kernel
def hold_later_contacts(contact_work, h, first, count):
    """Hold the contacts that begin after the first impact of their island."""
    contacts, times, G, delayed = contact_work.detection.contacts, contact_work.impact_times, contact_work.groups, False
    for c in range(count):
        contact_work.own_delay[c] = contact_work.passed_at[c] = 0.0
        delayed = delayed or contacts[c].delay > 0.0
    if not delayed:
        return
    for i in range(len(times)):
        times[i] = math.inf
    for c in range(count):
        at = island_of(first + PER_CONTACT * c, G)
        if at >= 0 and contacts[c].delay > 0.0:
            times[at] = min(times[at], contacts[c].delay)
    for c in range(count):
        contact, k = contacts[c], first + PER_CONTACT * c
        at, u = island_of(k, G), contact_work.velocity_after[k]
        if at < 0 or contact.delay == 0.0 or u >= 0.0:
            continue
        if time_of_contact(contact.delay, contact.gap, u) > times[at] + TIE * h:
            contact_work.own_delay[c], contact_work.own_gap[c] = contact.delay, contact.gap
            contact.gap, contact.delay = max(contact.gap, 0.0) - (contact.delay - times[at]) * u, times[at]


@formula
def time_of_contact(delay, gap, u):
    """Return the time at which a gap is 0 that closes with u < 0 from the delay on."""
    return delay - max(gap, 0.0) / u


@kernel
def release_first_contact(island, contact_work, constraint_rows, x) -> bool:
    """Release the first held contact of an island with an impulse, and those at its time; return whether any has."""
    G, contacts, own = contact_work.groups, contact_work.detection.contacts, contact_work.own_delay
    h, patches = contact_work.step[0], len(contact_work.joint_friction.limit)
    start, first = constraint_rows + PER_CONTACT * patches, math.inf
    for released in (False, True):
        for i in range(G.first_row[island], G.first_row[island + 1]):
            place = G.rows[i] - start
            c = place // PER_CONTACT
            if place >= 0 and place % PER_CONTACT == 0 and own[c] > 0.0 and x[i - G.first_row[island]] > 0.0:
                time = time_of_contact(own[c], contact_work.own_gap[c], contact_work.velocity_after[G.rows[i]])
                if not released:
                    first = min(first, time)
                elif time <= first + TIE * h:
                    contacts[c].gap, contacts[c].delay, own[c] = contact_work.own_gap[c], own[c], 0.0
                    add_bias(contact_work, h, c, G.rows[i])
    return first < math.inf
