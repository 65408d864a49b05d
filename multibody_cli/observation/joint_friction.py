"""Dry friction of joints in the last step."""

from __future__ import annotations

from multibody_cli.kernel import kernel


@kernel
def observe(system, contact_work, rows, samples, k):
    """Store the friction wrench of each joint with friction, and add it to its reaction."""
    patches, friction = system.contacts.joint_friction.patches, contact_work.joint_friction.friction
    for place in range(samples.joint_friction.shape[1]):
        for i in range(6):
            samples.joint_friction[k, place, i] = 0.0
    for p in range(len(patches)):
        patch = patches[p]
        for i in range(3):
            t, f = friction[p].t[i], friction[p].f[i]
            samples.joint_friction[k, patch.place, i] += t
            samples.joint_friction[k, patch.place, 3 + i] += f
            samples.reaction[k, patch.joint, i] += t
            samples.reaction[k, patch.joint, 3 + i] += f
