"""Friction of ropes at guides in the last step."""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.observation.friction_wrenches import add_friction


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the friction at each guide, and add its part to the tensions of the spans and the wrenches of ropes."""
    guides, forces = system.contacts.joint_friction.guides, contact_work.joint_friction.guide_force
    for g in range(len(guides)):
        place = len(system.contacts.joint_friction.moved) - len(guides) + g
        add_friction(contact_work, rows, rows.guides[g], place, samples, k)
        samples.guide_friction[k, g] = forces[g]
        for j in range(guides[g].first_span, guides[g].last_span):
            samples.span_tension[k, j] += (guides[g].share - (1.0 if j < guides[g].span else 0.0)) * forces[g]
