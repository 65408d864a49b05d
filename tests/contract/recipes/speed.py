"""Speeds of the joints: the norm of the joint velocity."""

from __future__ import annotations

import math

from multibody_cli.kernel import kernel


@kernel
def observe(system, state, work, rows, samples, k):
    """Store the speed of every joint."""
    links = system.tree.links
    for j in range(len(rows.joints)):
        link, total = links[rows.joints[j]], 0.0
        for i in range(link.iv, link.iv + link.nv):
            total += state.v[i] * state.v[i]
        samples.joint_speed[k, j] = math.sqrt(total)
