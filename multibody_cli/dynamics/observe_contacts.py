"""Contacts at one output instant: those of the step that ended there."""

from __future__ import annotations

import math

from multibody_cli.constraints.rows import velocity_of_row
from multibody_cli.dynamics.collide import STICK
from multibody_cli.dynamics.contact_rows import PER_CONTACT, tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross


@kernel
def observe_contacts(work, touch, numbers, samples, k):
    """Fill row k of `samples` with the contacts; `numbers` gives the place of each row of bodies, -1 for the world."""
    creep, count = 0.0, touch.number[0]
    samples.contact_count[k] = count
    for c in range(count):
        contact, first = touch.found.contacts[c], touch.static[0] + PER_CONTACT * c
        n = load(contact.normal)
        t = tangent_of(n)
        x = load(contact.impulse)
        samples.contact_bodies[k, c, 0] = numbers[contact.body_a]
        samples.contact_bodies[k, c, 1] = numbers[contact.body_b]
        store(samples.contact_point[k, c], load(contact.point))
        store(samples.contact_normal[k, c], n)
        samples.contact_gap[k, c] = contact.gap
        samples.contact_impulse[k, c, 0] = x.x
        store(samples.contact_impulse[k, c, 1:], x.y * t + x.z * cross(n, t))
        samples.contact_mode[k, c] = contact.mode
        if contact.mode == STICK:
            along = velocity_of_row(touch.rows[first + 1], touch.terms, work.bodies, work.response)
            across = velocity_of_row(touch.rows[first + 2], touch.terms, work.bodies, work.response)
            creep = max(creep, math.hypot(along, across))
    samples.creep[k] = creep
