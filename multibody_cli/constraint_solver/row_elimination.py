"""Plan of the elimination of constraint rows in the recursion over the tree: where each row closes, and in which order.

A row is *open* at a body where its multiplier acts in the subtree of the body and its support is not complete.  It
*closes* at the last common ancestor of the bodies on which it acts; a row that acts on one body only, or on the ground,
closes at the ground.  Rows with the same support form a block.  Blocks are eliminated from the leaves to the ground,
and those that close at the ground in the order of minimum degree.  Two blocks are neighbours where both are open at one
joint, or by fill-in.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from multibody_cli.constraints.elements import write_all
from multibody_cli.kernel import allocate, kernel, records
from multibody_cli.linalg.pivoted_lu import PivotedLdl
from multibody_cli.model import KERNEL_BALL, Floats, Integers, Records, System, Tree
from multibody_cli.tree.workspace import WRENCH, Work, workspace_for

OPEN_LINK = np.dtype(
    [
        ("first_slot", "i8"),  # one slot for each row that is open at the body; these pass its joint
        ("last_passing", "i8"),
        ("last_slot", "i8"),  # and these close at the body
        ("first_pair", "i8"),  # addresses of the entries of L of pairs of passing rows
        ("first_entry", "i8"),  # entries k of its columns
        ("first_block", "i8"),  # blocks that close at the body
        ("last_block", "i8"),
    ]
)
"""One row per body."""

SLOT = np.dtype([("place", "i8"), ("parent", "i8")])
"""A row that is open at a body: its place in the order, and its slot at the parent; -1 at the ground."""

TERM_PLACE = np.dtype([("term", "i8"), ("slot", "i8"), ("link", "i8"), ("entry", "i8"), ("last", "i8")])
"""A term: a wrench on a body (entry < 0; `last` marks the last one of its slot), or an entry of a column."""

BLOCK = np.dtype(
    [
        ("first", "i8"),  # its rows: places in the order of elimination
        ("last", "i8"),
        ("address", "i8"),  # of its diagonal block in L
        ("slot", "i8"),  # its first slot at the body where it closes; -1 at the ground
        ("first_neighbour", "i8"),
        ("last_neighbour", "i8"),
        ("first_update", "i8"),  # addresses of the blocks of L of pairs of neighbours
        ("local", "i8"),  # whether a dependence among its rows involves no other motion and no other rows
        ("pivoted", "i8"),  # whether its factors are pivoted
        ("rank", "i8"),
    ]
)

NEIGHBOUR = np.dtype([("block", "i8"), ("address", "i8"), ("slot", "i8")])
"""A block that is eliminated later: the address of the coupling in L, and its first slot where this block closes."""

LARGEST_BLOCK = 6

MAX_PAIRS = 10_000_000
"""Maximum number of pairs of open rows; beyond it the tables would be larger than the dense matrix is slow."""


class RowElimination(NamedTuple):
    """The plan and the work arrays of ns slots, n rows, ne entries of columns and na entries of L."""

    links: Records
    slots: Records
    pairs: Integers
    term_places: Records
    blocks: Records
    neighbours: Records
    updates: Integers
    rows: Integers  # (n,) number of the row at each place
    ineffective: Integers  # numbers of the rows without any effect, which get no multipliers
    regular: Annotated[Integers, 1]  # whether the last factorization succeeded; if not, no row is eliminated
    K: Annotated[Records, "ns", WRENCH]
    k: Annotated[Floats, "ne"]
    coefficients: Annotated[Floats, "ne"]  # of coordinates in the rows
    L: Annotated[Floats, "na"]
    reduction: Annotated[Floats, "na"]  # by eliminated blocks
    factors: Annotated[Floats, "na"]
    order: Annotated[Integers, "n"]  # pivoted order of the rows of each block
    threshold: Annotated[Floats, "n"]  # see `ineffective_rows`
    unconstrained: Annotated[Floats, "n"]  # R, likewise
    ell: Annotated[Floats, "n"]  # acceleration of the rows due to forces
    rhs: Annotated[Floats, "n"]
    x: Annotated[Floats, "n"]  # multipliers
    solution: Annotated[Floats, "m"]  # scratch for one block
    null_component: Annotated[Floats, "m"]
    substituted: Annotated[Records, "m", WRENCH]  # K, after forward substitution
    block: PivotedLdl


@kernel
def set_primary(work, is_primary):
    """Set whether the rows of the elimination are primary."""
    plan = work.elimination
    for place in range(len(plan.rows)):
        work.rows[plan.rows[place]].primary = is_primary


class Support(NamedTuple):
    """Where a row acts: terms with wrenches on bodies, and terms with coordinates, each with its body."""

    wrenches: tuple[tuple[int, int], ...]  # (body, term)
    coordinates: tuple[tuple[int, int, int], ...]  # (body, column of its joint, term)
    closes_at: int
    is_relative: bool


def row_elimination_for(system: System) -> RowElimination | None:
    """Return the elimination of the equality rows of a system; None where it has no advantage.

    Rows with bounds, rows of the coordinates of loop joints, and all rows of systems with markers, or with implicit
    forces beside coupled ones, are rows of the Delassus matrix; rows of nodes are eliminated in maximal coordinates.
    """
    if len(system.tree.markers) > 0 or len(system.rows) == 0 or (system.implicit and system.coupled):
        return None
    supports = _supports_of(system)
    ineffective = set(np.flatnonzero(~system.tree.has_effect).tolist()) & set(supports)
    supports = {r: support for r, support in supports.items() if r not in ineffective}
    return (
        RowPlanner(_parents_of(system.tree), system.tree.links["nv"], supports, ineffective).plan()
        if supports
        else None
    )


def no_row_elimination(count: int) -> RowElimination:
    """Return the elimination of no row, for a number of bodies with the ground."""
    plan = RowPlanner([0] * count, np.zeros(count, np.int64), {}, set()).plan()
    assert plan is not None
    return plan


def _parents_of(tree: Tree) -> list[int]:
    """Return the parents of all bodies: in the tree of joints, or in maximal coordinates that of nodes."""
    of_nodes = tree.inboard_joints
    return (of_nodes if len(of_nodes) > 0 else tree.links)["parent"].tolist()


def _supports_of(system: System) -> dict[int, Support]:
    """Return the supports of all rows that can be eliminated, by their numbers."""
    work, tree = workspace_for(system), system.tree
    terms = _terms_of(system, work)
    link_of = np.full(len(tree.driven), -1)
    for i, link in enumerate(tree.links):
        if i > 0 and link["joint_kernel"] != KERNEL_BALL and len(tree.inboard_joints) == 0:
            link_of[link["iv"] : link["iv"] + link["nv"]] = i
    loop_rows = {r for closure in tree.closures for r in range(closure["first_row"], closure["last_row"])}
    of_nodes = {r for joint in tree.inboard_joints for r in range(joint["first_row"], joint["last_row"])}
    supports, parents = {}, _parents_of(tree)
    for r, row in enumerate(system.rows):
        numbers = range(row["first_term"], row["last_term"])
        wrenches = tuple((int(terms[k]["body"]), k) for k in numbers if terms[k]["iv"] < 0)
        on_joints = [(int(link_of[terms[k]["iv"]]), int(terms[k]["iv"]), k) for k in numbers if terms[k]["iv"] >= 0]
        coordinates = tuple((link, iv - int(tree.links[link]["iv"]), k) for link, iv, k in on_joints)
        if row["one_sided"] or r in of_nodes or any(link < 0 for link, _, _ in coordinates):
            continue
        ends = {body for body, _ in wrenches} | {int(tree.links[link]["parent"]) for link, _, _ in coordinates}
        is_relative = r in loop_rows or not wrenches
        closes_at = common_ancestor(parents, ends) if is_relative or len(ends) > 1 else 0
        supports[r] = Support(wrenches, coordinates, closes_at, is_relative or closes_at == 0)
    return supports


def _terms_of(system: System, work: Work) -> Records:
    """Return the terms with their bodies and coordinates, which do not change."""
    q = np.zeros(len(system.tree.plain) + 4 * len(system.tree.quaternions))
    work.bodies["x"] = np.arange(3 * len(work.bodies)).reshape(-1, 3) ** 2  # apart, so that no distance is 0
    v = np.zeros(len(system.tree.driven))
    write_all(system.constraints, system.forces.states, 0.0, work.bodies, q, v, work.rows, work.terms)
    for closure in system.tree.closures:
        for r in range(closure["first_row"], closure["last_row"]):
            term = closure["first_term"] + 2 * (r - closure["first_row"])
            work.terms["body"][term], work.terms["body"][term + 1] = closure["child"], closure["parent"]
    return work.terms


# --- ancestors, and the order of blocks ---------------------------------------------------------------------------
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
            near[b].update(set(together) - {b})

    def key(b: int) -> tuple[int, int, int]:
        return -closes_at[b], len(near[b]) if closes_at[b] == 0 else 0, b

    heap = [key(b) for b in range(len(near))]
    heapq.heapify(heap)
    later: dict[int, set[int]] = {}  # by block, in the order of elimination
    while heap:
        first = heapq.heappop(heap)
        b = first[-1]
        if b in later or first != key(b):
            continue
        later[b] = near[b]
        for other in near[b]:  # fill-in
            near[other] = (near[other] | near[b]) - {b, other}
            heapq.heappush(heap, key(other))
    number = {b: k for k, b in enumerate(later)}
    neighbours = [sorted(number[b] for b in others) for others in later.values()]
    return list(later), neighbours, [sorted(number[b] for b in together) for together in passing]


class RowPlanner:
    """Builds the tables of a `RowElimination`, from the parents of all bodies and the numbers of their rates."""

    def __init__(
        self, parents: Sequence[int], n_rates: Integers, supports: dict[int, Support], ineffective: set[int]
    ) -> None:
        self.parents = parents
        self.n_rates = n_rates
        self.ineffective = ineffective
        self.supports = supports
        self.blocks = self._order(self._blocks())
        self.place = {r: place for place, r in enumerate(r for block in self.blocks for r in block)}
        self.block_of = {r: b for b, block in enumerate(self.blocks) for r in block}

    # --- blocks and their order -----------------------------------------------------------------------------------
    def _blocks(self) -> list[list[int]]:
        """Group consecutive rows with the same support."""
        blocks: list[list[int]] = []
        for r in self.supports:
            if blocks and self._support(blocks[-1][-1]) == self._support(r) and len(blocks[-1]) < LARGEST_BLOCK:
                blocks[-1].append(r)
            else:
                blocks.append([r])
        return blocks

    def _support(self, r: int) -> Any:
        support = self.supports[r]
        bodies = sorted({body for body, _ in support.wrenches if body > 0})
        return bodies, [link for link, _, _ in support.coordinates], support.closes_at, support.is_relative

    def _joints_of(self, r: int) -> set[int]:
        """Return the bodies whose joints a row passes, on the way to the body where it closes."""
        support, passed = self.supports[r], set()
        for end in [body for body, _ in support.wrenches] + [link for link, _, _ in support.coordinates]:
            while end != support.closes_at and end > 0:
                passed.add(end)
                end = self.parents[end]
        return passed

    def _order(self, blocks: list[list[int]]) -> list[list[int]]:
        """Return the blocks in the order of elimination, and set `self.later`, the neighbours of each."""
        closes_at = [self.supports[block[0]].closes_at for block in blocks]
        self.passing: list[list[int]] = [[] for _ in self.parents]
        for b, block in enumerate(blocks):
            for i in self._joints_of(block[0]):
                self.passing[i].append(b)
        order, self.later, self.passing = order_of_elimination(self.passing, closes_at)
        return [blocks[b] for b in order]

    # --- tables ---------------------------------------------------------------------------------------------------
    def plan(self) -> RowElimination | None:
        """Return the tables; None where too many rows are open together."""
        sizes = [len(block) for block in self.blocks]
        first = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        n, n_links = int(first[-1]), len(self.parents)
        open_rows = [sum(sizes[b] for b in together) for together in self.passing]
        pairs = sum(count * (count + 1) // 2 for count in open_rows)
        if pairs > min(10 * n * n_links + n**3 // 3, MAX_PAIRS):
            return None
        closing: list[list[int]] = [[] for _ in self.parents]
        for b, block in enumerate(self.blocks):
            closing[self.supports[block[0]].closes_at].append(b)
        links, slot_of = self._slots(closing, sizes)
        blocks, neighbours, updates, addresses = self._coupled(first, sizes, slot_of)
        slots, table, entries = self._passing_rows(links, slot_of, first, addresses, blocks)
        return allocate(
            RowElimination,
            links=records(links),
            slots=records(slots),
            pairs=np.array(table, np.int64),
            term_places=records(self._term_places(links, slot_of)),
            blocks=records(blocks),
            neighbours=records(neighbours),
            updates=np.array(updates, np.int64),
            rows=np.array([r for block in self.blocks for r in block], np.int64),
            ineffective=np.array(sorted(self.ineffective), np.int64),
            ns=len(slots),
            n=n,
            ne=entries,
            na=addresses["end"],
            m=LARGEST_BLOCK,
        )

    def _slots(self, closing: list[list[int]], sizes: list[int]) -> tuple[Records, dict[tuple[int, int], int]]:
        """Number the slots of each body: of blocks that pass its joint, then of those that close there."""
        links, slot_of, count, entries, pairs = np.zeros(len(self.parents), OPEN_LINK), {}, 0, 0, 0
        for i in range(len(self.parents)):
            link = links[i]
            link["first_slot"], link["first_pair"], link["first_entry"] = count, pairs, entries
            for b in self.passing[i]:
                slot_of[i, b] = count
                count += sizes[b]
            passing = count - link["first_slot"]
            link["last_passing"] = count
            for b in closing[i] if i > 0 else ():
                slot_of[i, b] = count
                count += sizes[b]
            link["last_slot"] = count
            if closing[i]:
                link["first_block"], link["last_block"] = closing[i][0], closing[i][-1] + 1
            pairs += passing * (passing + 1) // 2
            entries += passing * int(self.n_rates[i])
        self.entries = entries
        return links, slot_of

    def _coupled(self, first: Integers, sizes: Sequence[int], slot_of: dict[tuple[int, int], int]) -> Any:
        """Return blocks, neighbours, updates, and the addresses of the blocks of L by their two numbers."""
        addresses: dict[Any, int] = {}
        end = 0
        for b, later in enumerate(self.later):
            for other in [b, *later]:
                addresses[other, b] = end
                end += sizes[other] * sizes[b]
        addresses["end"] = end
        blocks = np.zeros(len(self.blocks), BLOCK)
        neighbours: list[tuple[int, int, int]] = []
        updates: list[int] = []
        changed: set[int] = set()  # blocks that are open where another one closes, and close elsewhere
        for b, later in enumerate(self.later):
            support = self.supports[self.blocks[b][0]]
            closes_at, block = support.closes_at, blocks[b]
            block["first"], block["last"], block["address"] = first[b], first[b + 1], addresses[b, b]
            block["slot"] = slot_of[closes_at, b] if closes_at > 0 else -1
            block["first_neighbour"], block["first_update"] = len(neighbours), len(updates)
            block["local"] = support.is_relative and b not in changed
            for other in later:
                neighbours.append((other, addresses[other, b], slot_of[closes_at, other] if closes_at > 0 else -1))
            updates += [addresses[one, two] for k, one in enumerate(later) for two in later[: k + 1]]
            block["last_neighbour"] = len(neighbours)
            changed.update(o for o in later if self.supports[self.blocks[o][0]].closes_at != closes_at)
        return blocks, np.array(neighbours, NEIGHBOUR), updates, addresses

    def _passing_rows(self, links: Records, slot_of: Any, first: Integers, addresses: Any, blocks: Records) -> Any:
        """Return the slots, and the addresses of the entries of L of all pairs of rows that pass a joint."""
        slots, table = np.zeros(int(links[-1]["last_slot"]), SLOT), []
        width = first[1:] - first[:-1]
        for (i, b), slot in slot_of.items():
            parent = slot_of.get((self.parents[i], b), -1) if slot < links[i]["last_passing"] else -1
            for h in range(width[b]):
                slots[slot + h] = first[b] + h, parent + h if parent >= 0 else -1
        for together in self.passing:
            passing = [(b, h) for b in together for h in range(width[b])]
            for s, (b, h) in enumerate(passing):
                table += [addresses[b, c] + h * int(width[c]) + g for c, g in passing[: s + 1]]
        return slots, table, self.entries

    def _term_places(self, links: Records, slot_of: Any) -> Records:
        """Return the places of all terms that act on a body or on a coordinate."""
        places: list[tuple[int, int, int, int, int]] = []
        for r, support in self.supports.items():
            b = self.block_of[r]
            h = self.blocks[b].index(r)
            on_bodies = sorted((body, term) for body, term in support.wrenches if body > 0)
            for k, (body, term) in enumerate(on_bodies):
                last = k + 1 == len(on_bodies) or on_bodies[k + 1][0] != body
                places.append((term, slot_of[body, b] + h, body, -1, int(last)))
            for i, column, term in support.coordinates:
                link, slot = links[i], slot_of[i, b] + h - links[i]["first_slot"]
                entry = link["first_entry"] + column * (link["last_passing"] - link["first_slot"]) + slot
                places.append((term, -1, i, int(entry), 0))
        return np.array(places, TERM_PLACE)
