"""In which order a mechanism is eliminated: a forest of bodies, and the constraints that close its loops.

Bodies are numbered from 1 in the scene, the ground is 0.  Constraints between two bodies are taken in their order;
one that joins what is joined already is auxiliary.  The ground counts as a body here: every tree that is pinned to it
hangs from that pin, and a further pin closes a loop through the world.  So a constraint always stands between the
body it holds and that body's parent: it is never a leaf of the tree, where it would have a zero block to factor.

Source: Baraff 1996, sections 4 and 7.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multibody_cli.kkt.nodes import HOLDER
from multibody_cli.model import Integers, Records


@dataclass(frozen=True)
class Elimination:
    """The elimination tree; its row 0 is the ground, and a parent stands before its children.

    Parameters
    ----------
    bodies
        (n + 1,) scene number of the body in each row.
    parents
        (n + 1,) row of its parent, 0 for a root.
    constraints
        (n + 1,) which constraint holds it to its parent, -1 for the root of a floating tree and for the ground.
    auxiliary
        The constraints that are left over.
    """

    bodies: Integers
    parents: Integers
    constraints: Integers
    auxiliary: tuple[int, ...]


def plan_elimination(count: int, pairs: Sequence[tuple[int, int]]) -> Elimination:
    """Choose the primary constraints among `pairs` of the bodies 0 to `count`, and number the bodies."""
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(count + 1)]
    auxiliary = []
    forest = list(range(count + 1))
    for k, (a, b) in enumerate(pairs):
        root_a, root_b = _root(forest, a), _root(forest, b)
        if root_a == root_b:
            auxiliary.append(k)
            continue
        forest[root_a] = root_b
        neighbours[a].append((b, k))
        neighbours[b].append((a, k))
    bodies, parents, constraints = [0], [0], [-1]
    row_of = {0: 0}
    waiting = [(body, 0, -1) for body in range(count, 0, -1)]  # whoever no pin has reached by then is a root
    waiting += [(body, 0, k) for body, k in reversed(neighbours[0])]
    while waiting:
        body, parent, k = waiting.pop()
        if body in row_of:
            continue
        row_of[body] = row = len(bodies)
        bodies.append(body)
        parents.append(parent)
        constraints.append(k)
        waiting += [(other, row, k) for other, k in reversed(neighbours[body])]
    return Elimination(np.array(bodies), np.array(parents), np.array(constraints), tuple(auxiliary))


def holders_for(plan: Elimination, rows: Sequence[tuple[int, int]]) -> Records:
    """Say which rows hold each body, from the first and the last row of every constraint."""
    holders = np.zeros(len(plan.bodies), HOLDER)
    holders["parent"] = plan.parents
    for i, k in enumerate(plan.constraints):
        if k >= 0:
            holders[i]["first_row"], holders[i]["last_row"] = rows[k]
    return holders


def _root(forest: list[int], body: int) -> int:
    """The body that stands for all that are joined to this one."""
    while forest[body] != body:
        forest[body] = forest[forest[body]]
        body = forest[body]
    return body
