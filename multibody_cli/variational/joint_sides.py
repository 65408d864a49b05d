"""Sides of joints between rigid bodies: what the rows J of the start and K of the end say of either body.

Which body a joint calls its child, and which of both it holds in the order of elimination, differ; a table says once
for all where in the KKT tree the wrenches on either body belong.  Those of the start are copied, and those of the end
are too unless the joint is a bond, whose derivatives are written there straight away.
"""

from __future__ import annotations

import numpy as np

from multibody_cli.kernel import formula, records
from multibody_cli.kkt.nodes import KktTree
from multibody_cli.model import Records, Tree
from multibody_cli.spatial.memory import load_force, store_force
from multibody_cli.spatial.products import no_force, shift_force
from multibody_cli.variational.maximal_joints import Bonds, reach_of, turned_lock

SIDES = np.dtype(
    [
        ("bond", "i8"),  # -1 of a joint that is none
        ("parent", "i8"),
        ("child", "i8"),
        ("first_row", "i8"),
        ("last_row", "i8"),
        ("first_term", "i8"),
        ("on_parent", "i8"),  # cells: where J begins
        ("on_child", "i8"),
        ("of_parent", "i8"),  # cells: where K begins
        ("of_child", "i8"),
    ]
)
"""One row a body, for the joint that holds it in the order of elimination; body i is node i of the tree."""


def sides_for(tree: Tree, kkt: KktTree, bonds: Bonds) -> Records:
    """Find the sides of the joints that hold bodies in the order of elimination, for rigid bodies alone."""
    held = {int(closure["first_row"]): k for k, closure in enumerate(tree.closures)}
    bond_of = {int(k): n for n, k in enumerate(bonds.table["closure"])}
    nodes, table = kkt.nodes, np.zeros(len(kkt.nodes), SIDES)
    table["bond"] = -1
    for i in range(1, len(nodes)):
        node = nodes[i]
        if node["first_row"] == node["last_row"]:
            continue
        k = held[int(node["first_row"])]
        closure, side = tree.closures[k], table[i]
        inner, outer = ("child", "parent") if closure["child"] == i else ("parent", "child")
        side["bond"] = bond_of.get(k, -1)
        for name in ("parent", "child", "first_row", "last_row", "first_term"):
            side[name] = closure[name]
        side[f"on_{inner}"], side[f"on_{outer}"] = node["near"], node["far"]
        side[f"of_{inner}"], side[f"of_{outer}"] = node["near_aim"], node["far_aim"]
    return records(table)


@formula
def write_sides(side, bonds, poses, terms, ends, wrenches):
    """Write both sides of a joint into the cells `wrenches`.

    `terms` are those of the start; `ends`, at the poses of the end, are read of joints that are no bonds.
    """
    copy_terms(side, terms, wrenches, side.on_child, side.on_parent)
    if side.bond >= 0:
        write_aims(bonds.table[side.bond], bonds.locks, poses, wrenches, side.of_child, side.of_parent)
    else:
        copy_terms(side, ends, wrenches, side.of_child, side.of_parent)


@formula
def copy_terms(side, terms, wrenches, at_child, at_parent):
    """Copy the two terms of each row of a joint to the cells from `at_child` and from `at_parent` on."""
    for r in range(side.last_row - side.first_row):
        store_force(wrenches[at_child + r], load_force(terms[side.first_term + 2 * r]))
        store_force(wrenches[at_parent + r], load_force(terms[side.first_term + 2 * r + 1]))


@formula
def push_bodies(side, wrenches, push, x):
    """Push both bodies with the impulses of the rows of a joint."""
    on_child, on_parent = no_force(), no_force()
    for r in range(side.last_row - side.first_row):
        impulse = push[side.first_row + r]
        on_child = on_child + impulse * load_force(wrenches[side.on_child + r])
        on_parent = on_parent + impulse * load_force(wrenches[side.on_parent + r])
    store_force(x[side.child], load_force(x[side.child]) + on_child)
    store_force(x[side.parent], load_force(x[side.parent]) + on_parent)


@formula
def write_aims(bond, locks, poses, wrenches, of_child, of_parent):
    """Write the derivatives of the errors of a bond by motions of both bodies."""
    R, outer, inner = reach_of(bond, poses[bond.parent], poses[bond.child])
    for r in range(bond.last_row - bond.first_row):
        T = turned_lock(R, locks[bond.first_row + r])
        store_force(wrenches[of_child + r], shift_force(T, outer))
        store_force(wrenches[of_parent + r], -shift_force(T, inner))
