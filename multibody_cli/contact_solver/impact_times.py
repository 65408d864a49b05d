"""Times of impacts: bodies keep the velocities without contacts until their first impact in a step.

An integrator of first order displaces q by h v' over a step.  Where all active contacts of an articulation begin later
than the step, the first of them at the time t > 0, the motion is

    v* until t,  then v' ,

so that q is displaced beforehand, by v* for t and by v' for -t.  Where a contact or a limit is active from the start,
v' holds for the whole step.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

from multibody_cli.contact_solver.friction.problem import BLOCKS_PER_ROW, PER_CONTACT
from multibody_cli.kernel import kernel
from multibody_cli.model import Floats
from multibody_cli.tree.configuration import displace, normalize


class ImpactTimes(NamedTuple):
    """Times of impacts in a step, for l bodies and c contacts."""

    first: Annotated[Floats, "l"]  # time of the first contact of an island, then of that on an articulation, s
    own_gap: Annotated[Floats, "contacts"]  # gap and time of a contact that is held (`impact_order`); others have 0
    own_delay: Annotated[Floats, "contacts"]
    passed_at: Annotated[Floats, "contacts"]  # time at which an impact passes on to a contact that was open; 0 else


@kernel
def delay_impacts(tree, contacts, step, groups, impact_times, q, v, response):
    """Displace q to the path that leads through the impacts, for the velocity v (nv,) after them.

    `response` (nv,) is the change of the velocity; it is overwritten.
    """
    if not find_impact_times(contacts, step, groups, impact_times):
        return
    first = impact_times.first
    for j in range(len(v)):
        response[j] = first[groups.articulation[groups.body_of_coordinate[j]]] * (v[j] - response[j])
    displace(tree, q, response, 1.0)
    for j in range(len(v)):
        response[j] = -first[groups.articulation[groups.body_of_coordinate[j]]] * v[j]
    displace(tree, q, response, 1.0)
    normalize(tree, q)


@kernel
def find_impact_times(contacts, step, groups, impact_times) -> bool:
    """Compute the time of the first impulse on each articulation, 0 if there is none; return whether any is later."""
    sizes, first, later = step.sizes[0], impact_times.first, False
    for c in range(sizes.contacts):
        later = later or (max(contacts[c].delay, impact_times.passed_at[c]) > 0.0 and contacts[c].impulse[0] > 0.0)
    if not later:
        return False
    for c in range(len(first)):
        first[c] = math.inf
    for k in range(sizes.equalities, sizes.constraint_rows):
        if step.x[k] > 0.0:
            first[groups.row_articulations[k, 0]] = 0.0
    for c in range(sizes.contacts):
        if contacts[c].impulse[0] > 0.0:
            for side in range(BLOCKS_PER_ROW):
                articulation = groups.row_articulations[sizes.first_contact + PER_CONTACT * c, side]
                if articulation >= 0:
                    time = max(contacts[c].delay, impact_times.passed_at[c])
                    first[articulation] = min(first[articulation], time)
    for c in range(len(first)):
        if first[c] == math.inf:
            first[c] = 0.0
    return True
