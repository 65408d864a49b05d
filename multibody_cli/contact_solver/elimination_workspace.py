"""Work arrays of the friction of trees and loops, body by body (`friction_elimination`, `loop_plan`, `open_loops`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from multibody_cli.constraint_solver.row_elimination import common_ancestor, order_of_elimination
from multibody_cli.joints.directions import complete
from multibody_cli.kernel import allocate, records
from multibody_cli.model import CONSTRAINT_AXIS, Floats, Integers, Records, System

AXES = 6

BY_COLUMNS, BY_BLOCK, BY_EQUATIONS = range(3)
"""Eliminations of a joint (`friction_elimination`)."""

MAX_PAIRS = 16
"""Maximum number of pairs of bodies that edges connect."""

MAX_UPDATES = 100_000
"""Maximum number of pairs of loops that are coupled to one that is eliminated; beyond it the passes would take longer
than dense rows, and their tables more memory.
"""

NODE = np.dtype(
    [
        ("parent", "i8"),
        ("child", "i8"),
        ("frame", "i8"),  # row of the body or loop frame in which wrench and motion are taken; 0 for a free body
        ("iv", "i8"),
        ("nv", "i8"),
        ("first_axis", "i8"),  # of its constraint axes: rows of loop joints, or of `TreeOfBodies.axes`
        ("last_axis", "i8"),
        ("is_loop_joint", "i8"),  # whether it is a closure of the tree
        ("first_patch", "i8"),
        ("last_patch", "i8"),
        ("elimination", "i8"),
        ("directions", "i8"),  # row of `TreeOfBodies.basis`
    ]
)
"""One row per body, for the joint that leads to it, then one per open joint of a loop."""

LINK = np.dtype(
    [
        ("first_slot", "i8"),  # one slot for each loop that is open at the body, and then for each that closes there
        ("last_open", "i8"),
        ("last_slot", "i8"),
        ("first_pair", "i8"),  # addresses in G of all pairs of loops that are open
    ]
)

SLOT = np.dtype([("loop", "i8"), ("parent", "i8"), ("unknowns", "i8")])
"""A loop at a body, its slot at the parent, -1 at the ground, and the number of its unknowns."""

LOOP = np.dtype(
    [
        ("child", "i8"),  # the bodies that it connects
        ("parent", "i8"),
        ("closes_at", "i8"),
        ("node", "i8"),  # of its joint, -1 for a pair of bodies that edges connect
        ("pair", "i8"),  # number of that pair
        ("unknowns", "i8"),  # number of components of its wrench
        ("directions", "i8"),  # row of `TreeOfBodies.basis`
        ("first_neighbour", "i8"),
        ("last_neighbour", "i8"),
        ("slot", "i8"),  # where it closes; -1 at the ground
        ("child_slot", "i8"),  # at the bodies that it connects; -1 at the ground
        ("parent_slot", "i8"),
        ("first_update", "i8"),  # addresses in G of all pairs of neighbours
    ]
)
"""A loop, in the order of elimination."""

NEIGHBOUR = np.dtype([("loop", "i8"), ("slot", "i8"), ("coupling", "i8"), ("transposed", "i8")])
"""A loop that is eliminated later: its slot where this one closes, and the addresses in G of G_cd and G_dc."""


def is_supported(system: System) -> bool:
    """Return whether passes over the bodies solve for the friction of the joints of a system, if it has any.

    The joints with friction have no prescribed coordinates, and in maximal coordinates no joint has.  Few loops are
    open together.
    """
    tree, patches, inboard = system.tree, system.contacts.joint_friction.patches, system.tree.inboard_joints
    if len(patches) == 0 or len(tree.markers) > 0 or _is_driven(system):
        return False
    if len(tree.closures) == 0:
        return True
    maximal = len(inboard) > 0
    of_joints, of_nodes = np.zeros(len(system.rows), bool), np.zeros(len(system.rows), bool)
    for closure in tree.closures:
        of_joints[closure["first_row"] : closure["last_row"]] = True
    for node in inboard:
        of_nodes[node["first_row"] : node["last_row"]] = True
    rigid = bool(np.all(tree.links["nv"][1:] <= AXES)) and (not maximal or bool(np.all(tree.links["nv"][1:] == AXES)))
    return rigid and not np.any(of_nodes & ~of_joints) and _Plan(system).updates_needed <= MAX_UPDATES


def _is_driven(system: System) -> bool:
    """Return whether a joint with friction has prescribed coordinates, or in maximal coordinates any joint."""
    tree = system.tree
    if len(tree.inboard_joints) > 0:
        return bool(np.any(tree.driven))
    for row in system.contacts.joint_friction.patches["row"]:
        joint = tree.links[row] if row < len(tree.links) else tree.closures[row - len(tree.links)]
        if np.any(tree.driven[joint["iv"] : joint["iv"] + joint["nv"]]):
            return True
    return False


class TreeOfBodies(NamedTuple):
    """Work arrays for n bodies, j loop joints, l loops, s slots and g blocks; empty where no pass uses them."""

    nodes: Records  # (n + j,)
    links: Annotated[Records, "n", LINK]
    slots: Annotated[Records, "s", SLOT]
    pairs: Annotated[Integers, "open_pairs"]  # addresses in G
    loops: Annotated[Records, "l", LOOP]
    joint_of_row: Integers  # (rows,) the loop joint to which a constraint row belongs, -1 for none
    loop_of_joint: Annotated[Integers, "joints"]
    number: Annotated[Integers, 1]  # of loops
    slots_used: Annotated[Integers, 1]
    blocks_used: Annotated[Integers, 1]  # of G
    pairs_planned: Integers  # (1,) number of pairs in the plan, -1 without a plan
    max_pairs: Integers  # (1,)
    later: Annotated[Integers, "l", "k"]  # loops coupled to one and eliminated after it
    later_count: Annotated[Integers, "l"]
    neighbours: Annotated[Records, "couplings", NEIGHBOUR]
    updates: Annotated[Integers, "addresses"]  # addresses in G
    frictionless: Annotated[Integers, 1]  # whether all joints slide without friction
    axes: Records  # constraint axes of joints in joint coordinates, world axes
    axes_are_known: Annotated[Integers, 1]  # whether they, `thresholds` and `directions` are those of the present step
    thresholds: Annotated[Floats, "rows"]  # effect up to which a constraint axis of a loop joint has none
    motion: Annotated[Floats, "six", "six"]  # B
    load: Annotated[Floats, "six", "six"]  # L
    free: Annotated[Floats, "six", "six"]  # L without friction
    rhs: Annotated[Floats, "six"]  # c, then c - L p
    axis: Annotated[Integers, "six"]  # the constraint axis of an equation, or its kind (`joint_equations`)
    matrix: Annotated[Floats, "six", "six"]  # factors of B + L A, or of B G + L
    order: Annotated[Integers, "six"]
    basis: Floats  # (k, 6, 6) directions of the wrench of a loop joint that have an effect, in M; first the six axes
    basis_size: Integers  # (k,) number of these directions
    units: Floats  # (k, 6) of components of wrenches along them: the length of the mechanism for moments, 1 for forces
    directions: Annotated[Floats, "l", "six", "six"]  # of the wrench of each loop, world axes
    scales: Annotated[Floats, AXES]  # of rows of a matrix
    column: Annotated[Floats, "six"]
    solution: Annotated[Floats, "six"]
    product: Annotated[Floats, "six", "six"]
    combination: Annotated[Floats, "six", "six"]  # independent equations of a loop joint, and those without effect
    effects: Annotated[Floats, "six", "six"]  # of these on one another
    effect: Annotated[Floats, "six"]  # of each on itself
    ineffective: Annotated[Floats, "six"]  # effect up to which they have none
    equation: Annotated[Integers, "six"]  # their numbers among the equations of the joint
    Y: Annotated[Floats, "n", "six", "six"]  # columns of Y
    y: Annotated[Floats, "n", "six"]
    P: Annotated[Floats, "s", "six", "six"]  # columns of P
    Q: Annotated[Floats, "s", "six", "six"]  # rows of Q
    Z: Annotated[Floats, "s", "six", "six"]  # of joints eliminated by columns, one row for each
    rate: Annotated[Floats, "s", "six"]  # Q_c S of one column
    G: Annotated[Floats, "l + 2 * couplings", "six", "six"]
    g: Annotated[Floats, "l", "six"]
    K: Annotated[Floats, "l", "six", "six"]
    w: Annotated[Floats, "l", "six"]
    wrench: Annotated[Floats, "l", "six"]  # of each loop joint on its child, along `directions`, about its origin


def tree_of_bodies_for(system: System, connects: bool) -> TreeOfBodies:
    """Allocate the work arrays, empty unless they suit the system; `connects` is whether edges may connect bodies."""
    used = is_supported(system)
    plan = _Plan(system) if used else None
    joints, pairs = len(plan.loops) if plan else 0, MAX_PAIRS if plan and connects else 0
    n, loops = len(plan.parents) if plan else 0, joints + pairs
    s, open_pairs, couplings, updates, later = plan.sizes(pairs) if plan else (0, 0, 0, 0, 0)
    six = AXES if used else 0

    basis = np.zeros((len(plan.directions) if plan else 1, AXES, AXES))
    for k, directions in enumerate(plan.directions if plan else [np.eye(AXES)]):
        basis[k, : len(directions)] = directions

    def table(rows: Sequence[tuple[int, ...]], dtype: np.dtype[np.void]) -> Records:
        return records(np.array(rows, dtype))

    return allocate(
        TreeOfBodies,
        n=n,
        s=s,
        l=loops,
        k=later,
        six=six,
        couplings=couplings,
        addresses=updates,
        joints=joints,
        open_pairs=open_pairs,
        rows=len(system.rows),
        nodes=table(plan.nodes if plan else [], NODE),
        joint_of_row=plan.joint_of_row() if plan else np.full(len(system.rows), -1),
        pairs_planned=np.full(1, -1),
        max_pairs=np.full(1, pairs),
        axes=records(np.zeros(plan.axes if plan else 0, CONSTRAINT_AXIS)),
        basis=basis,
        basis_size=np.array([len(directions) for directions in plan.directions] if plan else [AXES]),
        units=np.hypot(
            system.tree.length * np.linalg.norm(basis[:, :, :3], axis=2), np.linalg.norm(basis[:, :, 3:], axis=2)
        ),
    )


class _Plan:
    """Nodes of a `TreeOfBodies`, loop joints in their order, and sizes."""

    def __init__(self, system: System) -> None:
        self.tree, self.patches = system.tree, system.contacts.joint_friction.patches
        self.nodes: list[tuple[int, ...]] = []
        self.axes, self.rows = 0, len(system.rows)
        loops = self._number_nodes()
        self.parents = [node[0] for node in self.nodes]
        self.loops, self.later, self.passing = self._order(loops)
        bodies, self.directions = len(self.nodes), [np.eye(AXES)]
        self.nodes += [self._node_of_closure(k) for k in self.loops]
        rows = [0] * bodies + [self._add_directions(k) for k in self.loops]
        self.nodes = [(*node, self._elimination_of(i, node), rows[i]) for i, node in enumerate(self.nodes)]
        self.updates_needed = sum(len(later) ** 2 for later in self.later)

    def _elimination_of(self, i: int, node: tuple[int, ...]) -> int:
        _, _, frame, _, _, _, _, is_loop_joint, first_patch, last_patch = node
        if is_loop_joint or frame == 0:
            return BY_EQUATIONS
        if first_patch == last_patch or self.patches["slip_directions"][first_patch] == 1:
            return BY_COLUMNS
        return BY_BLOCK

    # --- joints -------------------------------------------------------------------------------------------------------
    def _number_nodes(self) -> list[int]:
        """List the joint that leads to each body; return the numbers of all other joints."""
        tree, inboard = self.tree, self.tree.inboard_joints
        if len(inboard) == 0:
            for i, link in enumerate(tree.links):
                free = int(np.sum(~tree.driven[link["iv"] : link["iv"] + link["nv"]]))
                axes = self.axes, self.axes + (AXES - free if i > 0 else 0)
                self.axes = axes[1]
                ends = int(link["parent"]), i, i
                self.nodes.append((*ends, int(link["iv"]), int(link["nv"]), *axes, 0, *self._patches_of(i)))
            return list(range(len(tree.closures)))
        of_body = {
            int(closure["child"]): k
            for k, closure in enumerate(tree.closures)
            if int(inboard[closure["child"]]["first_row"]) == int(closure["first_row"])
            and int(inboard[closure["child"]]["last_row"]) == int(closure["last_row"])
        }
        for i, link in enumerate(tree.links):
            alone = (0, i, 0, int(link["iv"]), int(link["nv"]), 0, 0, 0, 0, 0)
            self.nodes.append(self._node_of_closure(of_body[i]) if i in of_body else alone)
        return [k for k in range(len(tree.closures)) if k not in of_body.values()]

    def _node_of_closure(self, k: int) -> tuple[int, ...]:
        closure = self.tree.closures[k]
        fields = ("parent", "child", "loop_frame", "iv", "nv", "first_row", "last_row")
        return (*(int(closure[name]) for name in fields), 1, *self._patches_of(int(closure["loop_frame"])))

    def _patches_of(self, row: int) -> tuple[int, int]:
        """Return the range of the patches of the joint with this row."""
        of_joint = np.nonzero(self.patches["row"] == row)[0]
        return (int(of_joint[0]), int(of_joint[-1]) + 1) if len(of_joint) else (0, 0)

    # --- loops --------------------------------------------------------------------------------------------------------
    def _order(self, closures: list[int]) -> tuple[list[int], list[list[int]], list[list[int]]]:
        """Return the closures in order, the later neighbours of each, and those that are open at each body."""
        passing: list[list[int]] = [[] for _ in self.parents]
        closes_at = []
        for c, k in enumerate(closures):
            ends = int(self.tree.closures[k]["parent"]), int(self.tree.closures[k]["child"])
            at = common_ancestor(self.parents, set(ends))
            closes_at.append(at)
            for end in ends:
                while end != at:
                    passing[end].append(c)
                    end = self.parents[end]
        order, later, passing = order_of_elimination(passing, closes_at)
        return [closures[c] for c in order], later, passing

    def _add_directions(self, k: int) -> int:
        """Add the directions (n, 6) of the wrench of a closure that have an effect; return their number in the list.

        They are all six, 0, unless some have no effect in any configuration.
        """
        tree, closure = self.tree, self.tree.closures[k]
        rows = slice(int(closure["first_row"]), int(closure["last_row"]))
        axes = tree.constraint_axes[rows][~tree.has_effect[rows]]
        free = int(np.sum(~tree.driven[closure["iv"] : closure["iv"] + closure["nv"]]))
        basis, count = np.zeros((AXES, AXES)), len(axes)
        basis[:count, :3], basis[:count, 3:] = axes["t"], axes["f"]
        if closure["one_plane"]:
            if closure["last_row"] - closure["first_row"] + free != 3:
                return 0
            n = closure["normal"]
            u = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
            u /= np.linalg.norm(u)
            basis[count, 3:], basis[count + 1, :3], basis[count + 2, :3] = n, u, np.cross(n, u)
            count += 3
        if count == 0:
            return 0
        for e in range(count, AXES):
            complete(basis, e)
        self.directions.append(basis[count:])
        return len(self.directions) - 1

    def sizes(self, pairs: int) -> tuple[int, int, int, int, int]:
        """Return the numbers of slots, pairs of open loops, couplings, updates and later loops, with further pairs."""
        depth = np.zeros(len(self.parents), np.int64)
        for i in range(1, len(depth)):
            depth[i] = depth[self.parents[i]] + 1
        is_open = np.array([len(loops) for loops in self.passing])
        later = np.array([len(loops) for loops in self.later] + [0] * pairs) + pairs
        slots = int(is_open.sum()) + len(self.loops) + pairs * (2 * int(depth.max()) + 1)
        return (
            slots,
            int(((is_open + pairs) ** 2).sum()),
            int(later.sum()),
            int((later**2).sum()),
            int(later.max(initial=0)),
        )

    def joint_of_row(self) -> Integers:
        """Return the loop joint of each constraint row, -1 for rows of no such joint."""
        loops = np.full(self.rows, -1)
        for c, k in enumerate(self.loops):
            loops[self.tree.closures[k]["first_row"] : self.tree.closures[k]["last_row"]] = c
        return loops
