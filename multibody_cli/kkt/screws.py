"""Joints with one free direction between rigid bodies: their nodes in a KKT tree, and the blocks of these.

The free direction s is the column of the joint, and the dual basis B of its rows are its constraint axes, which are
orthonormal: both at the origin of the loop frame, and shifted to the origin of the body.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.ldl_screw import store_motion
from multibody_cli.kkt.nodes import KktTree
from multibody_cli.model import KERNEL_SCREW, Integers, Records, System
from multibody_cli.spatial.memory import load, load_force, store
from multibody_cli.spatial.products import shift_motion
from multibody_cli.spatial.values import Motion
from multibody_cli.tree.jacobian import column_of

SCREW = np.dtype([("node", "i8"), ("closure", "i8"), ("body", "i8"), ("parent", "i8"), ("sign", "f8")])
"""A node and its joint, the rows of its body and of the body of its parent, and 1 if it is the joint's child, or -1."""

ROWS = 5


def screws_of(system: System, first_links: Integers, n_dofs: list[int]) -> Records:
    """List the nodes on joints with one free direction: all of their rows are active and primary."""
    closures, rows, inboard_joints = system.tree.closures, system.rows, system.tree.inboard_joints
    closure_at_row = {int(closure["first_row"]): k for k, closure in enumerate(closures) if is_screw(closure)}
    found = []
    for i, joint in enumerate(inboard_joints):
        first, last, parent = int(joint["first_row"]), int(joint["last_row"]), int(joint["parent"])
        k = closure_at_row.get(first, -1)
        certain = rows["primary"][first:last] & (rows["active"][first:last] == 1)
        if last - first == ROWS and k >= 0 and n_dofs[i] == n_dofs[parent] == 6 and np.all(certain):
            body, outer = int(first_links[i]), int(first_links[parent])
            found.append((i, k, body, outer, 1.0 if closures["child"][k] == body else -1.0))
    return records(np.array(found, SCREW))


def is_screw(closure: np.void) -> bool:
    """Whether a joint is a single free screw with constraint axes of its own."""
    return bool(closure["joint_kernel"] == KERNEL_SCREW and closure["constant_axes"] and not closure["one_plane"])


@kernel
def write_screws(screws, kkt, closures, bodies, columns, constraint_axes):
    """Write s and B of all nodes on screws, and the vector from the parent to the body."""
    for k in range(len(screws)):
        screw, node, wrenches = screws[k], kkt.nodes[screws[k].node], kkt.cells.wrenches
        closure, x = closures[screw.closure], load(bodies[screw.body].x)
        d = x - load(bodies[closure.loop_frame].x)
        store_motion(wrenches[node.far], shift_motion(column_of(columns[closure.iv]), d))
        store(wrenches[node.far + 2].t, x - load(bodies[screw.parent].x))
        for r in range(ROWS):
            T = load_force(constraint_axes[closure.first_row + r])
            store_motion(wrenches[node.near + r], screw.sign * shift_motion(Motion(T.t, T.f), d))


def mark_screws(kkt: KktTree, screws: Records) -> None:
    """Have the nodes of a tree eliminated as one block with their constraints."""
    kkt.nodes["screw"][screws["node"]] = 1
    kkt.nodes["pivots"][screws["node"]] = 0
