"""Elimination order of a mechanism: a spanning forest of bodies, and the constraints that close its loops.

Bodies are numbered from 1 in the scene, the ground is 0.  Constraints between two bodies are taken in their order; a
constraint between bodies that are already connected is auxiliary.  The ground counts as a body: every tree that is
pinned to it is rooted at that pin, and a further pin closes a loop through the world.  A constraint is therefore always
between its body and that body's parent, and never a leaf of the tree, where it would have a zero block to factor.

Source: Baraff 1996, sections 4 and 7.1, and `ordermatrix` of appendix A: the rows are ordered like its list Backward,
parents first.

Rows that close loops are eliminated where these close, at the common ancestor of their bodies (`order_of_elimination`).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from multibody_cli.immutable import Immutable
from multibody_cli.kkt.nodes import INBOARD_JOINT
from multibody_cli.model import Integers, Records


class Elimination(Immutable):
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


def plan_elimination(count: int, pairs: Sequence[tuple[int, int]]) -> Elimination:
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
    return Elimination(np.array(bodies), np.array(parents), np.array(constraints))


def inboard_joints_for(plan: Elimination, rows: Sequence[tuple[int, int]]) -> Records:
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


# --- rows that close loops ----------------------------------------------------------------------------------------
def common_ancestor(parents: Sequence[int], bodies: set[int]) -> int:
    """Return the last body that is an ancestor of all, or one of them."""
    ends = set(bodies)
    while len(ends) > 1:
        last = max(ends)
        ends.remove(last)
        ends.add(parents[last])
    return ends.pop()


def order_of_elimination(
    passing: Sequence[Sequence[int]], closes_at: Sequence[int]
) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Return the order in which blocks of rows are eliminated, from the leaves to the ground.

    Parameters
    ----------
    passing
        The blocks that are open at the joint of each body.
    closes_at
        The body at which each block closes, 0 for the ground; those of the ground are ordered by minimum degree.

    Returns
    -------
    The blocks in their order; and, with their places in it as numbers, the later neighbours of each and `passing`.
    """
    near: list[set[int]] = [set() for _ in closes_at]
    for together in passing:
        for b in together:
            near[b].update(together)
    for b, others in enumerate(near):
        others.discard(b)
    order: list[int] = []
    later: list[set[int]] = []
    inner = sorted((b for b in range(len(near)) if closes_at[b] > 0), key=lambda b: -closes_at[b])
    for b in inner:
        later.append(_eliminated(b, near))
        order.append(b)
    heap = [(len(near[b]), b) for b in range(len(near)) if closes_at[b] == 0]
    heapq.heapify(heap)
    done = set(order)
    while heap:
        degree, b = heapq.heappop(heap)
        if b in done:
            continue
        if degree != len(near[b]):
            heapq.heappush(heap, (len(near[b]), b))
            continue
        later.append(_eliminated(b, near))
        order.append(b)
        done.add(b)
        for other in later[-1]:
            heapq.heappush(heap, (len(near[other]), other))
    number = {b: k for k, b in enumerate(order)}
    return (
        order,
        [sorted(number[b] for b in others) for others in later],
        [sorted(number[b] for b in together) for together in passing],
    )


def _eliminated(b: int, near: list[set[int]]) -> set[int]:
    """Eliminate b from a graph: connect its neighbours, and return them."""
    others = near[b]
    for other in others:
        near[other] |= others
        near[other] -= {b, other}
    return set(others)
