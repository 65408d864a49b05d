"""Joints between rigid bodies whose nodes in a KKT tree are one block with their body: their list and their blocks.

The constraint axes T of a joint are orthonormal, and perpendicular to the columns of S, at the origin of the loop
frame.  They are therefore the dual basis of its rows, too.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.ldl_screw import store_motion
from multibody_cli.kkt.nodes import BY_ROWS, ON_BALL, ON_SCREW, KktTree
from multibody_cli.model import KERNEL_BALL, KERNEL_SCREW, Integers, Records, System
from multibody_cli.spatial.memory import load, store
from multibody_cli.spatial.products import shift_motion
from multibody_cli.tree.jacobian import column_of

JOINT_NODE = np.dtype(
    [
        ("node", "i8"),
        ("joint", "i8"),
        ("closure", "i8"),
        ("body", "i8"),
        ("parent", "i8"),
        ("frame", "i8"),
        ("sign", "f8"),
    ]
)
"""A node: kind of its joint, the joint, rows of body, parent and loop frame; 1 for the joint's child, or else -1."""

KINDS = {KERNEL_SCREW: ON_SCREW, KERNEL_BALL: ON_BALL}
"""How the body on a single free screw or ball is eliminated."""


def joint_nodes_of(system: System, first_links: Integers, n_dofs: list[int]) -> Records:
    """List the nodes of rigid bodies on screws and balls whose rows are all active and primary."""
    closures, rows, inboard_joints = system.tree.closures, system.rows, system.tree.inboard_joints
    closure_at_row = {int(closure["first_row"]): k for k, closure in enumerate(closures)}
    found = []
    for i, joint in enumerate(inboard_joints):
        first, last, parent = int(joint["first_row"]), int(joint["last_row"]), int(joint["parent"])
        k = closure_at_row.get(first, -1)
        if first == last or k < 0 or not n_dofs[i] == n_dofs[parent] == 6:
            continue
        kind = KINDS.get(int(closures["joint_kernel"][k]), BY_ROWS)
        if kind != BY_ROWS and np.all(rows["primary"][first:last] & (rows["active"][first:last] == 1)):
            body, outer = int(first_links[i]), int(first_links[parent])
            sign = 1.0 if closures["child"][k] == body else -1.0
            found.append((i, kind, k, body, outer, closures["loop_frame"][k], sign))
    return records(np.array(found, JOINT_NODE))


def mark_joint_nodes(kkt: KktTree, joint_nodes: Records) -> None:
    """Have the bodies on these joints eliminated as one block with their constraints."""
    for name in ("joint", "frame", "sign"):
        kkt.nodes[name][joint_nodes["node"]] = joint_nodes[name]
    kkt.nodes["pivots"][joint_nodes["node"]] = 0


@kernel
def write_joint_nodes(joint_nodes, kkt, closures, bodies, columns):
    """Write the free direction of a screw, and the vectors between body, joint and parent."""
    wrenches = kkt.cells.wrenches
    for k in range(len(joint_nodes)):
        one, far = joint_nodes[k], kkt.nodes[joint_nodes[k].node].far
        closure, x, outer = closures[one.closure], load(bodies[one.body].x), load(bodies[one.parent].x)
        centre = load(bodies[one.frame].x)
        if one.joint == ON_BALL:
            store(wrenches[far].t, x - centre)
            store(wrenches[far].f, centre - outer)
        else:
            store_motion(wrenches[far], shift_motion(column_of(columns[closure.iv]), x - centre))
            store(wrenches[far + 2].t, x - outer)
            store(wrenches[far + 3].t, x - centre)
