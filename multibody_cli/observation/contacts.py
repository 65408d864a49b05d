"""Contacts of the last step."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.results import STICK
from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the contacts, and the largest tangential speed of those that stick."""
    creep, count = 0.0, contact_work.contact_count[0]
    first_row = contact_work.constraint_row_count[0] + PER_CONTACT * len(contact_work.joint_friction.limit)
    samples.contact_count[k] = count
    for c in range(count):
        contact, first = contact_work.detection.contacts[c], first_row + PER_CONTACT * c
        n = load(contact.normal)
        t = tangent_of(n)
        x = load(contact.impulse)
        samples.contact_body_a[k, c] = rows.numbers[contact.body_a]
        samples.contact_body_b[k, c] = rows.numbers[contact.body_b]
        store(samples.contact_point[k, c], load(contact.point))
        store(samples.contact_normal[k, c], n)
        samples.contact_gap[k, c] = contact.gap
        samples.contact_normal_impulse[k, c] = x.x
        store(samples.contact_tangential_impulse[k, c], x.y * t + x.z * cross(n, t))
        samples.contact_mode[k, c] = contact.mode
        if contact.mode == STICK:
            creep = max(
                creep, math.hypot(contact_work.velocity_after[first + 1], contact_work.velocity_after[first + 2])
            )
    samples.creep[k] = creep
