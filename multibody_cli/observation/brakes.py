"""Dry friction of combinations and of paths in the last step."""

from __future__ import annotations

from multibody_cli.kernel import kernel
from multibody_cli.observation.friction_wrenches import add_friction


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the force of each brake, and add its wrenches to the reactions of the joints of its coordinates.

    Those of a brake along a path are the wrenches of the path.
    """
    table, own = system.contacts.joint_friction, contact_work.joint_friction
    for b in range(len(table.brakes)):
        samples.brake_force[k, b] = own.brake_force[b]
        add_friction(contact_work, rows, rows.brakes[b], len(table.patches) + b, samples, k)
    for j in range(len(table.brake_terms)):
        joint = table.brake_terms[j].joint
        for i in range(3):
            samples.reaction[k, joint, i] += own.brake_wrench[j].t[i]
            samples.reaction[k, joint, 3 + i] += own.brake_wrench[j].f[i]
