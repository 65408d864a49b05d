"""Contacts of the last step, and their resultant on each body: impulses divided by the step."""

from __future__ import annotations

import math

from multibody_cli.contact_solver.friction.problem import PER_CONTACT
from multibody_cli.contact_solver.results import STICK
from multibody_cli.contact_solver.rows import tangent_of
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import ZERO, cross
from multibody_cli.spatial.values import Vec3


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the contacts, their resultants, and the largest tangential speed of those that stick."""
    creep, sizes, velocity = 0.0, contact_work.step.sizes[0], contact_work.step.velocity_after
    samples.contact_count[k] = sizes.contacts
    samples.contact_step[k] = sizes.h
    for body in range(len(rows.bodies)):
        store(samples.contact_force[k, body], ZERO)
        store(samples.contact_torque[k, body], ZERO)
    for c in range(sizes.contacts):
        contact, first = contact_work.detection.contacts[c], sizes.first_contact + PER_CONTACT * c
        n = load(contact.normal)
        t = tangent_of(n)
        x = load(contact.impulse)
        tangential = x.y * t + x.z * cross(n, t)
        force = (1.0 / sizes.h) * (x.x * n + tangential)
        a, b = rows.numbers[contact.body_a], rows.numbers[contact.body_b]
        for body, f in ((a, -1.0 * force), (b, force)):
            add_force(
                samples.position[k], samples.contact_force[k], samples.contact_torque[k], body, load(contact.point), f
            )
        m = load(contact.moment)
        moment = m.x * n + m.y * t + m.z * cross(n, t)
        if len(contact_work.step.resistances) > 0:
            add_moment(samples.contact_torque[k], a, (-1.0 / sizes.h) * moment)
            add_moment(samples.contact_torque[k], b, (1.0 / sizes.h) * moment)
            store(samples.contact_moment_impulse[k, c], moment)
        samples.contact_body_a[k, c] = a
        samples.contact_body_b[k, c] = b
        store(samples.contact_point[k, c], load(contact.point))
        store(samples.contact_normal[k, c], n)
        samples.contact_gap[k, c] = contact.gap
        samples.contact_normal_impulse[k, c] = x.x
        store(samples.contact_tangential_impulse[k, c], tangential)
        samples.contact_mode[k, c] = contact.mode
        if contact.mode == STICK:
            creep = max(creep, math.hypot(velocity[first + 1], velocity[first + 2]))
    samples.creep[k] = creep


@kernel
def add_force(position, force, torque, body, point, f):
    """Add a force f at a point to the resultant on a body, about the origin of its frame; the world has none."""
    if body >= 0:
        x = position[body]
        add_moment(torque, body, cross(point - Vec3(x[0], x[1], x[2]), f))
        for i in range(3):
            force[body, i] += f[i]


@kernel
def add_moment(torque, body, t):
    """Add a moment t to the resultant on a body; the world has none."""
    if body >= 0:
        for i in range(3):
            torque[body, i] += t[i]
