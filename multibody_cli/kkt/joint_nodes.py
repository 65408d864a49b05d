"""Joints between rigid bodies whose nodes in a KKT tree are one block with their body: their list and their blocks.

The constraint axes T of a joint are orthonormal, and perpendicular to the columns of S, at the origin of the loop
frame.  They are therefore the dual basis of its rows, too.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.constraints import TABLES
from multibody_cli.constraints.rotor import TABLE as ROTORS
from multibody_cli.kernel import kernel, records
from multibody_cli.kkt.nodes import ON_BALL, ON_COLUMNS, ON_HINGE, ROTOR, KktTree
from multibody_cli.model import KERNEL_BALL, KERNEL_SCREW, Integers, Records, System, Tree
from multibody_cli.spatial.memory import load, store

JOINT_NODE = np.dtype(
    [(name, "i8") for name in ("node", "joint", "body", "parent", "frame", "iv", "last_iv")] + [("sign", "f8")]
)
"""A node: kind of its joint, rows of body, parent and loop frame, columns; 1 for the joint's child, or else -1."""


def joint_nodes_of(system: System, first_links: Integers, n_dofs: list[int]) -> Records:
    """List the nodes of rigid bodies on joints whose rows are all active and primary."""
    tree, rows = system.tree, system.rows
    closure_at_row = {int(closure["first_row"]): closure for closure in tree.closures}
    found = []
    for i, joint in enumerate(tree.inboard_joints):
        first, last, parent = int(joint["first_row"]), int(joint["last_row"]), int(joint["parent"])
        closure = closure_at_row.get(first)
        if first == last or closure is None or not n_dofs[i] == n_dofs[parent] == 6:
            continue
        iv, last_iv = int(closure["iv"]), int(closure["iv"] + closure["nv"])
        spans = last - first + np.count_nonzero(~tree.driven[iv:last_iv]) == 6
        if spans and np.all(rows["primary"][first:last] & (rows["active"][first:last] == 1)):
            body, parent_link = int(first_links[i]), int(first_links[parent])
            sign = 1.0 if closure["child"] == body else -1.0
            found.append((i, _kind(tree, closure), body, parent_link, closure["loop_frame"], iv, last_iv, sign))
    return records(np.array(found, JOINT_NODE))


def _kind(tree: Tree, closure: np.void) -> int:
    if closure["joint_kernel"] == KERNEL_SCREW and not tree.parts["slide"][closure["first_part"]].any():
        return ON_HINGE
    return ON_BALL if closure["joint_kernel"] == KERNEL_BALL else ON_COLUMNS


def rotors_in_nodes(system: System, joint_nodes: Records) -> Records:
    """List the rotors of free coordinates of these joints whose rows are holonomic, as their records of constraints."""
    rotors = system.constraints.tables[TABLES.index(ROTORS)]
    free = np.zeros(len(system.tree.driven), np.bool_)
    for node in joint_nodes:
        free[node["iv"] : node["last_iv"]] = True
    free &= ~system.tree.driven
    rows = system.rows[rotors["first_row"]]
    return records(np.array(rotors[free[rotors["iv"]] & (rows["holonomic"] == 1) & (rows["active"] == 1)]))


def mark_rotors(kkt: KktTree, rotors: Records, first_links: Integers, tree: Tree) -> tuple[Integers, Integers]:
    """Have these rotors eliminated with their joint; return row and place of the inertia for each coordinate."""
    rows, blocks = np.full(len(tree.driven), -1), np.full(len(tree.driven), -1)
    for rotor in rotors:
        node = int(np.searchsorted(first_links, rotor["link"]))
        kkt.nodes["joint"][node] = ROTOR
        kkt.nodes["first_row"][node], kkt.nodes["last_row"][node] = rotor["first_row"], rotor["first_row"] + 1
        rows[rotor["iv"]], blocks[rotor["iv"]] = rotor["first_row"], 6 * kkt.nodes["block"][node]
        kkt.cells.numbers[6 * kkt.nodes["block"][node]] = tree.links["mass"][rotor["link"]]
    return rows, blocks


def mark_joint_nodes(kkt: KktTree, joint_nodes: Records) -> None:
    """Have the bodies on these joints eliminated as one block with their constraints."""
    for name in ("joint", "frame", "iv", "last_iv", "sign"):
        kkt.nodes[name][joint_nodes["node"]] = joint_nodes[name]
    kkt.nodes["pivots"][joint_nodes["node"]] = 0


@kernel
def write_joint_nodes(joint_nodes, kkt, bodies):
    """Write the vectors between body, joint and parent."""
    for k in range(len(joint_nodes)):
        one = joint_nodes[k]
        arms, origin = kkt.cells.wrenches[kkt.nodes[one.node].body_rows], load(bodies[one.frame].x)
        store(arms.t, load(bodies[one.body].x) - origin)
        store(arms.f, origin - load(bodies[one.parent].x))
