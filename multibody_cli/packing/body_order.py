"""Elimination order of a mechanism: a spanning forest of bodies, and the constraints that close its loops.

Bodies are numbered from 1 in the scene, the ground is 0.  Constraints between two bodies are taken in their order; a
constraint between bodies that are already connected is auxiliary.  The ground counts as a body: every tree that is
pinned to it is rooted at that pin, and a further pin closes a loop through the world.  A constraint is therefore always
between its body and that body's parent, and never a leaf of the tree, where it would have a zero block to factor.

Source: Baraff 1996, sections 4 and 7.1, and `ordermatrix` of appendix A: the rows are ordered like its list Backward,
parents first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.kkt.nodes import INBOARD_JOINT
from multibody_cli.model import Integers, Records


class BodyOrder(Immutable):
    """The elimination tree; row 0 is the ground, and a parent precedes its children.

    Parameters
    ----------
    bodies
        (n + 1,) scene number of the body in each row.
    parents
        (n + 1,) row of its parent, 0 for a root.
    constraints
        (n + 1,) constraint between it and its parent, -1 for the root of a floating tree and for the ground.
    """

    bodies: Integers
    parents: Integers
    constraints: Integers


def plan_elimination(count: int, pairs: Sequence[tuple[int, int]]) -> BodyOrder:
    """Choose the primary constraints among `pairs` of the bodies 0 to `count`, and number the bodies."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(count + 1)]
    set_parents = list(range(count + 1))
    for k, (a, b) in enumerate(pairs):
        root_a, root_b = _root(set_parents, a), _root(set_parents, b)
        if root_a == root_b:
            continue
        set_parents[root_a] = root_b
        neighbours[a].append((b, k))
        neighbours[b].append((a, k))
    bodies, parents, constraints = [0], [0], [-1]
    row_of = {0: 0}
    stack = [(body, 0, -1) for body in range(count, 0, -1)]  # a body that no pin has reached is a root
    stack += [(body, 0, k) for body, k in reversed(neighbours[0])]
    while stack:
        body, parent, k = stack.pop()
        if body in row_of:
            continue
        row_of[body] = row = len(bodies)
        bodies.append(body)
        parents.append(parent)
        constraints.append(k)
        stack += [(other, row, k) for other, k in reversed(neighbours[body])]
    return BodyOrder(np.array(bodies), np.array(parents), np.array(constraints))


def inboard_joints_for(plan: BodyOrder, rows: Sequence[tuple[int, int]]) -> Records:
    """Rows of the inboard joint of each body, from the first and the last row of every constraint."""
    inboard_joints = np.zeros(len(plan.bodies), INBOARD_JOINT)
    inboard_joints["parent"] = plan.parents
    for i, k in enumerate(plan.constraints):
        if k >= 0:
            inboard_joints[i]["first_row"], inboard_joints[i]["last_row"] = rows[k]
    return inboard_joints


def _root(set_parents: list[int], body: int) -> int:
    """Representative of the connected set of a body (union-find)."""
    while set_parents[body] != body:
        set_parents[body] = set_parents[set_parents[body]]
        body = set_parents[body]
    return body
