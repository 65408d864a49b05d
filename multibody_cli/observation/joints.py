"""Reactions and loop-closure errors of the joints."""

from __future__ import annotations

from multibody_cli.constraint_solver.loop_frames import loop_closure_error_norm
from multibody_cli.constraint_solver.loop_joints import compute_loop_reactions
from multibody_cli.kernel import kernel
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import transposed_times
from multibody_cli.tree.joint_wrenches import compute_joint_wrenches


@kernel
def observe(system, state, work, rows, samples, k):
    """Store the wrench of each joint on its child, in joint frame M, and its loop-closure error."""
    tree = system.tree
    compute_joint_wrenches(tree, work)
    compute_loop_reactions(tree, work)
    for j in range(len(rows.joints)):
        row = rows.joints[j]
        R = load(work.bodies[row].R)
        store(samples.reaction[k, j, :3], transposed_times(R, load(work.wrenches[row].t)))
        store(samples.reaction[k, j, 3:], transposed_times(R, load(work.wrenches[row].f)))
        samples.constraint_error[k, j] = (
            loop_closure_error_norm(tree, work.bodies[row]) if row >= len(tree.links) else 0.0
        )
