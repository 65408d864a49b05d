"""Wrenches of bushings in their own frames, from those on their bodies."""

from __future__ import annotations

from multibody_cli.kernel import lazy_kernel
from multibody_cli.observation.wrenches import load_wrench, store_wrench
from multibody_cli.spatial.memory import load
from multibody_cli.spatial.products import shift_force, transposed_times
from multibody_cli.spatial.values import Force


@lazy_kernel
def observe(system, state, work, rows, samples, k):
    """Store the wrench of each bushing on its child about its frame M there, in the axes of M."""
    for j in range(len(rows.bushings)):
        M = rows.bushings[j]
        i, sign = rows.of_bushings[j, 0], float(rows.of_bushings[j, 1])
        row, child = rows.targets[i], work.bodies[M.row]
        body, axes = work.bodies[row], load(child.R) @ load(M.frame)
        place = load(body.x) + load(body.R) @ load(system.tree.frames[row].origin)
        r = place - load(child.x) - load(child.R) @ load(M.origin)
        W = sign * shift_force(load_wrench(samples.wrench[k, i]), r)
        at_M = Force(transposed_times(axes, W.t), transposed_times(axes, W.f))
        store_wrench(samples.bushing_wrench[k, j], at_M)
