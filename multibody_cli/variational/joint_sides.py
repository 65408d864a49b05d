"""Sides of joints between rigid bodies: blocks of the rows J of the start and K of the end for either body.

The child of a joint need not be the body that the joint holds in the order of elimination.  A table, computed once,
states where in the KKT tree the wrenches on either body belong.  The blocks of J are copied from the terms of the rows;
those of K are copied too, except for maximal-coordinate joints, whose derivatives are written there directly.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, records
from multibody_cli.kkt.nodes import KktTree
from multibody_cli.model import Records, Tree
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, shift_force
from multibody_cli.variational.maximal_joints import MaximalJoints, joint_lever_arms, rotated_constraint_axis

SIDES = np.dtype(
    [
        ("maximal_joint", "i8"),  # its place in `MaximalJoints.table`, or -1
        ("parent", "i8"),
        ("child", "i8"),
        ("first_row", "i8"),
        ("last_row", "i8"),
        ("first_term", "i8"),
        ("start_parent", "i8"),  # first cell of J
        ("start_child", "i8"),
        ("end_parent", "i8"),  # first cell of K
        ("end_child", "i8"),
    ]
)
"""One row per body, for the joint that holds it in the order of elimination; body i is node i of the tree."""


def sides_for(tree: Tree, kkt: KktTree, maximal_joints: MaximalJoints) -> Records:
    """Compute the table of sides; for rigid bodies only."""
    closure_at_row = {int(closure["first_row"]): k for k, closure in enumerate(tree.closures)}
    maximal_joint_of = {int(k): n for n, k in enumerate(maximal_joints.table["closure"])}
    nodes, table = kkt.nodes, np.zeros(len(kkt.nodes), SIDES)
    table["maximal_joint"] = -1
    for i in range(1, len(nodes)):
        node = nodes[i]
        if node["first_row"] == node["last_row"]:
            continue
        k = closure_at_row[int(node["first_row"])]
        closure, side = tree.closures[k], table[i]
        body, other = ("child", "parent") if closure["child"] == i else ("parent", "child")
        side["maximal_joint"] = maximal_joint_of.get(k, -1)
        for name in ("parent", "child", "first_row", "last_row", "first_term"):
            side[name] = closure[name]
        side[f"start_{body}"], side[f"start_{other}"] = node["body_rows"], node["parent_rows"]
        side[f"end_{body}"], side[f"end_{other}"] = node["body_rows_k"], node["parent_rows_k"]
    return records(table)


@formula
def write_sides(side, maximal_joints, poses, terms, ends, wrenches):
    """Write both sides of a joint into the cells `wrenches`.

    `terms` are those of the start; `ends` are those at the iterate, not read for maximal-coordinate joints.
    """
    copy_terms(side, terms, wrenches, side.start_child, side.start_parent)
    if side.maximal_joint >= 0:
        write_end_derivatives(
            maximal_joints.table[side.maximal_joint],
            maximal_joints.constraint_axes,
            poses,
            wrenches,
            side.end_child,
            side.end_parent,
        )
    else:
        copy_terms(side, ends, wrenches, side.end_child, side.end_parent)


@formula
def copy_terms(side, terms, wrenches, at_child, at_parent):
    """Copy the two terms of each row of a joint to the cells from `at_child` and from `at_parent` on."""
    for r in range(side.last_row - side.first_row):
        store_force(wrenches[at_child + r], load_force(terms[side.first_term + 2 * r]))
        store_force(wrenches[at_parent + r], load_force(terms[side.first_term + 2 * r + 1]))


@formula
def apply_joint_impulses(side, wrenches, row_states, x):
    """Apply the impulses of the rows of a joint to both bodies."""
    on_child, on_parent = no_force(), no_force()
    for r in range(side.last_row - side.first_row):
        impulse = row_states[side.first_row + r].impulse
        on_child = on_child + impulse * load_force(wrenches[side.start_child + r])
        on_parent = on_parent + impulse * load_force(wrenches[side.start_parent + r])
    store_force(x[side.child], load_force(x[side.child]) + on_child)
    store_force(x[side.parent], load_force(x[side.parent]) + on_parent)


@formula
def write_end_derivatives(maximal_joint, constraint_axes, poses, wrenches, end_child, end_parent):
    """Write the derivatives of the errors of a maximal-coordinate joint with respect to twists of both bodies."""
    R, child_arm, parent_arm = joint_lever_arms(maximal_joint, poses[maximal_joint.parent], poses[maximal_joint.child])
    for r in range(maximal_joint.last_row - maximal_joint.first_row):
        T = rotated_constraint_axis(R, constraint_axes[maximal_joint.first_row + r])
        store_force(wrenches[end_child + r], shift_force(T, child_arm))
        store_force(wrenches[end_parent + r], -shift_force(T, parent_arm))
