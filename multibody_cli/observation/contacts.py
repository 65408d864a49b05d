"""Contacts and joint friction at one output instant, from the last step."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.accounting import STICK
from multibody_cli.contact_solver.rows import PER_CONTACT, tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import cross


@kernel
def observe_contacts(contact_work, numbers, samples, k):
    """Fill row k of `samples` with the contacts; `numbers` gives the place of each row of bodies, -1 for the world."""
    creep, count = 0.0, contact_work.contact_count[0]
    first_row = contact_work.constraint_row_count[0] + PER_CONTACT * len(contact_work.joint_friction.limit)
    samples.contact_count[k] = count
    for c in range(count):
        contact, first = contact_work.detection.contacts[c], first_row + PER_CONTACT * c
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
            creep = max(
                creep, math.hypot(contact_work.velocity_after[first + 1], contact_work.velocity_after[first + 2])
            )
    samples.creep[k] = creep


@kernel
def observe_joint_friction(patches, friction_forces, samples, k):
    """Fill row k of `samples` with the friction of joints, and add it to what they transmit."""
    for place in range(samples.joint_friction.shape[1]):
        for i in range(6):
            samples.joint_friction[k, place, i] = 0.0
    for p in range(len(patches)):
        patch, along, across = patches[p], friction_forces[p, 1], friction_forces[p, 2]
        for i in range(3):
            t, f = (
                along * patch.along_t[i] + across * patch.across_t[i],
                along * patch.along_f[i] + across * patch.across_f[i],
            )
            samples.joint_friction[k, patch.place, i] += t
            samples.joint_friction[k, patch.place, 3 + i] += f
            samples.reaction[k, patch.joint, i] += t
            samples.reaction[k, patch.joint, 3 + i] += f
