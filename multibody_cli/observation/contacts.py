"""Contacts and friction of joints at one output instant: those of the step that ended there."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.accounting import STICK
from multibody_cli.contact_solver.rows import PER_CONTACT, tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross


@kernel
def observe_contacts(touch, numbers, samples, k):
    """Fill row k of `samples` with the contacts; `numbers` gives the place of each row of bodies, -1 for the world."""
    creep, count, first_row = 0.0, touch.number[0], touch.static[0] + PER_CONTACT * len(touch.journals.limit)
    samples.contact_count[k] = count
    for c in range(count):
        contact, first = touch.found.contacts[c], first_row + PER_CONTACT * c
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
            creep = max(creep, math.hypot(touch.after[first + 1], touch.after[first + 2]))
    samples.creep[k] = creep


@kernel
def observe_journals(pads, pushes, samples, k):
    """Fill row k of `samples` with the friction of joints, and add it to what they transmit."""
    for place in range(samples.rubbing.shape[1]):
        for i in range(6):
            samples.rubbing[k, place, i] = 0.0
    for p in range(len(pads)):
        pad, along, across = pads[p], pushes[p, 1], pushes[p, 2]
        for i in range(3):
            t, f = along * pad.along_t[i] + across * pad.across_t[i], along * pad.along_f[i] + across * pad.across_f[i]
            samples.rubbing[k, pad.place, i] += t
            samples.rubbing[k, pad.place, 3 + i] += f
            samples.reaction[k, pad.joint, i] += t
            samples.reaction[k, pad.joint, 3 + i] += f
