"""Plan of the loops of a pass (`open_loops`): in which order they are eliminated, where they are open, and how coupled.

Joints that close loops, and pairs of bodies that edges connect, are loops alike.  A loop is *open* at the bodies on the
two paths from its ends to their last common ancestor.  There it *closes*.  Loops are eliminated from the leaves to the
ground; those of joints that close at the ground by minimum degree (`row_elimination`), and pairs after them.  Two loops
are coupled if both are open at one body, or if another one that is coupled to both is eliminated before them.

A plan takes time in proportion to the bodies on the paths.  It changes with the pairs.
"""

from __future__ import annotations

from multibody_cli.kernel import formula, kernel


@kernel
def plan_loops(plan, pairs, count) -> bool:
    """Plan the loops of all joints and of the first `count` pairs; return False if the tables are too small."""
    plan.pairs_planned[0] = -1
    if count > plan.max_pairs[0]:
        return False
    order_loops(plan, pairs, count)
    if not number_slots(plan):
        return False
    fill_slots(plan)
    if not couple_loops(plan):
        return False
    address_couplings(plan)
    plan.pairs_planned[0] = count
    return True


# --- order ------------------------------------------------------------------------------------------------------------
@kernel
def order_loops(plan, pairs, count):
    """List all loops, those that close at later bodies first; joints are in this order already."""
    joints = len(plan.nodes) - len(plan.links)
    for k in range(joints + count):
        c, pair = k, k - joints
        if pair < 0:
            child, parent = plan.nodes[len(plan.links) + k].child, plan.nodes[len(plan.links) + k].parent
        else:
            child, parent = pairs[pair, 0], pairs[pair, 1]
        at = common_ancestor(plan, child, parent)
        while c > 0 and plan.loops[c - 1].closes_at < at:
            move_loop(plan.loops[c - 1], plan.loops[c])
            c -= 1
        loop = plan.loops[c]
        loop.child, loop.parent, loop.closes_at, loop.pair = child, parent, at, pair
        loop.node = len(plan.links) + k if pair < 0 else -1
        loop.directions = plan.nodes[loop.node].directions if pair < 0 else 0
        loop.unknowns = plan.basis_size[loop.directions]
    plan.number[0] = joints + count
    for c in range(plan.number[0]):
        if plan.loops[c].node >= 0:
            plan.loop_of_joint[plan.loops[c].node - len(plan.links)] = c


@kernel
def move_loop(loop, to):
    """Move a loop to another place in the order."""
    to.child, to.parent, to.closes_at = loop.child, loop.parent, loop.closes_at
    to.node, to.pair, to.unknowns, to.directions = loop.node, loop.pair, loop.unknowns, loop.directions


@kernel
def common_ancestor(plan, a, b) -> int:
    """Return the last common ancestor of two bodies; parents come before their children."""
    while a != b:
        if a > b:
            a = plan.nodes[a].parent
        else:
            b = plan.nodes[b].parent
    return a


# --- slots ------------------------------------------------------------------------------------------------------------
@kernel
def number_slots(plan) -> bool:
    """Number the slots of all bodies, first of the loops that are open, then of those that close."""
    links = plan.links
    for i in range(len(links)):
        links[i].last_open = links[i].last_slot = 0
    for c in range(plan.number[0]):
        loop = plan.loops[c]
        if loop.closes_at > 0:
            links[loop.closes_at].last_slot += 1
        for end in (loop.child, loop.parent):
            while end != loop.closes_at:
                links[end].last_open += 1
                end = plan.nodes[end].parent
    slots = pairs = 0
    for i in range(len(links)):
        is_open, closing = links[i].last_open, links[i].last_slot
        links[i].first_slot, links[i].first_pair = slots, pairs
        links[i].last_open, links[i].last_slot = slots, slots + is_open  # advanced by `fill_slots`
        slots, pairs = slots + is_open + closing, pairs + is_open * is_open
    plan.slots_used[0] = slots
    return slots <= len(plan.slots) and pairs <= len(plan.pairs)


@kernel
def fill_slots(plan):
    """List the loops in the slots of the bodies, with the slots of the parents."""
    for c in range(plan.number[0]):
        loop = plan.loops[c]
        loop.slot = -1
        if loop.closes_at > 0:
            link = plan.links[loop.closes_at]
            loop.slot = link.last_slot
            write_slot(plan.slots[loop.slot], c, -1, loop.unknowns)
            link.last_slot += 1
        loop.child_slot = open_to_ancestor(plan, c, loop.child)
        loop.parent_slot = open_to_ancestor(plan, c, loop.parent)


@formula
def write_slot(slot, c, parent, size):
    """Write the slot of a loop at a body."""
    slot.loop, slot.parent, slot.unknowns = c, parent, size


@kernel
def open_to_ancestor(plan, c, end) -> int:
    """List a loop at all bodies from one of its ends to where it closes; return its slot at that end."""
    loop, first, last = plan.loops[c], plan.loops[c].slot, -1
    while end != loop.closes_at:
        link = plan.links[end]
        s = link.last_open
        link.last_open += 1
        write_slot(plan.slots[s], c, loop.slot, loop.unknowns)
        if last < 0:
            first = s
        else:
            plan.slots[last].parent = s
        last, end = s, plan.nodes[end].parent
    return first


# --- couplings --------------------------------------------------------------------------------------------------------
@kernel
def couple_loops(plan) -> bool:
    """List for each loop those that are coupled to it and eliminated later; fill-in included."""
    for c in range(plan.number[0]):
        plan.later_count[c] = 0
    for i in range(len(plan.links)):
        for s in range(plan.links[i].first_slot, plan.links[i].last_open):
            for other in range(s + 1, plan.links[i].last_open):
                if not couple(plan, plan.slots[s].loop, plan.slots[other].loop):
                    return False
    couplings = updates = 0
    for c in range(plan.number[0]):
        count = plan.later_count[c]
        for a in range(count):
            for b in range(a + 1, count):
                one, other = plan.later[c, a], plan.later[c, b]
                if not couple(plan, min(one, other), max(one, other)):
                    return False
        loop = plan.loops[c]
        loop.first_neighbour, loop.last_neighbour, loop.first_update = couplings, couplings + count, updates
        couplings, updates = couplings + count, updates + count * count
    plan.blocks_used[0] = plan.number[0] + 2 * couplings
    return couplings <= len(plan.neighbours) and updates <= len(plan.updates) and plan.blocks_used[0] <= len(plan.G)


@kernel
def couple(plan, c, d) -> bool:
    """Add loop d to those that are eliminated after c and coupled to it."""
    count = plan.later_count[c]
    for k in range(count):
        if plan.later[c, k] == d:
            return True
    if count == plan.later.shape[1]:
        return False
    plan.later[c, count] = d
    plan.later_count[c] += 1
    return True


@kernel
def address_couplings(plan):
    """Write the addresses in G of all neighbours, of their pairs, and of the pairs of loops that are open at a body."""
    for c in range(plan.number[0]):
        loop, update = plan.loops[c], plan.loops[c].first_update
        for k in range(loop.first_neighbour, loop.last_neighbour):
            one, d = plan.neighbours[k], plan.later[c, k - loop.first_neighbour]
            one.loop, one.coupling, one.transposed = d, address(plan, c, d), address(plan, d, c)
            one.slot = slot_of(plan, loop.closes_at, d)
        for a in range(plan.later_count[c]):
            for b in range(plan.later_count[c]):
                plan.updates[update] = address(plan, plan.later[c, a], plan.later[c, b])
                update += 1
    for i in range(len(plan.links)):
        link, pair = plan.links[i], plan.links[i].first_pair
        for a in range(link.first_slot, link.last_open):
            for b in range(link.first_slot, link.last_open):
                plan.pairs[pair] = address(plan, plan.slots[a].loop, plan.slots[b].loop)
                pair += 1


@kernel
def address(plan, c, d) -> int:
    """Return the address in G of the block of the equations of loop c and the wrench of loop d."""
    if c == d:
        return c
    first, other, k = min(c, d), max(c, d), 0
    while plan.later[first, k] != other:
        k += 1
    k += plan.loops[first].first_neighbour
    return plan.number[0] + 2 * k + (1 if c > d else 0)


@kernel
def slot_of(plan, i, d) -> int:
    """Return the slot of a loop at a body; -1 at the ground."""
    if i > 0:
        for s in range(plan.links[i].first_slot, plan.links[i].last_slot):
            if plan.slots[s].loop == d:
                return s
    return -1
