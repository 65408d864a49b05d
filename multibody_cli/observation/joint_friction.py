"""Dry friction of joints in the last step."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the friction wrench of each joint with friction, and add it to its reaction."""
    patches, friction_forces = system.contacts.joint_friction.patches, contact_work.joint_friction.friction_forces
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
