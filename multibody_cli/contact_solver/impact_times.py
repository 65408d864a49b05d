"""Times of impacts: bodies keep the velocities without contacts until their first impact in a step.

An integrator of first order displaces q by h v' over a step.  Where all active contacts of an articulation begin later
than the step, the first of them at the time t > 0, the motion is

    v* until t,  then v' ,

so that q is displaced beforehand, by v* for t and by v' for -t.  Where a contact or a limit is active from the start,
v' holds for the whole step.
"""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.tree.configuration import displace, normalize


@kernel
def delay_impacts(tree, contact_work, equalities, limits, first, count, q, v, response):
    """Displace q to the path that leads through the impacts, for the velocity v (nv,) after them.

    `response` (nv,) is the change of the velocity; it is overwritten.  Limits have the rows [equalities, limits), and
    contacts those from `first` on.
    """
    if not find_impact_times(contact_work, equalities, limits, first, count):
        return
    G, times = contact_work.groups, contact_work.impact_times
    for j in range(len(v)):
        response[j] = times[G.articulation[G.body_of_coordinate[j]]] * (v[j] - response[j])
    displace(tree, q, response, 1.0)
    for j in range(len(v)):
        response[j] = -times[G.articulation[G.body_of_coordinate[j]]] * v[j]
    displace(tree, q, response, 1.0)
    normalize(tree, q)


@kernel
def find_impact_times(contact_work, equalities, limits, first, count) -> bool:
    """Compute the time of the first impulse on each articulation, 0 if there is none; return whether any is later."""
    G, times, later = contact_work.groups, contact_work.impact_times, False
    for c in range(count):
        contact = contact_work.detection.contacts[c]
        later = later or (max(contact.delay, contact_work.passed_at[c]) > 0.0 and contact.impulse[0] > 0.0)
    if not later:
        return False
    for c in range(len(times)):
        times[c] = math.inf
    for k in range(equalities, limits):
        if contact_work.x[k] > 0.0:
            times[G.row_articulations[k, 0]] = 0.0
    for c in range(count):
        contact = contact_work.detection.contacts[c]
        if contact.impulse[0] > 0.0:
            for side in range(BLOCKS_PER_ROW):
                articulation = G.row_articulations[first + PER_CONTACT * c, side]
                if articulation >= 0:
                    times[articulation] = min(times[articulation], max(contact.delay, contact_work.passed_at[c]))
    for c in range(len(times)):
        if times[c] == math.inf:
            times[c] = 0.0
    return True
